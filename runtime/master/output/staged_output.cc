#include "runtime/master/output/staged_output.h"

#include <algorithm>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"

namespace weir::master {
namespace {

constexpr char kManifestName[] = "manifest.json";
constexpr std::int64_t kManifestBytesMax = 64 << 20;

std::string Join(const std::string& directory, absl::string_view name) {
  return absl::StrCat(directory, "/", name);
}

std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

absl::Status OutputExists(const std::string& output) {
  return StatusFromJobError(
      absl::StatusCode::kAlreadyExists,
      MakeJobError(job_error::kOutputExists, absl::StrCat("output already exists: ", output),
                   "choose another directory, remove this one, or pass --overwrite"));
}

/// Adds what the master was doing; the code that storage chose stays, disk full stays disk full.
absl::Status FromStorage(const absl::Status& status, absl::string_view doing) {
  if (status.ok()) return status;
  v1::JobError error = JobErrorFromStatus(status);
  if (IsDiskFull(status)) {
    error.set_advice("free space where the output goes, then run the job again");
  } else {
    error.set_code(std::string(job_error::kInternal));
    if (error.advice().empty()) error.set_advice("check the file system of the output directory");
  }
  error.set_message(absl::StrCat(doing, ": ", status.message()));
  return StatusFromJobError(status.code(), error);
}

absl::StatusOr<bool> Exists(env::Storage& storage, const std::string& path) {
  absl::StatusOr<env::FileInfo> info = storage.Stat(path);
  if (info.ok()) return true;
  if (absl::IsNotFound(info.status())) return false;
  return info.status();
}

nlohmann::json PartToJson(const v1::OutputPart& part) {
  return {{"file", part.file()},
          {"bytes", part.bytes()},
          {"records", part.records()},
          {"xxh3_64", part.xxh3_64()}};
}

std::string ManifestText(const ManifestHead& head, const std::vector<v1::OutputPart>& parts) {
  nlohmann::json manifest;
  manifest["schema"] = 1;
  manifest["weir_version"] = head.weir_version;
  manifest["job_id"] = head.job_id;
  manifest["job"] = head.spec.job();
  manifest["plan_id"] = head.plan_id;
  manifest["parameters"] = nlohmann::json::object();
  for (const v1::JobParameter& parameter : head.spec.parameters()) {
    manifest["parameters"][parameter.name()] = parameter.value();
  }
  manifest["parts"] = nlohmann::json::array();
  for (const v1::OutputPart& part : parts) manifest["parts"].push_back(PartToJson(part));
  // Parameters may hold any bytes; a manifest is always valid UTF-8.
  return manifest.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// The parts of the manifest in `output` if `job_id` wrote it, else nothing.
absl::StatusOr<std::vector<v1::OutputPart>> PartsPublishedBy(env::Storage& storage,
                                                             const std::string& output,
                                                             const std::string& job_id) {
  absl::StatusOr<std::string> text =
      storage.ReadFile(Join(output, kManifestName), kManifestBytesMax);
  if (!text.ok()) return text.status();
  const nlohmann::json manifest = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  // Whoever else wrote an output here may have written anything; value() throws on other types.
  const bool ours = manifest.is_object() && manifest.contains("job_id") &&
                    manifest["job_id"].is_string() && manifest["job_id"] == job_id;
  if (!ours) {
    return absl::NotFoundError(absl::StrCat("job ", job_id, " did not publish ", output));
  }
  std::vector<v1::OutputPart> parts;
  for (const nlohmann::json& entry : manifest.value("parts", nlohmann::json::array())) {
    v1::OutputPart& part = parts.emplace_back();
    part.set_file(entry.value("file", ""));
    part.set_bytes(entry.value("bytes", std::int64_t{0}));
    part.set_records(entry.value("records", std::int64_t{0}));
    part.set_xxh3_64(entry.value("xxh3_64", ""));
  }
  return parts;
}

/// Gives one part its final name. Done already is success: a commit may be repeated.
absl::Status NamePart(env::Storage& storage, const std::string& staging,
                      const CommittedPart& committed) {
  const std::string final_path = Join(staging, PartName(committed.index));
  const std::string staged_path = Join(staging, StagedPartName(committed.index, committed.attempt));
  absl::StatusOr<bool> staged = Exists(storage, staged_path);
  if (!staged.ok()) return FromStorage(staged.status(), "cannot look at a staged part");
  if (*staged) {
    absl::Status renamed = storage.Rename(staged_path, final_path);
    if (!renamed.ok()) return FromStorage(renamed, "cannot name an output part");
  }
  absl::StatusOr<env::FileInfo> info = storage.Stat(final_path);
  if (info.ok() && info->is_regular && info->bytes == committed.part.bytes()) {
    return absl::OkStatus();
  }
  return StatusFromJobError(
      absl::StatusCode::kDataLoss,
      MakeJobError(
          job_error::kDataLoss,
          absl::StrCat("output part ", PartName(committed.index), " was reported with ",
                       committed.part.bytes(), " bytes, the master finds ",
                       info.ok() ? absl::StrCat(info->bytes, " bytes") : "no file", " in ",
                       staging),
          "check that workers and master share the file system of the output, then run again"));
}

/// Removes what is neither a committed part nor the manifest.
absl::Status DropTheRest(env::Storage& storage, const std::string& staging,
                         const std::vector<v1::OutputPart>& parts) {
  absl::btree_set<std::string> kept{Join(staging, kManifestName)};
  for (const v1::OutputPart& part : parts) kept.insert(Join(staging, part.file()));
  absl::StatusOr<std::vector<env::FileInfo>> entries = storage.List(staging);
  if (!entries.ok()) return FromStorage(entries.status(), "cannot list the staging directory");
  for (const env::FileInfo& entry : *entries) {
    if (kept.contains(entry.path)) continue;
    absl::Status removed = storage.RemoveAll(entry.path);
    if (!removed.ok()) return FromStorage(removed, "cannot tidy the staging directory");
  }
  return absl::OkStatus();
}

/// The one moment at which the output appears.
absl::Status PutInPlace(env::Storage& storage, const OutputPlaces& places, bool overwrite) {
  absl::StatusOr<bool> exists = Exists(storage, places.output);
  if (!exists.ok()) return FromStorage(exists.status(), "cannot look at the output directory");
  if (*exists) {
    if (!overwrite) return OutputExists(places.output);
    absl::Status aside = storage.Rename(places.output, places.replaced);
    if (!aside.ok()) return FromStorage(aside, "cannot move the old output aside");
  }
  absl::Status renamed = storage.Rename(places.staging, places.output);
  if (!renamed.ok()) {
    if (*exists) storage.Rename(places.replaced, places.output).IgnoreError();
    return FromStorage(renamed, "cannot publish the output");
  }
  // The new output is in place; an old one that stays behind costs space, not correctness.
  storage.RemoveAll(places.replaced).IgnoreError();
  return absl::OkStatus();
}

}  // namespace

OutputPlaces::OutputPlaces(const std::string& output_path, const std::string& job_id)
    : output(WithoutTrailingSlashes(output_path)),
      staging(absl::StrCat(output, ".weir-staging-", job_id)),
      marker(Join(staging, absl::StrCat(".weir-job-", job_id))),
      replaced(absl::StrCat(output, ".weir-old-", job_id)) {}

std::string PartName(int index) { return absl::StrFormat("part-%05d", index); }

std::string StagedPartName(int index, int attempt) {
  return absl::StrFormat("part-%05d.%d", index, attempt);
}

absl::Status CheckOutput(env::Storage& storage, const v1::JobSpec& spec) {
  const std::string output = WithoutTrailingSlashes(spec.output());
  absl::StatusOr<env::FileInfo> info = storage.Stat(output);
  if (info.ok()) {
    if (!spec.overwrite()) return OutputExists(output);
    if (info->is_directory) return absl::OkStatus();
    return StatusFromJobError(
        absl::StatusCode::kFailedPrecondition,
        MakeJobError(job_error::kOutputExists,
                     absl::StrCat("output exists and is no directory: ", output),
                     "choose a directory; --overwrite replaces directories only"));
  }
  if (!absl::IsNotFound(info.status())) {
    return FromStorage(info.status(), "cannot look at the output directory");
  }
  const std::string parent = output.substr(0, std::max<std::size_t>(1, output.rfind('/')));
  absl::StatusOr<env::FileInfo> above = storage.Stat(parent);
  if (above.ok() && above->is_directory) return absl::OkStatus();
  if (!above.ok() && !absl::IsNotFound(above.status())) {
    return FromStorage(above.status(), "cannot look at the directory above the output");
  }
  return StatusFromJobError(
      absl::StatusCode::kFailedPrecondition,
      MakeJobError(job_error::kInvalidJob,
                   absl::StrCat("the directory above the output does not exist: ", parent),
                   absl::StrCat("create it (mkdir -p ", parent, "), on the master's machine")));
}

absl::Status StageOutput(env::Storage& storage, const OutputPlaces& places, bool overwrite) {
  absl::StatusOr<bool> exists = Exists(storage, places.output);
  if (!exists.ok()) return FromStorage(exists.status(), "cannot look at the output directory");
  if (*exists && !overwrite) return OutputExists(places.output);
  absl::Status made = storage.MakeDirectory(places.staging);
  if (!made.ok()) return FromStorage(made, "cannot make the staging directory");
  return FromStorage(storage.WriteFileAtomically(places.marker, ""),
                     "cannot write into the staging directory");
}

absl::StatusOr<std::vector<v1::OutputPart>> CommitOutput(env::Storage& storage,
                                                         const OutputPlaces& places, bool overwrite,
                                                         const ManifestHead& head,
                                                         std::vector<CommittedPart> parts) {
  absl::StatusOr<std::vector<v1::OutputPart>> before =
      PartsPublishedBy(storage, places.output, head.job_id);
  if (before.ok()) return before;
  std::sort(parts.begin(), parts.end(),
            [](const CommittedPart& a, const CommittedPart& b) { return a.index < b.index; });
  std::vector<v1::OutputPart> listed;
  for (const CommittedPart& committed : parts) {
    if (absl::Status named = NamePart(storage, places.staging, committed); !named.ok()) {
      return named;
    }
    listed.push_back(committed.part);
    listed.back().set_file(PartName(committed.index));
  }
  if (absl::Status dropped = DropTheRest(storage, places.staging, listed); !dropped.ok()) {
    return dropped;
  }
  absl::Status written =
      storage.WriteFileAtomically(Join(places.staging, kManifestName), ManifestText(head, listed));
  if (!written.ok()) return FromStorage(written, "cannot write the manifest");
  absl::Status synced = storage.SyncDirectory(places.staging);
  if (!synced.ok()) return FromStorage(synced, "cannot sync the staging directory");
  if (absl::Status placed = PutInPlace(storage, places, overwrite); !placed.ok()) return placed;
  return listed;
}

absl::Status DiscardOutput(env::Storage& storage, const OutputPlaces& places) {
  return storage.RemoveAll(places.staging);
}

absl::StatusOr<std::vector<v1::OutputPart>> SettleOutput(env::Storage& storage,
                                                         const OutputPlaces& places,
                                                         const std::string& job_id) {
  absl::StatusOr<std::vector<v1::OutputPart>> published =
      PartsPublishedBy(storage, places.output, job_id);
  if (published.ok()) {
    storage.RemoveAll(places.replaced).IgnoreError();
    return published;
  }
  absl::StatusOr<bool> output = Exists(storage, places.output);
  absl::StatusOr<bool> replaced = Exists(storage, places.replaced);
  if (output.ok() && !*output && replaced.ok() && *replaced) {
    absl::Status restored = storage.Rename(places.replaced, places.output);
    if (!restored.ok()) return restored;
  }
  if (absl::Status discarded = DiscardOutput(storage, places); !discarded.ok()) return discarded;
  return absl::NotFoundError(absl::StrCat("job ", job_id, " published no output"));
}

}  // namespace weir::master
