// weir verify: an output directory against its manifest.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/file_bytes.h"
#include "runtime/client/flags/value_text.h"
#include "runtime/client/job_spec.h"
#include "runtime/client/status_json.h"
#include "runtime/format/xxh3_stream.h"

namespace weir::client {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::int64_t kManifestBytesMax = 64 << 20;

struct ManifestPart {
  std::string file;
  std::int64_t bytes = 0;
  std::string checksum;
};

struct Sum {
  std::int64_t bytes = 0;
  std::string checksum;
};

absl::StatusOr<Sum> SumFile(const std::string& path) {
  format::Xxh3Stream checksum;
  Sum sum;
  absl::Status read = VisitFileBytes(path, [&](std::string_view bytes) {
    checksum.Append(bytes);
    sum.bytes += static_cast<std::int64_t>(bytes.size());
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  sum.checksum = format::Xxh3Hex(checksum.Digest());
  return sum;
}

// The manifest may be anything: each member is looked at before it is used.
absl::StatusOr<std::vector<ManifestPart>> ReadManifest(const std::string& output,
                                                       CommandHost& host) {
  const std::string path = output + "/manifest.json";
  // A pipe would be waited for.
  if (const auto there = host.storage.Stat(path); there.ok() && !there->is_regular) {
    return absl::DataLossError(absl::StrCat(path, ": is no regular file"));
  }
  auto text = host.storage.ReadFile(path, kManifestBytesMax);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", path, ": name the output directory of a job of weir"));
  }
  if (!text.ok()) return text.status();
  const Json manifest = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const absl::Status wrong =
      absl::DataLossError(absl::StrCat(path, ": is no manifest of an output"));
  if (!manifest.is_object() || !manifest.contains("parts") || !manifest["parts"].is_array()) {
    return wrong;
  }
  std::vector<ManifestPart> parts;
  for (const Json& entry : manifest["parts"]) {
    if (!entry.is_object() || !entry.contains("file") || !entry["file"].is_string() ||
        !entry.contains("bytes") || !entry["bytes"].is_number_integer() ||
        !entry.contains("xxh3_64") || !entry["xxh3_64"].is_string()) {
      return wrong;
    }
    ManifestPart part = {.file = entry["file"].get<std::string>(),
                         .bytes = entry["bytes"].get<std::int64_t>(),
                         .checksum = entry["xxh3_64"].get<std::string>()};
    // A part is a file of this directory, never a way out of it.
    if (part.file.empty() || absl::StrContains(part.file, "/")) return wrong;
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string CheckPart(const std::string& output, const ManifestPart& part, CommandHost& host) {
  const std::string path = absl::StrCat(output, "/", part.file);
  const auto found = host.storage.Stat(path);
  if (absl::IsNotFound(found.status())) return absl::StrCat(part.file, ": missing");
  // A pipe would be waited for.
  if (found.ok() && !found->is_regular) return absl::StrCat(part.file, ": is no regular file");
  const auto sum = SumFile(path);
  if (!sum.ok()) return std::string(sum.status().message());
  if (sum->bytes != part.bytes) {
    return absl::StrCat(part.file, ": has ", sum->bytes, " bytes, the manifest says ", part.bytes);
  }
  if (sum->checksum != part.checksum) {
    return absl::StrCat(part.file, ": has checksum ", sum->checksum, ", the manifest says ",
                        part.checksum);
  }
  return "";
}

// Hidden files and names that begin with "_" are not data, as everywhere in Weir.
std::vector<std::string> FindUnknown(const std::vector<env::FileInfo>& entries,
                                     const std::vector<ManifestPart>& parts) {
  absl::btree_set<std::string> known = {"manifest.json"};
  for (const ManifestPart& part : parts) known.insert(part.file);
  std::vector<std::string> problems;
  for (const env::FileInfo& entry : entries) {
    const std::string name = entry.path.substr(entry.path.find_last_of('/') + 1);
    if (name.starts_with('.') || name.starts_with('_') || known.contains(name)) continue;
    problems.push_back(absl::StrCat(name, ": not in the manifest"));
  }
  return problems;
}

}  // namespace

int Verify(const VerifyOptions& options, CommandHost& host) {
  const std::string output = AbsolutePath(options.output, host.working_directory);
  const auto entries = host.storage.List(output);
  if (!entries.ok()) return ReportInputError(entries.status(), options.json, host);
  const auto parts = ReadManifest(output, host);
  if (!parts.ok()) {
    const ExitCode code = ReportInputError(parts.status(), options.json, host);
    // What the manifest holds is checked, too.
    return absl::IsDataLoss(parts.status()) ? kExitJobFailed : code;
  }
  std::vector<std::string> problems = FindUnknown(*entries, *parts);
  std::int64_t bytes = 0;
  for (const ManifestPart& part : *parts) {
    bytes += part.bytes;
    if (std::string problem = CheckPart(output, part, host); !problem.empty()) {
      problems.push_back(std::move(problem));
    }
  }
  // Whoever may write there chooses the names, which must not steer a terminal.
  for (const std::string& problem : problems) {
    host.err << "weir: " << EscapeControls(problem) << '\n';
  }
  if (options.json) {
    host.out << JsonDocument(
        {{"output", output}, {"parts", parts->size()}, {"bytes", bytes}, {"problems", problems}});
  } else if (problems.empty()) {
    host.out << EscapeControls(output) << ": " << parts->size()
             << (parts->size() == 1 ? " part, " : " parts, ")
             << FormatBytes(static_cast<double>(bytes)) << ", all as in the manifest\n";
  }
  return problems.empty() ? kExitOk : kExitJobFailed;
}

}  // namespace weir::client
