#include "runtime/base/job_state_words.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(JobStateWordsTest, EveryStateHasWordsOfItsOwn) {
  std::set<std::string> words;
  for (int state = v1::JobState_MIN; state <= v1::JobState_MAX; ++state) {
    ASSERT_TRUE(v1::JobState_IsValid(state)) << state;
    EXPECT_TRUE(words.insert(JobStateInWords(static_cast<v1::JobState>(state))).second) << state;
  }
}

}  // namespace
}  // namespace weir
