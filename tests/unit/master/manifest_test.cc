#include "runtime/master/output/manifest.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/memory_storage.h"

namespace weir::master {
namespace {

using testing::ElementsAre;

absl::StatusOr<Manifest> Read(const std::string& text) {
  sim::MemoryStorage storage;
  EXPECT_TRUE(storage.MakeDirectory("/out").ok());
  EXPECT_TRUE(storage.WriteFileAtomically("/out/manifest.json", text).ok());
  return ReadManifest(storage, "/out");
}

// What the fuzz target starts from reaches what it is there for: a seed that is refused for another
// reason than its own checks nothing.
TEST(ManifestTest, OfTheKeptInputsWholeOnesAreAcceptedAndNoOthers) {
  std::set<std::string> accepted, refused;
  for (const auto& entry : std::filesystem::directory_iterator(WEIR_MANIFEST_CORPUS)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const absl::StatusOr<Manifest> manifest = Read(text);
    (manifest.ok() ? accepted : refused).insert(entry.path().filename().string());
    if (!manifest.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(manifest.status())) << entry.path();
    }
  }
  EXPECT_THAT(accepted, ElementsAre("empty_output", "whole"));
  EXPECT_THAT(refused, ElementsAre("itself", "leaves", "nameless", "negative", "negative_records",
                                   "no_version", "parent", "types", "wrapped"));
}

// The seeds differ from what is written in the one thing that each is named after.
TEST(ManifestTest, WhatIsWrittenIsReadAgain) {
  ManifestHead head;
  head.weir_version = "0.1.0";
  head.job_id = "j-1";
  v1::OutputPart part;
  part.set_file("part-00000");
  part.set_bytes(4);
  part.set_records(1);
  part.set_xxh3_64("0123456789abcdef");
  const absl::StatusOr<Manifest> manifest = Read(ManifestText(head, {part}));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->job_id, "j-1");
  ASSERT_EQ(manifest->parts.size(), 1u);
  EXPECT_EQ(manifest->parts[0].SerializeAsString(), part.SerializeAsString());
}

TEST(ManifestTest, IsKnownByItsBeginning) {
  ManifestHead head;
  head.spec.set_job("word\n\"count\"");
  head.job_id = "j-1";
  const std::string text = ManifestText(head, {});
  EXPECT_TRUE(BeginsAsManifest(text));
  EXPECT_TRUE(BeginsAsManifest(text.substr(0, text.find("parameters"))));
  for (const char* other :
       {"", "{", "[]", "{\n  \"job\": \"x\"\n}\n", "{\"job\":\"x\",\"job_id\":\"j\"}"}) {
    EXPECT_FALSE(BeginsAsManifest(other)) << other;
  }
}

}  // namespace
}  // namespace weir::master
