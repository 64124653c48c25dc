#pragma once

// Whether two inputs are alike, by what small samples of them showed. Pure.
// Upstream: SampleMachine. Downstream: which history counts.

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "weir/v1/journal.pb.h"

namespace weir::master {

/// Numbers of data alike differ by no more than this factor.
inline constexpr double kAlikeFactor = 1.25;

/// Says whether what a job made of two samples is alike: records a byte, and output a byte where
/// the samples are of about one size (a combiner makes less a byte of more), and where the keys
/// lie, if both looked at that.
/// Checked by: tests/unit/master/sample_test.cc.
bool IsAlike(const v1::JobShapeLearned::DataSeen& one, const v1::JobShapeLearned::DataSeen& other);

/// Says whether a map step that reads `chunk_bytes` of an input of `input_bytes` is expected to
/// make about the same by both. Small samples of different text may look alike; how many keys all
/// of it has then tells. Checked by: tests/unit/master/sample_test.cc.
bool MakesAlike(const v1::JobShapeLearned& one, const v1::JobShapeLearned& other,
                double chunk_bytes, double input_bytes);

/// Says whether the inputs of two looks may be of the same kind: lines, words and, where about as
/// many bytes were looked at, different words lie no further apart than a tenth and chance. Checked
/// by: tests/unit/master/input_look_test.cc.
bool LooksAlike(const v1::JobShapeLearned::InputLook& one,
                const v1::JobShapeLearned::InputLook& other);

/// Says whether two runs were of the same kind of data: of the same files, or of inputs that look
/// alike and of which no sample says otherwise. What was not looked at is alike to its own files
/// only; records that do not even name these (old ones) are one kind together.
/// Checked by: tests/unit/master/shape_history_test.cc.
bool IsSameKindOfData(const v1::JobShapeLearned& one, const v1::JobShapeLearned& other);

/// An input before anything ran on it, as far as it tells whose history is of data like it.
struct InputSeen {
  std::int64_t bytes = 0;
  std::uint64_t fingerprint = 0;                         // 0 = not known
  const v1::JobShapeLearned::InputLook* look = nullptr;  // null = not looked at
};

/// How near the data of an earlier run is to an input. What is nearer counts first.
enum class DataNearness {
  kNotTold,  // one of them was not looked at, or they look unlike
  kLooksAlike,
  kSameFiles,
};

/// Compares them by fingerprint and look. Checked by: tests/unit/master/shape_history_test.cc.
DataNearness NearnessOf(const v1::JobShapeLearned& known, const InputSeen& input);

/// A job's own rates are a guide to it where its runs take no more than so many times as long.
inline constexpr double kRatesTell = 4;

/// Says whether what is known of other data counts for an input that is not sampled.
///
/// Model: it does where the two look alike, or where one of them was not looked at. Where they do
///   not, the job's own rates are nearer, unless they are no guide to this job at all, as of
///   scripts: earlier runs took more than kRatesTell times as long a byte to map.
/// Symbols: `job_seconds_per_byte` > 0 is what the job's own rates say of mapping, at unit rate.
///   `look`: of this input, null = none.
/// Checked by: tests/unit/master/input_look_test.cc, earlier_data_test.cc.
bool CountsUnsampled(const v1::JobShapeLearned& known, const v1::JobShapeLearned::InputLook* look,
                     double job_seconds_per_byte);

/// Returns what is known of other data as it counts for the data of a sample, or nothing where the
/// two are not alike: rates are those of before, but where a byte is dear to map is what the sample
/// says, or says nothing of. `chunk_bytes`, `input_bytes`: as MakesAlike, which only a sample that
/// was read to its end is asked for.
/// Checked by: tests/unit/master/input_weights_test.cc.
std::optional<v1::JobShapeLearned> KnownOfDataAlike(const v1::JobShapeLearned& known,
                                                    const v1::JobShapeLearned& sample,
                                                    double chunk_bytes, double input_bytes);

/// The same of the first of several that is alike. Text of two kinds may look alike though samples
/// of it do not, so that the nearest by its look need not be the one.
/// Checked by: tests/unit/master/input_weights_test.cc, earlier_data_test.cc.
std::optional<v1::JobShapeLearned> FirstOfDataAlike(absl::Span<const v1::JobShapeLearned> known,
                                                    const v1::JobShapeLearned& sample,
                                                    double chunk_bytes, double input_bytes);

}  // namespace weir::master
