#include "runtime/worker/layer_files.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::worker {
namespace {

std::vector<std::string> Paths(const std::vector<LayerFile>& files) {
  std::vector<std::string> paths;
  for (const LayerFile& file : files) paths.push_back(file.path);
  return paths;
}

TEST(LayerFilesTest, GivesBackOnceWhatLiesBeforeTheLayer) {
  LayerFiles files;
  files.Add(0, {"/runs/1.1.run", "1.1"});
  files.Add(0, {"/received/2.1.0", ""});
  files.Add(0, {"/received/2.1.0", ""});  // two reducers of one worker read it
  files.Add(1, {"/runs/7.1.run", "7.1"});
  files.Add(2, {"/runs/9.1.run", "9.1"});
  EXPECT_TRUE(files.TakeBefore(0).empty());
  const std::vector<LayerFile> first = files.TakeBefore(1);
  EXPECT_EQ(Paths(first), (std::vector<std::string>{"/received/2.1.0", "/runs/1.1.run"}));
  EXPECT_EQ(first[0].own_run_id, "");
  EXPECT_EQ(first[1].own_run_id, "1.1");
  EXPECT_TRUE(files.TakeBefore(1).empty());
  EXPECT_EQ(Paths(files.TakeBefore(3)),
            (std::vector<std::string>{"/runs/7.1.run", "/runs/9.1.run"}));
}

}  // namespace
}  // namespace weir::worker
