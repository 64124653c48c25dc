#include "runtime/client/hadoop/hadoop_listing.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "runtime/base/result_manifest.h"

namespace weir::client {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kManifestBytesMax = 64 << 20;  // as the master reads them

// By what the master writes into one; whoever else has a file of this name may have anything in it.
bool IsManifestOfWeir(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("parts") || !json["parts"].is_array()) return false;
  return json.contains("weir_version") && json.contains("job_id");
}

bool HasManifestOfWeir(env::Storage& storage, const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kManifestName);
  const auto info = storage.Stat(path);
  if (!info.ok() || !info->is_regular) return false;  // a pipe would be waited for
  const auto text = storage.ReadFile(path, kManifestBytesMax);
  return text.ok() && IsManifestOfWeir(*text);
}

std::string Below(const std::string& folder, const std::string& name) {
  return absl::StrCat(folder, folder.ends_with('/') ? "" : "/", name);
}

}  // namespace

HadoopFile InFolder(const HadoopFile& folder, const std::string& name) {
  return {Below(folder.local, name), Below(folder.shown, name)};
}

bool IsThere(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

bool IsFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool IsFolderItself(const std::string& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

std::string HadoopReason(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory ? "No such file or directory"
                                                       : error.message();
}

absl::StatusOr<std::vector<std::string>> HadoopNamesIn(env::Storage& storage,
                                                       const std::string& folder) {
  auto names = storage.ListNames(folder);
  if (!names.ok()) return names;
  const auto manifest = std::find(names->begin(), names->end(), kManifestName);
  const bool parts = std::find(names->begin(), names->end(), "part-00000") != names->end();
  if (manifest != names->end() && parts && HasManifestOfWeir(storage, folder)) {
    names->erase(manifest);
  }
  return names;
}

}  // namespace weir::client
