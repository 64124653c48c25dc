#pragma once

// What a job must have, each said in a sentence where it is missing: else the compiler speaks of
// the engine's insides. Upstream: make_program.h. Downstream: the author's class.

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "jobs/api/key_codec.h"
#include "jobs/engine/rules/record_rules.h"

namespace weir {
template <typename Value>
class GroupValues;
}  // namespace weir

namespace weir::job_rules {

template <typename Job>
constexpr bool kHasKey = requires {
  typename Job::Key;
};
template <typename T>
constexpr bool kHasKeyCodec = requires(const T& key, T& into, std::string& out,
                                       std::string_view& in) {
  KeyCodec<T>::Append(key, out);
  KeyCodec<T>::Take(in, into);
};
template <typename... T>
constexpr bool kHasKeyCodec<std::tuple<T...>> = (kHasKeyCodec<T> && ...);

template <typename Job>
constexpr bool kCombinesAsAsked = requires(const Job& job, typename Job::Value& into,
                                           const typename Job::Value& from) {
  job.Combine(into, from);
};
template <typename Job>
constexpr bool kReducesAsAsked = requires(const Job& job,
                                          typename KeyForm<typename Job::Key>::Argument key,
                                          GroupValues<typename Job::Value>& values,
                                          const AnyEmit& emit) {
  job.Reduce(key, values, emit);
};
template <typename Job>
constexpr bool kFormatsAsAsked = requires(const Job& job,
                                          typename KeyForm<typename Job::Key>::Argument key,
                                          const typename Job::Value& value, std::string& out) {
  job.Format(key, value, out);
};

template <typename Job, typename Record>
constexpr bool kMapsRecord = requires(Job& job, Record record, AnyEmit& emit) {
  job.Map(record, emit);
};
template <typename Job>
constexpr bool kMapsRecord<Job, void> = true;
template <typename From, typename To>
constexpr bool kMapsResult = requires(To& job, typename KeyForm<typename From::Key>::Argument key,
                                      const typename From::Value& value, AnyEmit& emit) {
  job.Map(key, value, emit);
};

/// The types of a job. False where one of them stops the rest from being looked at.
template <typename Job>
constexpr bool CheckTypes() {
  static_assert(kHasKey<Job>,
                "This job has no Key: write 'using Key = std::string;' (or a number, a tuple, a "
                "struct), the type of the keys that Map emits.");
  static_assert(kHasValue<Job>,
                "This job has no Value: write 'using Value = std::int64_t;' (or another type), "
                "the type of the values that Map emits.");
  if constexpr (!CheckIsCopied<Job>() || !kHasKey<Job> || !kHasValue<Job>) {
    return false;
  } else {
    using Key = typename Job::Key;
    static_assert(!kPoints<Key>,
                  "The Key of this job is a view or a pointer, which means nothing on another "
                  "machine: use std::string (Map may emit views all the same).");
    static_assert(kPoints<Key> || kHasKeyCodec<Key>,
                  "Weir does not know the Key of this job as ordered bytes: use a string, a "
                  "number, a tuple of these or a struct without padding, or specialise "
                  "weir::KeyCodec for it.");
    constexpr bool kValueTravels = CheckValue<Job>();
    return !kPoints<Key> && kHasKeyCodec<Key> && kValueTravels;
  }
}

/// How a job folds the values of a key, and writes what comes of it.
template <typename Job, bool kIsLast>
constexpr bool CheckFold() {
  constexpr bool kFinal = std::is_final_v<Job>;
  if constexpr (kFinal) {
    return true;  // nothing can be derived to see what it names
  } else {
    static_assert(kNamesCombine<Job> || kNamesReduce<Job>,
                  "This job has neither Combine nor Reduce: write 'void Combine(Value& into, const "
                  "Value& from) const' where values can be added up two by two, else 'template "
                  "<typename Emit> void Reduce(key, weir::GroupValues<Value>& values, Emit& emit) "
                  "const'.");
    static_assert(!kNamesCombine<Job> || kCombinesAsAsked<Job>,
                  "Combine of this job cannot be called as Weir does: it must be public and const, "
                  "as 'void Combine(Value& into, const Value& from) const'.");
    static_assert(
        kNamesCombine<Job> || !kNamesReduce<Job> || kReducesAsAsked<Job>,
        "Reduce of this job cannot be called as Weir does: it must be public and const, "
        "as 'template <typename Emit> void Reduce(key, weir::GroupValues<Value>& values, "
        "Emit& emit) const'; strings of a Key arrive as std::string_view (weir::KeyView<Key>).");
    static_assert(!kIsLast || kNamesFormat<Job>,
                  "This job has no Format: write 'void Format(key, const Value& value, "
                  "std::string& out) const', which appends one record of the output.");
    static_assert(!kIsLast || !kNamesFormat<Job> || !kCombinesAsAsked<Job> || kFormatsAsAsked<Job>,
                  "Format of this job cannot be called as Weir does: it must be public and const, "
                  "as 'void Format(key, const Value& value, std::string& out) const'; a Key of "
                  "std::string arrives as std::string_view.");
    constexpr bool kFolds =
        kNamesCombine<Job> ? kCombinesAsAsked<Job> : kNamesReduce<Job> && kReducesAsAsked<Job>;
    constexpr bool kWrites =
        !kIsLast || (kNamesFormat<Job> && (!kCombinesAsAsked<Job> || kFormatsAsAsked<Job>));
    return kFolds && kWrites;
  }
}

/// How the first job of a chain reads.
template <typename Job>
constexpr bool CheckReader() {
  if constexpr (!CheckHasReader<Job>()) {
    return false;
  } else {
    constexpr bool kMaps = kMapsRecord<Job, typename RecordOf<typename Job::Reader>::Type>;
    static_assert(
        kMaps,
        "Map of this job cannot be called with the records of its Reader: write 'template "
        "<typename Emit> void Map(record, Emit& emit)', with std::string_view for "
        "TextLines and FixedRecords, const weir::CsvRow& for CsvRows, const "
        "weir::TextBlock& for Block.");
    return kMaps;
  }
}

template <typename From, typename To>
constexpr bool CheckLink() {
  // What Reduce emits is known only where it is called.
  if constexpr (kCombinesAsAsked<From>) {
    constexpr bool kMaps = kMapsResult<From, To>;
    static_assert(kMaps,
                  "Map of a job that follows another one cannot be called with the other's "
                  "results: write 'template <typename Emit> void Map(key, const Value& value, "
                  "Emit& emit)' with the Key and the Value of the job before; a Key of std::string "
                  "arrives as std::string_view.");
    return kMaps;
  } else {
    return true;
  }
}

template <typename First, typename... Rest>
constexpr bool CheckRest() {
  constexpr bool kSound = CheckTypes<First>() && CheckFold<First, sizeof...(Rest) == 0>();
  if constexpr (sizeof...(Rest) == 0 || !kSound) {
    return kSound;
  } else {
    using Next = std::tuple_element_t<0, std::tuple<Rest...>>;
    return CheckLink<First, Next>() && CheckRest<Rest...>();
  }
}

/// True when a chain of jobs has what the engine asks for; else the build fails with a sentence.
/// Checked by: tests/integration/job_rules_test.py (one wrong job a sentence).
template <typename First, typename... Rest>
constexpr bool Check() {
  if constexpr (!CheckTypes<First>()) {
    return false;
  } else {
    return CheckReader<First>() && CheckRest<First, Rest...>();
  }
}

}  // namespace weir::job_rules
