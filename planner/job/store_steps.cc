#include "planner/job/store_steps.h"

#include <algorithm>
#include <vector>

#include "planner/order/order_store.h"

namespace weir::planner {
namespace {

WorkerIndex WorkerWithMost(const std::vector<ReducerDraft>& reducers) {
  std::vector<double> shares;
  for (const ReducerDraft& reducer : reducers) {
    const auto worker = static_cast<std::size_t>(reducer.worker);
    if (shares.size() <= worker) shares.resize(worker + 1, 0);
    shares[worker] += reducer.load_fraction;
  }
  return static_cast<WorkerIndex>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}

bool CrossesAllPairs(const Cut& cut) {
  return std::all_of(cut.from.begin(), cut.from.end(), [](bool in) { return in; }) &&
         std::all_of(cut.to.begin(), cut.to.end(), [](bool in) { return in; });
}

}  // namespace

absl::Status AddStoreSteps(const StoreShape& store, const LayerDraft& last_reducers,
                           Seconds begin_s, PlanAssembly& assembly) {
  StoreDraft draft;
  draft.begin_s = begin_s;
  draft.write_seconds = [&store](Bytes bytes) {
    return static_cast<double>(bytes) * store.seconds_per_byte.value;
  };
  switch (store.write) {
    case FinalWrite::kParts:
      return absl::OkStatus();
    case FinalWrite::kParallel:
      for (const ReducerDraft& reducer : last_reducers.reducers) {
        draft.writers.push_back(reducer.worker);
      }
      break;
    case FinalWrite::kOne:
      draft.writers = {WorkerWithMost(last_reducers.reducers)};
      break;
  }
  return assembly.AddStore(draft);
}

absl::Status LimitStore(const StoreShape& store, Plan& plan) {
  if (store.write == FinalWrite::kParts) return absl::OkStatus();
  return OrderStore(StoreChannels(store, plan.network), &plan);
}

std::int32_t StoreChannels(const StoreShape& store, const NetworkModel& network) {
  if (store.write == FinalWrite::kOne) return 1;
  if (store.write == FinalWrite::kParts) return 0;
  if (store.channels > 0) return store.channels;
  std::int32_t channels = 0;
  for (const Cut& cut : network.cuts) {
    if (!CrossesAllPairs(cut)) continue;
    channels = channels == 0 ? cut.channels : std::min(channels, cut.channels);
  }
  return channels;
}

void SetFinalStore(const StoreShape& store, const NetworkModel& network, load::Chain& chain) {
  if (chain.reducers.empty()) return;
  double& output_ratio = chain.reducers.back().output_ratio;
  switch (store.write) {
    case FinalWrite::kParts:
      // The last output stays on its worker, and the reduce rate holds the time to write it.
      chain.store = load::FinalStore::kLocal;
      output_ratio = 0;
      return;
    case FinalWrite::kOne:
      chain.store = load::FinalStore::kOneAtATime;
      return;
    case FinalWrite::kParallel:
      chain.store = load::FinalStore::kThroughChannels;
      // The chain stores at the rate and through the channels of its network.
      output_ratio *= store.seconds_per_byte.value / chain.channel_seconds_per_byte;
      if (const std::int32_t channels = StoreChannels(store, network); channels > 0) {
        output_ratio *= std::max(1.0, static_cast<double>(chain.channels) / channels);
      }
  }
}

}  // namespace weir::planner
