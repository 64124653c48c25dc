#pragma once

// How many keys are left of what each layer of the whole job reads, told from the layers of its
// sample. Pure. Upstream: SampleMachine. Downstream: the shape of the sample.

#include <vector>

#include "absl/types/span.h"
#include "runtime/master/learning/key_growth.h"

namespace weir::master {

/// What the mean worker of a sample reduced in a layer: records read, each of its own key, and keys
/// of the next layer that were left of them.
struct SampledLayer {
  KeyCount tiny;
  KeyCount large;
};

/// What the first layer of the whole job reads.
struct FirstLayerInput {
  double records = 0;  // of all mappers, not known: 0
  double keys = 0;     // <= records: the same key may come from several mappers
  double reducers = 1;
};

/// What becomes of a layer's records in the job, to what becomes of them in the sample. In (0, 1].
struct LayerLeft {
  /// Keys per record read: records of several makers have the same.
  double met = 1;
  /// Keys of the next layer per key, to the sample's.
  double behind = 1;
};

/// Returns an entry a layer.
///
/// Keys are hashed to reducers, so that which keys of the next layer a reducer makes is chance, and
/// each makes nearly all where they are few: r reducers leave r D(n / r) of n records, D the law of
/// the layer's two steps (FitGrowth), of which D(n) differ. The last layer, and one whose keys say
/// no law, leave as many a record as in the sample. A job never leaves more than its sample. All
/// counts; what is not known (FirstLayerInput) leaves all entries at 1. Requires: reducers >= 1.
/// Checked by: tests/unit/master/layer_keys_test.cc.
std::vector<LayerLeft> LeftOfLayers(const FirstLayerInput& first,
                                    absl::Span<const SampledLayer> layers);

}  // namespace weir::master
