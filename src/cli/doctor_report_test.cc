#include "src/cli/doctor_report.h"

#include <gtest/gtest.h>

#include "src/base/json_reader.h"

namespace vesta::cli {
namespace {

using agent::source::Importance;
using agent::source::Presence;

DoctorReport Example() {
  DoctorReport report;
  report.machine.kernel_release = "6.1.0";
  report.machine.architecture = "x86_64";
  report.machine.cpus_online = 4;
  report.machine.features = {
      {"bpf", Importance::kNeeded, Presence::kNo, "programs", "Operation not permitted", "be root"},
      {"ring", Importance::kNeeded, Presence::kNotTried, "a ring", "", "first mend bpf"},
      {"cycles", Importance::kBetter, Presence::kYes, "cycles", "", ""},
  };
  report.state_dir = "/var/lib/vesta";
  return report;
}

TEST(DoctorReportTest, JsonTellsWhatIsThereMissingAndUntried) {
  const auto json = base::ParseJson(DoctorJson(Example()));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Find("can_record")->AsBool(), false);
  EXPECT_EQ(json->Find("cpus_online")->AsUint(), 4u);
  const auto& features = json->Find("features")->items();
  ASSERT_EQ(features.size(), 3u);
  EXPECT_EQ(features[0].Find("present")->AsBool(), false);
  EXPECT_EQ(*features[0].Find("remedy")->AsString(), "be root");
  EXPECT_EQ(features[1].Find("present")->kind(), base::JsonValue::Kind::kNull);
  EXPECT_EQ(features[2].Find("needed")->AsBool(), false);
  EXPECT_EQ(json->Find("last_recording")->kind(), base::JsonValue::Kind::kNull);
}

TEST(DoctorReportTest, TextNamesCauseAndRemedy) {
  const std::string text = DoctorText(Example(), false);
  for (const char* part : {"NO  bpf", "why: Operation not permitted", "to mend: be root",
                           "?   ring", "yes cycles", "NOT possible", "nothing was recorded yet"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(DoctorText(Example(), true).find('\033'), std::string::npos);
}

TEST(DoctorReportTest, ShowsBookSettingsAndAnUnreadableBook) {
  DoctorReport report = Example();
  report.last_recording_error = "reading book: no valid JSON";
  report.settings = {{"frequency", "49", "/etc/vesta.conf:3"}};
  std::string text = DoctorText(report, false);
  EXPECT_NE(text.find("it cannot be read: reading book: no valid JSON"), std::string::npos);
  EXPECT_NE(text.find("frequency = 49   (/etc/vesta.conf:3)"), std::string::npos);
  report.last_recording = book::Book{0, 0, {{"kernel", 3, {}, 3, {}}}, {}, {}};
  text = DoctorText(report, false);
  EXPECT_NE(text.find("kernel: 3 samples received"), std::string::npos);
  const auto json = base::ParseJson(DoctorJson(report));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Find("last_recording")->Find("stages")->items()[0].Find("kept")->AsUint(), 3u);
}

TEST(DoctorReportTest, SaysHowOftenTheAgentSamples) {
  DoctorReport report = Example();
  report.agent = book::Book{0, 0, {{"kernel", 3, {}, 3, {}}}, {}, {}};
  EXPECT_EQ(DoctorText(report, false).find("sampling:"), std::string::npos) << "of an older vesta";
  report.agent->details = {{"sampling_millihertz_asked", 19'000},
                           {"sampling_millihertz_now", 1187}};
  EXPECT_NE(DoctorText(report, false).find("sampling: at 1.19 of 19 Hz"), std::string::npos);
}

}  // namespace
}  // namespace vesta::cli
