#include "jobs/engine/merged_sections.h"

#include <algorithm>
#include <utility>

#include "jobs/api/key_prefix.h"

namespace weir {

MergedSections::MergedSections(const std::vector<std::unique_ptr<RunSource>>& sources,
                               std::function<bool()> stop, SortKeyOfValue sort_key_of)
    : stop_(std::move(stop)), sort_key_of_(std::move(sort_key_of)), given_(sources.size()) {
  for (const auto& source : sources) producers_.emplace_back(*source);
  for (std::size_t i = 0; i < producers_.size(); ++i) Read(i);
}

bool MergedSections::NextGroup() {
  std::string_view left_over;
  while (NextValue(left_over)) {
  }
  in_group_ = !heap_.empty() && status_.ok();
  if (!in_group_) return false;
  const Producer& first = producers_[heap_.front()];
  key_.assign(first.record.key);
  key_prefix_ = first.prefix;
  at_first_ = true;
  return true;
}

bool MergedSections::NextValue(std::string_view& value) {
  Release();
  if (!in_group_ || heap_.empty() || !status_.ok()) return false;
  const Producer& next = producers_[heap_.front()];
  const bool first = std::exchange(at_first_, false);  // it gave the key
  if (!first && (next.prefix != key_prefix_ || next.record.key != key_)) return false;
  std::pop_heap(heap_.begin(), heap_.end(), [this](auto a, auto b) { return Later(a, b); });
  given_ = heap_.back();
  heap_.pop_back();
  value = producers_[given_].record.value;
  ++records_;
  return true;
}

bool MergedSections::Later(std::size_t a, std::size_t b) const {
  const Producer& first = producers_[a];
  const Producer& second = producers_[b];
  if (first.prefix != second.prefix) return first.prefix > second.prefix;
  int order = first.record.key.compare(second.record.key);
  if (order == 0 && sort_key_of_) order = first.sort_key.compare(second.sort_key);
  return order != 0 ? order > 0 : a > b;
}

void MergedSections::Read(std::size_t producer) {
  if (producers_[producer].reader.at_block_end() && stop_()) {
    status_ = absl::CancelledError("the job is being ended");
    return;
  }
  Producer& from = producers_[producer];
  const absl::StatusOr<bool> more = from.reader.Next(from.record);
  if (!more.ok()) status_ = more.status();
  if (!more.ok() || !*more) return;
  from.prefix = KeyPrefix(from.record.key);
  if (sort_key_of_ && !sort_key_of_(from.record.value, from.sort_key)) {
    status_ = absl::DataLossError("section of a run is damaged: a value does not decode");
    return;
  }
  heap_.push_back(producer);
  std::push_heap(heap_.begin(), heap_.end(), [this](auto a, auto b) { return Later(a, b); });
}

void MergedSections::Release() {
  if (given_ == producers_.size()) return;
  Read(std::exchange(given_, producers_.size()));
}

}  // namespace weir
