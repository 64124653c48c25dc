#pragma once

// What happened in a simulation, as a hash for comparing runs and as data for the checkers.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/mono_time.h"

namespace weir::sim {

/// A rate that a transfer was given while it moved.
struct RateChange {
  MonoTime at;
  std::int64_t bytes_per_s = 0;
};

/// One transfer as the data plane saw it: who really sent to whom, and when.
struct MovedBytes {
  std::string job_id;
  std::string sender;
  std::string receiver;
  MonoTime began;
  /// When it was reported as nearly done, or done: from then on the master may grant its channels.
  MonoTime reported;
  /// When all but what it was granted as look-ahead had arrived, or all: its ports were free then.
  MonoTime released;
  std::int64_t bytes = 0;
  bool concurrent = false;               // plans without an order: ports and cuts do not bind
  std::int64_t pacing_bytes_per_s = 0;   // concurrent ones of plans by rates: together they do
  std::vector<RateChange> rate_changes;  // of that pacing, in the order of time
};

/// One write step.
struct Written {
  std::string job_id;
  std::int64_t plan_epoch = 0;
  MonoTime began;
  MonoTime ended;
};

class Trace {
 public:
  explicit Trace(bool print) : print_(print) {}
  void Note(MonoTime now, std::string_view event);
  std::uint64_t hash() const { return hash_; }

  std::vector<MovedBytes> moves;
  std::vector<Written> writes;
  /// Worker and master epochs as they were given out.
  std::vector<std::int64_t> worker_epochs;
  int cancelled_transfers = 0;

 private:
  const bool print_;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace weir::sim
