// The practical limit of counting words on this machine: one purpose, one file, two threads, input
// mapped and never copied, output unsorted. Weir's CPU time is held against it.
//   limit_wordcount INPUT OUTPUT [THREADS]

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "tests/bench/limit_input.h"

namespace {

constexpr std::size_t kChunk = 4 << 20;
constexpr int kTables = 256;
constexpr int kWaiting = 32;

// A word of up to 16 bytes is held here; of a longer one, the first 8 and the address.
struct Slot {
  std::uint64_t first;
  std::uint64_t second;
  std::uint32_t tag;    // bits of the hash
  std::uint32_t bytes;  // zero: free
  std::uint64_t count;
};

struct Word {
  Slot slot;
  std::uint32_t table;
};

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::uint64_t Scramble(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide wide = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(wide) ^ static_cast<std::uint64_t>(wide >> 64);
}

const char* TextOf(const Slot& slot) {
  return slot.bytes <= 16 ? reinterpret_cast<const char*>(&slot)
                          : reinterpret_cast<const char*>(slot.second);
}

std::uint64_t LowBytes(std::uint32_t count) {
  return count >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * count)) - 1;
}

Word MakeWord(const char* text, std::uint32_t bytes) {
  Slot slot{0, 0, 0, bytes, 1};
  std::memcpy(&slot.first, text, 8);
  std::uint64_t hash = 0;
  if (bytes <= 16) {
    std::memcpy(&slot.second, text + 8, 8);
    slot.first &= LowBytes(bytes);
    slot.second &= LowBytes(bytes - std::min(bytes, 8u));
    hash = Scramble(slot.first ^ 0x2545f4914f6cdd1d, slot.second ^ 0x9fb21c651e98df25);
  } else {
    slot.second = reinterpret_cast<std::uint64_t>(text);
    for (std::uint32_t i = 0; i < bytes; i += 8) {
      std::uint64_t next;
      std::memcpy(&next, text + std::min(i, bytes - 8), 8);
      hash = Scramble(hash ^ next ^ 0x2545f4914f6cdd1d, 0xd1342543de82ef95);
    }
  }
  slot.tag = static_cast<std::uint32_t>(hash >> 24);
  return {slot, static_cast<std::uint32_t>(hash >> 56)};
}

// Zeroed memory on huge pages, never given back.
class Pages {
 public:
  Pages() {
    void* place = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) {
      std::perror("mmap");
      std::exit(1);
    }
    ::madvise(place, kBytes, MADV_HUGEPAGE);
    next_ = static_cast<char*>(place);
  }
  Slot* Take(std::size_t slots) {
    Slot* taken = reinterpret_cast<Slot*>(next_);
    next_ += slots * sizeof(Slot);
    return taken;
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{16} << 30;
  char* next_;
};

class Table {
 public:
  void Add(const Slot& one, Pages& pages) {
    if (2 * used_ >= room_) Grow(pages);
    Put(one);
  }
  void Prefetch(std::uint32_t tag) const {
    if (room_ > 0) __builtin_prefetch(&slots_[tag & (room_ - 1)]);
  }
  template <typename Visit>
  void Each(Visit&& visit) const {
    for (std::size_t i = 0; i < room_; ++i) {
      if (slots_[i].bytes != 0) visit(slots_[i]);
    }
  }
  std::size_t used() const { return used_; }

 private:
  void Put(const Slot& one) {
    std::size_t i = one.tag & (room_ - 1);
    for (; slots_[i].bytes != 0; i = (i + 1) & (room_ - 1)) {
      Slot& slot = slots_[i];
      if (slot.tag == one.tag && slot.first == one.first && slot.bytes == one.bytes &&
          (one.bytes <= 16 ? slot.second == one.second
                           : std::memcmp(TextOf(slot), TextOf(one), one.bytes) == 0)) {
        slot.count += one.count;
        return;
      }
    }
    slots_[i] = one;
    ++used_;
  }
  void Grow(Pages& pages) {
    const Slot* old = slots_;
    const std::size_t old_room = room_;
    room_ = room_ == 0 ? 256 : room_ * 2;
    slots_ = pages.Take(room_);
    used_ = 0;
    for (std::size_t i = 0; i < old_room; ++i) {
      if (old[i].bytes != 0) Put(old[i]);
    }
  }

  Slot* slots_ = nullptr;
  std::size_t room_ = 0;
  std::size_t used_ = 0;
};

struct Counter {
  Pages pages;
  std::array<Table, kTables> tables;
  std::array<Word, kWaiting> waiting;
  int num_waiting = 0;

  void Add(const char* text, std::uint32_t bytes) {
    const Word word = MakeWord(text, bytes);
    tables[word.table].Prefetch(word.slot.tag);
    waiting[static_cast<std::size_t>(num_waiting++)] = word;
    if (num_waiting == kWaiting) Flush();
  }
  void Flush() {
    for (int i = 0; i < num_waiting; ++i) {
      const Word& one = waiting[static_cast<std::size_t>(i)];
      tables[one.table].Add(one.slot, pages);
    }
    num_waiting = 0;
  }
};

std::uint64_t Spaces(const char* text) {
  std::uint64_t mask = 0;
  for (int i = 0; i < 64; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + i));
    const __m128i from_tab = _mm_sub_epi8(bytes, _mm_set1_epi8(9));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(from_tab, _mm_set1_epi8(4)), from_tab);
    const __m128i space = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '));
    const auto bits = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_or_si128(control, space)));
    mask |= static_cast<std::uint64_t>(bits) << i;
  }
  return mask;
}

// Counts the words whose first byte lies in [begin, end).
void CountChunk(const limit::Input& input, std::size_t begin, std::size_t end, Counter& counter) {
  const char* text = input.data;
  std::size_t at = begin;
  if (at > 0 && !IsSpace(text[at - 1])) {
    while (at < end && !IsSpace(text[at])) ++at;
  }
  // Places where a word begins or ends, found for many words before any is counted: a branch per
  // edge would be mispredicted.
  std::array<std::size_t, 32 * 64 + 64 + 1> edges;
  std::size_t num_edges = 0;
  std::uint64_t in_word = 0;
  while (at < end || in_word != 0) {
    for (int i = 0; i < 32; ++i, at += 64) {
      std::uint64_t letters = at < input.bytes ? ~Spaces(text + at) : 0;
      if (at < input.bytes && input.bytes - at < 64) {
        letters &= (std::uint64_t{1} << (input.bytes - at)) - 1;
      }
      std::uint64_t changes = letters ^ (letters << 1 | in_word);
      in_word = letters >> 63;
      std::size_t* out = edges.data() + num_edges;
      num_edges += static_cast<std::size_t>(std::popcount(changes));
      for (; changes != 0; out += 8) {
        for (int k = 0; k < 8; ++k) {
          out[k] = at + static_cast<std::size_t>(std::countr_zero(changes));
          changes &= changes - 1;
        }
      }
    }
    for (std::size_t i = 0; i + 1 < num_edges; i += 2) {
      if (edges[i] >= end) return;
      counter.Add(text + edges[i], static_cast<std::uint32_t>(edges[i + 1] - edges[i]));
    }
    if (num_edges % 2 == 1) edges[0] = edges[num_edges - 1];
    num_edges %= 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: limit_wordcount INPUT OUTPUT [THREADS]\n", stderr);
    return 2;
  }
  const limit::Input input = limit::MapInput(argv[1]);
  const int threads = argc > 3 ? std::atoi(argv[3]) : 2;
  std::vector<std::unique_ptr<Counter>> counters;
  for (int i = 0; i < threads; ++i) counters.push_back(std::make_unique<Counter>());
  std::atomic<std::size_t> next = 0;
  limit::RunThreads(threads, [&](int thread) {
    Counter& counter = *counters[static_cast<std::size_t>(thread)];
    for (std::size_t begin; (begin = next.fetch_add(kChunk)) < input.bytes;) {
      CountChunk(input, begin, std::min(begin + kChunk, input.bytes), counter);
    }
    counter.Flush();
  });

  std::FILE* out = std::fopen(argv[2], "wb");
  if (out == nullptr) {
    std::perror(argv[2]);
    return 1;
  }
  std::atomic<int> next_table = 0;
  std::atomic<std::size_t> distinct = 0;
  limit::RunThreads(threads, [&](int thread) {
    Pages& pages = counters[static_cast<std::size_t>(thread)]->pages;
    std::string text;
    for (int table; (table = next_table++) < kTables;) {
      Table& all = counters[0]->tables[static_cast<std::size_t>(table)];
      for (std::size_t i = 1; i < counters.size(); ++i) {
        counters[i]->tables[static_cast<std::size_t>(table)].Each(
            [&](const Slot& slot) { all.Add(slot, pages); });
      }
      distinct += all.used();
      text.clear();
      all.Each([&](const Slot& slot) {
        text.append(TextOf(slot), slot.bytes);
        text.push_back('\t');
        text.append(std::to_string(slot.count));
        text.push_back('\n');
      });
      std::fwrite(text.data(), 1, text.size(), out);
    }
  });
  std::fclose(out);
  std::fprintf(stderr, "%zu distinct words\n", distinct.load());
  std::_Exit(0);
}
