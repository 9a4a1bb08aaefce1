#include "src/agent/process/cgroup_parser.h"

#include <gtest/gtest.h>

namespace vesta::agent::process {
namespace {

const std::string kId = "3f5c8d1e0a9b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d";
const std::string kOuterId = "aa5c8d1e0a9b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3cbb";
const std::string kPod = "01234567-89ab-cdef-0123-456789abcdef";
const std::string kPodUnderscores = "01234567_89ab_cdef_0123_456789abcdef";

struct Case {
  const char* what;
  std::string text;
  CgroupFacts facts;
};

TEST(CgroupParserTest, KnowsTheLayoutsOfRuntimesAndOfSystemd) {
  const Case cases[] = {
      {"no control groups", "", {}},
      {"root of version 2", "0::/\n", {}},
      {"systemd service, version 2", "0::/system.slice/nginx.service\n", {"", "", "nginx.service"}},
      {"systemd service, version 1",
       "12:cpu,cpuacct:/system.slice/redis-server.service\n"
       "1:name=systemd:/system.slice/redis-server.service\n0::/system.slice/x.service\n",
       {"", "", "redis-server.service"}},
      {"template instance",
       "0::/system.slice/system-postgresql.slice/postgresql@15-main.service\n",
       {"", "", "postgresql@15-main.service"}},
      {"user unit",
       "0::/user.slice/user-1000.slice/user@1000.service/app.slice/pipewire.service\n",
       {"", "", "pipewire.service"}},
      {"login session",
       "0::/user.slice/user-0.slice/session-3.scope\n",
       {"", "", "session-3.scope"}},
      {"group delegated below a unit",
       "0::/system.slice/foo.service/workers/1\n",
       {"", "", "foo.service"}},
      {"docker, cgroupfs, version 1",
       "11:memory:/docker/" + kId + "\n1:name=systemd:/docker/" + kId + "\n",
       {kId, "", ""}},
      {"docker on a hybrid host: version 2 knows only the runtime",
       "11:memory:/docker/" + kId + "\n0::/system.slice/containerd.service\n",
       {kId, "", ""}},
      {"docker, systemd, version 2", "0::/system.slice/docker-" + kId + ".scope\n", {kId, "", ""}},
      {"systemd inside of docker",
       "0::/system.slice/docker-" + kId + ".scope/system.slice/cron.service\n",
       {kId, "", "cron.service"}},
      {"containerd by cgroupfs in Kubernetes",
       "0::/kubepods/burstable/pod" + kPod + "/" + kId + "\n",
       {kId, kPod, ""}},
      {"containerd by systemd in Kubernetes",
       "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kPodUnderscores +
           ".slice/cri-containerd-" + kId + ".scope\n",
       {kId, kPod, ""}},
      {"guaranteed pod",
       "0::/kubepods.slice/kubepods-pod" + kPodUnderscores + ".slice/cri-containerd-" + kId +
           ".scope\n",
       {kId, kPod, ""}},
      {"containerd with colons, below its own unit",
       "4:memory:/system.slice/containerd.service/kubepods-besteffort-pod" + kPodUnderscores +
           ".slice:cri-containerd:" + kId + "\n",
       {kId, kPod, ""}},
      {"static pod",
       "0::/kubepods/besteffort/pod0123456789abcdef0123456789abcdef/" + kId + "\n",
       {kId, "0123456789abcdef0123456789abcdef", ""}},
      {"CRI-O",
       "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + kPodUnderscores +
           ".slice/crio-" + kId + ".scope/container\n",
       {kId, kPod, ""}},
      {"CRI-O's monitor is in the pod, not in the container",
       "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + kPodUnderscores +
           ".slice/crio-conmon-" + kId + ".scope\n",
       {"", kPod, "crio-conmon-" + kId + ".scope"}},
      {"podman of root", "0::/machine.slice/libpod-" + kId + ".scope/container\n", {kId, "", ""}},
      {"podman of a user",
       "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId +
           ".scope/container\n",
       {kId, "", ""}},
      {"podman's monitor",
       "0::/machine.slice/libpod-conmon-" + kId + ".scope\n",
       {"", "", "libpod-conmon-" + kId + ".scope"}},
      {"nested: the inner container counts",
       "0::/docker/" + kOuterId + "/kubelet.slice/kubelet-kubepods-pod" + kPodUnderscores +
           ".slice/cri-containerd-" + kId + ".scope\n",
       {kId, kPod, ""}},
      {"agent in a container of its own sees others through dots",
       "0::/../" + kId + "\n",
       {kId, "", ""}},
      {"ECS", "9:perf_event:/ecs/0123456789abcdef0123456789abcdef/" + kId + "\n", {kId, "", ""}},
      {"Fargate",
       "9:perf_event:/ecs/0123456789abcdef0123456789abcdef/"
       "0123456789abcdef0123456789abcdef-1234567890\n",
       {"0123456789abcdef0123456789abcdef-1234567890", "", ""}},
      {"nspawn",
       "0::/machine.slice/systemd-nspawn@bookworm.service/payload/system.slice/ssh.service\n",
       {"bookworm", "", "ssh.service"}},
      {"nspawn from the command line",
       "0::/machine.slice/machine-deb\\x2d12.scope/payload\n",
       {"deb-12", "", ""}},
      {"a virtual machine is a unit, not a container",
       "0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator\n",
       {"", "", "machine-qemu\\x2d1\\x2dvm.scope"}},
      {"LXC", "0::/lxc.payload.web/system.slice/cron.service\n", {"web", "", "cron.service"}},
      {"old LXC", "4:memory:/lxc/web\n", {"web", "", ""}},
      {"63 digits are no container", "0::/docker/" + kId.substr(1) + "\n", {}},
      {"upper case is no container", "0::/docker/A" + kId.substr(1) + "\n", {}},
      {"a unit needs a name", "0::/a.service/.service/.scope\n", {"", "", "a.service"}},
      {"a word that ends in pod", "0::/tripod" + kPod + "/x.service\n", {"", "", "x.service"}},
      {"damaged lines", "0:/x.service\nxx\n::\n:::::\n0::/y.service", {"", "", "y.service"}},
  };
  for (const Case& c : cases) {
    const CgroupFacts facts = ParseCgroup(c.text);
    EXPECT_EQ(facts.container_id, c.facts.container_id) << c.what;
    EXPECT_EQ(facts.pod_uid, c.facts.pod_uid) << c.what;
    EXPECT_EQ(facts.unit, c.facts.unit) << c.what;
  }
}

TEST(CgroupParserTest, OnlyUnitsThatSayWhatRunsNameAService) {
  for (const char* unit : {"nginx.service", "postgresql@15-main.service", "app-x-1.scope"}) {
    EXPECT_TRUE(UnitNamesService(unit)) << unit;
  }
  for (const char* unit : {"", "session-3.scope", "init.scope", "run-u12.scope",
                           "vte-spawn-1.scope", "user@1000.service", "crio-conmon-1.scope"}) {
    EXPECT_FALSE(UnitNamesService(unit)) << unit;
  }
}

TEST(CgroupParserTest, ServiceNamesLoseTypeAndEscapes) {
  EXPECT_EQ(ServiceOfUnit("nginx.service"), "nginx");
  EXPECT_EQ(ServiceOfUnit("app-a\\x2db.scope"), "app-a-b");
  EXPECT_EQ(ServiceOfUnit("odd\\x2.service"), "odd\\x2");
  EXPECT_EQ(ServiceOfUnit("odd\\x"), "odd\\x");
}

TEST(CgroupParserTest, VeryDeepPathsKeepTheirEnd) {
  std::string path = "0::";
  for (int i = 0; i < 10'000; ++i) path += "/a";
  EXPECT_EQ(ParseCgroup(path + "/x.service\n").unit, "x.service");
}

}  // namespace
}  // namespace vesta::agent::process
