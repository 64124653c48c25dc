#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace weir::master {

/// When jobs are sampled before they are planned, and how much of them.
struct SamplePolicy {
  bool enabled = true;
  /// Below this a sample of a hundredth says nothing about rates and costs as much as the job.
  std::int64_t input_bytes_min = 64 << 20;
  /// The same where data crosses a network: there a wrong plan costs more than a sample.
  std::int64_t network_input_bytes_min = 16 << 20;
  /// The same for jobs that take long for few bytes: those of whose input one unit worker would
  /// have for so long, by the job's own rates. Most of them run scripts, whose rates are anything.
  /// Of jobs whose rates say how keys come again (OutputGrowth): that would read it for so long.
  std::int64_t slow_input_bytes_min = 1 << 20;
  double work_s_min = 0.15;
  /// And of more of it, because next to the start of a script little else can be told.
  double slow_fraction_max = 0.1;
  double fraction = 0.01;
  /// More than that fraction where it takes this much to tell rates from overheads.
  std::int64_t slot_bytes_min = 4 << 20;
  double fraction_max = 0.05;
  /// Places of the input that a slot's sample is read from.
  int places_per_slot = 4;
  /// The same where a combiner finds keys again: text is about one thing for some pages, so that
  /// few places have too few of its words.
  int places_per_slot_of_keys = 40;
  /// Places, of a slot, of what is read once more and several times over. Opening one takes as long
  /// as mapping some kilobytes, which is much of what a job takes that combines nothing: it reads
  /// one place.
  int places_again = 4;
  std::int64_t bytes_max = 64 << 20;
  /// The sample is given up when it takes longer; the job is then planned without.
  absl::Duration budget = absl::Seconds(10);
};

}  // namespace weir::master
