#pragma once

// Finds the records of the input that blocks refer to. Upstream: sections of runs.
// Downstream: who merges them, which sees whole records only.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "jobs/engine/input/input_file.h"

namespace weir {

/// Input files that blocks refer to, each opened once and mapped whole where it can be.
///
/// Thread-safety: any thread.
/// Errors: those of InputFile; among them that a file is no longer what the map step saw.
/// Bounds: an open file and its addresses for each; resident is what was touched of them, which is
///   page cache.
/// Checked by: tests/unit/jobs/references_test.cc.
class ReferencedFiles {
 public:
  class File {
   public:
    /// Its byte 0 where it is mapped, else null: records have to be read.
    const char* data() const { return mapped_.data; }
    std::int64_t bytes() const { return bytes_; }
    absl::Status Read(std::int64_t offset, char* into, std::int64_t bytes);

   private:
    friend class ReferencedFiles;

    std::mutex mutex_;  // guards reads from file_
    InputFile file_;
    MappedBytes mapped_;
    std::int64_t bytes_ = 0;
  };

  /// The file of an entry of ReferenceBlock::files.
  absl::StatusOr<File*> Open(std::string_view entry);
  /// Whether all that was seen of them, until now, was what the files held: nothing counts that was
  /// made of it before this says so.
  absl::Status CheckUnchanged() const;

 private:
  mutable std::mutex mutex_;  // guards files_
  std::map<std::string, std::unique_ptr<File>, std::less<>> files_;
};

/// Sections of runs whose blocks hold whole records, wherever these came from.
///
/// Where the step is not told of references (StepContext::refers_to_input), blocks are passed on as
/// they are, and whoever reads one of references finds it damaged: a run of others must not say
/// which files are read here.
///
/// Thread-safety: each source one thread at a time, several at once.
/// Checked by: tests/unit/jobs/references_test.cc.
class ReferencedSources {
 public:
  using Sources = std::vector<std::unique_ptr<RunSource>>;

  /// Both outlive this.
  ReferencedSources(const Sources& sources, StepContext& context);

  const Sources& sources() const { return whole_.empty() ? given_ : whole_; }
  absl::Status CheckUnchanged() const { return files_.CheckUnchanged(); }

 private:
  const Sources& given_;
  ReferencedFiles files_;
  Sources whole_;  // around those; none where nothing is referred to
};

}  // namespace weir
