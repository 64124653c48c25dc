#include "runtime/master/sample/layer_keys.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace weir::master {

std::vector<LayerLeft> LeftOfLayers(const FirstLayerInput& first,
                                    absl::Span<const SampledLayer> layers) {
  std::vector<LayerLeft> left(layers.size());
  if (!(first.records > 0 && first.keys > 0)) return left;
  double records = first.records;
  double keys = std::min(first.keys, first.records);
  for (std::size_t p = 0; p < layers.size(); ++p) {
    left[p].met = keys / records;
    const KeyCount& sampled = layers[p].large;
    if (p + 1 == layers.size() || !(sampled.keys > 0 && sampled.records > 0)) break;
    const double in_sample = sampled.keys / sampled.records;
    const std::optional<KeyLaw> law = FitGrowth(layers[p].tiny, sampled);
    if (!law) {
      records = keys = keys * in_sample;
      continue;
    }
    const double of_reducers = first.reducers * DistinctKeys(*law, keys / first.reducers);
    left[p].behind = std::min(1.0, of_reducers / keys / in_sample);
    records = keys * left[p].behind * in_sample;
    keys = std::min(records, DistinctKeys(*law, keys));
  }
  return left;
}

}  // namespace weir::master
