#include "jobs/engine/sections/merged_sections.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "jobs/api/key_prefix.h"

namespace weir {

MergedSections::MergedSections(const std::vector<std::unique_ptr<RunSource>>& sources,
                               std::function<bool()> stop, SortKeyOfValue sort_key_of)
    : stop_(std::move(stop)), sort_key_of_(std::move(sort_key_of)) {
  for (const auto& source : sources) producers_.emplace_back(*source, producers_.size());
  for (Producer& producer : producers_) {
    if (Read(producer)) heap_.push_back({producer.prefix, &producer});
  }
  for (std::size_t at = heap_.size() / 2; at-- > 0;) SiftDown(at);
}

bool MergedSections::NextGroup() {
  std::string_view left_over;
  while (NextValue(left_over)) {
  }
  in_group_ = !heap_.empty() && status_.ok();
  if (!in_group_) return false;
  KeepKey(*heap_.front().producer);
  key_prefix_ = heap_.front().prefix;
  return true;
}

inline void MergedSections::KeepKey(const Producer& of) {
  const std::string_view key = of.record.key;
  // So many bytes are copied without a call; what lies behind the key is of the block.
  if (key.size() <= short_key_.size() &&
      of.reader.block_end() - key.data() >= std::ssize(short_key_)) {
    std::memcpy(short_key_.data(), key.data(), short_key_.size());
    key_ = {short_key_.data(), key.size()};
  } else {
    long_key_.assign(key);
    key_ = long_key_;
  }
}

bool MergedSections::Before(const Head& a, const Head& b) const {
  return a.prefix != b.prefix ? a.prefix < b.prefix : BeforeBehindPrefix(*a.producer, *b.producer);
}

bool MergedSections::BeforeBehindPrefix(const Producer& a, const Producer& b) const {
  int order = a.record.key.compare(b.record.key);
  if (order == 0 && sort_key_of_) order = a.sort_key.compare(b.sort_key);
  return order != 0 ? order < 0 : a.index < b.index;
}

inline bool MergedSections::Read(Producer& from) {
  if (!from.reader.NextInBlock(from.record) && !ReadOn(from)) return false;
  from.prefix = KeyPrefix(from.record.key);
  if (sort_key_of_ && !sort_key_of_(from.record.value, from.sort_key)) {
    status_ = absl::DataLossError("section of a run is damaged: a value does not decode");
    return false;
  }
  return true;
}

bool MergedSections::ReadOn(Producer& from) {
  if (from.reader.at_block_end() && stop_()) {
    status_ = absl::CancelledError("the job is being ended");
    return false;
  }
  const absl::StatusOr<bool> more = from.reader.Next(from.record);
  if (!more.ok()) status_ = more.status();
  return more.ok() && *more;
}

void MergedSections::Release() {
  given_ = false;
  Head& first = heap_.front();
  if (Read(*first.producer)) {
    first.prefix = first.producer->prefix;
  } else {
    first = heap_.back();
    heap_.pop_back();
  }
  if (heap_.size() == 2) {
    if (Before(heap_[1], first)) std::swap(first, heap_[1]);
  } else if (heap_.size() > 2) {
    SiftDown(0);
  }
  in_group_ = !heap_.empty() && status_.ok() && heap_.front().prefix == key_prefix_ &&
              heap_.front().producer->record.key == key_;
}

void MergedSections::SiftDown(std::size_t at) {
  const std::size_t size = heap_.size();
  if (at >= size) return;
  const Head moved = heap_[at];
  for (std::size_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
    if (child + 1 < size && Before(heap_[child + 1], heap_[child])) ++child;
    if (!Before(heap_[child], moved)) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = moved;
}

}  // namespace weir
