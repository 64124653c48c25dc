#pragma once

// Makes a JobProgram of an author's class. Upstream: jobs/<job>. Downstream: combine_program.h,
// group_program.h.

#include <memory>
#include <utility>

#include "jobs/api/combine_program.h"
#include "jobs/api/group_program.h"
#include "jobs/api/program.h"
#include "jobs/api/readers.h"

namespace weir {

/// Instantiates the engine for `job`, in the author's translation unit, so that Map and Combine are
/// inlined.
///
/// Model: a job is a copyable class; each slot maps with a copy of its own, the rest is const.
///
///   using Reader = TextLines | CsvRows | FixedRecords<N> | Block<Delimiter>;
///   using Key, Value;               strings, numbers, tuples, structs or types with codecs
///   void Map(record, Emit& emit);            Emit is a template argument;
///                                            emit(key, value); emit.Reject(record, reason);
///   either void Combine(Value& into, const Value& from) const;             associative
///   or     void Reduce(key, GroupValues<Value>& values, Emit& emit) const; all values of a key
///   void Format(key, value, std::string& out) const;   one record of an output part
///   double Partition(key) const;             optional: place of a key in [0, 1), else by hash
///   auto SortKey(const Value& value) const;  optional, with Reduce: the order of a key's values
///   static constexpr std::array<std::string_view, n> kCounters;  optional: emit.Increment(i)
///
/// Example: jobs/wordcount/wordcount.cc.
template <typename Job>
std::unique_ptr<JobProgram> MakeJobProgram(Job job) {
  constexpr bool kCombines = requires(const Job& of, typename Job::Value& into) {
    of.Combine(into, into);
  };
  if constexpr (kCombines) {
    return std::make_unique<CombineProgram<Job>>(std::move(job));
  } else {
    return std::make_unique<GroupProgram<Job>>(std::move(job));
  }
}

}  // namespace weir
