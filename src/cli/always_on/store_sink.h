// Delivers to the store of this process: `vesta up`.
#pragma once

#include "src/server/senders.h"
#include "src/store/disk/disk_store.h"
#include "src/uplink/sink.h"

namespace vesta::cli {

// Both must outlive it. The server's list of senders shows the agent as it shows all others.
class StoreSink final : public uplink::Sink {
 public:
  StoreSink(store::DiskStore& store, server::Senders& senders) : store_(store), senders_(senders) {}

  uplink::Delivery Deliver(uplink::Parcel& parcel) override;
  // The store takes nothing more from anybody: it is the end.
  void Cancel() override { store_.RefuseAppends(); }

 private:
  uplink::Delivery DeliverBatch(uplink::Parcel& parcel);
  uplink::Delivery DeliverSymbols(uplink::Parcel& parcel);

  store::DiskStore& store_;
  server::Senders& senders_;
};

}  // namespace vesta::cli
