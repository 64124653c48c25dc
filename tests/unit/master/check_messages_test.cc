#include "runtime/master/workers/check_messages.h"

#include <cmath>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace weir::master {
namespace {

v1::JobSpec GoodSpec() {
  v1::JobSpec spec;
  spec.set_job("wordcount");
  spec.add_inputs("/in");
  spec.set_output("/out/x");
  return spec;
}

template <typename Change>
std::string ErrorOfSpec(Change change) {
  v1::JobSpec spec = GoodSpec();
  change(spec);
  return std::string(Check(spec, true).message());
}

TEST(CheckMessagesTest, GoodSpecPasses) {
  EXPECT_TRUE(Check(GoodSpec(), true).ok());
  v1::JobSpec dry = GoodSpec();
  dry.clear_output();
  EXPECT_TRUE(Check(dry, false).ok());
  EXPECT_FALSE(Check(dry, true).ok());
}

TEST(CheckMessagesTest, SpecErrorsNameTheField) {
  auto has = [](const std::string& error, const char* word) {
    return absl::StrContains(error, word) ? "" : error + " lacks " + word;
  };
  EXPECT_EQ(has(ErrorOfSpec([](v1::JobSpec& s) { s.clear_job(); }), "job"), "");
  EXPECT_EQ(has(ErrorOfSpec([](v1::JobSpec& s) { s.clear_inputs(); }), "inputs"), "");
  EXPECT_EQ(has(ErrorOfSpec([](v1::JobSpec& s) { s.set_output("relative"); }), "output"), "");
  EXPECT_EQ(has(ErrorOfSpec([](v1::JobSpec& s) { s.set_output("///"); }), "root"), "");
  EXPECT_EQ(has(ErrorOfSpec([](v1::JobSpec& s) { s.add_inputs("x"); }), "input"), "");
  EXPECT_EQ(has(ErrorOfSpec([](v1::JobSpec& s) { s.set_num_mappers(-1); }), "num_mappers"), "");
  EXPECT_EQ(has(ErrorOfSpec([](v1::JobSpec& s) { s.set_num_reducers(10'001); }), "num_reducers"),
            "");
  EXPECT_EQ(has(ErrorOfSpec([](v1::JobSpec& s) { s.set_deadline_ms(-5); }), "deadline_ms"), "");
  EXPECT_EQ(has(ErrorOfSpec([](v1::JobSpec& s) { s.set_job(std::string("a\0b", 3)); }), "NUL"), "");
  EXPECT_EQ(has(ErrorOfSpec([](v1::JobSpec& s) { s.add_parameters()->set_value("v"); }),
                "parameter name"),
            "");
}

TEST(CheckMessagesTest, RegistrationNeedsNamesAndSaneNumbers) {
  v1::RegisterRequest request;
  EXPECT_FALSE(Check(request).ok());
  request.mutable_identity()->set_name("w");
  request.mutable_identity()->set_control_endpoint("h:1");
  request.mutable_identity()->set_data_endpoint("h:2");
  request.mutable_identity()->set_incarnation("i");
  request.mutable_profile()->set_slots(1);
  EXPECT_TRUE(Check(request).ok()) << Check(request);
  request.mutable_profile()->set_compute_rate(std::nan(""));
  EXPECT_FALSE(Check(request).ok());
  request.mutable_profile()->set_compute_rate(1);
  request.mutable_profile()->set_slots(0);
  EXPECT_FALSE(Check(request).ok());
}

TEST(CheckMessagesTest, RunSectionsLieInsideAndApart) {
  v1::ReportStepRequest report;
  report.mutable_fence()->set_job_id("j");
  v1::RunInfo& run = *report.mutable_result()->mutable_run();
  run.set_bytes(100);
  for (const std::int64_t offset : {0, 50}) {
    v1::RunSection& section = *run.add_sections();
    section.set_offset(offset);
    section.set_bytes(50);
  }
  EXPECT_TRUE(Check(report).ok()) << Check(report);
  run.mutable_sections(1)->set_offset(49);
  EXPECT_FALSE(Check(report).ok()) << "overlap";
  run.mutable_sections(1)->set_offset(51);
  EXPECT_FALSE(Check(report).ok()) << "beyond the end";
  run.mutable_sections(1)->set_offset(50);
  run.mutable_sections(1)->set_bytes(-1);
  EXPECT_FALSE(Check(report).ok());
  run.mutable_sections(1)->set_bytes(INT64_MAX);
  EXPECT_FALSE(Check(report).ok());
}

TEST(CheckMessagesTest, WhatIsSaidOfPackingMustMakeSense) {
  v1::ReportStepRequest report;
  report.mutable_fence()->set_job_id("j");
  v1::RunInfo& run = *report.mutable_result()->mutable_run();
  run.set_bytes(50);
  v1::RunSection& section = *run.add_sections();
  section.set_bytes(50);
  section.set_unpacked_bytes(80);
  v1::CodecTrial& trial = *run.add_trials();
  trial.set_codec(v1::CODEC_ZSTD);
  trial.set_raw_bytes(1000);
  trial.set_packed_bytes(1000);
  EXPECT_TRUE(Check(report).ok()) << Check(report);
  section.set_unpacked_bytes(49);
  EXPECT_FALSE(Check(report).ok()) << "packing never adds";
  section.set_unpacked_bytes(0);
  EXPECT_TRUE(Check(report).ok()) << "not packed";
  trial.set_packed_bytes(1001);
  EXPECT_FALSE(Check(report).ok());
  trial.set_packed_bytes(0);
  EXPECT_FALSE(Check(report).ok());
  trial.set_packed_bytes(1);
  for (const int codec : {0, 3, -1}) {
    trial.set_codec(static_cast<v1::Codec>(codec));
    EXPECT_FALSE(Check(report).ok()) << codec;
  }
  trial.set_codec(v1::CODEC_LZ4);
  for (int i = 0; i < 16; ++i) *run.add_trials() = trial;
  EXPECT_FALSE(Check(report).ok()) << "so many codecs there are not";
}

TEST(CheckMessagesTest, NegativeNumbersAreRefused) {
  v1::ReportTransferRequest report;
  report.mutable_fence()->set_job_id("j");
  EXPECT_TRUE(Check(report).ok());
  report.mutable_report()->set_transfer(-1);
  EXPECT_FALSE(Check(report).ok());
  v1::HeartbeatRequest heartbeat;
  EXPECT_TRUE(Check(heartbeat).ok());
  heartbeat.add_progress()->set_step(1);
  EXPECT_FALSE(Check(heartbeat).ok()) << "progress without a job";
}

}  // namespace
}  // namespace weir::master
