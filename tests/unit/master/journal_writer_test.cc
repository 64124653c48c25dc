// Whose records go together, and whose turn it is.

#include "runtime/master/journal/journal_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/sim/virtual_time.h"

namespace weir::master {
namespace {

using testing::ElementsAre;

// Refuses what holds a record of this job.
class PickyJournal final : public Journal {
 public:
  explicit PickyJournal(std::string refused) : refused_(std::move(refused)) {}

  std::string Place() const override { return "disk/j.db"; }
  absl::Status Append(absl::Span<const v1::JournalRecord> records) override {
    ++num_writes_;
    for (const v1::JournalRecord& record : records) {
      if (record.job_id() == refused_) return absl::UnavailableError("too long");
    }
    for (const v1::JournalRecord& record : records) written_.push_back(record.job_id());
    return absl::OkStatus();
  }
  absl::Status ReadHistory(absl::FunctionRef<void(const v1::JournalRecord&)>) override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<v1::JournalRecord>> ReadJob(const std::string&) override {
    return std::vector<v1::JournalRecord>(written_.size());
  }
  absl::StatusOr<std::vector<v1::JournalRecord>> ReadLast(
      const std::string& job_id, absl::Span<const v1::JournalRecord::RecordCase>) override {
    return ReadJob(job_id);
  }
  absl::Status Forget(absl::Span<const std::string>) override { return absl::OkStatus(); }

  const std::vector<std::string>& written() const { return written_; }
  int num_writes() const { return num_writes_; }

 private:
  const std::string refused_;
  std::vector<std::string> written_;
  int num_writes_ = 0;
};

class JournalWriterTest : public testing::Test {
 protected:
  static v1::JournalRecord Of(const std::string& job) {
    v1::JournalRecord record;
    record.set_job_id(job);
    return record;
  }
  void Append(const std::string& job) {
    writer_.Append(Of(job), [this, job](const absl::Status& status) {
      answers_.push_back(job + (status.ok() ? " written" : " not written"));
    });
  }
  void RunAll() {
    while (time_.RunNext()) {
    }
  }

  sim::VirtualTime time_;
  std::shared_ptr<sim::ProcessLoop> loop_ = std::make_shared<sim::ProcessLoop>(time_);
  sim::SeededRandom random_{1};
  sim::SimWorkPool pool_{loop_, random_};
  PickyJournal journal_{"bad"};
  JournalWriter writer_{*loop_, pool_, journal_};
  std::vector<std::string> answers_;
};

TEST_F(JournalWriterTest, WhatComesMeanwhileGoesTogether) {
  for (const char* job : {"a", "b", "c"}) Append(job);
  RunAll();
  EXPECT_EQ(journal_.num_writes(), 2);
  EXPECT_THAT(journal_.written(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(answers_, ElementsAre("a written", "b written", "c written"));
}

TEST_F(JournalWriterTest, AJournalThatDoesNotAnswerSaysSoOnceAndGoesOnWhenItDoes) {
  int stalls = 0;
  std::string words;
  writer_.OnStall([&] {
    ++stalls;
    words = writer_.StallInWords();
  });
  Append("a");
  RunAll();
  EXPECT_EQ(stalls, 0);
  pool_.Hold();
  Append("b");
  Append("c");
  RunAll();
  EXPECT_EQ(stalls, 1);
  EXPECT_TRUE(writer_.stalled());
  EXPECT_TRUE(absl::StrContains(words, "the journal disk/j.db has not answered for 10s")) << words;
  EXPECT_THAT(answers_, ElementsAre("a written")) << "nobody knows of the others";
  pool_.GoOn();
  RunAll();
  EXPECT_FALSE(writer_.stalled());
  EXPECT_EQ(stalls, 1);
  EXPECT_THAT(answers_, ElementsAre("a written", "b written", "c written"));
}

TEST_F(JournalWriterTest, ARecordThatCannotBeWrittenIsNoOthersFault) {
  for (const char* job : {"a", "b", "bad", "c"}) Append(job);
  RunAll();
  EXPECT_THAT(journal_.written(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(answers_, ElementsAre("a written", "b written", "bad not written", "c written"));
}

TEST_F(JournalWriterTest, OneCallersRecordsStayTogether) {
  Append("a");
  writer_.AppendTogether({Of("b"), Of("bad")}, [this](const absl::Status& status) {
    answers_.push_back(status.ok() ? "both written" : "neither written");
  });
  Append("c");
  RunAll();
  EXPECT_THAT(journal_.written(), ElementsAre("a", "c"));
  EXPECT_THAT(answers_, ElementsAre("a written", "neither written", "c written"));
}

TEST_F(JournalWriterTest, AReadComesBehindWhatWasBeforeItAndNotBehindAllThatComes) {
  // Each write brings the next one.
  int left = 100;
  std::function<void()> again = [&] {
    if (--left > 0) writer_.Append(Of("a"), [&](const absl::Status&) { again(); });
  };
  Append("b");
  writer_.Append(Of("a"), [&](const absl::Status&) { again(); });
  std::size_t records_read = 0;
  int left_then = 0;
  writer_.ReadLast("a", {}, [&](const absl::StatusOr<std::vector<v1::JournalRecord>>& records) {
    records_read = records->size();
    left_then = left;
  });
  RunAll();
  EXPECT_GE(records_read, 2u) << "what was appended before";
  EXPECT_GT(left_then, 90);
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace weir::master
