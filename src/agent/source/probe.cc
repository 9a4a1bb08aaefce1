#include "src/agent/source/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "src/agent/source/kernel_source.h"
#include "src/agent/source/perf_event.h"
#include "src/base/byte_source.h"

namespace vesta::agent::source {
namespace {

constexpr uint32_t kFrequencyHz = 99;
constexpr uint32_t kFrequencyMaxHz = 1000;
constexpr uint64_t kInitialPidNamespaceInode = 0xeffffffc;  // PROC_PID_INIT_INO of the kernel
constexpr uint32_t kCapSysPtrace = 19;

struct Finding {
  bool present = false;
  std::string detail;
};

struct Probe {
  const char* name;
  Importance importance;
  const char* meaning;
  const char* remedy;
  Finding (*find)();
  const char* after = nullptr;  // another probe without which this one would tell nothing
};

Finding FromErrno(int errno_value) { return {false, std::strerror(errno_value)}; }

// A descriptor that only shows that it can be had; negative: -errno.
Finding FromDescriptor(int fd) {
  if (fd < 0) return FromErrno(-fd);
  ::close(fd);
  return {true, ""};
}

std::string ReadLine(const std::string& path) {
  auto text = base::ReadSmallFile(path);
  if (!text.ok()) return "";
  return text->substr(0, text->find('\n'));
}

Finding FindTypeInformation() {
  const std::string path = "/sys/kernel/btf/vmlinux";
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {false, path + ": " + std::strerror(errno)};
  return {true, ""};
}

Finding FindPrograms() {
  const bpf_insn program[] = {
      {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0},
      {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
  };
  return FromDescriptor(bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "vesta_probe", "GPL", program,
                                      std::size(program), nullptr));
}

template <bpf_func_id kHelper>
Finding FindHelper() {
  const int found = libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, kHelper, nullptr);
  if (found < 0) return FromErrno(-found);
  return {found == 1, ""};
}

Finding FindRing() {
  return FromDescriptor(
      bpf_map_create(BPF_MAP_TYPE_RINGBUF, "vesta_probe", 0, 0, 1u << 16, nullptr));
}

Finding FindTables() {
  bpf_map_create_opts options{};
  options.sz = sizeof(options);
  options.map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE;
  return FromDescriptor(
      bpf_map_create(BPF_MAP_TYPE_ARRAY, "vesta_probe", sizeof(uint32_t), 4096, 1, &options));
}

// As much as a small recording needs. Kernels before 5.11 charge it to RLIMIT_MEMLOCK.
Finding FindMapMemory() {
  return FromDescriptor(
      bpf_map_create(BPF_MAP_TYPE_ARRAY, "vesta_probe", sizeof(uint32_t), 4096, 4096, nullptr));
}

// The programs themselves: what a kernel offers does not say that its verifier takes them.
Finding FindOwnPrograms(WalkerLoop loop) {
  KernelSourceOptions options;
  options.ring_bytes = 1u << 16;
  options.mappings_max = 1024;
  options.table_slots = 16;
  options.loop = loop;
  const auto source = KernelSource::Load(options);
  if (source.ok()) return {true, ""};
  return {false, source.error().message()};
}

Finding FindSamplePrograms() { return FindOwnPrograms(WalkerLoop::kAuto); }

Finding FindLoop() {
  const Finding helper = FindHelper<BPF_FUNC_loop>();
  return helper.present ? FindOwnPrograms(WalkerLoop::kBpfLoop) : helper;
}

Finding FindTaskIterator() {
  const int found = libbpf_find_vmlinux_btf_id("task", BPF_TRACE_ITER);
  if (found < 0) return FromErrno(-found);
  return {true, ""};
}

Finding FromEvent(const base::Result<PerfEvent>& event) {
  if (event.ok()) return {true, ""};
  return {false, event.error().message()};
}

int FirstCpu() {
  const auto cpus = OnlineCpus();
  return cpus.ok() ? cpus->front() : 0;
}

Finding FindCpuClock() {
  Finding finding = FromEvent(OpenTick(TickEvent::kCpuClock, FirstCpu(), kFrequencyHz));
  if (!finding.present) {
    finding.detail +=
        " (kernel.perf_event_paranoid = " + ReadLine("/proc/sys/kernel/perf_event_paranoid") + ")";
  }
  return finding;
}

Finding FindCycles() { return FromEvent(OpenTick(TickEvent::kCycles, FirstCpu(), kFrequencyHz)); }

Finding FindProcessNews() { return FromEvent(OpenProcessNews(FirstCpu())); }

Finding FindPidNamespace() { return {SeesKernelPids(), ""}; }

Finding FindOtherProcesses() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  if (::syscall(SYS_capget, &header, data) != 0) return FromErrno(errno);
  return {(data[0].effective & (1u << kCapSysPtrace)) != 0, ""};
}

Finding FindKernelSymbols() {
  const std::string setting =
      "kernel.kptr_restrict = " + ReadLine("/proc/sys/kernel/kptr_restrict");
  // The first symbols may lie at 0 in earnest (per-CPU data), so look at the whole list.
  const auto text = base::ReadSmallFile("/proc/kallsyms", 64u << 20);
  if (!text.ok()) return {false, text.error().message()};
  for (size_t at = 0; at < text->size();) {
    if (text->compare(at, 8, "00000000") != 0) return {true, ""};
    const size_t end = text->find('\n', at);
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return {false, setting};
}

Finding FindSampleRate() {
  const std::string rate = ReadLine("/proc/sys/kernel/perf_event_max_sample_rate");
  const bool enough = std::strtoul(rate.c_str(), nullptr, 10) >= kFrequencyMaxHz;
  return {rate.empty() || enough, "kernel.perf_event_max_sample_rate = " + rate};
}

Finding FindCompiler() {
  // Only root may read it; kernels that always compile do not have it.
  const std::string setting = ReadLine("/proc/sys/net/core/bpf_jit_enable");
  return {setting != "0", setting.empty() ? "" : "net.core.bpf_jit_enable = " + setting};
}

constexpr Probe kProbes[] = {
    {"btf", Importance::kNeeded,
     "the kernel describes its own types, so that one binary runs on all kernels",
     "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of Debian 11 and later are",
     FindTypeInformation},
    {"bpf", Importance::kNeeded, "programs that take samples inside the kernel may be loaded",
     "run as root, or give CAP_BPF and CAP_PERFMON; in a container also allow bpf(2), for example "
     "docker run --privileged",
     FindPrograms},
    {"bpf-reads-memory", Importance::kNeeded, "these programs may read stacks and registers",
     "the kernel is locked down (lockdown=confidentiality) or the capability CAP_PERFMON is "
     "missing: boot without the lock-down, run as root",
     FindHelper<BPF_FUNC_probe_read_kernel>, "bpf"},
    {"ring-buffer", Importance::kNeeded, "samples reach user space through a ring",
     "needs Linux 5.8 or later", FindRing, "bpf"},
    {"mapped-tables", Importance::kNeeded,
     "unwind tables can be swapped while samples are taken, and filled without system calls",
     "needs Linux 5.10 or later", FindTables, "bpf"},
    {"map-memory", Importance::kNeeded, "the kernel grants the memory for maps (tried: 16 MB)",
     "kernels before 5.11 count it as locked memory: run `ulimit -l unlimited` first, or raise "
     "LimitMEMLOCK= of the unit",
     FindMapMemory, "bpf"},
    {"cpu-clock", Importance::kNeeded, "samples of every CPU by a timer",
     "run as root, or give CAP_PERFMON; in a container also allow perf_event_open(2), for example "
     "docker run --privileged",
     FindCpuClock},
    {"process-news", Importance::kNeeded,
     "the kernel tells of new processes and mappings, so that their code gets names",
     "run as root, or give CAP_PERFMON", FindProcessNews},
    {"programs", Importance::kNeeded, "the kernel takes the sampling programs of this vesta",
     "a kernel that has all of the above should: report this text and the version of the kernel",
     FindSamplePrograms, "process-news"},
    {"bpf_loop", Importance::kBetter, "stacks up to 1,024 user frames deep; without it up to 128",
     "Linux 5.17 or later has it", FindLoop, "programs"},
    {"task-registers", Importance::kBetter,
     "user registers are asked for; without it they are read where this kernel should keep them",
     "Linux 5.15 or later has it", FindHelper<BPF_FUNC_task_pt_regs>, "bpf"},
    {"task-iterator", Importance::kBetter,
     "processes that run already are known exactly; without it by what /proc says",
     "Linux 5.8 or later with CONFIG_DEBUG_INFO_BTF=y has it", FindTaskIterator, "bpf"},
    {"cycles", Importance::kBetter,
     "samples by CPU cycles (--event cycles), which also see code that blocks interrupts",
     "virtual machines often have no such counter: the CPU clock serves as well", FindCycles,
     "cpu-clock"},
    {"other-users", Importance::kBetter, "processes of all users can be looked into for names",
     "run as root, or give CAP_SYS_PTRACE", FindOtherProcesses},
    {"host-pids", Importance::kBetter, "process numbers here are those that the kernel uses",
     "run on the host, or in a container that shares its pid namespace (docker run --pid=host, "
     "hostPID: true); here processes outside have no names",
     FindPidNamespace},
    {"kernel-symbols", Importance::kBetter, "kernel functions have names",
     "run as root, or `sysctl kernel.kptr_restrict=0`; without CAP_SYSLOG the addresses are hidden",
     FindKernelSymbols},
    {"sample-rate", Importance::kBetter, "the kernel allows up to 1,000 samples a second",
     "`sysctl kernel.perf_event_max_sample_rate=100000`", FindSampleRate},
    {"bpf-jit", Importance::kBetter, "programs in the kernel are compiled, not interpreted",
     "`sysctl net.core.bpf_jit_enable=1`, or recording costs ten times as much", FindCompiler},
};

bool IsPresent(const Machine& machine, std::string_view name) {
  return std::any_of(machine.features.begin(), machine.features.end(), [&](const Feature& feature) {
    return feature.name == name && feature.presence == Presence::kYes;
  });
}

}  // namespace

bool Machine::CanRecord() const {
  return std::all_of(features.begin(), features.end(), [](const Feature& feature) {
    return feature.presence == Presence::kYes || feature.importance != Importance::kNeeded;
  });
}

Machine ProbeMachine() {
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_set_print(nullptr);
  Machine machine;
  struct utsname name{};
  if (::uname(&name) == 0) {
    machine.kernel_release = name.release;
    machine.architecture = name.machine;
  }
  const auto cpus = OnlineCpus();
  machine.cpus_online = cpus.ok() ? static_cast<uint32_t>(cpus->size()) : 0;
  for (const Probe& probe : kProbes) {
    const bool tried = probe.after == nullptr || IsPresent(machine, probe.after);
    const Finding finding = tried ? probe.find() : Finding{};
    Feature& feature = machine.features.emplace_back();
    feature.name = probe.name;
    feature.importance = probe.importance;
    feature.presence = !tried            ? Presence::kNotTried
                       : finding.present ? Presence::kYes
                                         : Presence::kNo;
    feature.meaning = probe.meaning;
    feature.detail = finding.detail;
    if (!tried) {
      feature.remedy = "first mend " + std::string(probe.after);
    } else if (!finding.present) {
      feature.remedy = probe.remedy;
    }
  }
  return machine;
}

bool SeesKernelPids() {
  struct stat status{};
  return ::stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == kInitialPidNamespaceInode;
}

}  // namespace vesta::agent::source
