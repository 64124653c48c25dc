#pragma once

// Data of a job: makes inputs of any size and checks outputs. Upstream: jobs/<job>, for jobs that
// are measured or tried out. Downstream: `weir data generate`, `weir data validate`.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir {

/// What kind of records to make.
struct GenerateOptions {
  std::uint64_t seed = 1;
  /// 0: all keys equally likely; towards 1 more and more records share few keys.
  double skew = 0;
};

/// Makes the records of an input. A record depends on its number and the options only, so any range
/// of them can be made anywhere.
///
/// Thread-safety: one thread at a time.
class RecordGenerator {
 public:
  virtual ~RecordGenerator() = default;
  /// Appends record `number` to `out`.
  virtual void Append(std::int64_t number, std::string& out) = 0;
};

/// What a check has seen so far. Equal records give equal checksums in whatever order they come.
struct DataSummary {
  std::int64_t records = 0;
  std::int64_t bytes = 0;
  /// Records whose key is that of the record before.
  std::int64_t repeated_keys = 0;
  std::string checksum;
};

/// Which order a check asks for: none, or that of the keys, within files and from one to the next.
enum class DataOrder { kAny, kByKey };

/// Looks at the files of a data set, one after the other.
///
/// Thread-safety: one thread at a time.
/// Errors: kDataLoss naming file, record and byte of the first thing that is wrong; whoever gets
///   one stops.
class DataCheck {
 public:
  virtual ~DataCheck() = default;
  virtual void BeginFile(std::string_view path) = 0;
  /// Takes the next bytes of the file, cut anywhere.
  virtual absl::Status Add(std::string_view bytes) = 0;
  virtual absl::Status EndFile() = 0;
  virtual DataSummary Summary() const = 0;
};

/// What a job offers to `weir data`. Implementations are stateless and thread-safe.
class JobData {
 public:
  virtual ~JobData() = default;
  /// Errors: kInvalidArgument naming what the options cannot be.
  virtual absl::StatusOr<std::unique_ptr<RecordGenerator>> MakeGenerator(
      const GenerateOptions& options) const = 0;
  virtual std::unique_ptr<DataCheck> MakeCheck(DataOrder order) const = 0;
};

}  // namespace weir
