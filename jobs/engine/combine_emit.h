#pragma once

// emit of jobs with Combine: straight into the slot's table. Upstream: the author's Map.
// Downstream: key_batch.h.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "jobs/api/key_codec.h"
#include "jobs/api/key_place.h"
#include "jobs/engine/emit_base.h"
#include "jobs/engine/table/key_batch.h"
#include "jobs/engine/table/value_memory.h"

namespace weir {

/// Takes (key, value) from Map. A key that lies in the current block is not copied unless it is
/// new.
template <typename Job, typename Batch>
class CombineEmit : public EmitBase<Job> {
 public:
  explicit CombineEmit(Batch& batch) : batch_(batch) {}

  [[gnu::always_inline]] void operator()(typename KeyForm<typename Job::Key>::Argument key,
                                         const typename Job::Value& value) {
    this->CountEmitted();
    if constexpr (kMayBeShort) {
      ShortKey short_key;
      if (KeyCodec<Key>::Short(key, short_key)) [[likely]] {
        batch_.AddShort(short_key, value);
      } else {
        AddBytes(key, value);
      }
    } else {
      AddBytesInline(key, value);
    }
  }

  /// The same, of a key that may have come with this place before (KeyPlace). Where the order of
  /// values matters places are left alone: others of the key may wait in the batch.
  [[gnu::always_inline]] void operator()(typename KeyForm<typename Job::Key>::Argument key,
                                         const typename Job::Value& value, KeyPlace& place) {
    if constexpr (kMayBeShort && kTakesPlaces) {
      if (batch_.AddAt(place, value)) [[likely]] {
        this->CountEmitted();
        return;
      }
      AddAnew(key, value, place);
    } else {
      (*this)(key, value);
    }
  }

 private:
  using Key = typename Job::Key;
  using Value = typename Job::Value;
  using Argument = typename KeyForm<Key>::Argument;
  static constexpr bool kMayBeShort = requires(const Key& key, ShortKey& short_key) {
    KeyCodec<Key>::Short(key, short_key);
  };
  // Folding into a value may change what it holds on the heap, which is counted elsewhere.
  static constexpr bool kTakesPlaces =
      IsCommutative<Job>() && !ValueMemory<typename Job::Value>::kOwnsHeap;

  [[gnu::noinline]] void AddAnew(HandedOn<std::remove_cvref_t<Argument>> key, HandedOn<Value> value,
                                 KeyPlace& place) {
    if (batch_.AddToPending(place, value)) return this->CountEmitted();
    ShortKey short_key;
    if (!KeyCodec<Key>::Short(key, short_key)) return (*this)(key, value);
    this->CountEmitted();
    batch_.AddShort(short_key, value, place);
  }
  [[gnu::noinline]] void AddBytes(HandedOn<std::remove_cvref_t<Argument>> key,
                                  HandedOn<Value> value) {
    AddBytesInline(key, value);
  }

  [[gnu::always_inline]] void AddBytesInline(Argument key, const Value& value) {
    const std::string_view bytes = KeyForm<Key>::Bytes(key, scratch_);
    const auto offset = static_cast<std::size_t>(bytes.data() - this->block().data);
    if (offset < static_cast<std::size_t>(this->block().bytes)) [[likely]] {
      batch_.AddStable(bytes.data(), bytes.size(), value);
    } else if (this->Fits(bytes, 0)) {
      // Values are counted where they are written; tables hold 32 bits for the length of a key.
      batch_.AddCopied(bytes, value);
    }
  }

  Batch& batch_;
  std::string scratch_;
};

}  // namespace weir
