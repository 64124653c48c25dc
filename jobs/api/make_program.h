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
///   using Reader = TextLines | CsvRows | FixedRecords<N> | Block<Delimiter>;
///   using Key, Value;                       strings, numbers, tuples, structs or types with codecs
///   template <typename Emit> void Map(record, Emit& emit);       emit(key, value);
///   emit.Reject(...) void Combine(Value& into, const Value& from) const; associative void
///   Format(key, const Value& value, std::string& out) const;   one record of an output part double
///   Partition(key) const;            optional: place of a key in [0, 1), hash by default static
///   constexpr std::array<std::string_view, n> kCounters;   optional: emit.Increment(index)
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
