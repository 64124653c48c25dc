#include "runtime/format/part_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/format/xxh3_stream.h"
#include "tests/unit/format/scratch_file.h"

namespace weir::format {
namespace {

TEST(PartWriterTest, SumsUpWhatItWrote) {
  const ScratchFolder folder;
  const auto writer = PartWriter::Create(folder.File("part-00000.1"));
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Append("a\t1\n", 1).ok());
  ASSERT_TRUE((*writer)->Append("b\t2\nc\t3\n", 2).ok());
  const auto part = (*writer)->Finish();
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->file(), "part-00000.1");
  EXPECT_EQ(part->bytes(), 12);
  EXPECT_EQ(part->records(), 3);
  EXPECT_EQ(part->xxh3_64(), Xxh3Hex(Xxh3("a\t1\nb\t2\nc\t3\n")));
  EXPECT_EQ(ReadAll(folder.File("part-00000.1")), "a\t1\nb\t2\nc\t3\n");
}

TEST(PartWriterTest, AnEmptyPartHasTheChecksumOfNothing) {
  const ScratchFolder folder;
  const auto writer = PartWriter::Create(folder.File("p"));
  ASSERT_TRUE(writer.ok());
  const auto part = (*writer)->Finish();
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->bytes(), 0);
  EXPECT_EQ(part->xxh3_64(), "2d06800538d394c2");  // XXH3-64 of no bytes, from the specification
}

TEST(PartWriterTest, NamesAMissingFolder) {
  const auto writer = PartWriter::Create("/no/such/folder/part");
  EXPECT_EQ(writer.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(writer.status().message().find("/no/such/folder/part"), std::string::npos);
}

RC_GTEST_PROP(PartWriterProperty, PiecesDoNotMatter, (const std::vector<std::string>& pieces)) {
  const ScratchFolder folder;
  const auto writer = PartWriter::Create(folder.File("p"));
  RC_ASSERT(writer.ok());
  std::string whole;
  for (const std::string& piece : pieces) {
    RC_ASSERT((*writer)->Append(piece, 1).ok());
    whole += piece;
  }
  const auto part = (*writer)->Finish();
  RC_ASSERT(part.ok());
  RC_ASSERT(part->xxh3_64() == Xxh3Hex(Xxh3(whole)));
  RC_ASSERT(ReadAll(folder.File("p")) == whole);
}

}  // namespace
}  // namespace weir::format
