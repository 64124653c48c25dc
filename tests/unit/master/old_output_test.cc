#include "runtime/master/output/old_output.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/master/output/manifest.h"
#include "tests/sim/memory_storage.h"

namespace weir::master {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class OldOutputTest : public ::testing::Test {
 protected:
  OldOutputTest() {
    Make("/out");
    Make("/out/r");
  }
  void Make(const std::string& directory) { EXPECT_TRUE(storage_.MakeDirectory(directory).ok()); }
  void Write(const std::string& path, const std::string& text = "") {
    EXPECT_TRUE(storage_.WriteFileAtomically(path, text).ok());
  }
  /// An output with two parts at `directory`, which is there already.
  void WriteOutput(const std::string& directory) {
    ManifestHead head;
    head.weir_version = "1";
    head.job_id = "j-0";
    std::vector<v1::OutputPart> parts(2);
    for (int i = 0; i < 2; ++i) {
      parts[static_cast<std::size_t>(i)].set_file(PartName(i));
      Write(directory + "/" + PartName(i));
    }
    Write(directory + "/manifest.json", ManifestText(head, parts));
  }
  std::vector<std::string> Foreign() {
    const auto foreign = ForeignEntries(storage_, "/out/r");
    EXPECT_TRUE(foreign.ok()) << foreign.status();
    return foreign.value_or(std::vector<std::string>{"?"});
  }
  bool Exists(const std::string& path) { return storage_.Stat(path).ok(); }

  sim::MemoryStorage storage_;
};

TEST_F(OldOutputTest, EmptyDirectoryAndWholeOutputHoldNothingForeign) {
  EXPECT_THAT(Foreign(), IsEmpty());
  WriteOutput("/out/r");
  EXPECT_THAT(Foreign(), IsEmpty());
  Make("/out/r/_weir");
  for (const char* name : {"plan.json", "gantt.svg", "trace.json", "plan.json.tmp-12-3"}) {
    Write(std::string("/out/r/_weir/") + name);
  }
  for (const char* mark : {"/out/r/_SUCCESS", "/out/r/_SUCCESS.tmp-12-3"}) {
    ASSERT_TRUE(storage_.WriteFile(mark, "").ok());
  }
  EXPECT_THAT(Foreign(), IsEmpty());
}

TEST_F(OldOutputTest, EverythingIsForeignWithoutAManifestOfOurs) {
  WriteOutput("/out/r");
  for (const char* text :
       {"", "{}", "[]", "null", "[1]", R"({"job_id": "j"})", R"({"schema": 1, "parts": []})",
        R"({"schema": 2, "weir_version": "1", "job_id": "j", "parts": []})",
        R"({"schema": 1, "weir_version": "1", "job_id": 7, "parts": []})",
        R"({"schema": 1, "weir_version": "1", "job_id": "j", "parts": {}})",
        R"({"schema": 1, "weir_version": "1", "job_id": "j", "parts": ["part-00000"]})",
        R"({"schema": 1, "weir_version": "1", "job_id": "j", "parts": [{"file": 3}]})"}) {
    Write("/out/r/manifest.json", text);
    EXPECT_THAT(Foreign(), ElementsAre("manifest.json", "part-00000", "part-00001")) << text;
  }
}

TEST_F(OldOutputTest, ManifestThatCannotBeReadIsAnErrorAndNotSomethingForeign) {
  WriteOutput("/out/r");
  storage_.SetGate([](const char* operation, const std::string& path) {
    return operation == std::string("read") ? absl::UnavailableError(path) : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsUnavailable(ForeignEntries(storage_, "/out/r").status()));
}

TEST_F(OldOutputTest, NamesWhatTheManifestDoesNotName) {
  WriteOutput("/out/r");
  Write("/out/r/part-00002");
  Write("/out/r/.hidden");
  Make("/out/r/_weir");
  Write("/out/r/_weir/notes.txt");
  Write("/out/r/_weir/plan.json.tmp-");
  Make("/out/r/_weir/trace.json");
  EXPECT_THAT(Foreign(), ElementsAre(".hidden", "_weir/notes.txt", "_weir/plan.json.tmp-",
                                     "_weir/trace.json", "part-00002"));
}

TEST_F(OldOutputTest, DirectoryInPlaceOfAPartAndFileInPlaceOfPicturesAreForeign) {
  WriteOutput("/out/r");
  EXPECT_TRUE(storage_.RemoveAll("/out/r/part-00001").ok());
  Make("/out/r/part-00001");
  Write("/out/r/_weir");
  EXPECT_THAT(Foreign(), ElementsAre("_weir", "part-00001"));
}

TEST_F(OldOutputTest, RestoresWhatARunHadMovedAside) {
  EXPECT_TRUE(storage_.RemoveAll("/out/r").ok());
  Make("/out/r.weir-old-j-1");
  Write("/out/r.weir-old-j-1/anything");
  EXPECT_TRUE(RestoreOldOutput(storage_, "/out/r").ok());
  EXPECT_FALSE(Exists("/out/r")) << "neither an output nor a run that was about to publish";
  Make("/out/r.weir-staging-j-1");
  EXPECT_TRUE(RestoreOldOutput(storage_, "/out/r").ok());
  EXPECT_TRUE(Exists("/out/r/anything"));
  EXPECT_FALSE(Exists("/out/r.weir-old-j-1"));
}

TEST_F(OldOutputTest, RestoresAWholeOldOutputAndNotHalfOfOne) {
  EXPECT_TRUE(storage_.RemoveAll("/out/r").ok());
  Make("/out/r.weir-old-j-1");
  WriteOutput("/out/r.weir-old-j-1");
  EXPECT_TRUE(storage_.RemoveAll("/out/r.weir-old-j-1/part-00001").ok());
  EXPECT_TRUE(RestoreOldOutput(storage_, "/out/r").ok());
  EXPECT_FALSE(Exists("/out/r"));
  Write("/out/r.weir-old-j-1/part-00001");
  EXPECT_TRUE(RestoreOldOutput(storage_, "/out/r").ok());
  EXPECT_TRUE(Exists("/out/r/part-00001"));
}

TEST_F(OldOutputTest, OfTwoThatRestoreItAtOnceNeitherFails) {
  EXPECT_TRUE(storage_.RemoveAll("/out/r").ok());
  Make("/out/r.weir-old-j-1");
  WriteOutput("/out/r.weir-old-j-1");
  bool other = false;
  storage_.SetGate([&](const char* operation, const std::string&) {
    if (operation == std::string("rename") && !std::exchange(other, true)) {
      EXPECT_TRUE(RestoreOldOutput(storage_, "/out/r").ok());
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(RestoreOldOutput(storage_, "/out/r").ok());
  EXPECT_TRUE(other);
  EXPECT_TRUE(Exists("/out/r/part-00001"));
}

TEST_F(OldOutputTest, LeavesAnOutputThatIsThereAlone) {
  Make("/out/r.weir-old-j-1");
  WriteOutput("/out/r.weir-old-j-1");
  EXPECT_TRUE(RestoreOldOutput(storage_, "/out/r").ok());
  EXPECT_TRUE(Exists("/out/r.weir-old-j-1"));
  EXPECT_FALSE(Exists("/out/r/manifest.json"));
  EXPECT_TRUE(RestoreOldOutput(storage_, "/nowhere/r").ok());
}

}  // namespace
}  // namespace weir::master
