#include "jobs/api/merged_sections.h"

#include <algorithm>
#include <utility>

namespace weir {

MergedSections::MergedSections(const std::vector<std::unique_ptr<RunSource>>& sources,
                               std::function<bool()> stop)
    : stop_(std::move(stop)), given_(sources.size()) {
  for (const auto& source : sources) producers_.emplace_back(*source);
  for (std::size_t i = 0; i < producers_.size(); ++i) Read(i);
}

bool MergedSections::NextGroup() {
  std::string_view left_over;
  while (NextValue(left_over)) {
  }
  in_group_ = !heap_.empty() && status_.ok();
  if (!in_group_) return false;
  key_.assign(producers_[heap_.front()].record.key);
  return true;
}

bool MergedSections::NextValue(std::string_view& value) {
  Release();
  if (!in_group_ || heap_.empty() || !status_.ok()) return false;
  if (producers_[heap_.front()].record.key != key_) return false;
  std::pop_heap(heap_.begin(), heap_.end(), [this](auto a, auto b) { return Later(a, b); });
  given_ = heap_.back();
  heap_.pop_back();
  value = producers_[given_].record.value;
  ++records_;
  return true;
}

bool MergedSections::Later(std::size_t a, std::size_t b) const {
  const int order = producers_[a].record.key.compare(producers_[b].record.key);
  return order != 0 ? order > 0 : a > b;
}

void MergedSections::Read(std::size_t producer) {
  if (producers_[producer].reader.at_block_end() && stop_()) {
    status_ = absl::CancelledError("the job is being ended");
    return;
  }
  const absl::StatusOr<bool> more = producers_[producer].reader.Next(producers_[producer].record);
  if (!more.ok()) status_ = more.status();
  if (!more.ok() || !*more) return;
  heap_.push_back(producer);
  std::push_heap(heap_.begin(), heap_.end(), [this](auto a, auto b) { return Later(a, b); });
}

void MergedSections::Release() {
  if (given_ == producers_.size()) return;
  Read(std::exchange(given_, producers_.size()));
}

}  // namespace weir
