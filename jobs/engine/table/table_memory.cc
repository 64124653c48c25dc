#include "jobs/engine/table/table_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace weir {
namespace {

// Small jobs touch one small region; from the second on there is enough to fill huge pages.
constexpr std::size_t kFirstRegionBytes = 256 << 10;
constexpr std::align_val_t kCacheLine{64};

}  // namespace

TableMemory::TableMemory(std::size_t entry_bytes, std::shared_ptr<SlabStore> slabs)
    : entry_bytes_(entry_bytes), slabs_(std::move(slabs)) {}

TableMemory::~TableMemory() {
  while (!regions_.empty()) Drop(regions_.begin());
}

void* TableMemory::Take(int log2_entries) {
  Block block;
  {
    const std::lock_guard lock(mutex_);
    block = TakeBlock(log2_entries);
    RegionOf(block.data)->second.used += std::size_t{1} << log2_entries;
  }
  if (!block.cleared) std::memset(block.data, 0, BytesOf(log2_entries));
  return block.data;
}

void TableMemory::Return(void* array, int log2_entries) {
  const std::lock_guard lock(mutex_);
  char* data = static_cast<char*>(array);
  const auto region = RegionOf(data);
  region->second.used -= std::size_t{1} << log2_entries;
  if (region->second.used == 0 && region->second.of_store) return Drop(region);
  // An array lies at a multiple of its entries, and so does the larger one that it is half of.
  for (; log2_entries + 1 < kLog2EntriesMax; ++log2_entries) {
    const std::size_t entries = std::size_t{1} << log2_entries;
    const auto first = static_cast<std::size_t>(data - region->first) / entry_bytes_;
    const std::size_t other = first ^ entries;
    if (other + entries > region->second.entries) break;
    char* const neighbour = region->first + other * entry_bytes_;
    if (free_[static_cast<std::size_t>(log2_entries)].erase(neighbour) == 0) break;
    data = std::min(data, neighbour);
  }
  free_[static_cast<std::size_t>(log2_entries)].insert(data);
}

std::int64_t TableMemory::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

TableMemory::Block TableMemory::TakeBlock(int log2_entries) {
  while (true) {
    if (char* const used = TakeFrom(free_, log2_entries)) return {used, false};
    if (char* const unused = TakeFrom(cleared_, log2_entries)) return {unused, true};
    AddRegion(BytesOf(log2_entries));
  }
}

// Cuts the smallest block that is large enough.
char* TableMemory::TakeFrom(Blocks& blocks, int log2_entries) {
  auto order = static_cast<std::size_t>(log2_entries);
  while (order < blocks.size() && blocks[order].empty()) ++order;
  if (order == blocks.size()) return nullptr;
  char* const data = *blocks[order].begin();
  blocks[order].erase(blocks[order].begin());
  while (order > static_cast<std::size_t>(log2_entries)) {
    --order;
    blocks[order].insert(data + (entry_bytes_ << order));
  }
  return data;
}

void TableMemory::AddRegion(std::size_t bytes) {
  Region region;
  region.of_store = !regions_.empty() || bytes > kFirstRegionBytes;
  region.bytes = region.of_store ? SlabStore::RoundUp(bytes) : kFirstRegionBytes;
  region.entries = region.bytes / entry_bytes_;
  SlabStore::Slab slab;
  if (region.of_store) {
    slab = slabs_->Take(region.bytes);
    // The first touch writes: who reads first is given a page of zeros, and then another one.
    if (slab.cleared) {
      for (std::size_t at = 0; at < region.bytes; at += SlabStore::kUnitBytes) slab.data[at] = 0;
    }
  } else {
    slab.data = static_cast<char*>(::operator new(region.bytes, kCacheLine));
  }
  bytes_ += static_cast<std::int64_t>(region.bytes);
  regions_.emplace(slab.data, region);
  // Large blocks first: then each lies at a multiple of its size.
  Blocks& blocks = slab.cleared ? cleared_ : free_;
  for (std::size_t at = 0; region.entries - at >= std::size_t{1} << kLog2LeastEntries;) {
    const auto order = static_cast<std::size_t>(std::bit_width(region.entries - at) - 1);
    blocks[order].insert(slab.data + at * entry_bytes_);
    at += std::size_t{1} << order;
  }
}

void TableMemory::Drop(Regions::iterator region) {
  char* const begin = region->first;
  const auto [bytes, entries, used, of_store] = region->second;
  for (Blocks* blocks : {&free_, &cleared_}) {
    for (std::set<char*>& of_size : *blocks) {
      of_size.erase(of_size.lower_bound(begin), of_size.lower_bound(begin + bytes));
    }
  }
  regions_.erase(region);
  bytes_ -= static_cast<std::int64_t>(bytes);
  if (of_store) {
    slabs_->Return(begin, bytes);
  } else {
    ::operator delete(begin, kCacheLine);
  }
}

TableMemory::Regions::iterator TableMemory::RegionOf(char* data) {
  return std::prev(regions_.upper_bound(data));
}

}  // namespace weir
