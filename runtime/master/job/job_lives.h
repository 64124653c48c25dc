#pragma once

// Which masters had a job in hand before it ended. Upstream: HistoryReader, from the journal.
// Downstream: Conclude.

#include <cstdint>
#include <vector>

namespace weir::master {

/// Counts the lives of a job: each master that began it and did not end it is one.
///
/// A life that ended because its master was shut down is no fault of the job. One that ended
/// without a word may be: a job whose planning ends its master would end every later one too.
class JobLives {
 public:
  /// The master of this epoch has begun the job, or gone on with it.
  void BegunBy(std::int64_t master_epoch) {
    if (!epochs_.empty() && epochs_.back() == master_epoch) return;
    epochs_.push_back(master_epoch);
    ++cut_short_;
  }
  /// The master of this epoch was shut down.
  void LetGoBy(std::int64_t master_epoch) {
    if (!epochs_.empty() && epochs_.back() == master_epoch) --cut_short_;
  }
  bool begun() const { return !epochs_.empty(); }
  /// Of the masters that began it, rising.
  const std::vector<std::int64_t>& epochs() const { return epochs_; }
  /// Masters that ended without a word while they had the job in hand.
  int cut_short() const { return cut_short_; }

 private:
  std::vector<std::int64_t> epochs_;
  int cut_short_ = 0;
};

}  // namespace weir::master
