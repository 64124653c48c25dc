#include "runtime/master/schedule/turn_findings.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace weir::master {
namespace {

std::vector<std::int32_t> Looks(TurnFindings& findings) {
  std::vector<std::int32_t> looks;
  for (std::int32_t w = findings.NextLook(); w != TurnFindings::kNone; w = findings.NextLook()) {
    looks.push_back(w);
  }
  std::sort(looks.begin(), looks.end());
  return looks;
}

TEST(TurnFindings, LooksAgainOnlyAtWhomThisConcerns) {
  TurnFindings findings(4, 3, 0);
  findings.Begin();
  for (const std::int32_t sender : {0, 1, 3}) findings.Add(sender);
  for (std::int32_t w = findings.NextLook(); w != TurnFindings::kNone; w = findings.NextLook()) {
    findings.RestsOn(w == 1 ? 2 : 0);
    if (w != 3) findings.Found(10 - w);
  }
  EXPECT_EQ(findings.TakeFirst(), 9);  // that of sender 1
  findings.Taken(0);
  findings.Taken(2);
  EXPECT_EQ(Looks(findings), (std::vector<std::int32_t>{0, 3}));
  // Neither look found anything this time.
  EXPECT_EQ(findings.TakeFirst(), TurnFindings::kNone);
}

TEST(TurnFindings, BeginsEveryTurnWithNothing) {
  TurnFindings findings(2, 1, 0);
  findings.Begin();
  findings.Add(0);
  findings.NextLook();
  findings.RestsOn(0);
  findings.Found(5);
  findings.Begin();
  EXPECT_EQ(findings.NextLook(), TurnFindings::kNone);
  EXPECT_EQ(findings.TakeFirst(), TurnFindings::kNone);
  findings.Add(1);
  EXPECT_EQ(findings.NextLook(), 1);
  findings.Taken(0);
  EXPECT_EQ(findings.NextLook(), TurnFindings::kNone);
}

TEST(TurnFindings, LooksAgainOnlyWhereLessIsLeftThanNeeded) {
  TurnFindings findings(3, 1, 0);
  findings.Begin();
  for (const std::int32_t sender : {0, 1, 2}) findings.Add(sender);
  for (std::int32_t w = findings.NextLook(); w != TurnFindings::kNone; w = findings.NextLook()) {
    findings.RestsOn(0, w == 2 ? TurnFindings::kAllOfIt : w + 1);
  }
  findings.Taken(0, 3);
  EXPECT_EQ(Looks(findings), (std::vector<std::int32_t>{2}));
  findings.Taken(0, 2);
  EXPECT_EQ(Looks(findings), std::vector<std::int32_t>());
  findings.Taken(0, 1);
  EXPECT_EQ(Looks(findings), (std::vector<std::int32_t>{1}));
  findings.Taken(0, 0);
  EXPECT_EQ(Looks(findings), (std::vector<std::int32_t>{0}));
}

TEST(TurnFindings, FindsAgainWhatSeveralLooksRestOn) {
  TurnFindings findings(3, 2, 2);
  findings.Begin();
  for (const std::int32_t sender : {0, 1, 2}) findings.Add(sender);
  findings.SharedRestsOn(1, 0);
  for (std::int32_t w = findings.NextLook(); w != TurnFindings::kNone; w = findings.NextLook()) {
    findings.RestsOnShared(w == 1 ? 0 : 1);
  }
  const std::int64_t version = findings.SharedVersion(1);
  findings.Taken(1);
  EXPECT_EQ(findings.SharedVersion(1), version);
  findings.Taken(0);
  EXPECT_NE(findings.SharedVersion(1), version);
  EXPECT_EQ(Looks(findings), (std::vector<std::int32_t>{0, 2}));
}

/// The same by looking at everything each time.
struct Plain {
  std::map<std::int32_t, std::int32_t> found;  // rank by sender
  /// By sender: resources, and what it needs of each.
  std::map<std::int32_t, std::map<std::int32_t, std::int64_t>> rests_on;
  std::map<std::int32_t, std::set<std::int32_t>> rests_on_shared;  // by sender
  std::map<std::int32_t, std::set<std::int32_t>> shared_rests_on;  // resources
  std::set<std::int32_t> taking_part;
  std::set<std::int32_t> to_look_at;

  std::int32_t First() const {
    std::int32_t first = TurnFindings::kNone;
    for (const auto& [sender, rank] : found) {
      if (first == TurnFindings::kNone || rank < first) first = rank;
    }
    return first;
  }
  void Take(std::int32_t rank) {
    const auto taken = std::find_if(found.begin(), found.end(),
                                    [rank](const auto& entry) { return entry.second == rank; });
    taking_part.erase(taken->first);
    rests_on.erase(taken->first);
    rests_on_shared.erase(taken->first);
    found.erase(taken);
  }
  void Taken(std::int32_t resource, std::int64_t left) {
    for (const std::int32_t sender : taking_part) {
      const auto rests = rests_on[sender].find(resource);
      bool again = rests != rests_on[sender].end() && left < rests->second;
      for (const std::int32_t shared : rests_on_shared[sender]) {
        again = again || shared_rests_on[shared].contains(resource);
      }
      if (!again) continue;
      to_look_at.insert(sender);
      found.erase(sender);
    }
    for (auto& [shared, resources] : shared_rests_on) resources.erase(resource);
  }
};

// What a look rested on before it was made again may have it made once more: it is asked for at
// least where it has to be, and the first that is found is always the same.
TEST(TurnFindings, FindsWhatAPlainOneFinds) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const auto draw = [&random](std::int32_t below) {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(below));
  };
  for (int size = 1; size <= 12; ++size) {
    TurnFindings findings(size, size + 2, 2);
    for (int turn = 0; turn < 100; ++turn) {
      Plain plain;
      findings.Begin();
      for (std::int32_t sender = 0; sender < size; ++sender) {
        if (draw(3) == 0) continue;
        findings.Add(sender);
        plain.taking_part.insert(sender);
        plain.to_look_at.insert(sender);
      }
      for (;;) {
        for (std::int32_t w = findings.NextLook(); w != TurnFindings::kNone;
             w = findings.NextLook()) {
          ASSERT_TRUE(plain.taking_part.contains(w));
          plain.to_look_at.erase(w);
          plain.found.erase(w);
          plain.rests_on[w].clear();
          plain.rests_on_shared[w].clear();
          for (int n = draw(4); n > 0; --n) {
            const std::int32_t resource = draw(size + 2);
            const std::int64_t needs = draw(3) == 0 ? TurnFindings::kAllOfIt : draw(4);
            findings.RestsOn(resource, needs);
            std::int64_t& most = plain.rests_on[w][resource];
            most = std::max(most, needs);
          }
          if (draw(4) == 0) {
            const std::int32_t shared = draw(2);
            const std::int32_t resource = draw(size + 2);
            findings.SharedRestsOn(shared, resource);
            findings.RestsOnShared(shared);
            plain.shared_rests_on[shared].insert(resource);
            plain.rests_on_shared[w].insert(shared);
          }
          if (draw(3) == 0) continue;
          const std::int32_t rank = draw(5) * size + w;  // two senders never find the same
          findings.Found(rank);
          plain.found[w] = rank;
        }
        ASSERT_TRUE(plain.to_look_at.empty());
        const std::int32_t rank = findings.TakeFirst();
        ASSERT_EQ(rank, plain.First());
        if (rank == TurnFindings::kNone) break;
        plain.Take(rank);
        for (int n = draw(3); n > 0; --n) {
          const std::int32_t resource = draw(size + 2);
          const std::int64_t left = draw(4);
          findings.Taken(resource, left);
          plain.Taken(resource, left);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir::master
