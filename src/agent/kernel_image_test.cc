#include "src/agent/kernel_image.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace vesta::agent {
namespace {

std::string Note(uint32_t type, std::string name, std::string content) {
  std::string note;
  for (const uint32_t word :
       {static_cast<uint32_t>(name.size()), static_cast<uint32_t>(content.size()), type}) {
    note.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
  name.resize((name.size() + 3) / 4 * 4);
  content.resize((content.size() + 3) / 4 * 4);
  return note + name + content;
}

const std::string kGnu("GNU\0", 4);
const std::string kXen("Xen\0", 4);

TEST(KernelImageTest, FindsTheBuildIdAmongOtherNotes) {
  const std::string notes = Note(6, kXen, "12345") + Note(3, kXen, "ab") +
                            Note(3, kGnu, "\x01\xab\xff") + Note(257, "Linux", "x");
  EXPECT_EQ(BuildIdOfNotes(notes), "01abff");
}

TEST(KernelImageTest, DamagedNotesGiveNothing) {
  const std::string notes = Note(6, kXen, "12345") + Note(3, kGnu, "\x01\xab\xff\x02");
  for (size_t size = 0; size < notes.size(); ++size) {
    EXPECT_EQ(BuildIdOfNotes(notes.substr(0, size)), "") << size;
  }
  EXPECT_EQ(BuildIdOfNotes(Note(3, kGnu, std::string(100, 'x'))), "") << "longer than any build id";
  std::string huge = notes;
  huge.replace(0, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(BuildIdOfNotes(huge), "");
}

TEST(KernelImageTest, ModulesHaveBuildIdsOfTheirOwn) {
  namespace fs = std::filesystem;
  std::string sys = (fs::temp_directory_path() / "vesta_sys_XXXXXX").string();
  ASSERT_NE(::mkdtemp(sys.data()), nullptr);
  fs::create_directories(sys + "/module/nf_tables/notes");
  fs::create_directories(sys + "/module/damaged/notes");
  std::ofstream(sys + "/module/nf_tables/notes/.note.gnu.build-id")
      << Note(3, kGnu, "\x01\xab\xff");
  std::ofstream(sys + "/module/damaged/notes/.note.gnu.build-id") << "short";
  EXPECT_EQ(ModuleBuildId("nf_tables", sys), "01abff");
  EXPECT_EQ(ModuleBuildId("damaged", sys), "");
  EXPECT_EQ(ModuleBuildId("bpf", sys), "");
  EXPECT_EQ(ModuleBuildId("", sys), "");
  EXPECT_EQ(ModuleBuildId("../module/nf_tables", sys), "");
  fs::remove_all(sys);
}

}  // namespace
}  // namespace vesta::agent
