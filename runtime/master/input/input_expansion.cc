#include "runtime/master/input/input_expansion.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_advice.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/master/input/earlier_results.h"
#include "runtime/master/input/glob_pattern.h"
#include "runtime/master/input/input_look.h"
#include "runtime/master/input/packed_files.h"
#include "runtime/master/output/manifest.h"
#include "runtime/master/output/output_places.h"

namespace weir::master {
namespace {

// Deeper than any tree that people make. Links that lead back end before: List refuses them.
constexpr int kDirectoryDepthMax = 64;

absl::Status InputError(absl::StatusCode code, std::string_view name, const std::string& message,
                        const std::string& advice, const std::string& path) {
  v1::JobError error = MakeJobError(name, message, advice);
  error.set_file(path);
  return StatusFromJobError(code, error);
}

absl::Status FromStorage(const absl::Status& status, const std::string& path) {
  if (absl::IsNotFound(status)) {
    return InputError(absl::StatusCode::kNotFound, job_error::kInputNotFound,
                      absl::StrCat("input does not exist: ", path),
                      "check the path; master and workers must see the same files", path);
  }
  return InputError(status.code(), job_error::kInputUnreadable,
                    absl::StrCat("input cannot be read: ", path, ": ", status.message()),
                    std::string(AdviceForErrno(ErrnoOf(status))), path);
}

// What a name that weir cannot read through says it is packed by; empty for others.
std::string_view PackedBy(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> kPacked[] = {
      {".bz2", "bzip2"}, {".xz", "xz"},   {".lz4", "lz4"},
      {".lzma", "lzma"}, {".zip", "zip"}, {".7z", "7-zip"}};
  for (const auto& [ending, program] : kPacked) {
    if (path.ends_with(ending)) return program;
  }
  return "";
}

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsHidden(std::string_view path) {
  const std::string_view name = NameOf(path);
  return !name.empty() && (name.front() == '.' || name.front() == '_');
}

class Expansion {
 public:
  Expansion(env::Storage& storage, std::vector<env::FileInfo>* directories)
      : storage_(storage), directories_(directories) {}

  absl::Status AddNamed(const std::string& input) {
    if (input.empty()) {
      return InputError(absl::StatusCode::kInvalidArgument, job_error::kInvalidJob,
                        "an input is the empty string", "is a variable of the shell unset?", "");
    }
    absl::StatusOr<env::FileInfo> info = storage_.Stat(input);
    if (info.ok()) return Add(*info, 0, /*named=*/true);
    if (!absl::IsNotFound(info.status()) || !IsGlob(input))
      return FromStorage(info.status(), input);
    absl::StatusOr<std::vector<std::string>> matches = storage_.Glob(input);
    if (!matches.ok()) return FromStorage(matches.status(), input);
    if (matches->empty()) {
      return InputError(absl::StatusCode::kNotFound, job_error::kInputNotFound,
                        absl::StrCat("no file matches the pattern ", input),
                        "check the pattern; quote it so that the shell leaves it alone", input);
    }
    return AddMatches(input, *matches);
  }

  InputList Take() { return std::move(list_); }

 private:
  absl::Status AddMatches(const std::string& input, const std::vector<std::string>& matches) {
    const std::vector<std::string> alternatives = Alternatives(input);
    bool any_data = false;
    for (const std::string& match : matches) {
      // Only such names are left out; whatever else glob has found, it knows best.
      const bool is_marked = match.starts_with('_') || match.find("/_") != std::string::npos;
      if (is_marked && !AsksFor(alternatives, match)) continue;
      absl::StatusOr<env::FileInfo> matched = storage_.Stat(match);
      if (!matched.ok()) return FromStorage(matched.status(), match);
      if (IsManifest(*matched, false) && !NamesManifest(alternatives)) continue;
      if (absl::Status status = Add(*matched, 0, /*named=*/true); !status.ok()) return status;
      any_data = true;
    }
    if (any_data) return absl::OkStatus();
    return InputError(absl::StatusCode::kNotFound, job_error::kInputNotFound,
                      absl::StrCat("the pattern ", input,
                                   " matches names alone that begin with '_', or manifests of "
                                   "results, which are no data"),
                      "name them without a wildcard if they are to be read", input);
  }

  static bool NamesManifest(const std::vector<std::string>& alternatives) {
    return std::any_of(alternatives.begin(), alternatives.end(),
                       [](const std::string& pattern) { return NameOf(pattern) == kManifestName; });
  }

  absl::Status Add(const env::FileInfo& info, int depth, bool named) {
    if (info.is_directory) {
      if (directories_ != nullptr) directories_->push_back(info);
      return AddDirectory(info.path, depth);
    }
    if (info.is_regular) return AddFile(info);
    if (!named) return CheckSpecial(info.path);
    return InputError(absl::StatusCode::kInvalidArgument, job_error::kInputUnreadable,
                      absl::StrCat("input is neither a file nor a directory: ", info.path),
                      "write it to a regular file first", info.path);
  }

  // A link to nowhere is more often a disk that is not mounted than a file that nobody wants, and a
  // pipe more often something to read: without it the result would be that of a part of the input.
  absl::Status CheckSpecial(const std::string& path) {
    if (!absl::IsNotFound(storage_.Stat(path).status())) {
      return InputError(
          absl::StatusCode::kInvalidArgument, job_error::kInputUnreadable,
          absl::StrCat(path, " in an input directory is neither a file nor a directory"),
          "remove it, or name the files or a glob instead", path);
    }
    return InputError(absl::StatusCode::kNotFound, job_error::kInputNotFound,
                      absl::StrCat("the link ", path, " in an input directory leads nowhere"),
                      "mount or restore what it leads to, remove the link, or name the other "
                      "files or a glob instead",
                      path);
  }

  absl::Status AddDirectory(const std::string& path, int depth) {
    if (depth == kDirectoryDepthMax) {
      return InputError(absl::StatusCode::kInvalidArgument, job_error::kInputUnreadable,
                        absl::StrCat("directories are nested more than ", kDirectoryDepthMax,
                                     " deep below ", path),
                        "name the directories further down, the files or a glob instead", path);
    }
    absl::StatusOr<std::vector<env::FileInfo>> entries = storage_.List(path);
    if (!entries.ok()) return FromStorage(entries.status(), path);
    const absl::StatusOr<bool> is_whole = IsWholeResult(storage_, path);
    if (!is_whole.ok()) return is_whole.status();
    for (const env::FileInfo& entry : *entries) {
      if (IsHidden(entry.path) || IsManifest(entry, *is_whole)) continue;
      // Of an attempt that nobody waited for (staged_output.cc); the parts are all there.
      if (*is_whole && IsStagedPartName(std::string(NameOf(entry.path)))) continue;
      if (absl::Status status = Add(entry, depth + 1, /*named=*/false); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // What says something about a result is no data of it, also where it is damaged or of another
  // version; a file of the same name that somebody else wrote is.
  bool IsManifest(const env::FileInfo& entry, bool is_whole) {
    if (NameOf(entry.path) != kManifestName || !entry.is_regular) return false;
    if (is_whole) return true;
    const auto begin = storage_.ReadAt(entry.path, 0, kManifestBeginBytes);
    return begin.ok() && BeginsAsManifest(*begin);
  }

  absl::Status AddFile(const env::FileInfo& info) {
    if (static_cast<std::int64_t>(list_.files.size()) == limits::kInputFilesMax) {
      return InputError(absl::StatusCode::kInvalidArgument, job_error::kInvalidJob,
                        absl::StrCat("the input has more than ", limits::kInputFilesMax, " files"),
                        "join small files first, or run several jobs", info.path);
    }
    // Messages carry paths as text; what could not be read back is refused here, by name.
    if (const std::string shown = ValidUtf8(info.path); shown != info.path) {
      return InputError(absl::StatusCode::kInvalidArgument, job_error::kInputUnreadable,
                        absl::StrCat("the name of an input file is not UTF-8: ", shown),
                        "rename it, or name the other files or a glob instead", shown);
    }
    if (const std::string_view program = PackedBy(info.path); !program.empty()) {
      return InputError(
          absl::StatusCode::kInvalidArgument, job_error::kInputUnreadable,
          absl::StrCat("input is packed by ", std::string(program),
                       ", which weir does not read: ", info.path),
          "unpack it, or pack it by zstd or gzip (NAME.zst and NAME.gz are read as they are)",
          info.path);
    }
    if (absl::Status size = CheckSize(info); !size.ok()) return size;
    list_.files.push_back(InputFile{info.path, info.bytes, info.version});
    list_.total_bytes += info.bytes;
    return absl::OkStatus();
  }

  // Files below /proc and /sys say that they are empty and are not: to plan them as empty would
  // lose what they hold.
  absl::Status CheckSize(const env::FileInfo& info) {
    if (info.bytes > 0) return absl::OkStatus();
    const absl::StatusOr<std::string> content = storage_.ReadFile(info.path, 0);
    if (content.ok() || !absl::IsResourceExhausted(content.status())) return absl::OkStatus();
    return InputError(absl::StatusCode::kInvalidArgument, job_error::kInputUnreadable,
                      absl::StrCat("input says that it is empty and is not: ", info.path),
                      "it is no plain file (/proc, /sys); copy it into one first", info.path);
  }

  env::Storage& storage_;
  std::vector<env::FileInfo>* const directories_;  // or null
  InputList list_;
};

}  // namespace

absl::StatusOr<InputList> ExpandInputs(env::Storage& storage,
                                       const std::vector<std::string>& inputs,
                                       const std::function<void(const std::string&)>& begins,
                                       std::vector<env::FileInfo>* directories) {
  Expansion expansion(storage, directories);
  for (const std::string& input : inputs) {
    if (begins) begins(input);
    if (absl::Status status = expansion.AddNamed(input); !status.ok()) return status;
  }
  InputList list = expansion.Take();
  FindBorders(storage, list);
  LookAtInput(storage, list);
  return list;
}

}  // namespace weir::master
