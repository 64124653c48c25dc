#pragma once

// Files that are copied, moved and joined by `hadoop fs`. Upstream: hadoop_files.cc, which has
// found what words name. Downstream: files of this machine.

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/client/hadoop/hadoop_listing.h"
#include "runtime/env/storage.h"

namespace weir::client {

/// Files appear whole or not at all; what could not be done is told to `say` as Hadoop says it, and
/// the rest is done.
///
/// Thread-safety: none. Blocking. Checked by: tests/unit/client/hadoop_copies_test.cc,
///   hadoop_test.cc.
class HadoopCopies {
 public:
  /// Takes what it is about, as it was named, and why.
  using Say = std::function<void(const std::string& shown, const std::string& why)>;

  HadoopCopies(env::Storage& storage, Say say) : storage_(storage), say_(std::move(say)) {}

  /// Copies files, and folders with what is in them, to a name or into a folder that is there.
  ///
  /// A file that is there is replaced if `replaces`. A folder is not copied into itself, and links
  /// to folders inside one are told and left out.
  void Copy(const std::vector<HadoopFile>& sources, const HadoopFile& into, bool replaces);

  /// Gives files and folders another name, or the same in a folder that is there; replaces nothing.
  /// A result of Weir's stays one: its manifest goes with it.
  void Move(const std::vector<HadoopFile>& sources, const HadoopFile& into);

  /// How files are joined.
  struct Joint {
    bool line_end = false;           // behind each file
    bool skips_empty_files = false;  // which then have none
  };
  /// Makes one file of all, replacing one that is there: of a folder of the files that lie in it,
  /// by name, not of its folders. Makes nothing when one of them cannot be read. The folder of
  /// `into` is made where it is missing.
  void Join(const std::vector<HadoopFile>& sources, const HadoopFile& into, const Joint& joint);

 private:
  bool MayGoInto(std::size_t num_sources, const HadoopFile& into);
  bool CopyOne(const HadoopFile& source, const HadoopFile& target);
  bool AddFilesOf(const HadoopFile& source, std::vector<HadoopFile>& files);

  env::Storage& storage_;
  const Say say_;
};

}  // namespace weir::client
