#include "runtime/master/journal/journal_sqlite.h"

#include <sqlite3.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/errno_advice.h"
#include "runtime/base/shell_path.h"

namespace weir::master {
namespace {

constexpr int kSchemaVersion = 1;
// The oldest format that is read: it grows only when a version that wrote the next one is long out.
constexpr int kSchemaVersionOldest = 1;
constexpr int kApplicationId = 0x57656972;  // "Weir"

constexpr const char* kCreate =
    "CREATE TABLE record (seq INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL,"
    " kind INTEGER NOT NULL, body BLOB NOT NULL, xxh3 INTEGER NOT NULL);"
    "CREATE INDEX record_by_job ON record(job_id, seq);";

std::int64_t Checksum(absl::string_view body) {
  return static_cast<std::int64_t>(XXH3_64bits(body.data(), body.size()));
}

/// Under whom the last shape of jobs of a kind stands once they are forgotten: no job's id. Of a
/// kind are jobs that a master takes for similar (ShapeHistory): where the two differ more is kept
/// than is used, or less found.
std::string OwnerOf(const v1::JobShapeLearned& shape) {
  std::vector<std::string> values;
  for (const v1::JobParameter& parameter : shape.parameters()) {
    values.push_back(parameter.SerializeAsString());
  }
  std::sort(values.begin(), values.end());
  const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(1, shape.input_bytes()));
  std::string kind = absl::StrCat(shape.num_workers(), " ", (std::bit_width(bytes) - 1) / 2, " ",
                                  shape.job().size(), " ", shape.job());
  for (const std::string& value : values) absl::StrAppend(&kind, " ", value.size(), " ", value);
  return absl::StrCat("shape:", absl::Hex(XXH3_64bits(kind.data(), kind.size())));
}

/// A prepared statement that is reset after each use.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  ~Statement() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void Bind(int position, std::int64_t value) { sqlite3_bind_int64(statement_, position, value); }
  // SQLITE_TRANSIENT is an old-style cast, so text stays with the caller until the statement ends.
  void BindText(int position, absl::string_view text) {
    sqlite3_bind_text64(statement_, position, text.data(), text.size(), nullptr, SQLITE_UTF8);
  }
  void BindBlob(int position, absl::string_view bytes) {
    sqlite3_bind_blob64(statement_, position, bytes.data(), bytes.size(), nullptr);
  }
  int Step() { return sqlite3_step(statement_); }
  std::int64_t Integer(int column) { return sqlite3_column_int64(statement_, column); }
  absl::string_view Blob(int column) {
    const void* bytes = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_;
};

class SqliteJournal final : public Journal {
 public:
  SqliteJournal(std::string path, SameKindOfData same_kind)
      : path_(std::move(path)), same_kind_(same_kind) {}
  ~SqliteJournal() override {
    for (sqlite3_stmt* statement : {insert_, history_, of_job_, last_, replace_, drop_kind_,
                                    forget_, drop_, outlive_, drop_oldest_}) {
      sqlite3_finalize(statement);
    }
    sqlite3_close(database_);
  }

  absl::Status Open();
  std::string Place() const override { return path_; }

  absl::Status Append(absl::Span<const v1::JournalRecord> records) override;
  absl::Status ReadHistory(absl::FunctionRef<void(const v1::JournalRecord&)> visit) override;
  absl::StatusOr<std::vector<v1::JournalRecord>> ReadJob(const std::string& job_id) override;
  absl::StatusOr<std::vector<v1::JournalRecord>> ReadLast(
      const std::string& job_id, absl::Span<const v1::JournalRecord::RecordCase> kinds) override;
  absl::Status Forget(absl::Span<const std::string> job_ids) override;

 private:
  absl::Status TakeAndCheck();
  absl::Status Prepare(const char* sql, sqlite3_stmt** statement);
  absl::Status Execute(const char* sql);
  absl::StatusOr<std::int64_t> ReadInteger(const char* sql);
  absl::Status Insert(const v1::JournalRecord& record);
  absl::Status DropPlanOf(const std::string& job_id);
  absl::Status DropStepsOf(const std::string& job_id);
  absl::Status Replace(std::int64_t seq, const v1::JournalRecord& record);
  absl::Status KeepShape(const std::string& job_id);
  absl::Status MakeRoomFor(const v1::JobShapeLearned& shape, const std::string& owner);
  absl::Status DropOldestShapes();
  absl::Status DropRecordsOf(absl::string_view owner);
  absl::Status InTransaction(absl::FunctionRef<absl::Status()> body);
  absl::Status ParseRow(Statement& row, v1::JournalRecord& record) const;
  absl::Status Failure(int code, absl::string_view doing) const;
  absl::Status Damaged(absl::string_view detail) const;
  absl::Status Unusable(absl::string_view detail) const;

  const std::string path_;
  const SameKindOfData same_kind_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* history_ = nullptr;
  sqlite3_stmt* of_job_ = nullptr;
  sqlite3_stmt* last_ = nullptr;
  sqlite3_stmt* replace_ = nullptr;
  sqlite3_stmt* drop_kind_ = nullptr;
  sqlite3_stmt* forget_ = nullptr;
  sqlite3_stmt* drop_ = nullptr;
  sqlite3_stmt* outlive_ = nullptr;
  sqlite3_stmt* drop_oldest_ = nullptr;
};

absl::Status SqliteJournal::Damaged(absl::string_view detail) const {
  return absl::DataLossError(absl::StrCat(
      "the journal ", path_, " is damaged (", detail,
      "); restore it from a copy, or move it away (mv ", ShellPath(path_), " ",
      ShellPath(path_ + ".damaged"), ") and start again: past jobs are then no longer listed"));
}

absl::Status SqliteJournal::Failure(int code, absl::string_view doing) const {
  const std::string detail = absl::StrCat(
      doing, ": ", database_ != nullptr ? sqlite3_errmsg(database_) : sqlite3_errstr(code));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::FailedPreconditionError(
          absl::StrCat("the journal ", path_,
                       " is in use by another master; stop that one, or give this one a journal of "
                       "its own with --journal"));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return Damaged(detail);
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(
          absl::StrCat("no space left for the journal ", path_, " (", detail, "); free some"));
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return absl::PermissionDeniedError(
          absl::StrCat("the journal ", path_, " is not writable (", detail, ")"));
    default:
      return Unusable(detail);
  }
}

absl::Status SqliteJournal::Unusable(absl::string_view detail) const {
  // SQLite says "disk I/O error" of a write, and sqlite3_system_errno nothing of a commit. Calls
  // that succeed, as of its way back, leave errno as it is.
  if (errno == EFBIG) {
    return absl::ResourceExhaustedError(absl::StrCat("the journal ", path_, " may not grow (",
                                                     detail, ": File too large); ",
                                                     std::string(AdviceForErrno(EFBIG))));
  }
  return absl::UnavailableError(absl::StrCat("the journal ", path_, " cannot be used (", detail,
                                             "); check that its directory exists and is writable"));
}

absl::Status SqliteJournal::Execute(const char* sql) {
  errno = 0;  // of other work of this thread
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Failure(code, sql);
}

absl::Status SqliteJournal::Prepare(const char* sql, sqlite3_stmt** statement) {
  const int code =
      sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Failure(code, sql);
}

absl::StatusOr<std::int64_t> SqliteJournal::ReadInteger(const char* sql) {
  sqlite3_stmt* prepared = nullptr;
  if (absl::Status status = Prepare(sql, &prepared); !status.ok()) return status;
  const int code = sqlite3_step(prepared);
  const std::int64_t value = code == SQLITE_ROW ? sqlite3_column_int64(prepared, 0) : 0;
  sqlite3_finalize(prepared);
  if (code != SQLITE_ROW && code != SQLITE_DONE) return Failure(code, sql);
  return value;
}

absl::Status SqliteJournal::Open() {
  const int code = sqlite3_open_v2(path_.c_str(), &database_,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  if (code != SQLITE_OK) return Failure(code, "open");
  // Exclusive locking mode keeps the file locked from the first transaction until it is closed.
  for (const char* pragma :
       {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
        "PRAGMA journal_size_limit=16777216",
        // Records are appended and read once: what else lies in the cache is the index.
        "PRAGMA cache_size=-512"}) {
    if (absl::Status status = Execute(pragma); !status.ok()) return status;
  }
  if (absl::Status status = InTransaction([this] { return TakeAndCheck(); }); !status.ok()) {
    return status;
  }
  for (const auto& [sql, statement] :
       {std::pair{"INSERT INTO record(job_id, kind, body, xxh3) VALUES(?1, ?2, ?3, ?4)", &insert_},
        std::pair{"SELECT seq, body, xxh3 FROM record WHERE kind NOT IN (?1, ?2, ?3) ORDER BY seq",
                  &history_},
        std::pair{"SELECT seq, body, xxh3 FROM record WHERE job_id = ?1 ORDER BY seq", &of_job_},
        std::pair{"SELECT seq, body, xxh3 FROM record WHERE job_id = ?1 AND kind = ?2"
                  " ORDER BY seq DESC LIMIT 1",
                  &last_},
        std::pair{"UPDATE record SET body = ?2, xxh3 = ?3 WHERE seq = ?1", &replace_},
        std::pair{"DELETE FROM record WHERE job_id = ?1 AND kind = ?2", &drop_kind_},
        std::pair{"DELETE FROM record WHERE job_id = ?1", &forget_},
        std::pair{"DELETE FROM record WHERE seq = ?1", &drop_},
        std::pair{"UPDATE record SET job_id = ?2 WHERE seq ="
                  " (SELECT max(seq) FROM record WHERE job_id = ?1 AND kind = ?3)",
                  &outlive_},
        std::pair{"DELETE FROM record WHERE seq IN (SELECT seq FROM (SELECT seq,"
                  " row_number() OVER newest AS place, sum(length(body)) OVER newest AS bytes"
                  " FROM record WHERE job_id >= 'shape:' AND job_id < 'shape;'"
                  " WINDOW newest AS (ORDER BY seq DESC)) WHERE place > ?1 OR bytes > ?2)",
                  &drop_oldest_}}) {
    if (absl::Status status = Prepare(sql, statement); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SqliteJournal::TakeAndCheck() {
  absl::StatusOr<std::int64_t> version = ReadInteger("PRAGMA user_version");
  if (!version.ok()) return version.status();
  absl::StatusOr<std::int64_t> tables = ReadInteger("SELECT count(*) FROM sqlite_master");
  if (!tables.ok()) return tables.status();
  if (*version == 0 && *tables == 0) {
    if (absl::Status status = Execute(kCreate); !status.ok()) return status;
    const std::string stamp = absl::StrCat("PRAGMA user_version=", kSchemaVersion,
                                           "; PRAGMA application_id=", kApplicationId);
    return Execute(stamp.c_str());
  }
  absl::StatusOr<std::int64_t> application = ReadInteger("PRAGMA application_id");
  if (!application.ok()) return application.status();
  if (*application != kApplicationId) {
    return absl::FailedPreconditionError(absl::StrCat(
        path_, " is a database, but no journal of Weir; give the master another work directory"));
  }
  if (*version > kSchemaVersion || *version < kSchemaVersionOldest) {
    const bool newer = *version > kSchemaVersion;
    return absl::FailedPreconditionError(
        absl::StrCat("the journal ", path_, " has format ", *version, ", this program reads ",
                     kSchemaVersionOldest, " to ", kSchemaVersion, ": it was written by ",
                     newer ? "a newer weir; upgrade this one"
                           : "an older weir; let one in between read it first"));
  }
  sqlite3_stmt* prepared = nullptr;
  if (absl::Status status = Prepare("PRAGMA quick_check(1)", &prepared); !status.ok()) {
    return status;
  }
  const int code = sqlite3_step(prepared);
  std::string verdict;
  if (code == SQLITE_ROW) verdict = std::string(Statement(prepared).Blob(0));
  sqlite3_finalize(prepared);
  if (code != SQLITE_ROW) return Failure(code, "check");
  return verdict == "ok" ? absl::OkStatus() : Damaged(verdict);
}

absl::Status SqliteJournal::InTransaction(absl::FunctionRef<absl::Status()> body) {
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  status = body();
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

absl::Status SqliteJournal::Append(absl::Span<const v1::JournalRecord> records) {
  return InTransaction([&] {
    for (const v1::JournalRecord& record : records) {
      if (record.has_job_planned()) {
        if (absl::Status status = DropPlanOf(record.job_id()); !status.ok()) return status;
      }
      if (record.has_job_ended()) {
        if (absl::Status status = DropStepsOf(record.job_id()); !status.ok()) return status;
      }
      if (absl::Status status = Insert(record); !status.ok()) return status;
    }
    return absl::OkStatus();
  });
}

absl::Status SqliteJournal::DropPlanOf(const std::string& job_id) {
  v1::JournalRecord record;
  std::int64_t seq = 0;
  {
    Statement row(last_);
    row.BindText(1, job_id);
    row.Bind(2, v1::JournalRecord::kJobPlanned);
    const int code = row.Step();
    if (code == SQLITE_DONE) return absl::OkStatus();
    if (code != SQLITE_ROW) return Failure(code, "read");
    // One that is damaged is left for whoever reads it to say so.
    if (!ParseRow(row, record).ok()) return absl::OkStatus();
    seq = row.Integer(0);
  }
  record.mutable_job_planned()->clear_plan();
  // Each plan names all losses before it.
  record.mutable_job_planned()->clear_losses();
  return Replace(seq, record);
}

absl::Status SqliteJournal::DropStepsOf(const std::string& job_id) {
  Statement drop(drop_kind_);
  drop.BindText(1, job_id);
  drop.Bind(2, v1::JournalRecord::kStepCommitted);
  const int code = drop.Step();
  return code == SQLITE_DONE ? absl::OkStatus() : Failure(code, "append");
}

absl::Status SqliteJournal::Replace(std::int64_t seq, const v1::JournalRecord& record) {
  const std::string body = record.SerializeAsString();
  Statement replace(replace_);
  replace.Bind(1, seq);
  replace.BindBlob(2, body);
  replace.Bind(3, Checksum(body));
  const int code = replace.Step();
  return code == SQLITE_DONE ? absl::OkStatus() : Failure(code, "append");
}

absl::Status SqliteJournal::Insert(const v1::JournalRecord& record) {
  std::string body;
  if (!record.SerializeToString(&body)) {
    return absl::InternalError(
        absl::StrCat("a journal record of job ", record.job_id(), " cannot be serialised"));
  }
  Statement insert(insert_);
  insert.BindText(1, record.job_id());
  insert.Bind(2, static_cast<std::int64_t>(record.record_case()));
  insert.BindBlob(3, body);
  insert.Bind(4, Checksum(body));
  const int code = insert.Step();
  return code == SQLITE_DONE ? absl::OkStatus() : Failure(code, "append");
}

absl::Status SqliteJournal::ParseRow(Statement& row, v1::JournalRecord& record) const {
  const absl::string_view body = row.Blob(1);
  if (Checksum(body) != row.Integer(2)) {
    return Damaged(absl::StrCat("checksum of record ", row.Integer(0)));
  }
  if (!record.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return Damaged(absl::StrCat("content of record ", row.Integer(0)));
  }
  return absl::OkStatus();
}

absl::Status SqliteJournal::ReadHistory(absl::FunctionRef<void(const v1::JournalRecord&)> visit) {
  Statement rows(history_);
  rows.Bind(1, v1::JournalRecord::kJobPlanned);
  rows.Bind(2, v1::JournalRecord::kStepCommitted);
  rows.Bind(3, v1::JournalRecord::kJobPlanGiven);
  int code = 0;
  while ((code = rows.Step()) == SQLITE_ROW) {
    v1::JournalRecord record;
    if (absl::Status status = ParseRow(rows, record); !status.ok()) return status;
    if (record.has_job_ended()) record.mutable_job_ended()->clear_logs();
    visit(record);
  }
  return code == SQLITE_DONE ? absl::OkStatus() : Failure(code, "read");
}

absl::StatusOr<std::vector<v1::JournalRecord>> SqliteJournal::ReadJob(const std::string& job_id) {
  std::vector<v1::JournalRecord> records;
  Statement rows(of_job_);
  rows.BindText(1, job_id);
  int code = 0;
  while ((code = rows.Step()) == SQLITE_ROW) {
    absl::Status status = ParseRow(rows, records.emplace_back());
    if (!status.ok()) return status;
  }
  if (code != SQLITE_DONE) return Failure(code, "read");
  return records;
}

absl::StatusOr<std::vector<v1::JournalRecord>> SqliteJournal::ReadLast(
    const std::string& job_id, absl::Span<const v1::JournalRecord::RecordCase> kinds) {
  std::vector<v1::JournalRecord> records;
  for (const v1::JournalRecord::RecordCase kind : kinds) {
    Statement row(last_);
    row.BindText(1, job_id);
    row.Bind(2, kind);
    const int code = row.Step();
    if (code == SQLITE_DONE) continue;
    if (code != SQLITE_ROW) return Failure(code, "read");
    absl::Status status = ParseRow(row, records.emplace_back());
    if (!status.ok()) return status;
  }
  return records;
}

absl::Status SqliteJournal::DropRecordsOf(absl::string_view owner) {
  Statement forget(forget_);
  forget.BindText(1, owner);
  const int code = forget.Step();
  return code == SQLITE_DONE ? absl::OkStatus() : Failure(code, "forget");
}

absl::Status SqliteJournal::MakeRoomFor(const v1::JobShapeLearned& shape,
                                        const std::string& owner) {
  std::vector<std::int64_t> dropped;
  std::vector<std::int64_t> kept;  // oldest first
  {
    Statement rows(of_job_);
    rows.BindText(1, owner);
    int code = 0;
    while ((code = rows.Step()) == SQLITE_ROW) {
      v1::JournalRecord record;
      // One that is damaged teaches nothing.
      const bool of_other_data = same_kind_ != nullptr && ParseRow(rows, record).ok() &&
                                 !same_kind_(record.job_shape_learned(), shape);
      (of_other_data ? kept : dropped).push_back(rows.Integer(0));
    }
    if (code != SQLITE_DONE) return Failure(code, "forget");
  }
  const std::int64_t too_many = static_cast<std::int64_t>(kept.size()) + 1 - kDataKindsOutliveMax;
  if (too_many > 0) dropped.insert(dropped.end(), kept.begin(), kept.begin() + too_many);
  for (const std::int64_t seq : dropped) {
    Statement drop(drop_);
    drop.Bind(1, seq);
    const int code = drop.Step();
    if (code != SQLITE_DONE) return Failure(code, "forget");
  }
  return absl::OkStatus();
}

absl::Status SqliteJournal::KeepShape(const std::string& job_id) {
  const absl::StatusOr<std::vector<v1::JournalRecord>> shape =
      ReadLast(job_id, {v1::JournalRecord::kJobShapeLearned});
  // One that is damaged goes with its job.
  if (!shape.ok() || shape->empty()) return absl::OkStatus();
  const std::string owner = OwnerOf(shape->front().job_shape_learned());
  if (absl::Status status = MakeRoomFor(shape->front().job_shape_learned(), owner); !status.ok()) {
    return status;
  }
  Statement outlive(outlive_);
  outlive.BindText(1, job_id);
  outlive.BindText(2, owner);
  outlive.Bind(3, v1::JournalRecord::kJobShapeLearned);
  const int code = outlive.Step();
  return code == SQLITE_DONE ? absl::OkStatus() : Failure(code, "forget");
}

absl::Status SqliteJournal::DropOldestShapes() {
  Statement drop(drop_oldest_);
  drop.Bind(1, kShapesOutliveMax);
  drop.Bind(2, kShapeBytesOutliveMax);
  const int code = drop.Step();
  return code == SQLITE_DONE ? absl::OkStatus() : Failure(code, "forget");
}

absl::Status SqliteJournal::Forget(absl::Span<const std::string> job_ids) {
  return InTransaction([&] {
    for (const std::string& id : job_ids) {
      if (absl::Status status = KeepShape(id); !status.ok()) return status;
      if (absl::Status status = DropRecordsOf(id); !status.ok()) return status;
    }
    return DropOldestShapes();
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Journal>> OpenSqliteJournal(const std::string& path,
                                                           SameKindOfData same_kind) {
  auto journal = std::make_unique<SqliteJournal>(path, same_kind);
  if (absl::Status status = journal->Open(); !status.ok()) return status;
  return journal;
}

}  // namespace weir::master
