#include "runtime/master/output/old_output.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "runtime/base/log.h"
#include "runtime/master/output/manifest.h"
#include "runtime/master/output/output_errors.h"

namespace weir::master {
namespace {

// What clients write beside the parts after a run, see runtime/client/plan_pictures.cc.
constexpr char kPicturesName[] = "_weir";
constexpr char kMarkName[] = "_SUCCESS";
constexpr absl::string_view kPictures[] = {"plan.json", "gantt.svg", "trace.json"};

/// `wanted`, or what a client left that was killed while it wrote that: "plan.json.tmp-41-2".
bool IsOrWasToBe(absl::string_view name, absl::string_view wanted) {
  if (!absl::ConsumePrefix(&name, wanted)) return false;
  if (name.empty()) return true;
  return absl::ConsumePrefix(&name, ".tmp-") && !name.empty() &&
         name.find_first_not_of("0123456789-") == absl::string_view::npos;
}

bool IsPicture(absl::string_view name) {
  return absl::c_any_of(kPictures,
                        [name](absl::string_view picture) { return IsOrWasToBe(name, picture); });
}

bool IsRegular(env::Storage& storage, const std::string& path) {
  const absl::StatusOr<env::FileInfo> info = storage.Stat(path);
  return info.ok() && info->is_regular;
}

/// What `weir streaming` leaves beside the parts when all is done: a file without a byte.
bool IsMark(env::Storage& storage, const std::string& directory, absl::string_view name) {
  if (!IsOrWasToBe(name, kMarkName)) return false;
  const absl::StatusOr<env::FileInfo> info = storage.Stat(PathIn(directory, name));
  return info.ok() && info->is_regular && info->bytes == 0;
}

/// Adds what of `_weir` is foreign.
absl::Status LookIntoPictures(env::Storage& storage, const std::string& directory,
                              std::vector<std::string>& foreign) {
  const absl::StatusOr<std::vector<std::string>> names =
      storage.ListNames(PathIn(directory, kPicturesName));
  if (absl::IsNotFound(names.status())) {  // a file of that name
    foreign.emplace_back(kPicturesName);
    return absl::OkStatus();
  }
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const std::string inside = PathIn(kPicturesName, name);
    if (!IsPicture(name) || !IsRegular(storage, PathIn(directory, inside))) {
      foreign.push_back(inside);
    }
  }
  return absl::OkStatus();
}

bool IsWhole(env::Storage& storage, const std::string& directory) {
  const absl::StatusOr<Manifest> manifest = ReadManifest(storage, directory);
  return manifest.ok() && FaultOfParts(storage, directory, *manifest).empty();
}

void StaysAside(const std::string& path, absl::string_view why) {
  LogWarning("The old output stays aside; look at it and remove it yourself",
             {{"path", path}, {"reason", why}});
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ForeignEntries(env::Storage& storage,
                                                        const std::string& directory) {
  const absl::StatusOr<std::vector<std::string>> names = storage.ListNames(directory);
  if (!names.ok() || names->empty()) return names;
  const absl::StatusOr<Manifest> manifest = ReadManifest(storage, directory);
  const absl::Status& read = manifest.status();
  if (absl::IsNotFound(read) || absl::IsInvalidArgument(read) || absl::IsResourceExhausted(read)) {
    return names;  // none, none of ours, larger than any of ours
  }
  if (!read.ok()) return read;
  absl::btree_set<absl::string_view> parts;
  for (const v1::OutputPart& part : manifest->parts) parts.insert(part.file());
  std::vector<std::string> foreign;
  for (const std::string& name : *names) {
    if (name == kManifestName || IsMark(storage, directory, name)) continue;
    if (name == kPicturesName) {
      if (absl::Status looked = LookIntoPictures(storage, directory, foreign); !looked.ok()) {
        return looked;
      }
    } else if (!parts.contains(name) || !IsRegular(storage, PathIn(directory, name))) {
      foreign.push_back(name);
    }
  }
  return foreign;
}

void RetireOldOutput(env::Storage& storage, const OutputPlaces& places) {
  // An exchange leaves the old output under the name of the staging directory.
  if (absl::Status moved = storage.Rename(places.staging, places.replaced);
      !moved.ok() && !absl::IsNotFound(moved)) {
    StaysAside(places.staging, moved.message());
  }
  if (storage.Stat(places.replaced).ok()) {
    const absl::StatusOr<std::vector<std::string>> foreign =
        ForeignEntries(storage, places.replaced);
    if (!foreign.ok()) {
      StaysAside(places.replaced, foreign.status().message());
    } else if (!foreign->empty()) {
      StaysAside(places.replaced, absl::StrCat("since the job began there appeared ",
                                               absl::StrJoin(*foreign, ", ")));
    } else if (absl::Status doomed = storage.Rename(places.replaced, places.removed);
               !doomed.ok()) {
      StaysAside(places.replaced, doomed.message());
    }
  }
  if (absl::Status removed = storage.RemoveAll(places.removed); !removed.ok()) {
    StaysAside(places.removed, removed.message());
  }
}

absl::Status RestoreOldOutput(env::Storage& storage, const std::string& output_path) {
  const std::string output = OutputPlaces(output_path, "").output;
  const absl::StatusOr<env::FileInfo> there = storage.Stat(output);
  if (!absl::IsNotFound(there.status())) return absl::OkStatus();
  const std::size_t slash = output.rfind('/');
  const std::string parent = output.substr(0, std::max<std::size_t>(1, slash));
  const std::string prefix = absl::StrCat(output.substr(slash + 1), kReplacedInfix);
  const absl::StatusOr<std::vector<std::string>> names = storage.ListNames(parent);
  if (!names.ok()) return absl::OkStatus();  // what is wrong there, CheckOutput says
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix)) continue;
    const OutputPlaces places(output, name.substr(prefix.size()));
    if (!storage.Stat(places.staging).ok() && !IsWhole(storage, places.replaced)) continue;
    LogWarning("A run that was killed had moved the old output aside; it is put back",
               {{"from", places.replaced}, {"to", output}});
    const absl::Status restored = storage.Rename(places.replaced, output);
    // Another submission, or the run itself if it is not dead, was faster: CheckOutput says of
    // what.
    if (absl::IsNotFound(restored) || absl::IsAlreadyExists(restored)) return absl::OkStatus();
    return FromStorage(restored, "cannot put the old output back");
  }
  return absl::OkStatus();
}

}  // namespace weir::master
