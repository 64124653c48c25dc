#include "runtime/app/shape_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/env/real/state_directory.h"
#include "runtime/master/learning/shape_history.h"

namespace weir::app {
namespace {

// Far above kShapesKept shapes; what is larger is not ours.
constexpr std::uintmax_t kFileBytesMax = 64 << 20;

}  // namespace

std::string ShapeFilePath() {
  const std::string directory = env::StateDirectory();
  return directory.empty() ? directory : directory + "/shapes";
}

v1::JobShapes ReadShapeFile(const std::string& path) {
  v1::JobShapes shapes;
  std::error_code error;
  if (path.empty() || std::filesystem::file_size(path, error) > kFileBytesMax || error) return {};
  std::ifstream file(path, std::ios::binary);
  if (!file || !shapes.ParseFromIstream(&file)) return {};
  return shapes;
}

void WriteShapeFile(const std::string& path, const v1::JobShapes& shapes) {
  if (path.empty()) return;
  v1::JobShapes kept;
  master::ShapeHistory history;
  for (const v1::JobShapeLearned& shape : shapes.shapes()) history.Take(shape);
  const std::vector<const v1::JobShapeLearned*> all = history.All();
  const std::size_t too_many = all.size() - std::min<std::size_t>(all.size(), kShapesKept);
  for (std::size_t i = too_many; i < all.size(); ++i) *kept.add_shapes() = *all[i];
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const std::string fresh = absl::StrCat(path, ".", ::getpid());
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  const bool made = file && kept.SerializeToOstream(&file);
  // What is buffered meets a full disk only here.
  file.close();
  if (!made || !file) {
    LogInfo("What was learned of jobs is not kept", {{"file", fresh}});
    std::filesystem::remove(fresh, error);
    return;
  }
  std::filesystem::rename(fresh, path, error);
  if (error) std::filesystem::remove(fresh, error);
}

}  // namespace weir::app
