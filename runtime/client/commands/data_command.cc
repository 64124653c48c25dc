// weir data generate, weir data validate: what a job offers to make and to check.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/errno_advice.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/result_manifest.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/file_bytes.h"
#include "runtime/client/flags/value_text.h"
#include "runtime/client/held_signals.h"
#include "runtime/client/job_spec.h"
#include "runtime/client/status_json.h"
#include "runtime/format/file_appender.h"

namespace weir::client {
namespace {

using Json = nlohmann::ordered_json;

// What to do about a name that is taken.
constexpr char kFreeName[] = "choose another name, or give --overwrite";

absl::StatusOr<const JobData*> FindData(const std::string& job, const CommandHost& host) {
  std::vector<std::string> names, with_data;
  for (const auto& [name, definition] : host.catalog) {
    names.push_back(name);
    if (definition->data() != nullptr) with_data.push_back(name);
  }
  const auto found = host.catalog.find(job);
  if (found == host.catalog.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no job '", job, "'.", SuggestName(job, names)));
  }
  if (found->second->data() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("'weir data' has nothing for the job '", job,
                     "'; it has for: ", absl::StrJoin(with_data, ", ")));
  }
  return found->second->data();
}

// "a/b" -> "a/.b.PID.partial": hidden, so that no job takes half a file for input.
std::string PartialName(const std::string& path) {
  const std::size_t name = path.rfind('/') + 1;
  return absl::StrCat(path.substr(0, name), ".", path.substr(name), ".", ::getpid(), ".partial");
}

// Fills `file`; what is in it is on disk then. Ends early when `held` has a signal.
absl::StatusOr<DataSummary> WriteRecords(const GenerateDataOptions& options, const JobData& data,
                                         format::FileAppender& file, const HeldSignals* held) {
  auto generator = data.MakeGenerator({.seed = options.seed, .skew = options.skew});
  if (!generator.ok()) return generator.status();
  const std::unique_ptr<DataCheck> check = data.MakeCheck(DataOrder::kAny);
  check->BeginFile(file.path());
  constexpr std::size_t kPieceBytes = 256 << 10;
  std::string piece;
  const auto flush = [&]() -> absl::Status {
    if (held != nullptr && held->AnyCame()) return absl::CancelledError("interrupted");
    if (absl::Status status = check->Add(piece); !status.ok()) return status;
    absl::Status status = file.Append(piece);
    piece.clear();
    return status;
  };
  for (std::int64_t i = 0; i < options.records; ++i) {
    (*generator)->Append(options.first_record + i, piece);
    if (piece.size() < kPieceBytes) continue;
    if (absl::Status status = flush(); !status.ok()) return status;
  }
  if (absl::Status status = flush(); !status.ok()) return status;
  if (absl::Status status = check->EndFile(); !status.ok()) return status;
  if (absl::Status synced = file.SyncNow(); !synced.ok()) return synced;
  return check->Summary();
}

// Refuses a path that is taken by what may not be replaced. What cannot be looked at is for whoever
// makes the file to tell.
absl::Status CheckOutput(const std::string& path, bool overwrite) {
  using Type = std::filesystem::file_type;
  const auto refused = [&path](std::string_view code, const char* what, const char* advice) {
    return StatusFromJobError(absl::StatusCode::kAlreadyExists,
                              MakeJobError(code, absl::StrCat(path, what), advice));
  };
  std::error_code error;
  switch (std::filesystem::symlink_status(path, error).type()) {
    case Type::none:
    case Type::not_found:
      return absl::OkStatus();
    case Type::regular:
      if (overwrite) return absl::OkStatus();
      return refused(job_error::kOutputExists, " exists", kFreeName);
    case Type::directory:
      return refused(job_error::kOutputUnusable, " is a directory", "name a file");
    case Type::symlink:
      return refused(job_error::kOutputUnusable, " is a symbolic link",
                     "name the file that it leads to");
    default:
      return refused(job_error::kOutputUnusable, " is a pipe, a device or a socket",
                     "name a file of the disk; it is written whole and then given its name");
  }
}

// What the system said of the file that is written, as the error that jobs name.
absl::Status NamedOfOutput(const absl::Status& status) {
  const int error_number = ErrnoOf(status);
  if (error_number == 0 || CarriesJobError(status)) return status;
  if (IsDiskFull(status)) return StatusFromJobError(status.code(), JobErrorFromStatus(status));
  std::string_view code = job_error::kOutputUnusable;
  std::string_view advice = AdviceForErrno(error_number);
  if (error_number == EEXIST) {
    code = job_error::kOutputExists;
    advice = kFreeName;
  } else if (error_number == ENOENT || error_number == ENOTDIR) {
    advice = "make the directory first, or choose another one";
  }
  return StatusFromJobError(status.code(),
                            MakeJobError(code, std::string(status.message()), advice));
}

// In one step, and not what has come to be there while the records were written.
absl::Status ReplaceFile(const std::string& from, const std::string& to, env::Storage& storage) {
  if (absl::Status replaceable = CheckOutput(to, /*overwrite=*/true); !replaceable.ok()) {
    return replaceable;
  }
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot replace ", to));
  return storage.SyncDirectory(to.substr(0, to.rfind('/') + 1));
}

// Writes under no name at all where the file system can, so that a killed process leaves nothing;
// else under a hidden one, which is removed again before a signal takes effect. Then gives the file
// its name; one that replaces another has a hidden one for that moment.
absl::StatusOr<DataSummary> MakeFile(const GenerateDataOptions& options, const JobData& data,
                                     const std::string& path, env::Storage& storage) {
  std::optional<HeldSignals> held;  // outlives the file
  const std::string partial = PartialName(path);
  auto file = format::FileAppender::CreateUnnamed(options.overwrite ? partial : path);
  if (absl::IsUnimplemented(file.status())) {
    held.emplace();
    file = format::FileAppender::Create(partial);
  }
  if (!file.ok()) return file.status();
  auto summary = WriteRecords(options, data, **file, held ? &*held : nullptr);
  if (!summary.ok()) return summary;
  if (!held) held.emplace();
  absl::Status published = (*file)->Close(format::FileAppender::Sync::kNo);
  const std::string& name = (*file)->path();
  if (published.ok() && name != path) {
    published = options.overwrite ? ReplaceFile(name, path, storage) : storage.Rename(name, path);
    if (!published.ok()) static_cast<void>(storage.RemoveAll(name));
  } else if (published.ok()) {
    published = storage.SyncDirectory(path.substr(0, path.rfind('/') + 1));
  }
  if (!published.ok()) return published;
  return summary;
}

// Of a job's result; what somebody else calls so is data, as where jobs read a directory.
bool IsManifest(const std::string& path, std::string_view name, env::Storage& storage) {
  if (name != kManifestName) return false;
  const auto begin = storage.ReadAt(path, 0, kManifestBeginBytes);
  return begin.ok() && BeginsAsManifest(*begin);
}

// Files in the order of the arguments; of a directory those that are data, by name.
absl::StatusOr<std::vector<std::string>> DataFiles(const std::vector<std::string>& paths,
                                                   CommandHost& host) {
  std::vector<std::string> files;
  for (const std::string& given : paths) {
    const std::string path = AbsolutePath(given, host.working_directory);
    const auto info = host.storage.Stat(path);
    if (!info.ok()) return info.status();
    if (!info->is_directory) {
      files.push_back(path);
      continue;
    }
    const auto entries = host.storage.List(path);
    if (!entries.ok()) return entries.status();
    const std::size_t before = files.size();
    for (const env::FileInfo& entry : *entries) {
      const std::string name = entry.path.substr(entry.path.rfind('/') + 1);
      // Hidden files and names that begin with "_" are not data, as everywhere in Weir.
      if (entry.is_regular && !name.starts_with('.') && !name.starts_with('_') &&
          !IsManifest(entry.path, name, host.storage)) {
        files.push_back(entry.path);
      }
    }
    // No record is no wrong record: a job that wrote nothing, or the directory above its output,
    // would pass for sound.
    if (files.size() == before) {
      return StatusFromJobError(
          absl::StatusCode::kNotFound,
          MakeJobError(job_error::kInputNotFound, absl::StrCat("there is no data in ", path),
                       "name the directory that holds the files themselves (names that begin with "
                       "'.' or '_' are no data), or the files"));
    }
  }
  return files;
}

struct Checked {
  std::size_t num_files = 0;
  DataSummary summary;
};

absl::StatusOr<Checked> CheckFiles(const std::vector<std::string>& paths, DataOrder order,
                                   const JobData& data, CommandHost& host) {
  const auto files = DataFiles(paths, host);
  if (!files.ok()) return files.status();
  const std::unique_ptr<DataCheck> check = data.MakeCheck(order);
  for (const std::string& file : *files) {
    check->BeginFile(file);
    absl::Status status =
        VisitFileBytes(file, [&check](std::string_view bytes) { return check->Add(bytes); });
    if (status.ok()) status = check->EndFile();
    if (!status.ok()) return status;
  }
  return Checked{files->size(), check->Summary()};
}

// Wrong data is the command's answer; that there is no such file is not.
int ReportProblem(const absl::Status& status, bool json, CommandHost& host) {
  if (!absl::IsDataLoss(status)) return ReportInputError(status, json, host);
  const std::string problem(status.message());
  host.err << "weir: " << problem << '\n';
  if (json) host.out << JsonDocument({{"valid", false}, {"problem", problem}});
  return kExitJobFailed;
}

Json SummaryToJson(const DataSummary& summary) {
  return {{"records", summary.records},
          {"bytes", summary.bytes},
          {"repeated_keys", summary.repeated_keys},
          {"checksum", summary.checksum}};
}

std::string RecordsText(const DataSummary& summary) {
  return absl::StrCat(summary.records, summary.records == 1 ? " record" : " records", " (",
                      FormatBytes(static_cast<double>(summary.bytes)), ")");
}

}  // namespace

int GenerateData(const GenerateDataOptions& options, CommandHost& host) {
  const auto data = FindData(options.job, host);
  if (!data.ok()) return ReportCallError(data.status(), options.json, host);
  if (options.output == "-") {
    return ReportCallError(
        absl::InvalidArgumentError("--output -: records are written to a file of the disk, not to "
                                   "standard output; a file of this name is ./-"),
        options.json, host);
  }
  const std::string path = AbsolutePath(options.output, host.working_directory);
  if (const absl::Status there = CheckOutput(path, options.overwrite); !there.ok()) {
    return ReportCallError(there, options.json, host);
  }
  const auto summary = MakeFile(options, **data, path, host.storage);
  if (!summary.ok()) return ReportCallError(NamedOfOutput(summary.status()), options.json, host);
  if (options.json) {
    Json document = {{"file", path}};
    document.update(SummaryToJson(*summary));
    host.out << JsonDocument(std::move(document));
  } else {
    host.out << EscapeControls(path) << ": " << RecordsText(*summary) << ", checksum "
             << summary->checksum << '\n';
  }
  return kExitOk;
}

int ValidateData(const ValidateDataOptions& options, CommandHost& host) {
  const auto data = FindData(options.job, host);
  if (!data.ok()) return ReportCallError(data.status(), options.json, host);
  const auto checked = CheckFiles(
      options.paths, options.any_order ? DataOrder::kAny : DataOrder::kByKey, **data, host);
  if (!checked.ok()) return ReportProblem(checked.status(), options.json, host);
  if (!options.inputs.empty()) {
    const auto input = CheckFiles(options.inputs, DataOrder::kAny, **data, host);
    if (!input.ok()) return ReportProblem(input.status(), options.json, host);
    if (input->summary.records != checked->summary.records ||
        input->summary.checksum != checked->summary.checksum) {
      return ReportProblem(
          absl::DataLossError(
              absl::StrCat("other records than in the input: ", RecordsText(checked->summary),
                           ", checksum ", checked->summary.checksum, "; the input has ",
                           RecordsText(input->summary), ", checksum ", input->summary.checksum)),
          options.json, host);
    }
  }
  const DataSummary& summary = checked->summary;
  if (options.json) {
    Json document = {{"valid", true}, {"files", checked->num_files}};
    document.update(SummaryToJson(summary));
    document["sorted"] = !options.any_order;
    document["same_as_input"] = !options.inputs.empty();
    host.out << JsonDocument(std::move(document));
  } else {
    host.out << RecordsText(summary) << " in " << checked->num_files
             << (checked->num_files == 1 ? " file" : " files")
             << (options.any_order ? "" : ", in order") << ", " << summary.repeated_keys
             << " with the key of the one before, checksum " << summary.checksum
             << (options.inputs.empty() ? "" : ", the records of the input") << '\n';
  }
  return kExitOk;
}

}  // namespace weir::client
