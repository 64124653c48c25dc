#include "runtime/master/journal/journal_sqlite.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weir::master {
namespace {

class JournalSqliteTest : public ::testing::Test {
 protected:
  JournalSqliteTest() {
    directory_ = std::filesystem::temp_directory_path() /
                 ("weir-journal-test-" + std::to_string(::getpid()));
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    path_ = directory_ / "journal.db";
  }
  ~JournalSqliteTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Journal> Open() {
    auto journal = OpenSqliteJournal(path_);
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? *std::move(journal) : nullptr;
  }
  static v1::JournalRecord Accepted(const std::string& id) {
    v1::JournalRecord record;
    record.set_job_id(id);
    record.mutable_job_accepted()->mutable_spec()->set_job("wordcount");
    return record;
  }
  static v1::JournalRecord Planned(const std::string& id) {
    v1::JournalRecord record;
    record.set_job_id(id);
    record.mutable_job_planned()->mutable_plan()->set_plan_id("p");
    return record;
  }
  static v1::JournalRecord Taught(const std::string& id, const std::string& job,
                                  std::int64_t input_bytes) {
    v1::JournalRecord record;
    record.set_job_id(id);
    record.mutable_job_shape_learned()->set_job(job);
    record.mutable_job_shape_learned()->set_input_bytes(input_bytes);
    return record;
  }
  static v1::JournalRecord Ended(const std::string& id) {
    v1::JournalRecord record;
    record.set_job_id(id);
    record.mutable_job_ended()->mutable_status()->set_job_id(id);
    record.mutable_job_ended()->add_logs()->set_worker("w");
    return record;
  }
  static std::vector<std::string> History(Journal& journal) {
    std::vector<std::string> ids;
    EXPECT_TRUE(journal
                    .ReadHistory([&](const v1::JournalRecord& record) {
                      ids.push_back(record.job_id());
                      EXPECT_EQ(record.job_ended().logs_size(), 0);
                    })
                    .ok());
    return ids;
  }
  void Execute(const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  std::filesystem::path directory_;
  std::filesystem::path path_;
};

TEST_F(JournalSqliteTest, InMemoryItLeavesNothingAndIsOfOneOwner) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  {
    const auto journal = OpenSqliteJournal(kJournalInMemory);
    const auto other = OpenSqliteJournal(kJournalInMemory);
    ASSERT_TRUE(journal.ok()) << journal.status();
    ASSERT_TRUE(other.ok()) << other.status();
    ASSERT_TRUE((*journal)->Append({{Accepted("a"), Planned("a")}}).ok());
    ASSERT_TRUE((*journal)->Append({{Taught("a", "wordcount", 7), Ended("a")}}).ok());
    EXPECT_TRUE((*journal)->ReadJob("a")->back().has_job_ended());
    EXPECT_TRUE(History(**other).empty());
    EXPECT_TRUE(std::filesystem::is_empty(directory_));
  }
  const auto next = OpenSqliteJournal(kJournalInMemory);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_TRUE(History(**next).empty());
  std::filesystem::current_path(before);
}

TEST_F(JournalSqliteTest, RecordsSurviveInOrder) {
  {
    auto journal = Open();
    ASSERT_TRUE(journal->Append({Accepted("a"), Planned("a")}).ok());
    ASSERT_TRUE(journal->Append({Accepted("b"), Ended("a")}).ok());
  }
  auto journal = Open();
  EXPECT_EQ(History(*journal), (std::vector<std::string>{"a", "b", "a"}));
  const auto of_a = journal->ReadJob("a");
  ASSERT_TRUE(of_a.ok());
  ASSERT_EQ(of_a->size(), 3u);
  EXPECT_TRUE((*of_a)[1].has_job_planned());
  EXPECT_EQ((*of_a)[2].job_ended().logs_size(), 1);
}

TEST_F(JournalSqliteTest, ReadsTheLastOfEachKindAndNoOther) {
  {
    auto journal = Open();
    ASSERT_TRUE(journal->Append({Accepted("a"), Planned("a"), Planned("b")}).ok());
    v1::JournalRecord edited = Planned("a");
    edited.mutable_job_planned()->mutable_plan()->set_plan_id("edited");
    ASSERT_TRUE(journal->Append({edited, Ended("a")}).ok());
  }
  // Whoever reads the first plan finds it damaged.
  Execute("UPDATE record SET xxh3 = 0 WHERE seq = 2;");
  auto journal = Open();
  EXPECT_FALSE(journal->ReadJob("a").ok());
  const auto last =
      journal->ReadLast("a", {v1::JournalRecord::kJobEnded, v1::JournalRecord::kJobPlanGiven,
                              v1::JournalRecord::kJobPlanned});
  ASSERT_TRUE(last.ok()) << last.status();
  ASSERT_EQ(last->size(), 2u);
  EXPECT_EQ((*last)[0].job_ended().logs_size(), 1);
  EXPECT_EQ((*last)[1].job_planned().plan().plan_id(), "edited");
  const auto of_b = journal->ReadLast("b", {v1::JournalRecord::kJobPlanned});
  ASSERT_TRUE(of_b.ok()) << of_b.status();
  ASSERT_EQ(of_b->size(), 1u);
  EXPECT_EQ((*of_b)[0].job_planned().plan().plan_id(), "p");
  EXPECT_EQ(journal->ReadLast("c", {v1::JournalRecord::kJobPlanned})->size(), 0u);
}

// Else a job that loses workers for days has as many records as losses, each of which names all.
TEST_F(JournalSqliteTest, OnlyTheLastPlanOfAJobNamesItsLosses) {
  constexpr int kEdits = 200;
  {
    auto journal = Open();
    v1::JournalRecord record = Planned("a");
    for (int edit = 0; edit <= kEdits; ++edit) {
      record.mutable_job_planned()->set_plan_edit(edit);
      ASSERT_TRUE(journal->Append({record}).ok());
      record.mutable_job_planned()->add_losses()->set_why(std::string(1000, 'x'));
    }
  }
  EXPECT_LT(std::filesystem::file_size(path_), 2u << 20);
  auto journal = Open();
  const auto last = journal->ReadLast("a", {v1::JournalRecord::kJobPlanned});
  ASSERT_TRUE(last.ok()) << last.status();
  ASSERT_EQ(last->size(), 1u);
  EXPECT_EQ(last->front().job_planned().losses_size(), kEdits);
  const auto of_a = journal->ReadJob("a");
  ASSERT_TRUE(of_a.ok()) << of_a.status();
  ASSERT_EQ(of_a->size(), kEdits + 1u);
  EXPECT_EQ((*of_a)[kEdits - 1].job_planned().losses_size(), 0);
  EXPECT_EQ((*of_a)[kEdits - 1].job_planned().plan_edit(), kEdits - 1);
}

TEST_F(JournalSqliteTest, OnlyTheLastPlanOfAJobStays) {
  constexpr int kEdits = 20;
  {
    auto journal = Open();
    ASSERT_TRUE(journal->Append({Planned("b")}).ok());
    for (int edit = 0; edit <= kEdits; ++edit) {
      v1::JournalRecord record = Planned("a");
      record.mutable_job_planned()->set_plan_edit(edit);
      record.mutable_job_planned()->add_steps_redone(7 + edit);
      record.mutable_job_planned()->mutable_plan()->add_notes(std::string(1 << 20, 'x'));
      ASSERT_TRUE(journal->Append({record}).ok());
    }
  }
  EXPECT_LT(std::filesystem::file_size(path_), 4u << 20);
  auto journal = Open();
  const auto of_a = journal->ReadJob("a");
  ASSERT_TRUE(of_a.ok()) << of_a.status();
  ASSERT_EQ(of_a->size(), kEdits + 1u);
  for (int edit = 0; edit <= kEdits; ++edit) {
    const v1::JournalRecord::JobPlanned& planned =
        (*of_a)[static_cast<std::size_t>(edit)].job_planned();
    EXPECT_EQ(planned.has_plan(), edit == kEdits) << edit;
    EXPECT_EQ(planned.plan_edit(), edit);
    ASSERT_EQ(planned.steps_redone_size(), 1);
    EXPECT_EQ(planned.steps_redone(0), 7 + edit);
  }
  EXPECT_EQ((*of_a).back().job_planned().plan().plan_id(), "p");
  EXPECT_TRUE(journal->ReadJob("b")->front().job_planned().has_plan());
}

// Ten thousand of them, with their counters, are megabytes for each job that is remembered.
TEST_F(JournalSqliteTest, StepsOfAJobThatHasEndedDoNotStay) {
  const auto committed = [](const std::string& id, int step) {
    v1::JournalRecord record;
    record.set_job_id(id);
    record.mutable_step_committed()->set_step(step);
    return record;
  };
  {
    auto journal = Open();
    ASSERT_TRUE(journal->Append({Accepted("a"), Planned("a"), Accepted("b")}).ok());
    for (int step = 0; step < 100; ++step) {
      ASSERT_TRUE(journal->Append({committed("a", step), committed("b", step)}).ok());
    }
    EXPECT_EQ(journal->ReadJob("a")->size(), 102u) << "a master that starts goes on from them";
    ASSERT_TRUE(journal->Append({Ended("a")}).ok());
  }
  auto journal = Open();
  const auto of_a = journal->ReadJob("a");
  ASSERT_TRUE(of_a.ok()) << of_a.status();
  ASSERT_EQ(of_a->size(), 3u);
  EXPECT_TRUE((*of_a)[0].has_job_accepted());
  EXPECT_TRUE((*of_a)[1].job_planned().has_plan());
  EXPECT_TRUE((*of_a)[2].has_job_ended());
  EXPECT_EQ(journal->ReadJob("b")->size(), 101u) << "which has not ended";
}

TEST_F(JournalSqliteTest, ForgetsWholeJobs) {
  auto journal = Open();
  ASSERT_TRUE(journal->Append({Accepted("a"), Accepted("b")}).ok());
  ASSERT_TRUE(journal->Forget({"a", "never was"}).ok());
  EXPECT_EQ(History(*journal), std::vector<std::string>{"b"});
}

TEST_F(JournalSqliteTest, WhatForgottenJobsTaughtOutlivesThem) {
  {
    auto journal = Open();
    ASSERT_TRUE(journal->Append({Accepted("a"), Taught("a", "wordcount", 1000), Ended("a")}).ok());
    ASSERT_TRUE(journal->Append({Accepted("b"), Taught("b", "wordcount", 1023), Ended("b")}).ok());
    ASSERT_TRUE(journal->Append({Accepted("c"), Taught("c", "wordcount", 9000), Ended("c")}).ok());
    ASSERT_TRUE(journal->Append({Accepted("d"), Taught("d", "terasort", 1000), Ended("d")}).ok());
    ASSERT_TRUE(journal->Append({Accepted("e"), Ended("e")}).ok());
    ASSERT_TRUE(journal->Forget({"a", "c"}).ok());
    ASSERT_TRUE(journal->Forget({"b", "d", "e"}).ok());
  }
  auto journal = Open();
  // Of a and b, which are alike, the later.
  EXPECT_EQ(History(*journal), (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_TRUE(journal->ReadJob("b")->empty());
}

TEST_F(JournalSqliteTest, OfAKindOfJobWhatItTaughtOnEachKindOfDataOutlives) {
  const auto taught_on = [](int data, const std::string& id) {
    v1::JournalRecord record = Taught(id, "wordcount", 1000);
    record.mutable_job_shape_learned()->set_input_fingerprint(static_cast<std::uint64_t>(data));
    return record;
  };
  const auto opened = OpenSqliteJournal(
      path_, [](const v1::JobShapeLearned& one, const v1::JobShapeLearned& other) {
        return one.input_fingerprint() == other.input_fingerprint();
      });
  ASSERT_TRUE(opened.ok()) << opened.status();
  Journal& journal = **opened;
  ASSERT_TRUE(
      journal.Append({taught_on(1, "a"), taught_on(2, "b"), taught_on(1, "c"), Ended("c")}).ok());
  ASSERT_TRUE(journal.Forget({"a"}).ok());
  ASSERT_TRUE(journal.Forget({"b", "c"}).ok());
  EXPECT_EQ(History(journal), (std::vector<std::string>{"b", "c"}));
  // Of many kinds the last.
  std::vector<std::string> ids;
  for (int data = 3; data < 3 + kDataKindsOutliveMax - 1; ++data) {
    ids.push_back(absl::StrCat("j", data));
    ASSERT_TRUE(journal.Append({taught_on(data, ids.back())}).ok());
  }
  ASSERT_TRUE(journal.Forget(ids).ok());
  ids.insert(ids.begin(), "c");
  EXPECT_EQ(History(journal), ids);
}

TEST_F(JournalSqliteTest, WhatOutlivesForgottenJobsHasBounds) {
  auto journal = Open();
  std::vector<std::string> ids;
  std::vector<v1::JournalRecord> records;
  for (std::int64_t i = 0; i < kShapesOutliveMax + 3; ++i) {
    ids.push_back(absl::StrCat("j", i));
    records.push_back(Taught(ids.back(), absl::StrCat("job", i), 1000));
  }
  ASSERT_TRUE(journal->Append(records).ok());
  ASSERT_TRUE(journal->Forget(ids).ok());
  const std::vector<std::string> kept = History(*journal);
  EXPECT_EQ(kept.size(), static_cast<std::size_t>(kShapesOutliveMax));
  EXPECT_EQ(kept.front(), "j3");
  // One that is nearly as long as all may be leaves room for few.
  const std::string name(static_cast<std::size_t>(kShapeBytesOutliveMax) - 1000, 'x');
  ASSERT_TRUE(journal->Append({Taught("long", name, 1000)}).ok());
  ASSERT_TRUE(journal->Forget({"long"}).ok());
  const std::vector<std::string> few = History(*journal);
  EXPECT_EQ(few.back(), "long");
  EXPECT_GT(few.size(), 1u);
  EXPECT_LT(few.size(), 100u);
}

TEST_F(JournalSqliteTest, SecondMasterIsRefused) {
  auto first = Open();
  ASSERT_TRUE(first->Append({Accepted("a")}).ok());
  const auto second = OpenSqliteJournal(path_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(second.status().message(), "another master"));
  EXPECT_TRUE(absl::StrContains(second.status().message(), "--journal"));
  first.reset();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(JournalSqliteTest, GarbageIsNamedWithARemedy) {
  std::ofstream(path_) << std::string(5000, 'x');
  const auto journal = OpenSqliteJournal(path_);
  EXPECT_EQ(journal.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(absl::StrContains(journal.status().message(), "mv "));
}

TEST_F(JournalSqliteTest, OtherDatabasesAreLeftAlone) {
  Execute("CREATE TABLE mine(x); INSERT INTO mine VALUES(1);");
  EXPECT_EQ(OpenSqliteJournal(path_).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(JournalSqliteTest, ANewerFormatIsRefusedByNameAndLeftAsItIs) {
  {
    auto journal = Open();
    ASSERT_TRUE(journal->Append({Accepted("a")}).ok());
  }
  Execute("PRAGMA user_version=2;");
  const absl::Status newer = OpenSqliteJournal(path_).status();
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(newer.message(), "has format 2, this program reads 1 to 1"))
      << newer;
  EXPECT_TRUE(absl::StrContains(newer.message(), "upgrade this one")) << newer;
  Execute("PRAGMA user_version=1;");
  EXPECT_EQ(History(*Open()), std::vector<std::string>{"a"});
}

TEST_F(JournalSqliteTest, UnwritablePlaceIsAnError) {
  EXPECT_FALSE(OpenSqliteJournal("/does/not/exist/journal.db").ok());
}

TEST_F(JournalSqliteTest, FlippedBitInARecordIsFound) {
  {
    auto journal = Open();
    ASSERT_TRUE(journal->Append({Accepted("a")}).ok());
  }
  Execute("UPDATE record SET body = substr(body, 1, length(body) - 1) || x'00';");
  auto journal = Open();
  const absl::Status read = journal->ReadHistory([](const v1::JournalRecord&) {});
  EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(journal->ReadJob("a").status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(JournalSqliteTest, DamagedPagesAreFound) {
  {
    auto journal = Open();
    std::vector<v1::JournalRecord> records;
    for (int i = 0; i < 200; ++i) records.push_back(Accepted("job " + std::to_string(i)));
    ASSERT_TRUE(journal->Append(records).ok());
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096 + 8);
  file << std::string(3000, '\xff');
  file.close();
  const auto journal = OpenSqliteJournal(path_);
  EXPECT_EQ(journal.status().code(), absl::StatusCode::kDataLoss) << journal.status();
}

TEST_F(JournalSqliteTest, TornWriteIsRolledBack) {
  std::filesystem::path copy = directory_ / "crashed.db";
  {
    auto journal = Open();
    ASSERT_TRUE(journal->Append({Accepted("a")}).ok());
    ASSERT_TRUE(journal->Append({Accepted("b")}).ok());
    // What a crash leaves: the database and a write-ahead log whose last frame is torn.
    std::filesystem::copy_file(path_, copy);
    std::filesystem::copy_file(path_.string() + "-wal", copy.string() + "-wal");
  }
  const auto wal_bytes = std::filesystem::file_size(copy.string() + "-wal");
  std::filesystem::resize_file(copy.string() + "-wal", wal_bytes - 100);
  auto journal = OpenSqliteJournal(copy);
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ(History(**journal), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace weir::master
