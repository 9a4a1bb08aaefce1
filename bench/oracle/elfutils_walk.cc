#include "bench/oracle/elfutils_walk.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <unordered_map>
#include <utility>

#include "src/base/check.h"

namespace vesta::oracle {
namespace {

constexpr size_t kFramesMax = 1024;
constexpr size_t kSessionsMax = 64;
constexpr pid_t kAnyThread = 1;
constexpr Dwarf_Addr kPageMask = ~Dwarf_Addr{4095};

// A file as elfutils sees it: its own reader, also of the program headers.
struct OracleFile {
  OracleFile() = default;
  ~OracleFile() {
    if (elf != nullptr) elf_end(elf);
  }
  OracleFile(const OracleFile&) = delete;
  OracleFile& operator=(const OracleFile&) = delete;

  // Process address less image address, from the segment that a mapping shows.
  bool BiasOf(const MappedCode& code, Dwarf_Addr& bias) const {
    for (const GElf_Phdr& segment : segments) {
      const Dwarf_Addr skew = segment.p_vaddr & ~kPageMask;
      if ((segment.p_offset & ~kPageMask) != skew || (segment.p_flags & PF_X) == 0) continue;
      if (code.file_offset < (segment.p_offset & kPageMask) ||
          code.file_offset >= segment.p_offset + segment.p_filesz) {
        continue;
      }
      bias = code.start - (segment.p_vaddr + (code.file_offset - segment.p_offset));
      return true;
    }
    return false;
  }

  Elf* elf = nullptr;
  std::vector<GElf_Phdr> segments;  // PT_LOAD
};

void OpenOracleFile(const ImageFile& image, OracleFile& file) {
  if (image.source == nullptr) return;
  if (image.fd >= 0) {
    file.elf = elf_begin(image.fd, ELF_C_READ_MMAP, nullptr);
  } else {
    // elfutils only reads it.
    auto* const bytes = const_cast<std::byte*>(image.vdso.data());
    file.elf = elf_memory(reinterpret_cast<char*>(bytes), image.vdso.size());
  }
  size_t count = 0;
  if (file.elf == nullptr || elf_kind(file.elf) != ELF_K_ELF ||
      elf_getphdrnum(file.elf, &count) != 0) {
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(file.elf, static_cast<int>(i), &segment) == nullptr) break;
    if (segment.p_type == PT_LOAD) file.segments.push_back(segment);
  }
}

// What elfutils knows of one process in one state of its mappings.
struct Session {
  Session() = default;
  ~Session() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Dwfl* dwfl = nullptr;
  const wire::PerfSample* sample = nullptr;
  ElfutilsWalk* walk = nullptr;
};

int FindElf(Dwfl_Module*, void** userdata, const char*, Dwarf_Addr, char**, Elf** elf) {
  // One more reference: elfutils ends what it was given.
  *elf = elf_begin(-1, ELF_C_READ_MMAP, static_cast<const OracleFile*>(*userdata)->elf);
  return -1;
}

// Only what the program itself carries: its rules must be enough, as they must be for us.
int FindNoDebugInfo(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                    GElf_Word, char**) {
  return -1;
}

const Dwfl_Callbacks kFileCallbacks = {FindElf, FindNoDebugInfo, nullptr, nullptr};

bool FindThread(Dwfl*, pid_t, void* session, void** thread) {
  *thread = session;
  return true;
}

// elfutils insists on having it.
pid_t NoThread(Dwfl*, void*, void**) { return 0; }

bool ReadWord(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* argument) {
  const auto* const session = static_cast<Session*>(argument);
  const wire::PerfSample& sample = *session->sample;
  const uint64_t first = sample.registers[7];
  const uint64_t end = first + sample.stack.size();
  if (address < first && first - address <= wire::kRedZoneBytes) {
    *word = sample.registers[6];
    return true;
  }
  if (address < first) return false;
  if (address >= end || end - address < sizeof(*word)) {
    session->walk->left_copy = true;
    return false;
  }
  std::memcpy(word, sample.stack.data() + (address - first), sizeof(*word));
  return true;
}

bool SetRegisters(Dwfl_Thread* thread, void* session) {
  const auto& registers = static_cast<const Session*>(session)->sample->registers;
  return dwfl_thread_state_registers(thread, 0, static_cast<unsigned>(registers.size()),
                                     registers.data());
}

const Dwfl_Thread_Callbacks kThreadCallbacks = {NoThread,     FindThread, ReadWord,
                                                SetRegisters, nullptr,    nullptr};

int TakeFrame(Dwfl_Frame* frame, void* argument) {
  ElfutilsWalk& walk = *static_cast<ElfutilsWalk*>(argument);
  Dwarf_Addr pc = 0;
  bool is_exact = false;
  // This asks for the caller's frame, too.
  walk.left_copy = false;
  if (!dwfl_frame_pc(frame, &pc, &is_exact)) return DWARF_CB_ABORT;
  walk.addresses.push_back(is_exact ? pc : pc - 1);
  return walk.addresses.size() < kFramesMax ? DWARF_CB_OK : DWARF_CB_ABORT;
}

}  // namespace

struct ElfutilsWalker::State {
  explicit State(const ImageFiles& image_files) : images(image_files) {}

  OracleFile& FileOf(uint32_t image) {
    auto& file = files[image];
    if (file == nullptr) {
      file = std::make_unique<OracleFile>();
      OpenOracleFile(images.image(image), *file);
    }
    return *file;
  }

  void ReportModules(Dwfl* dwfl, const ReplayedProcess& process) {
    dwfl_report_begin(dwfl);
    std::set<std::pair<uint32_t, Dwarf_Addr>> reported;
    for (const MappedCode& code : process.code) {
      OracleFile& file = FileOf(code.image);
      Dwarf_Addr bias = 0;
      if (!file.BiasOf(code, bias) || !reported.emplace(code.image, bias).second) continue;
      const GElf_Phdr& first = file.segments.front();
      const GElf_Phdr& last = file.segments.back();
      const Dwarf_Addr align = std::max<Dwarf_Addr>(first.p_align, 1);
      Dwfl_Module* const module = dwfl_report_module(
          dwfl, images.image(code.image).path.c_str(), bias + (first.p_vaddr & ~(align - 1)),
          bias + ((last.p_vaddr + last.p_memsz + 4095) & kPageMask));
      void** userdata = nullptr;
      if (module == nullptr) continue;
      dwfl_module_info(module, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
      *userdata = &file;
    }
    dwfl_report_end(dwfl, nullptr, nullptr);
  }

  Session& SessionOf(const ReplayedProcess& process) {
    if (const auto found = sessions.find(process.version); found != sessions.end()) {
      return *found->second;
    }
    if (sessions.size() >= kSessionsMax) sessions.clear();
    auto& session = sessions[process.version];
    session = std::make_unique<Session>();
    session->dwfl = dwfl_begin(&kFileCallbacks);
    CHECK(session->dwfl != nullptr);
    ReportModules(session->dwfl, process);
    CHECK(dwfl_attach_state(session->dwfl, own_file.elf, kAnyThread, &kThreadCallbacks,
                            session.get()));
    return *session;
  }

  const ImageFiles& images;
  OracleFile own_file;  // tells elfutils the machine
  std::unordered_map<uint32_t, std::unique_ptr<OracleFile>> files;
  std::unordered_map<uint64_t, std::unique_ptr<Session>> sessions;  // by version; use the files
};

ElfutilsWalker::ElfutilsWalker(const ImageFiles& images) : state_(std::make_unique<State>(images)) {
  elf_version(EV_CURRENT);
  const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  CHECK(fd >= 0);
  state_->own_file.elf = elf_begin(fd, ELF_C_READ, nullptr);
  CHECK(state_->own_file.elf != nullptr);
  elf_cntl(state_->own_file.elf, ELF_C_FDREAD);
  ::close(fd);
}

ElfutilsWalker::~ElfutilsWalker() = default;

ElfutilsWalk ElfutilsWalker::Walk(const ReplayedProcess& process, const wire::PerfSample& sample) {
  ElfutilsWalk walk;
  Session& session = state_->SessionOf(process);
  session.sample = &sample;
  session.walk = &walk;
  const int status = dwfl_getthread_frames(session.dwfl, kAnyThread, TakeFrame, &walk);
  walk.reached_end = status == 0 && !walk.left_copy;
  if (status != 0) {
    const char* const message = dwfl_errmsg(-1);
    walk.error = message == nullptr ? "unknown" : message;
  }
  return walk;
}

bool ElfutilsWalker::HasRule(const ReplayedProcess& process, uint64_t address) {
  Dwfl_Module* const module = dwfl_addrmodule(state_->SessionOf(process).dwfl, address);
  if (module == nullptr) return false;
  for (const auto find_rules : {dwfl_module_eh_cfi, dwfl_module_dwarf_cfi}) {
    Dwarf_Addr bias = 0;
    Dwarf_CFI* const rules = find_rules(module, &bias);
    Dwarf_Frame* frame = nullptr;
    if (rules == nullptr || dwarf_cfi_addrframe(rules, address - bias, &frame) != 0) continue;
    std::free(frame);
    return true;
  }
  return false;
}

std::string ElfutilsWalker::NameOf(const ReplayedProcess& process, uint64_t address) {
  Dwfl_Module* const module = dwfl_addrmodule(state_->SessionOf(process).dwfl, address);
  const char* const name = module == nullptr ? nullptr : dwfl_module_addrname(module, address);
  return name == nullptr ? "" : name;
}

}  // namespace vesta::oracle
