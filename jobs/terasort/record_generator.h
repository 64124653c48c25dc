#pragma once

// Makes records to sort. Upstream: `weir data generate terasort`. Downstream: input files.

#include <cstdint>
#include <string>

#include "jobs/api/job_data.h"

namespace weir::terasort {

/// Records laid out as those of gensort: 10 bytes of key, 00 11, the number of the record as 32
/// hexadecimal digits, 88 99 aa bb, 48 bytes of filler, cc dd ee ff.
///
/// Model: without skew keys are uniform over all strings of ten bytes. With skew s there are 2^24
///   keys, evenly over the key space, and the r-th smallest has a probability like r^-s (as in
///   Zipf's law): the first half of the key space holds 2^(s-1) of the records, and a share of
///   2^(-24 (1-s)) has the smallest key.
/// Checked by: tests/unit/jobs/terasort_data_test.cc.
class TeraRecords : public RecordGenerator {
 public:
  explicit TeraRecords(const GenerateOptions& options) : options_(options) {}
  void Append(std::int64_t number, std::string& out) override;

 private:
  const GenerateOptions options_;
};

}  // namespace weir::terasort
