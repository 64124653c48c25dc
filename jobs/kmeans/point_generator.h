#pragma once

// Rows around hidden centres, for trying and measuring. Upstream: weir data generate.

#include <cstdint>
#include <string>

#include "jobs/api/job_data.h"

namespace weir::kmeans {

/// Makes rows of two numbers around 16 centres in [0, 100) x [0, 100); a skew above 0 gives the
/// first centres more of them. A row depends on its number and the options only.
class PointGenerator : public RecordGenerator {
 public:
  static constexpr int kCentres = 16;

  explicit PointGenerator(const GenerateOptions& options) : options_(options) {}
  void Append(std::int64_t number, std::string& out) override;

 private:
  GenerateOptions options_;
};

}  // namespace weir::kmeans
