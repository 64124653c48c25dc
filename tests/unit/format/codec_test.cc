// Blocks packed by each codec: they come back, damage is found, what does not shrink stays.

#include "runtime/format/codec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/limits.h"
#include "runtime/format/codec_trial.h"

namespace weir::format {
namespace {

const std::vector<v1::Codec> kCodecs = {v1::CODEC_LZ4, v1::CODEC_ZSTD};

absl::Status Unpack(v1::Codec codec, std::string_view packed, std::string& raw) {
  return UnpackBlock(codec, packed, raw.data(), static_cast<std::int64_t>(raw.size()));
}

// No two bytes of it foretell a third.
std::string Noise(std::size_t bytes) {
  std::string noise;
  std::uint64_t state = 1;
  while (noise.size() < bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    noise.push_back(static_cast<char>(state >> 56));
  }
  return noise;
}

TEST(CodecTest, KnowsItsOwnNumbersOnly) {
  for (const std::uint32_t codec : {0U, 1U, 2U}) EXPECT_TRUE(IsKnownCodec(codec));
  for (const std::uint32_t codec : {3U, 255U, 0xffffffffU}) EXPECT_FALSE(IsKnownCodec(codec));
}

TEST(CodecTest, WithoutACodecNothingIsPacked) {
  EXPECT_TRUE(BlockPacker(v1::CODEC_NONE).Pack(std::string(1000, 'x')).empty());
}

TEST(CodecTest, WhatDoesNotShrinkIsNotPacked) {
  for (const v1::Codec codec : kCodecs) {
    BlockPacker packer(codec);
    EXPECT_TRUE(packer.Pack("x").empty());
    EXPECT_TRUE(packer.Pack(Noise(limits::kBlockBytesMax)).empty());
    EXPECT_FALSE(packer.Pack(std::string(limits::kBlockBytesMax, 'x')).empty());
  }
}

TEST(CodecTest, ABlockOfAnotherSizeIsDataLoss) {
  const std::string block(5000, 'x');
  for (const v1::Codec codec : kCodecs) {
    BlockPacker packer(codec);
    const std::string packed(packer.Pack(block));
    for (const std::size_t bytes : {std::size_t{1}, block.size() - 1, block.size() + 1}) {
      std::string raw(bytes, '\0');
      EXPECT_TRUE(absl::IsDataLoss(Unpack(codec, packed, raw))) << bytes;
    }
  }
}

TEST(CodecTest, ATrialSaysWhatEachCodecMakesOfTheFirstBytes) {
  CodecTrial trial;
  EXPECT_TRUE(trial.Run().empty());
  trial.Add(std::string(CodecTrial::kBytes - 10, 'x'));
  trial.Add(Noise(1000));
  const std::vector<v1::CodecTrial> results = trial.Run();
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].codec(), v1::CODEC_LZ4);
  EXPECT_EQ(results[1].codec(), v1::CODEC_ZSTD);
  for (const v1::CodecTrial& result : results) {
    EXPECT_EQ(result.raw_bytes(), static_cast<std::int64_t>(CodecTrial::kBytes));
    EXPECT_LT(result.packed_bytes(), 4000);
  }
}

TEST(CodecTest, ATrialOfNoiseSavesNothing) {
  CodecTrial trial;
  trial.Add(Noise(10'000));
  for (const v1::CodecTrial& result : trial.Run()) {
    EXPECT_EQ(result.packed_bytes(), result.raw_bytes());
  }
}

RC_GTEST_PROP(CodecProperty, BlocksComeBackAndTheSameBytesPackAlike, ()) {
  const auto words = *rc::gen::nonEmpty<std::vector<std::string>>();
  const int repeats = *rc::gen::inRange(1, 200);
  std::string block;
  for (int i = 0; i < repeats; ++i)
    for (const std::string& word : words) block += word + "\t1\n";
  block.resize(std::min<std::size_t>(block.size(), limits::kBlockBytesMax));
  for (const v1::Codec codec : kCodecs) {
    BlockPacker packer(codec);
    const std::string packed(packer.Pack(block));
    RC_ASSERT(std::string(packer.Pack(block)) == packed);
    if (packed.empty()) continue;
    std::string raw(block.size(), '\0');
    RC_ASSERT(Unpack(codec, packed, raw).ok());
    RC_ASSERT(raw == block);
  }
}

RC_GTEST_PROP(CodecProperty, AnyBytesAreAnErrorOrABlock, ()) {
  const auto bytes = *rc::gen::nonEmpty<std::string>();
  std::string raw(static_cast<std::size_t>(*rc::gen::inRange(1, 5000)), '\0');
  for (const v1::Codec codec : kCodecs) {
    const absl::Status status = Unpack(codec, bytes, raw);
    RC_ASSERT(status.ok() || absl::IsDataLoss(status));
  }
}

}  // namespace
}  // namespace weir::format
