// `weir calibrate` against a master that answers as told.

#include <gtest/gtest.h>

#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "tests/unit/client/scripted_master_test_base.h"

namespace weir::client {
namespace {

class CalibrateCommandTest : public ScriptedMasterTest {};

TEST_F(CalibrateCommandTest, CalibrateAsksUntilDoneShowsAndWritesTheNetworkFile) {
  v1::MeasuredNetwork& measured = master_.measured;
  measured.set_spec_json("{\"schema\": 1}");
  measured.set_channel_bytes_per_s(1.25e7);
  auto& port = *measured.add_ports();
  port.set_worker("old-box");
  port.set_up_bytes_per_s(1.25e6);
  port.set_slow(true);
  auto& cut = *measured.add_cuts();
  cut.set_name("rack a up");
  cut.set_channels(2);
  cut.set_measured_channels(1.94);
  auto& sharing = *measured.mutable_sharing();
  sharing.set_transfer_gap_s(0.0045);
  sharing.set_workers(8);
  sharing.set_port_fraction(0.97);
  sharing.set_cut_fraction(0.825);
  sharing.set_segments_sent(90'000);
  sharing.set_segments_resent(4000);
  sharing.set_port_queue_s(0.0055);
  sharing.set_port_queue_bytes(33'000);
  measured.add_notes("a last pattern ran at 99 %");
  measured.set_unix_ms(1);
  CalibrateOptions options;
  options.seconds_max = 30;
  options.output_file = "network.json";
  EXPECT_EQ(Calibrate(options, host_), kExitOk);
  ASSERT_EQ(master_.calibrate_requests.size(), 3u);
  EXPECT_TRUE(master_.calibrate_requests[0].start());
  EXPECT_EQ(master_.calibrate_requests[0].seconds_max(), 30);
  EXPECT_FALSE(master_.calibrate_requests[1].start());
  EXPECT_EQ(master_.calibrate_requests[0].calibration_id(),
            master_.calibrate_requests[2].calibration_id());
  for (const char* text : {"100.0Mbit/s", "old-box (up 10.0Mbit/s", "rack a up", "1.94", "99 %",
                           "4.50 ms of idle line", "97.0 % of a port's rate", "82.5 % of a limit's",
                           "4000 of 90000 segments", "5.5 ms, 33 kB"}) {
    EXPECT_NE(out_.str().find(text), std::string::npos) << text << " in\n" << out_.str();
  }
  EXPECT_EQ(*storage_.ReadFile(dir_ + "/network.json", 1000), "{\"schema\": 1}\n");
}

TEST_F(CalibrateCommandTest, CalibrateThatIsNotStoredDoesNotSucceed) {
  master_.measured.set_spec_json("{\"schema\": 1}");
  master_.measured.set_channel_bytes_per_s(1.25e7);
  master_.measured.add_notes("not stored");
  CalibrateOptions options;
  options.output_file = "network.json";
  EXPECT_EQ(Calibrate(options, host_), kExitJobFailed);
  EXPECT_NE(out_.str().find("not stored"), std::string::npos) << out_.str();
  EXPECT_NE(err_.str().find("calibrate again"), std::string::npos) << err_.str();
  EXPECT_EQ(*storage_.ReadFile(dir_ + "/network.json", 1000), "{\"schema\": 1}\n")
      << "who asked for the file may look at it";
}

TEST_F(CalibrateCommandTest, AFileThatCannotBeWrittenIsSaidBeforeAnythingIsMeasured) {
  for (const char* file : {"none/network.json", "."}) {
    CalibrateOptions options;
    options.output_file = file;
    EXPECT_EQ(Calibrate(options, host_), kExitUsage) << file;
  }
  EXPECT_NE(err_.str().find("--output " + dir_ + "/none/network.json: "), std::string::npos)
      << err_.str();
  EXPECT_TRUE(master_.calibrate_requests.empty());
}

TEST_F(CalibrateCommandTest, CalibrateIsEndedByAnInterrupt) {
  master_.interrupt_calibration = 1;
  EXPECT_EQ(Calibrate({}, host_), kExitCancelled);
  EXPECT_TRUE(master_.calibrate_requests.back().cancel());
}

TEST_F(CalibrateCommandTest, CalibrateReportsARefusal) {
  master_.refusal = absl::FailedPreconditionError("job j-1 uses the network");
  EXPECT_EQ(Calibrate({}, host_), kExitRefused);
  EXPECT_EQ(master_.calibrate_requests.size(), 1u);
}

}  // namespace
}  // namespace weir::client
