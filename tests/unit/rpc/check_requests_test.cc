// What the rows of the table refuse.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/rpc/methods.h"

namespace weir::rpc {
namespace {

v1::JobSpec GoodSpec() {
  v1::JobSpec spec;
  spec.set_job("wordcount");
  spec.add_inputs("/in");
  spec.set_output("/out/x");
  return spec;
}

absl::Status CheckSubmit(const v1::JobSpec& spec) {
  v1::SubmitRequest request;
  *request.mutable_spec() = spec;
  return Submit::Check(request);
}

template <typename Change>
std::string ErrorOfSpec(Change change) {
  v1::JobSpec spec = GoodSpec();
  change(spec);
  const absl::Status refused = CheckSubmit(spec);
  EXPECT_EQ(JobErrorFromStatus(refused).code(), job_error::kInvalidJob);
  return std::string(refused.message());
}

TEST(CheckRequestsTest, GoodSpecPasses) {
  EXPECT_TRUE(CheckSubmit(GoodSpec()).ok());
  v1::DryRunRequest dry;
  *dry.mutable_spec() = GoodSpec();
  dry.mutable_spec()->clear_output();
  EXPECT_TRUE(DryRun::Check(dry).ok());
  EXPECT_FALSE(CheckSubmit(dry.spec()).ok());
}

TEST(CheckRequestsTest, ArtifactsHaveNamesOfFilesAndHashes) {
  const std::string hash(64, 'a');
  const auto spec_with = [&](const std::vector<std::string>& names) {
    v1::JobSpec spec = GoodSpec();
    for (const std::string& name : names) {
      v1::Artifact& artifact = *spec.add_artifacts();
      artifact.set_name(name);
      artifact.set_sha256(hash);
      artifact.set_bytes(7);
    }
    return CheckSubmit(spec);
  };
  EXPECT_TRUE(spec_with({"libjob.so", "words of mine.txt"}).ok());
  for (const char* const name : {"", ".", "..", "a/b", "/etc/passwd", "../x", "a\nb"}) {
    EXPECT_EQ(JobErrorFromStatus(spec_with({name})).code(), job_error::kInvalidJob) << name;
  }
  EXPECT_FALSE(spec_with({std::string(256, 'n')}).ok());
  EXPECT_TRUE(absl::StrContains(spec_with({"b", "a", "b"}).message(), "'b'"));
  EXPECT_FALSE(spec_with(std::vector<std::string>(101, "a")).ok());
  const auto wrong = [&](auto change) {
    v1::JobSpec spec = GoodSpec();
    v1::Artifact& artifact = *spec.add_artifacts();
    artifact.set_name("a");
    artifact.set_sha256(hash);
    change(artifact);
    return std::string(CheckSubmit(spec).message());
  };
  EXPECT_EQ(wrong([](v1::Artifact&) {}), "") << "an empty file is one";
  EXPECT_NE(wrong([](v1::Artifact& a) { a.set_sha256("../../etc"); }), "");
  EXPECT_NE(wrong([](v1::Artifact& a) { a.set_sha256(std::string(64, 'A')); }), "");
  EXPECT_NE(wrong([](v1::Artifact& a) { a.set_bytes(-1); }), "");
  EXPECT_NE(wrong([](v1::Artifact& a) { a.set_bytes(limits::kArtifactBytesMax + 1); }), "");
}

TEST(CheckRequestsTest, PiecesOfArtifactsLieInsideThem) {
  v1::PutArtifactRequest put;
  put.set_sha256(std::string(64, '0'));
  put.set_bytes(10);
  put.set_data("abc");
  EXPECT_TRUE(PutArtifact::Check(put).ok());
  put.set_offset(11);
  EXPECT_FALSE(PutArtifact::Check(put).ok());
  put.set_offset(-1);
  EXPECT_FALSE(PutArtifact::Check(put).ok());
  put.set_offset(0);
  put.set_data(std::string(limits::kArtifactPieceBytes + 1, 'x'));
  EXPECT_FALSE(PutArtifact::Check(put).ok());
  put.clear_data();
  put.set_bytes(limits::kArtifactBytesMax + 1);
  EXPECT_EQ(JobErrorFromStatus(PutArtifact::Check(put)).code(), job_error::kArtifactTooLarge);
  put.set_bytes(10);
  put.set_sha256("x");
  EXPECT_FALSE(PutArtifact::Check(put).ok());
  v1::FetchArtifactRequest fetch;
  fetch.set_sha256(std::string(64, '0'));
  EXPECT_TRUE(FetchArtifact::Check(fetch).ok());
  fetch.set_offset(-1);
  EXPECT_FALSE(FetchArtifact::Check(fetch).ok());
}

TEST(CheckRequestsTest, SpecErrorsNameTheField) {
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

TEST(CheckRequestsTest, TheGrowthThatAModuleTellsOfIsOne) {
  auto error_of = [](double at_bytes, double power, double seconds) {
    v1::JobSpec spec = GoodSpec();
    v1::Artifact& artifact = *spec.add_artifacts();
    artifact.set_name("libjob.so");
    artifact.set_sha256(std::string(64, 'a'));
    artifact.set_bytes(7);
    spec.mutable_module()->set_sha256(artifact.sha256());
    v1::JobDescription& job = *spec.mutable_module()->mutable_description();
    job.set_name(spec.job());
    job.add_layers();
    v1::JobDescription::OutputGrowth& growth = *job.mutable_output_growth();
    growth.set_at_bytes(at_bytes);
    growth.set_power(power);
    growth.set_seconds_per_output_byte(seconds);
    return std::string(CheckSubmit(spec).message());
  };
  EXPECT_EQ(error_of(1e6, 0.5, 1e-8), "");
  EXPECT_THAT(error_of(0, 0.5, 0), testing::HasSubstr("output_growth.at_bytes"));
  EXPECT_THAT(error_of(std::nan(""), 0.5, 0), testing::HasSubstr("output_growth.at_bytes"));
  EXPECT_THAT(error_of(1e6, 0, 0), testing::HasSubstr("output_growth.power"));
  EXPECT_THAT(error_of(1e6, 1.5, 0), testing::HasSubstr("output_growth.power"));
  EXPECT_THAT(error_of(1e6, 0.5, -1), testing::HasSubstr("a rate of the job"));
}

TEST(CheckRequestsTest, RegistrationNeedsNamesAndSaneNumbers) {
  v1::RegisterRequest request;
  EXPECT_FALSE(Register::Check(request).ok());
  request.mutable_identity()->set_name("w");
  request.mutable_identity()->set_control_endpoint("h:1");
  request.mutable_identity()->set_data_endpoint("h:2");
  request.mutable_identity()->set_incarnation("i");
  request.mutable_profile()->set_slots(1);
  EXPECT_TRUE(Register::Check(request).ok()) << Register::Check(request);
  request.mutable_profile()->set_compute_rate(std::nan(""));
  EXPECT_FALSE(Register::Check(request).ok());
  request.mutable_profile()->set_compute_rate(1);
  request.mutable_profile()->set_cores(-0.1);
  EXPECT_THAT(Register::Check(request).message(), testing::HasSubstr("profile.cores"));
  request.mutable_profile()->set_cores(0.2);
  request.mutable_profile()->set_slots(0);
  EXPECT_FALSE(Register::Check(request).ok());
}

TEST(CheckRequestsTest, RunsThatAWorkerHoldsAreLookedAtAsIfReported) {
  v1::RegisterRequest request;
  request.mutable_identity()->set_name("w");
  request.mutable_identity()->set_control_endpoint("h:1");
  request.mutable_identity()->set_data_endpoint("h:2");
  request.mutable_identity()->set_incarnation("i");
  request.mutable_profile()->set_slots(1);
  v1::HeldJob& job = *request.add_held();
  EXPECT_FALSE(Register::Check(request).ok()) << "of no job";
  job.set_job_id("j");
  v1::HeldRun& run = *job.add_runs();
  EXPECT_FALSE(Register::Check(request).ok()) << "no attempt";
  run.set_attempt(1);
  EXPECT_TRUE(Register::Check(request).ok()) << Register::Check(request);
  run.mutable_result()->mutable_run()->add_sections()->set_bytes(1);
  EXPECT_FALSE(Register::Check(request).ok()) << "a section beyond its end";
}

TEST(CheckRequestsTest, RunSectionsLieInsideAndApart) {
  v1::ReportStepRequest report;
  report.mutable_fence()->set_job_id("j");
  v1::RunInfo& run = *report.mutable_result()->mutable_run();
  run.set_bytes(100);
  for (const std::int64_t offset : {0, 50}) {
    v1::RunSection& section = *run.add_sections();
    section.set_offset(offset);
    section.set_bytes(50);
  }
  EXPECT_TRUE(ReportStep::Check(report).ok()) << ReportStep::Check(report);
  run.mutable_sections(1)->set_offset(49);
  EXPECT_FALSE(ReportStep::Check(report).ok()) << "overlap";
  run.mutable_sections(1)->set_offset(0);
  EXPECT_TRUE(ReportStep::Check(report).ok()) << "two steps read the same";
  run.mutable_sections(1)->set_offset(51);
  EXPECT_FALSE(ReportStep::Check(report).ok()) << "beyond the end";
  run.mutable_sections(1)->set_offset(50);
  run.mutable_sections(1)->set_bytes(-1);
  EXPECT_FALSE(ReportStep::Check(report).ok());
  run.mutable_sections(1)->set_bytes(INT64_MAX);
  EXPECT_FALSE(ReportStep::Check(report).ok());
}

TEST(CheckRequestsTest, WhatIsSaidOfPackingMustMakeSense) {
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
  EXPECT_TRUE(ReportStep::Check(report).ok()) << ReportStep::Check(report);
  section.set_unpacked_bytes(49);
  EXPECT_FALSE(ReportStep::Check(report).ok()) << "packing never adds";
  section.set_unpacked_bytes(0);
  EXPECT_TRUE(ReportStep::Check(report).ok()) << "not packed";
  trial.set_packed_bytes(1001);
  EXPECT_FALSE(ReportStep::Check(report).ok());
  trial.set_packed_bytes(0);
  EXPECT_FALSE(ReportStep::Check(report).ok());
  trial.set_packed_bytes(1);
  for (const int codec : {0, 3, -1}) {
    trial.set_codec(static_cast<v1::Codec>(codec));
    EXPECT_FALSE(ReportStep::Check(report).ok()) << codec;
  }
  trial.set_codec(v1::CODEC_LZ4);
  for (int i = 0; i < 16; ++i) *run.add_trials() = trial;
  EXPECT_FALSE(ReportStep::Check(report).ok()) << "so many codecs there are not";
}

TEST(CheckRequestsTest, ReportsOfTimesAndErrorsThatCannotBeAreRefused) {
  v1::ReportStepRequest report;
  report.mutable_fence()->set_job_id("j");
  v1::StepResult& result = *report.mutable_result();
  result.set_run_s(0.5);
  EXPECT_TRUE(ReportStep::Check(report).ok()) << ReportStep::Check(report);
  for (const double seconds : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    result.set_run_s(seconds);
    EXPECT_FALSE(ReportStep::Check(report).ok()) << seconds;
  }
  result.set_run_s(0);
  result.mutable_error()->set_message("no code");
  EXPECT_FALSE(ReportStep::Check(report).ok());
  result.mutable_error()->set_code("USER_ERROR");
  EXPECT_TRUE(ReportStep::Check(report).ok()) << ReportStep::Check(report);
  v1::ReportTransferRequest transfer;
  transfer.mutable_fence()->set_job_id("j");
  transfer.mutable_report()->set_bytes_left(-1);
  EXPECT_FALSE(ReportTransfer::Check(transfer).ok());
}

TEST(CheckRequestsTest, NegativeNumbersAreRefused) {
  v1::ReportTransferRequest report;
  report.mutable_fence()->set_job_id("j");
  EXPECT_TRUE(ReportTransfer::Check(report).ok());
  report.mutable_report()->set_transfer(-1);
  EXPECT_FALSE(ReportTransfer::Check(report).ok());
  v1::HeartbeatRequest heartbeat;
  EXPECT_TRUE(Heartbeat::Check(heartbeat).ok());
  heartbeat.add_progress()->set_step(1);
  EXPECT_FALSE(Heartbeat::Check(heartbeat).ok()) << "progress without a job";
}

TEST(CheckRequestsTest, CalibrationNeedsAnIdAndATimeThatCanBe) {
  v1::CalibrateRequest request;
  EXPECT_FALSE(Calibrate::Check(request).ok());
  request.set_calibration_id("c");
  EXPECT_TRUE(Calibrate::Check(request).ok());
  request.set_calibration_id(std::string(101, 'c'));
  EXPECT_FALSE(Calibrate::Check(request).ok());
  request.set_calibration_id("c");
  for (const double seconds : {-1.0, 601.0, std::nan("")}) {
    request.set_seconds_max(seconds);
    EXPECT_FALSE(Calibrate::Check(request).ok()) << seconds;
  }
}

// Of a method that is about a job: whether its check takes that id.
template <typename Method>
void CheckOrderFor(const std::string& job_id, std::vector<bool>& taken) {
  typename Method::Request request;
  if constexpr (requires { request.mutable_fence(); }) {
    request.mutable_fence()->set_job_id(job_id);
    taken.push_back(Method::Check(request).ok());
  }
}

template <typename... Methods>
void ExpectJobsStayInTheirDirectory(MethodList<Methods...>) {
  const auto all = [](const std::string& id) {
    std::vector<bool> taken;
    (CheckOrderFor<Methods>(id, taken), ...);
    return taken;
  };
  // All but Identify.
  const std::vector<bool> none(sizeof...(Methods) - 1, false);
  EXPECT_EQ(all("j-20261121-105131-00ff"), std::vector<bool>(sizeof...(Methods) - 1, true));
  for (const char* id : {"", ".", "..", "a/b", "a b", "j\n"}) EXPECT_EQ(all(id), none) << id;
  EXPECT_EQ(all(std::string(65, 'a')), none);
}

TEST(CheckRequestsTest, JoinGroupNamesWhatIsWrong) {
  v1::JoinGroupRequest good;
  good.set_group("g");
  good.set_size(3);
  good.set_rank(-1);
  good.set_member_key("k");
  good.set_endpoint("127.0.0.1:7000");
  good.set_wait_ms(1000);
  EXPECT_EQ(JoinGroup::Check(good), absl::OkStatus());
  const auto error_of = [&](const auto& change) {
    v1::JoinGroupRequest request = good;
    change(request);
    const absl::Status refused = JoinGroup::Check(request);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    return std::string(refused.message());
  };
  using R = v1::JoinGroupRequest;
  EXPECT_THAT(error_of([](R& r) { r.set_group("a\nb"); }), testing::HasSubstr("group"));
  EXPECT_THAT(error_of([](R& r) { r.set_size(0); }), testing::HasSubstr("size"));
  EXPECT_THAT(error_of([](R& r) { r.set_size(257); }), testing::HasSubstr("size"));
  EXPECT_THAT(error_of([](R& r) { r.set_rank(3); }), testing::HasSubstr("rank"));
  EXPECT_THAT(error_of([](R& r) { r.set_rank(-2); }), testing::HasSubstr("rank"));
  EXPECT_THAT(error_of([](R& r) { r.set_member_key(""); }), testing::HasSubstr("member_key"));
  EXPECT_THAT(error_of([](R& r) { r.set_endpoint(""); }), testing::HasSubstr("endpoint"));
  EXPECT_THAT(error_of([](R& r) { r.set_wait_ms(0); }), testing::HasSubstr("wait_ms"));
  EXPECT_THAT(error_of([](R& r) { r.set_combine_s_per_byte(std::nan("")); }),
              testing::HasSubstr("measured time"));
  EXPECT_THAT(error_of([](R& r) { r.mutable_network()->set_pacing_fraction(2); }),
              testing::HasSubstr("pacing_fraction"));
}

TEST(CheckRequestsTest, SetRatesNamesWhatIsWrong) {
  v1::SetRatesRequest good;
  good.mutable_fence()->set_job_id("j");
  EXPECT_EQ(SetRates::Check(good), absl::OkStatus()) << "no rates are nothing to do";
  v1::TransferRate& rate = *good.add_rates();
  rate.set_attempt(1);
  rate.set_number(1);
  rate.set_bytes_per_s(1);
  *good.add_rates() = rate;
  EXPECT_EQ(SetRates::Check(good), absl::OkStatus());
  const auto error_of = [&](const auto& change) {
    v1::SetRatesRequest request = good;
    change(*request.mutable_rates(1));  // the last one is looked at too
    const absl::Status refused = SetRates::Check(request);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    return std::string(refused.message());
  };
  using R = v1::TransferRate;
  EXPECT_THAT(error_of([](R& r) { r.set_transfer(-1); }), testing::HasSubstr("rate.transfer"));
  EXPECT_THAT(error_of([](R& r) { r.set_attempt(0); }), testing::HasSubstr("rate.attempt"));
  EXPECT_THAT(error_of([](R& r) { r.set_number(0); }), testing::HasSubstr("rate.number"));
  EXPECT_THAT(error_of([](R& r) { r.set_bytes_per_s(0); }), testing::HasSubstr("bytes_per_s"));
  EXPECT_THAT(error_of([](R& r) { r.set_bytes_per_s(-1); }), testing::HasSubstr("bytes_per_s"));
  v1::SetRatesRequest many;
  *many.mutable_fence() = good.fence();
  for (int i = 0; i <= 100'000; ++i) *many.add_rates() = rate;
  EXPECT_FALSE(SetRates::Check(many).ok());
}

TEST(CheckRequestsTest, NoOrderLeavesTheDirectoryOfItsJob) {
  ExpectJobsStayInTheirDirectory(WorkerService::Methods());
}

}  // namespace
}  // namespace weir::rpc
