#pragma once

// Whether two inputs are alike, by what small samples of them showed. Pure.
// Upstream: SampleMachine. Downstream: which history counts.

#include <optional>

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

/// Returns what is known of other data as it counts for the data of a sample, or nothing where the
/// two are not alike: rates are those of before, but where a byte is dear to map is what the sample
/// says, or says nothing of. `chunk_bytes`, `input_bytes`: as MakesAlike, which only a sample that
/// was read to its end is asked for.
/// Checked by: tests/unit/master/input_weights_test.cc.
std::optional<v1::JobShapeLearned> KnownOfDataAlike(const v1::JobShapeLearned& known,
                                                    const v1::JobShapeLearned& sample,
                                                    double chunk_bytes, double input_bytes);

}  // namespace weir::master
