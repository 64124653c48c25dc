#pragma once

// emit of jobs with Combine: straight into the slot's table. Upstream: the author's Map.
// Downstream: key_batch.h.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "jobs/api/key_codec.h"
#include "jobs/engine/emit_base.h"
#include "jobs/engine/table/key_batch.h"

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

 private:
  using Key = typename Job::Key;
  using Value = typename Job::Value;
  using Argument = typename KeyForm<Key>::Argument;
  static constexpr bool kMayBeShort = requires(const Key& key, ShortKey& short_key) {
    KeyCodec<Key>::Short(key, short_key);
  };
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
