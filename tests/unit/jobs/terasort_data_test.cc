#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "jobs/terasort/record_check.h"
#include "jobs/terasort/record_generator.h"
#include "jobs/terasort/sort_records.h"

namespace weir::terasort {
namespace {

std::vector<std::string> MakeRecords(const GenerateOptions& options, std::int64_t first,
                                     std::int64_t count) {
  TeraRecords generator(options);
  std::vector<std::string> records;
  for (std::int64_t i = first; i < first + count; ++i) {
    generator.Append(i, records.emplace_back());
  }
  return records;
}

std::string Joined(const std::vector<std::string>& records) {
  std::string bytes;
  for (const std::string& record : records) bytes += record;
  return bytes;
}

std::string KeyOf(const std::string& record) { return record.substr(0, kKeyBytes); }

// One file, added in pieces of `piece` bytes.
absl::Status Check(RecordCheck& check, const std::string& name, const std::string& bytes,
                   std::size_t piece = 1000) {
  check.BeginFile(name);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    if (absl::Status s = check.Add(std::string_view(bytes).substr(at, piece)); !s.ok()) return s;
  }
  return check.EndFile();
}

TEST(TeraRecords, AreLaidOutAsGensortDoes) {
  const std::string record = MakeRecords({.seed = 1, .skew = 0}, 0xabc, 1)[0];
  ASSERT_EQ(record.size(), kRecordBytes);
  EXPECT_EQ(record.substr(10, 2), std::string("\0\x11", 2));
  EXPECT_EQ(record.substr(12, 32), "00000000000000000000000000000ABC");
  EXPECT_EQ(record.substr(44, 4), "\x88\x99\xaa\xbb");
  EXPECT_EQ(record.substr(96, 4), "\xcc\xdd\xee\xff");
  for (std::size_t i = 48; i < 96; i += 4)
    EXPECT_EQ(record.substr(i, 4), std::string(4, record[i]));
}

TEST(TeraRecords, DependOnNumberSeedAndSkewOnly) {
  for (const double skew : {0.0, 0.7}) {
    const auto all = MakeRecords({.seed = 5, .skew = skew}, 0, 300);
    const auto some = MakeRecords({.seed = 5, .skew = skew}, 100, 50);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 100));
    EXPECT_NE(all, MakeRecords({.seed = 6, .skew = skew}, 0, 300));
  }
  // Pinned, so that a seed means the same tomorrow.
  EXPECT_EQ(absl::BytesToHexString(KeyOf(MakeRecords({.seed = 1}, 0, 1)[0])),
            "6ec85f1f8547bc0c470a");
}

TEST(TeraRecords, KeysAreUniformWithoutSkew) {
  constexpr int kRecords = 64'000;
  std::vector<int> low_nibbles(16), high_nibbles(16);
  std::set<std::string> keys;
  for (const std::string& record : MakeRecords({}, 0, kRecords)) {
    ++high_nibbles[static_cast<unsigned char>(record[0]) >> 4];
    ++low_nibbles[static_cast<unsigned char>(record[9]) & 0xf];
    keys.insert(KeyOf(record));
  }
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(kRecords));
  for (int i = 0; i < 16; ++i) {
    // Six standard deviations of 4000.
    EXPECT_NEAR(low_nibbles[static_cast<std::size_t>(i)], kRecords / 16, 370);
    EXPECT_NEAR(high_nibbles[static_cast<std::size_t>(i)], kRecords / 16, 370);
  }
}

TEST(TeraRecords, SkewCrowdsTheLowKeysAsPromised) {
  constexpr int kRecords = 40'000;
  for (const double skew : {0.5, 0.9}) {
    int lower_half = 0;
    std::set<std::string> keys;
    for (const std::string& record : MakeRecords({.seed = 3, .skew = skew}, 0, kRecords)) {
      lower_half += static_cast<unsigned char>(record[0]) < 0x80 ? 1 : 0;
      keys.insert(KeyOf(record));
    }
    EXPECT_NEAR(lower_half, kRecords * std::pow(2, skew - 1), 6 * std::sqrt(kRecords) / 2);
    EXPECT_LT(keys.size(), static_cast<std::size_t>(kRecords)) << skew;
  }
}

RC_GTEST_PROP(RecordCheckProperty, ChecksumKnowsRecordsNotTheirOrderOrCuts, ()) {
  auto records =
      MakeRecords({.seed = *rc::gen::arbitrary<std::uint64_t>()}, 0, *rc::gen::inRange(1, 60));
  RecordCheck one(DataOrder::kAny);
  RC_ASSERT(Check(one, "a", Joined(records)).ok());

  std::reverse(records.begin(), records.end());
  std::rotate(records.begin(),
              records.begin() +
                  *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(records.size())),
              records.end());
  RecordCheck other(DataOrder::kAny);
  RC_ASSERT(Check(other, "b", Joined(records), *rc::gen::inRange<std::size_t>(1, 350)).ok());
  RC_ASSERT(one.Summary().checksum == other.Summary().checksum);
  RC_ASSERT(one.Summary().records == static_cast<std::int64_t>(records.size()));

  // One bit of one record.
  auto& byte = records[*rc::gen::inRange<std::size_t>(0, records.size())]
                      [*rc::gen::inRange<std::size_t>(0, kRecordBytes)];
  byte = static_cast<char>(byte ^ 1 << *rc::gen::inRange(0, 8));
  RecordCheck changed(DataOrder::kAny);
  RC_ASSERT(Check(changed, "c", Joined(records)).ok());
  RC_ASSERT(one.Summary().checksum != changed.Summary().checksum);
}

TEST(RecordCheck, TakesSortedFilesAndCountsRepeatedKeys) {
  auto records = MakeRecords({.seed = 9}, 0, 100);
  records.push_back(records[3]);
  std::sort(records.begin(), records.end());
  RecordCheck check(DataOrder::kByKey);
  const std::string bytes = Joined(records);
  EXPECT_TRUE(Check(check, "p0", bytes.substr(0, 4000)).ok());
  EXPECT_TRUE(Check(check, "p1", "").ok());
  EXPECT_TRUE(Check(check, "p2", bytes.substr(4000)).ok());
  EXPECT_EQ(check.Summary().records, 101);
  EXPECT_EQ(check.Summary().bytes, 10100);
  EXPECT_EQ(check.Summary().repeated_keys, 1);
}

TEST(RecordCheck, NamesPartAndRecordOfDisorder) {
  auto records = MakeRecords({.seed = 9}, 0, 10);
  std::sort(records.begin(), records.end());
  std::swap(records[6], records[7]);
  RecordCheck within(DataOrder::kByKey);
  const absl::Status disorder = Check(within, "out/part-00001", Joined(records));
  EXPECT_EQ(disorder.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(disorder.message().find("out/part-00001: record 7 (at byte 700)"), std::string::npos)
      << disorder;

  std::sort(records.begin(), records.end());
  const std::string bytes = Joined(records);
  RecordCheck across(DataOrder::kByKey);
  ASSERT_TRUE(Check(across, "p0", bytes.substr(500)).ok());
  const absl::Status later = Check(across, "p1", bytes.substr(0, 500));
  EXPECT_NE(later.message().find("p1: record 0 (at byte 0)"), std::string::npos) << later;
  EXPECT_NE(later.message().find("the last of p0"), std::string::npos) << later;
}

TEST(RecordCheck, NamesABrokenRecord) {
  RecordCheck check(DataOrder::kAny);
  const absl::Status broken = Check(check, "f", Joined(MakeRecords({}, 0, 3)).substr(0, 250));
  EXPECT_NE(broken.message().find("f: ends after 50 of the 100 bytes of record 2 (at byte 200)"),
            std::string::npos)
      << broken;
}

}  // namespace
}  // namespace weir::terasort
