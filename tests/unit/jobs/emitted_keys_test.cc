// Keys that are too long to be held: refused by their length, which is all that a test needs of
// them.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/engine/combine_emit.h"
#include "jobs/engine/sections/record_lengths.h"

namespace weir {
namespace {

struct Words {
  using Key = std::string;
  using Value = std::int64_t;
};

// Keeps how long the keys are that it is given.
struct KeyLengths {
  void AddShort(const ShortKey&, std::int64_t) {}
  void AddStable(const char*, std::size_t bytes, std::int64_t) { stable.push_back(bytes); }
  void AddCopied(std::string_view key, std::int64_t) { copied.push_back(key.size()); }
  std::vector<std::size_t> stable, copied;
};

class EmittedKeysTest : public ::testing::Test {
 protected:
  // A key that says that it is so long; no more of it is there than errors show.
  std::string_view KeyOf(std::size_t bytes) const { return {shown_.data(), bytes}; }

  const std::string shown_ = std::string(1000, 'k');
  KeyLengths batch_;
  CombineEmit<Words, KeyLengths> emit_{batch_};
};

TEST_F(EmittedKeysTest, TheLongestThatIsAllowedIsTaken) {
  emit_(KeyOf(kPairBytesMax), 1);
  EXPECT_FALSE(emit_.bad().has_value());
  EXPECT_EQ(batch_.copied, std::vector<std::size_t>{kPairBytesMax});
}

TEST_F(EmittedKeysTest, LongerOnesAreBadRecordsAndNothingOfThemIsCopied) {
  // The last one has, in 32 bits, the length of a short key.
  for (const std::size_t bytes : {kPairBytesMax + 1, (std::size_t{1} << 32) + 3}) {
    CombineEmit<Words, KeyLengths> emit(batch_);
    emit(KeyOf(bytes), 1);
    ASSERT_TRUE(emit.bad().has_value()) << bytes;
    EXPECT_FALSE(emit.bad()->can_be_left_out);
    EXPECT_NE(emit.bad()->reason.find("a key of " + std::to_string(bytes) + " bytes"),
              std::string::npos)
        << emit.bad()->reason;
    EXPECT_NE(emit.bad()->reason.find("at most 134217728"), std::string::npos);
    EXPECT_EQ(emit.bad()->content, std::string(200, 'k'));
  }
  EXPECT_TRUE(batch_.copied.empty());
  EXPECT_TRUE(batch_.stable.empty());
}

}  // namespace
}  // namespace weir
