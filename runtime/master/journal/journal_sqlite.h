#pragma once

// The journal as one SQLite file, or in memory. Upstream: runtime/app opens it, Master writes it.

#include <memory>
#include <string>

#include "runtime/master/journal/journal.h"

namespace weir::master {

/// Says whether two records of a kind of job were of the same kind of data. Must not block.
using SameKindOfData = bool (*)(const v1::JobShapeLearned&, const v1::JobShapeLearned&);

/// In place of a path: a journal that ends with the returned object.
inline constexpr char kJournalInMemory[] = ":memory:";

/// Opens or creates the journal file and takes it for this process alone.
///
/// Model: one table of records (sequence, job, kind, body, XXH3 of the body) in write-ahead mode,
///   synced at each Append, so that a torn write is rolled back when the file is opened again.
///   `same_kind` tells which record takes the place of an earlier one when jobs are forgotten;
///   null: all data is the same, so that of a kind of job one stays.
/// Errors: kFailedPrecondition when another master holds the file; kDataLoss when the file is not a
///   journal or is damaged, with what to do; kPermissionDenied, kResourceExhausted, else
///   kUnavailable.
/// Ownership: the lock ends with the returned object, and with the process.
/// Checked by: tests/unit/master/journal_sqlite_test.cc.
absl::StatusOr<std::unique_ptr<Journal>> OpenSqliteJournal(const std::string& path,
                                                           SameKindOfData same_kind = nullptr);

}  // namespace weir::master
