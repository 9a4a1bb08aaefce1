// Any bytes in place of /proc/PID/cgroup, and of environment variables: no crash, and what comes
// out keeps its shape.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/agent/process/cgroup_parser.h"
#include "src/agent/process/labels.h"
#include "src/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vesta::agent::process;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const CgroupFacts facts = ParseCgroup(text);
  CHECK(facts.container_id.size() <= size);
  CHECK(facts.pod_uid.empty() || facts.pod_uid.size() == 32 || facts.pod_uid.size() == 36);
  CHECK(ServiceOfUnit(facts.unit).size() <= facts.unit.size());

  const Labels labels = MakeLabels({"/usr/bin/program", "program", text, text});
  CHECK(labels.known && !labels.service_name.empty());
  CHECK(labels.service_name.size() <= kLabelBytesMax);
  CHECK(labels.service_version.size() <= kLabelBytesMax);
  CHECK(labels.unit.size() <= kLabelBytesMax && labels.container_id.size() <= kLabelBytesMax);
  return 0;
}
