#include "runtime/master/output/manifest.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace weir::master {
namespace {

constexpr int kSchema = 1;
constexpr std::int64_t kManifestBytesMax = 64 << 20;

nlohmann::json PartToJson(const v1::OutputPart& part) {
  return {{"file", part.file()},
          {"bytes", part.bytes()},
          {"records", part.records()},
          {"xxh3_64", part.xxh3_64()}};
}

bool HasText(const nlohmann::json& object, const char* name) {
  return object.contains(name) && object[name].is_string();
}

bool HasCount(const nlohmann::json& object, const char* name) {
  return object.contains(name) && object[name].is_number_integer();
}

bool IsOurs(const nlohmann::json& manifest) {
  return manifest.is_object() && HasCount(manifest, "schema") && manifest["schema"] == kSchema &&
         HasText(manifest, "weir_version") && HasText(manifest, "job_id") &&
         manifest.contains("parts") && manifest["parts"].is_array();
}

// What does not fit the type becomes negative.
bool HasSize(const nlohmann::json& object, const char* name) {
  return HasCount(object, name) && object[name].get<std::int64_t>() >= 0;
}

// A part is a file of the manifest's own directory, never a way out of it.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

bool IsPart(const nlohmann::json& entry) {
  return entry.is_object() && HasText(entry, "file") &&
         IsPlainName(entry["file"].get<std::string>()) && HasSize(entry, "bytes") &&
         HasSize(entry, "records") && HasText(entry, "xxh3_64");
}

}  // namespace

std::string ManifestText(const ManifestHead& head, const std::vector<v1::OutputPart>& parts) {
  nlohmann::json manifest;
  manifest["schema"] = kSchema;
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
  return manifest.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

absl::StatusOr<Manifest> ReadManifest(env::Storage& storage, const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kManifestName);
  absl::StatusOr<std::string> text = storage.ReadFile(path, kManifestBytesMax);
  if (!text.ok()) return text.status();
  const absl::Status foreign =
      absl::InvalidArgumentError(absl::StrCat(path, " is not a manifest of Weir"));
  // Whoever else wrote a file of this name may have written anything.
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!IsOurs(json)) return foreign;
  Manifest manifest;
  manifest.job_id = json["job_id"];
  for (const nlohmann::json& entry : json["parts"]) {
    if (!IsPart(entry)) return foreign;
    v1::OutputPart& part = manifest.parts.emplace_back();
    part.set_file(entry["file"].get<std::string>());
    part.set_bytes(entry["bytes"].get<std::int64_t>());
    part.set_records(entry["records"].get<std::int64_t>());
    part.set_xxh3_64(entry["xxh3_64"].get<std::string>());
  }
  return manifest;
}

std::string FaultOfParts(env::Storage& storage, const std::string& directory,
                         const Manifest& manifest) {
  for (const v1::OutputPart& part : manifest.parts) {
    const absl::StatusOr<env::FileInfo> found =
        storage.Stat(absl::StrCat(directory, "/", part.file()));
    if (!found.ok() || !found->is_regular) return absl::StrCat(part.file(), " is missing");
    if (found->bytes != part.bytes()) {
      return absl::StrCat(part.file(), " has ", found->bytes, " bytes, not the ", part.bytes(),
                          " that were written");
    }
  }
  return "";
}

}  // namespace weir::master
