#pragma once

// What all kinds of jobs must have, and how the rules find out about it. Upstream: the other rules
// of this folder. Downstream: the author's class.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "jobs/api/key_place.h"
#include "jobs/api/readers.h"
#include "jobs/api/text_block.h"
#include "jobs/api/value_codec.h"

namespace weir::job_rules {

/// Stands for whatever emit a job is given. Never called.
struct AnyEmit {
  template <typename Key, typename Value>
  void operator()(const Key& key, const Value& value) const;
  template <typename Key, typename Value>
  void operator()(const Key& key, const Value& value, KeyPlace& place) const;
  void Increment(std::size_t index, std::int64_t by = 1) const;
  void Reject(std::string_view record, std::string_view reason) const;
  void RejectForGood(std::string_view record, std::string_view reason) const;
  bool rejected() const;
};

/// Whether a class has a member of a name, whatever its type: both bases have one then, and asking
/// for it is ambiguous. Final classes have no derived ones and are taken at their word.
struct NamesCombine {
  void Combine();
};
struct NamesReduce {
  void Reduce();
};
struct NamesFormat {
  void Format();
};
struct NamesFormatAll {
  void FormatAll();
};
struct NamesMap {
  void Map();
};
struct NamesLoad {
  void Load();
};
struct NamesUpdate {
  void Update();
};
struct NamesPlaces {
  void Places();
};
struct NamesStatePlaces {
  void StatePlaces();
};
struct NamesValueBytes {
  void ValueBytes();
};
template <typename Job, typename Names>
struct Both : Job, Names {};
template <typename Job>
constexpr bool kNamesCombine = !requires {
  &Both<Job, NamesCombine>::Combine;
};
template <typename Job>
constexpr bool kNamesReduce = !requires {
  &Both<Job, NamesReduce>::Reduce;
};
template <typename Job>
constexpr bool kNamesFormat = !requires {
  &Both<Job, NamesFormat>::Format;
};
template <typename Job>
constexpr bool kNamesFormatAll = !requires {
  &Both<Job, NamesFormatAll>::FormatAll;
};
template <typename Job>
constexpr bool kNamesMap = !requires {
  &Both<Job, NamesMap>::Map;
};
template <typename Job>
constexpr bool kNamesLoad = !requires {
  &Both<Job, NamesLoad>::Load;
};
template <typename Job>
constexpr bool kNamesUpdate = !requires {
  &Both<Job, NamesUpdate>::Update;
};
template <typename Job>
constexpr bool kNamesPlaces = !requires {
  &Both<Job, NamesPlaces>::Places;
};
template <typename Job>
constexpr bool kNamesStatePlaces = !requires {
  &Both<Job, NamesStatePlaces>::StatePlaces;
};
template <typename Job>
constexpr bool kNamesValueBytes = !requires {
  &Both<Job, NamesValueBytes>::ValueBytes;
};

template <typename Job>
constexpr bool kHasReader = requires {
  typename Job::Reader;
};

template <typename Job>
constexpr bool kHasValue = requires {
  typename Job::Value;
};
/// Points into memory of its process: its bytes mean nothing elsewhere.
template <typename T>
constexpr bool kPoints = std::is_pointer_v<T> || std::is_same_v<T, std::string_view>;
template <typename... T>
constexpr bool kPoints<std::tuple<T...>> = (kPoints<T> || ...);

template <typename T>
constexpr bool kHasValueCodec = requires(const T& value, T& into, std::string& out,
                                         std::string_view& in) {
  ValueCodec<T>::Append(value, out);
  ValueCodec<T>::Take(in, into);
};
template <typename... T>
constexpr bool kHasValueCodec<std::tuple<T...>> = std::is_trivially_copyable_v<std::tuple<T...>> ||
                                                  (kHasValueCodec<T> && ...);

/// What Map of a job is given by a reader of ours; void for an author's own.
template <typename Reader>
struct RecordOf {
  using Type = void;
};
template <>
struct RecordOf<TextLines> {
  using Type = std::string_view;
};
template <>
struct RecordOf<CsvRows> {
  using Type = const CsvRow&;
};
template <std::int64_t kBytes>
struct RecordOf<FixedRecords<kBytes>> {
  using Type = std::string_view;
};
template <typename Delimiter>
struct RecordOf<Block<Delimiter>> {
  using Type = const TextBlock&;
};
/// That a job names what its input consists of. False where it does not.
template <typename Job>
constexpr bool CheckHasReader() {
  static_assert(
      kHasReader<Job>,
      "This job has no Reader: write 'using Reader = weir::TextLines;' (or weir::CsvRows, "
      "weir::FixedRecords<N>, weir::Block<Delimiter>), what its input consists of.");
  return kHasReader<Job>;
}

template <typename Job>
constexpr bool CheckIsCopied() {
  static_assert(std::is_copy_constructible_v<Job>,
                "This job cannot be copied: each thread maps with a copy of its own.");
  return std::is_copy_constructible_v<Job>;
}

/// That values may travel as bytes.
template <typename Job>
constexpr bool CheckValue() {
  using Value = typename Job::Value;
  static_assert(!kPoints<Value>,
                "The Value of this job is a view or a pointer, which means nothing on another "
                "machine: use std::string.");
  static_assert(kPoints<Value> || kHasValueCodec<Value>,
                "Weir does not know the Value of this job as bytes: use a string, a number, a "
                "tuple of these or a struct that may be copied as memory, or specialise "
                "weir::ValueCodec for it.");
  return !kPoints<Value> && kHasValueCodec<Value>;
}

}  // namespace weir::job_rules
