#include "jobs/engine/references/reference_block.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/engine/sections/record_lengths.h"

namespace weir {
namespace {

std::string Encoded(std::string_view key, std::string_view value) {
  std::string record;
  AppendLength(key.size(), record);
  AppendLength(value.size(), record);
  return record.append(key).append(value);
}

RC_GTEST_PROP(ReferenceBlock, SaysWhatWasPutIn, ()) {
  const RecordShape shape{*rc::gen::inRange<std::size_t>(0, 200),
                          *rc::gen::inRange<std::size_t>(0, 200)};
  std::vector<InputRange> files;
  for (int i = 0, n = *rc::gen::inRange(1, 5); i < n; ++i) {
    files.push_back(
        {absl::StrCat("/in put/", std::string(static_cast<std::size_t>(i) * 70, 'p'), i),
         0,
         i,
         i,
         {-i, i + 1, ~std::uint64_t{0}, 1}});
  }
  ReferenceBlockBuilder builder(shape);
  struct Put {
    std::size_t file;
    std::int64_t offset;
    std::string encoded;
  };
  // Twice: nothing is left of the block before.
  for (int round = 0; round < 2; ++round) {
    std::vector<std::uint64_t> begins;
    for (const InputRange& file : files) begins.push_back(builder.AddFile(file).value());
    std::vector<Put> put;
    for (int i = 0, n = *rc::gen::inRange(1, 50); i < n; ++i) {
      if (*rc::gen::inRange(0, 4) == 0) {
        put.push_back({0, 0, Encoded(std::string(static_cast<std::size_t>(i) * 9, 'k'), "value")});
        builder.AddRecord(put.back().encoded);
      } else {
        put.push_back({*rc::gen::inRange<std::size_t>(0, files.size()),
                       *rc::gen::inRange<std::int64_t>(0, ReferenceBlockBuilder::kOffsetEnd), ""});
        builder.AddReference(begins[put.back().file] +
                             static_cast<std::uint64_t>(put.back().offset));
      }
    }
    RC_ASSERT(builder.records() == std::ssize(put));
    const std::size_t stands_for = builder.stands_for_bytes();
    const std::string block(builder.Finish());
    ReferenceBlock read;
    RC_ASSERT(ReadReferenceBlock(block, read).ok());
    RC_ASSERT(read.stands_for_bytes == stands_for);
    RC_ASSERT(read.shape.key_bytes == shape.key_bytes);
    RC_ASSERT(read.shape.value_bytes == shape.value_bytes);
    RC_ASSERT(read.entries.size() == put.size());
    for (std::size_t i = 0; i < put.size(); ++i) {
      const ReferenceBlock::Entry entry = read.entries[i];
      RC_ASSERT(entry.is_record() == !put[i].encoded.empty());
      if (entry.is_record()) {
        RC_ASSERT(read.RecordOf(entry) == put[i].encoded);
        continue;
      }
      RC_ASSERT(entry.offset() == put[i].offset);
      const InputRange found = FileOf(read.files[entry.file()]);
      const InputRange& file = files[put[i].file];
      RC_ASSERT(found.path == file.path && found.file_bytes == file.file_bytes &&
                found.version.modified_ns == file.version.modified_ns &&
                found.version.changed_ns == file.version.changed_ns &&
                found.version.inode == file.version.inode &&
                found.version.device == file.version.device);
    }
    if (put.size() > 1) {
      const std::size_t count = *rc::gen::inRange<std::size_t>(1, put.size());
      std::string first;
      std::string rest;
      const std::size_t first_stands_for = CutReferenceBlock(read, count, first, rest);
      ReferenceBlock of_first;
      ReferenceBlock of_rest;
      RC_ASSERT(ReadReferenceBlock(first, of_first).ok());
      RC_ASSERT(ReadReferenceBlock(rest, of_rest).ok());
      RC_ASSERT(of_first.stands_for_bytes == first_stands_for);
      RC_ASSERT(of_rest.stands_for_bytes == stands_for - first_stands_for + 1);
      RC_ASSERT(of_first.files == read.files && of_rest.files == read.files);
      RC_ASSERT(of_first.entries.size() == count);
      RC_ASSERT(of_rest.entries.size() == put.size() - count);
      for (std::size_t i = 0; i < put.size(); ++i) {
        const ReferenceBlock& part = i < count ? of_first : of_rest;
        const ReferenceBlock::Entry entry = part.entries[i < count ? i : i - count];
        RC_ASSERT(entry.is_record() == read.entries[i].is_record());
        if (entry.is_record()) {
          RC_ASSERT(part.RecordOf(entry) == put[i].encoded);
        } else {
          RC_ASSERT(entry.file() == read.entries[i].file() && entry.offset() == put[i].offset);
        }
      }
    }
    // Whatever is cut off or changed: an error, or entries that lie within the block.
    std::string broken = block.substr(0, *rc::gen::inRange<std::size_t>(0, block.size()));
    if (!broken.empty()) broken[*rc::gen::inRange<std::size_t>(0, broken.size())] ^= 0x55;
    const auto exact = std::make_unique<char[]>(broken.size());  // for AddressSanitizer
    std::copy(broken.begin(), broken.end(), exact.get());
    if (ReadReferenceBlock({exact.get(), broken.size()}, read).ok()) {
      std::size_t bytes = 0;
      for (const ReferenceBlock::Entry entry : read.entries) {
        RC_ASSERT(entry.is_record() || entry.file() < read.files.size());
        if (!entry.is_record()) continue;
        for (const char byte : read.RecordOf(entry)) bytes += byte != 0;
      }
      RC_ASSERT(bytes <= broken.size());
      for (const std::string_view file : read.files) FileOf(file);
    }
  }
}

TEST(ReferenceBlock, StandsForNoMoreThanABlockMayHave) {
  ReferenceBlockBuilder builder({10, 90});
  const std::uint64_t begin = builder.AddFile({"/input", 0, 1'000'000, 1'000'000}).value();
  for (std::uint64_t i = 0; i < 11'000; ++i) builder.AddReference(begin + i);
  ReferenceBlock read;
  EXPECT_TRUE(absl::IsDataLoss(ReadReferenceBlock(builder.Finish(), read)));
}

}  // namespace
}  // namespace weir
