#include "runtime/client/hadoop/hadoop_copies.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/client/file_bytes.h"

namespace weir::client {
namespace {

namespace fs = std::filesystem;

constexpr char kNotThere[] = "No such file or directory";
constexpr char kThere[] = "File exists";

// Where one of the sources goes.
HadoopFile TargetOf(const HadoopFile& source, const HadoopFile& into) {
  if (!IsFolder(into.local)) return into;
  return InFolder(into, fs::path(source.local).lexically_normal().filename());
}

// By what names lead to; `place` need not be there yet.
bool IsWithin(const std::string& place, const std::string& folder) {
  std::error_code error, no_folder;
  const fs::path inner = fs::weakly_canonical(place, error);
  const fs::path outer = fs::canonical(folder, no_folder);
  if (error || no_folder) return false;
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

// As Hadoop calls it meanwhile; no job takes it for input.
fs::path PartialOf(const fs::path& place) {
  return place.parent_path() / absl::StrCat("_", place.filename().string(), "._COPYING_");
}

}  // namespace

bool HadoopCopies::MayGoInto(std::size_t num_sources, const HadoopFile& into) {
  if (num_sources <= 1 || IsFolder(into.local)) return true;
  say_(into.shown, IsThere(into.local) ? "Is not a directory" : kNotThere);
  return false;
}

void HadoopCopies::Copy(const std::vector<HadoopFile>& sources, const HadoopFile& into,
                        bool replaces) {
  if (!MayGoInto(sources.size(), into)) return;
  for (const HadoopFile& source : sources) {
    std::error_code error;
    if (!fs::exists(source.local, error)) {
      say_(source.shown, kNotThere);
      continue;
    }
    const HadoopFile target = TargetOf(source, into);
    if (IsFolder(source.local) && IsWithin(target.local, source.local)) {
      say_(source.shown, absl::StrCat("would be copied into itself, to ", target.shown));
    } else if (IsThere(target.local) && (!replaces || IsFolder(target.local))) {
      say_(target.shown, kThere);
    } else {
      CopyOne(source, target);
    }
  }
}

bool HadoopCopies::CopyOne(const HadoopFile& source, const HadoopFile& target) {
  std::error_code error;
  if (IsFolder(source.local)) {
    if (fs::create_directory(target.local, error); error) {
      say_(target.shown, HadoopReason(error));
      return false;
    }
    const auto names = HadoopNamesIn(storage_, source.local);
    if (!names.ok()) {
      say_(source.shown, std::string(names.status().message()));
      return true;
    }
    for (const std::string& name : *names) {
      const HadoopFile inner = InFolder(source, name);
      // One may lead round and round, or to the whole machine.
      if (IsFolder(inner.local) && fs::is_symlink(inner.local, error)) {
        say_(inner.shown, "is a link to a folder and is not copied");
      } else if (!CopyOne(inner, InFolder(target, name))) {
        return false;
      }
    }
    return true;
  }
  const fs::path place = target.local;
  const fs::path partial = PartialOf(place);
  fs::copy_file(source.local, partial, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(partial, place, error);
  if (!error) return true;
  say_(target.shown, HadoopReason(error));
  fs::remove(partial, error);
  return false;
}

void HadoopCopies::Move(const std::vector<HadoopFile>& sources, const HadoopFile& into) {
  if (!MayGoInto(sources.size(), into)) return;
  for (const HadoopFile& source : sources) {
    const HadoopFile target = TargetOf(source, into);
    if (IsFolderItself(source.local) && IsWithin(target.local, source.local)) {
      say_(source.shown, absl::StrCat("would be moved into itself, to ", target.shown));
    } else if (IsThere(target.local)) {
      say_(target.shown, kThere);
    } else if (!IsThere(fs::path(target.local).parent_path())) {
      say_(target.shown, kNotThere);
    } else if (const absl::Status moved = storage_.Rename(source.local, target.local);
               !moved.ok()) {
      say_(source.shown, std::string(moved.message()));
    }
  }
}

bool HadoopCopies::AddFilesOf(const HadoopFile& source, std::vector<HadoopFile>& files) {
  if (!IsFolder(source.local)) {
    files.push_back(source);
    return true;
  }
  const auto names = HadoopNamesIn(storage_, source.local);
  if (!names.ok()) {
    say_(source.shown, std::string(names.status().message()));
    return false;
  }
  for (const std::string& name : *names) {
    const HadoopFile inner = InFolder(source, name);
    if (!IsFolder(inner.local)) files.push_back(inner);
  }
  return true;
}

void HadoopCopies::Join(const std::vector<HadoopFile>& sources, const HadoopFile& into,
                        const Joint& joint) {
  if (IsFolder(into.local)) return say_(into.shown, "Is a directory");
  std::error_code error;
  // A link stays, and leads to the file. In place of a device or a pipe there is to be none.
  const fs::path leads_to = fs::canonical(into.local, error);
  const fs::path place = error ? fs::path(into.local) : leads_to;
  if (IsThere(place) && !fs::is_regular_file(place, error)) {
    return say_(into.shown, "is no regular file");
  }
  std::vector<HadoopFile> files;
  for (const HadoopFile& source : sources) {
    if (!AddFilesOf(source, files)) return;
  }
  fs::create_directories(place.parent_path(), error);
  const std::string partial = PartialOf(place);
  absl::Status made = storage_.WriteNamed(partial, "");
  if (!made.ok())
    return say_(into.shown, error ? HadoopReason(error) : std::string(made.message()));
  std::int64_t bytes_made = 0;
  const auto add = [&](std::string_view bytes) {
    const std::int64_t offset = bytes_made;
    bytes_made += static_cast<std::int64_t>(bytes.size());
    made = storage_.WriteAt(partial, offset, bytes);
    return made;
  };
  for (const HadoopFile& file : files) {
    const std::int64_t before = bytes_made;
    absl::Status joined = VisitFileBytes(file.local, add);
    const bool ends = joint.line_end && (bytes_made > before || !joint.skips_empty_files);
    if (joined.ok() && ends) joined = add("\n");
    if (joined.ok()) continue;
    say_(made.ok() ? file.shown : into.shown, std::string(joined.message()));
    fs::remove(partial, error);
    return;
  }
  if (fs::rename(partial, place, error); error) {
    say_(into.shown, HadoopReason(error));
    fs::remove(partial, error);
  }
}

}  // namespace weir::client
