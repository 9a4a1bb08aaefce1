// A made-up process with a binary and generated code, for the tests of what names its stacks.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/agent/aggregate/aggregator.h"
#include "src/agent/naming/namer.h"
#include "src/agent/process/image_store.h"
#include "src/agent/process/process_table.h"
#include "src/agent/runtime/runtime.h"
#include "src/profile/profile.h"
#include "test/support/fake_proc.h"
#include "test/support/small_elf.h"

namespace vesta::agent {

inline constexpr uint64_t kBase = 0x7f0000000000;
inline constexpr uint64_t kGeneratedBase = 0x100000;

// Names every address "jit_<address>", so that what it was asked for shows; for some processes only
// certain ones.
class EchoRuntime final : public runtime::Runtime {
 public:
  std::string_view name() const override { return "echo"; }
  std::optional<std::string> Detect(const runtime::ImageFacts&) const override { return ""; }
  base::Result<runtime::KernelPart> Prepare(const runtime::ProcessKey&,
                                            const runtime::ImageFacts&) override {
    return runtime::KernelPart{};
  }
  void Remember(const runtime::ProcessKey&, std::span<const uint64_t>) override {}
  base::Result<std::vector<runtime::FrameNames>> Name(const runtime::ProcessKey& process,
                                                      std::span<const uint64_t> frames) override {
    asked_pid = process.pid;
    std::vector<runtime::FrameNames> names(frames.size());
    const auto known = known_addresses.find(process.pid);
    for (size_t i = 0; i < frames.size(); ++i) {
      if (known != known_addresses.end() && known->second.count(frames[i]) == 0) continue;
      std::string named = "jit_" + std::to_string(frames[i]) + name_end;
      if (known != known_addresses.end()) named += " of " + std::to_string(process.pid);
      names[i].push_back({0, {{{named, "", "", 0, 0}}}});
      for (const uint64_t time_mono_ns : moved_mono_ns) {
        names[i].push_back(
            {time_mono_ns, {{{named + " from " + std::to_string(time_mono_ns), "", "", 0, 0}}}});
      }
    }
    return names;
  }
  void Forget(uint32_t) override {}

  std::string name_end;
  std::vector<uint64_t> moved_mono_ns;  // when all code became another
  uint32_t asked_pid = 0;
  std::map<uint32_t, std::set<uint64_t>> known_addresses;  // by pid
};

class BuilderFixture : public testing::Test {
 protected:
  BuilderFixture() {
    test::FakeProcess& process = proc_.processes[10];
    process.comm = "server";
    process.exe = "/opt/server";
    process.environ = std::string("OTEL_SERVICE_NAME=checkout\0", 27);
    process.mappings.push_back(
        {kBase, kBase + 0x1000, 0x1000, "/opt/server",
         proc_.NewFile(test::MakeSmallElf({{0x1000, 0x1000, 0x800, true}}, "\xab\xcd"))});
    process.mappings.push_back({kGeneratedBase, kGeneratedBase + 0x1000, 0, "", nullptr});
    processes_.Scan();
    task_ = processes_.TaskOf({10, 0, 0, proc_.now_mono_ns, "server"});
    for (const process::Mapping& mapping : processes_.Find(10)->mappings.all()) {
      if (mapping.start == kBase) server_ = mapping.image;
      if (mapping.start == kGeneratedBase) generated_ = mapping.image;
    }
  }

  void Add(std::vector<profile::Frame> leaf_first, abi_stop_reason reason, uint64_t value) {
    aggregator_.Add(aggregator_.InternThread(task_.value(), 10, 11, "worker"), leaf_first, reason,
                    value);
  }
  static std::map<std::string, std::string> LabelsOf(const profile::Profile& profile,
                                                     size_t sample) {
    std::map<std::string, std::string> labels;
    for (const profile::Label& label : profile.labels(profile.sample_labels(sample))) {
      labels[std::string(profile.String(label.key))] =
          label.is_number() ? std::to_string(label.number)
                            : std::string(profile.String(label.text));
    }
    return labels;
  }

  test::FakeProc proc_;
  process::ImageStore images_{proc_, {}};
  naming::Namer namer_{images_, {}};
  process::ProcessTable processes_{proc_, images_, {}};
  aggregate::Aggregator aggregator_{1u << 24};
  EchoRuntime runtime_;
  process::TaskId task_;
  profile::ImageId server_;
  profile::ImageId generated_;
};

inline std::string NameOf(const profile::Profile& profile, profile::LocationId id) {
  const profile::Location location = profile.location(id);
  if (location.lines.empty()) return "";
  return std::string(profile.String(profile.function(location.lines[0].function).name));
}

inline profile::Frame Native(profile::ImageId image, uint64_t address) {
  return {address, image, profile::FrameKind::kNative, false};
}

}  // namespace vesta::agent
