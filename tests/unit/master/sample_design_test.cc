// Which bytes a sample reads: by hand.

#include "runtime/master/sample/sample_design.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/master/sample/sample_run.h"
#include "tests/unit/master/sample_inputs.h"

namespace weir::master {
namespace {

TEST(SampleIdTest, NamesItsJob) {
  EXPECT_EQ(JobOfSample(SampleId("j-1")), "j-1");
  EXPECT_EQ(JobOfSample("j-1"), "");
}

TEST(SampleDesignTest, TakesAHundredthFromPlacesAllOverTheInput) {
  const InputList input = Files({{"/a", 1'200'000'000}, {"/b", 800'000'000}});
  const auto design = DesignSample(input, 4, 1, {});
  ASSERT_TRUE(design.has_value());
  const std::int64_t bytes = BytesOf(design->small) + BytesOf(design->large);
  EXPECT_LE(bytes, 20'000'000);
  EXPECT_GT(bytes, 19'900'000);
  EXPECT_NEAR(static_cast<double>(BytesOf(design->small)) / static_cast<double>(bytes), 0.2, 0.01);
  std::map<std::string, int> places;
  for (const auto& of_worker : design->large) {
    EXPECT_EQ(of_worker.size(), 4);
    for (const v1::InputRange& range : of_worker) ++places[range.path()];
  }
  EXPECT_EQ(places["/a"] + places["/b"], 16);
  EXPECT_GE(places["/b"], 6);
}

TEST(SampleDesignTest, AWorkerOfManySlotsReadsAsMuchAsManyOfOne) {
  SamplePolicy policy;
  policy.places_per_slot = 40;
  for (const std::int64_t input : {100'000'000, 300'000'000, 1'000'000'000}) {
    const auto slots = DesignSample(Files({{"/a", input}}), 1, 4, policy);
    const auto workers = DesignSample(Files({{"/a", input}}), 4, 1, policy);
    ASSERT_TRUE(slots.has_value() && workers.has_value());
    for (const auto part : {&SampleDesign::small, &SampleDesign::large, &SampleDesign::again}) {
      EXPECT_EQ(BytesOf((*slots).*part), BytesOf((*workers).*part)) << input;
      EXPECT_EQ(((*slots).*part)[0].size(), 4 * ((*workers).*part)[0].size());
    }
  }
}

TEST(SampleDesignTest, PlacesAreAnywhereInTheirStrataAndTheSameEachTime) {
  SamplePolicy policy;
  policy.places_per_slot = 40;
  const InputList input = Files({{"/a", 1'000'000'000}});
  const auto design = DesignSample(input, 2, 1, policy);
  const auto other = DesignSample(input, 2, 1, policy);
  ASSERT_TRUE(design.has_value() && other.has_value());
  constexpr std::int64_t kStratum = 1'000'000'000 / 80;
  std::set<std::int64_t> tenths;
  for (std::size_t w = 0; w < 2; ++w) {
    ASSERT_EQ(design->small[w].size(), 40u);
    for (std::size_t k = 0; k < 40; ++k) {
      const std::int64_t into =
          design->small[w][k].begin() - static_cast<std::int64_t>(40 * w + k) * kStratum;
      EXPECT_GE(into, 0);
      EXPECT_LE(into, kStratum);
      tenths.insert(10 * into / kStratum);
      EXPECT_EQ(design->small[w][k].begin(), other->small[w][k].begin());
    }
  }
  EXPECT_GE(tenths.size(), 8u);
}

TEST(SampleDesignTest, PlacesOfALargeInputAreInAllOfTheirStrata) {
  constexpr std::int64_t kStratum = 125'000'000'000;
  const auto design = DesignSample(Files({{"/a", 8 * kStratum}}), 2, 1, {});
  ASSERT_TRUE(design.has_value());
  int far = 0;
  for (std::size_t w = 0; w < 2; ++w) {
    ASSERT_EQ(design->small[w].size(), 4u);
    for (std::size_t k = 0; k < 4; ++k) {
      const std::int64_t into =
          design->small[w][k].begin() - static_cast<std::int64_t>(4 * w + k) * kStratum;
      EXPECT_GE(into, 0);
      EXPECT_LE(into, kStratum);
      if (into > kStratum / 4) ++far;
    }
  }
  EXPECT_GE(far, 3) << "of eight";
}

TEST(SampleDesignTest, BeginsWithARecordOrTwoOfEachWorkersSmallPart) {
  const auto design = DesignSample(
      Files({{"/a", 500'000'000}, {"/b.gz", 3'000'000}, {"/c", 497'000'000}}), 3, 1, {});
  ASSERT_TRUE(design.has_value());
  ASSERT_EQ(design->tiny.size(), 3u);
  for (std::size_t w = 0; w < 3; ++w) {
    ASSERT_EQ(design->tiny[w].size(), 1u);
    const v1::InputRange& tiny = design->tiny[w].front();
    const v1::InputRange& small = design->small[w].front();
    EXPECT_EQ(tiny.path(), small.path());
    EXPECT_EQ(tiny.begin(), small.begin());
    EXPECT_EQ(tiny.end(), small.begin() + kTinyBytes);
  }
  const auto zipped =
      DesignSample(Files(std::vector<InputFile>(10'000, {"/a.gz", 20'000})), 2, 1, {});
  ASSERT_TRUE(zipped.has_value());
  for (const auto& of_worker : zipped->tiny) EXPECT_TRUE(of_worker.empty()) << "it cannot be cut";
}

TEST(SampleDesignTest, EachWorkerReadsItsOwnPartOfTheInput) {
  const auto design = DesignSample(Files({{"/a", 900'000'000}}), 3, 1, {});
  ASSERT_TRUE(design.has_value());
  for (std::size_t w = 0; w < 3; ++w) {
    for (const auto* ranges : {&design->small[w], &design->large[w], &design->again[w]}) {
      for (const v1::InputRange& range : *ranges) {
        EXPECT_GE(range.begin(), static_cast<std::int64_t>(w) * 300'000'000);
        EXPECT_LE(range.end(), static_cast<std::int64_t>(w + 1) * 300'000'000);
      }
    }
  }
}

TEST(SampleDesignTest, ReadsKeysFromManyPlacesAndAgainFromFew) {
  SamplePolicy policy;
  policy.places_per_slot = 40;
  const auto design = DesignSample(Files({{"/a", 1'000'000'000}}), 2, 1, policy);
  ASSERT_TRUE(design.has_value());
  EXPECT_EQ(design->small[0].size(), 40u);
  EXPECT_EQ(design->large[1].size(), 40u);
  EXPECT_EQ(design->again[1].size(), 4u);
  EXPECT_NEAR(static_cast<double>(BytesOf(design->again)),
              static_cast<double>(BytesOf(design->small)), 100);
  policy.places_again = 1;
  const auto one = DesignSample(Files({{"/a", 1'000'000'000}}), 2, 1, policy);
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->again[1].size(), 1u);
  EXPECT_NEAR(static_cast<double>(BytesOf(one->again)), static_cast<double>(BytesOf(one->small)),
              100);
  policy.input_bytes_min = 0;
  const auto few = DesignSample(Files({{"/a", 10'000'000}}), 2, 1, policy);
  ASSERT_TRUE(few.has_value());
  EXPECT_LT(few->large[0].size(), 10u) << "a place has more than a record";
}

TEST(SampleDesignTest, TakesMoreOfSmallInputsSoThatRatesCanBeTold) {
  const auto bytes = [](std::int64_t input, std::size_t workers) {
    SamplePolicy policy;
    policy.input_bytes_min = 0;
    const auto design = DesignSample(Files({{"/a", input}}), workers, 1, policy);
    return design ? BytesOf(design->small) + BytesOf(design->large) : 0;
  };
  EXPECT_NEAR(static_cast<double>(bytes(256 << 20, 2)), 8 << 20, 64) << "4 MiB a worker";
  EXPECT_NEAR(static_cast<double>(bytes(20'000'000, 8)), 1e6, 64) << "at most a twentieth";
}

TEST(SampleDesignTest, IsBounded) {
  const auto design = DesignSample(Files({{"/a", std::int64_t{1} << 50}}), 8, 1, {});
  ASSERT_TRUE(design.has_value());
  EXPECT_LE(BytesOf(design->small) + BytesOf(design->large), 64 << 20);
}

TEST(SampleDesignTest, TakesCompressedFilesWhole) {
  std::vector<InputFile> files;
  for (int i = 0; i < 10'000; ++i) files.push_back({"/doc/" + std::to_string(i) + ".gz", 20'000});
  const InputList input = Files(std::move(files));
  const auto design = DesignSample(input, 2, 1, {});
  ASSERT_TRUE(design.has_value());
  EXPECT_LE(BytesOf(design->small) + BytesOf(design->large), 8 << 20);
  EXPECT_GE(BytesOf(design->small) + BytesOf(design->large), 4 << 20);
  EXPECT_GE(BytesOf(design->large), 2 * BytesOf(design->small));
  std::set<std::string> seen;
  for (const auto* pieces : {&design->small, &design->large}) {
    for (const auto& of_worker : *pieces) {
      for (const v1::InputRange& range : of_worker) {
        EXPECT_EQ(range.begin(), 0);
        EXPECT_EQ(range.end(), range.file_bytes());
        EXPECT_TRUE(seen.insert(range.path()).second) << "read twice: " << range.path();
      }
    }
  }
}

TEST(SampleDesignTest, LeavesOutWhatASampleSaysNothingOf) {
  EXPECT_FALSE(DesignSample(Files({{"/a", 1'000'000}}), 2, 1, {}).has_value());
  EXPECT_FALSE(DesignSample(Files({{"/a", 0}}), 2, 1, {}).has_value());
  EXPECT_FALSE(DesignSample(Files({{"/a.gz", 1'000'000'000}}), 2, 1, {}).has_value());
  EXPECT_FALSE(
      DesignSample(Files({{"/a.gz", 900'000'000}, {"/b", 100'000'000}}), 2, 1, {}).has_value())
      << "too little of it can be read in part";
  SamplePolicy off;
  off.enabled = false;
  EXPECT_FALSE(DesignSample(Files({{"/a", 1'000'000'000}}), 2, 1, off).has_value());
}

}  // namespace
}  // namespace weir::master
