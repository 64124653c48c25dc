#include "jobs/api/group_buffer.h"

#include <algorithm>
#include <cstring>

namespace weir {
namespace {

std::uint64_t PrefixOf(std::string_view key) {
  std::uint64_t prefix = 0;
  if (!key.empty()) std::memcpy(&prefix, key.data(), std::min(key.size(), sizeof prefix));
  return __builtin_bswap64(prefix);
}

}  // namespace

bool GroupBuffer::Pair::operator<(const Pair& other) const {
  if (consumer != other.consumer) return consumer < other.consumer;
  if (prefix != other.prefix) return prefix < other.prefix;
  return key() < other.key();
}

void GroupBuffer::Add(int consumer, std::string_view key, std::string_view value) {
  char* data = arena_.Take(key.size() + value.size());
  if (!key.empty()) std::memcpy(data, key.data(), key.size());
  if (!value.empty()) std::memcpy(data + key.size(), value.data(), value.size());
  pairs_.push_back({PrefixOf(key), data, static_cast<std::uint32_t>(key.size()),
                    static_cast<std::uint32_t>(value.size()), consumer});
}

void GroupBuffer::Sort() { std::stable_sort(pairs_.begin(), pairs_.end()); }

std::int64_t GroupBuffer::memory_bytes() const {
  // Sorting takes as much again for the pairs.
  return arena_.bytes() + static_cast<std::int64_t>(2 * pairs_.capacity() * sizeof(Pair));
}

absl::Status WriteSorted(absl::Span<GroupBuffer* const> buffers, SectionWriter& writer) {
  struct Head {
    const GroupBuffer::Pair* next;
    const GroupBuffer::Pair* end;
    std::size_t buffer;
  };
  const auto later = [](const Head& a, const Head& b) {
    if (*b.next < *a.next) return true;
    return !(*a.next < *b.next) && b.buffer < a.buffer;
  };
  std::vector<Head> heads;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto& pairs = buffers[i]->pairs_;
    if (!pairs.empty()) heads.push_back({pairs.data(), pairs.data() + pairs.size(), i});
  }
  std::make_heap(heads.begin(), heads.end(), later);
  int section = -1;
  while (!heads.empty()) {
    std::pop_heap(heads.begin(), heads.end(), later);
    Head& head = heads.back();
    if (head.next->consumer != section) {
      section = head.next->consumer;
      if (absl::Status status = writer.Begin(section); !status.ok()) return status;
    }
    absl::Status status = writer.Add(head.next->key(), head.next->value());
    if (!status.ok()) return status;
    if (++head.next == head.end) {
      heads.pop_back();
    } else {
      std::push_heap(heads.begin(), heads.end(), later);
    }
  }
  return writer.Finish();
}

}  // namespace weir
