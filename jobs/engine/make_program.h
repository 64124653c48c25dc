#pragma once

// Makes a JobProgram of an author's classes. Upstream: jobs/<job>. Downstream: layered_program.h.

#include <memory>
#include <utility>

#include "jobs/api/element.h"
#include "jobs/api/program.h"
#include "jobs/api/readers.h"
#include "jobs/engine/emit_base.h"
#include "jobs/engine/layered_program.h"
#include "jobs/engine/rules/job_rules.h"

namespace weir {

/// Instantiates the engine for a chain of jobs, in the author's translation unit, so that Map,
/// Combine and Reduce are inlined.
///
/// Model: a job is a copyable class; each slot maps with a copy of its own, the rest is const.
///
///   using Reader = TextLines | CsvRows | FixedRecords<N> | Block<Delimiter>;  first job of a chain
///   using Key, Value;               strings, numbers, tuples, structs or types with codecs
///   void Map(record, Emit& emit);            Emit is a template argument;
///                                            emit(key, value); emit.Reject(record, reason);
///   void Map(key, value, Emit& emit);        instead, in the jobs after the first: a result of the
///                                            job before
///   either void Combine(Value& into, const Value& from) const;             associative
///   or     void Reduce(key, GroupValues<Value>& values, Emit& emit) const; all values of a key
///   void Format(key, value, std::string& out) const;   last job: one record of an output part
///   double Partition(key) const;             optional: place of a key in [0, 1), else by hash
///   auto SortKey(const Value& value) const;  optional, with Reduce: the order of a key's values
///   static constexpr bool kCommutative = true;   optional, with Combine: any order of values gives
///                                                the same, so plans need not keep that of the
///                                                input
///   static constexpr std::array<std::string_view, n> kCounters;  optional: emit.Increment(i)
///
/// The results of a job (its keys with their combined values, or what Reduce emits) reach the next
/// in no particular order, so that from the second job on Combine must be commutative, and Reduce
/// may rely on SortKey only.
/// Example: jobs/wordcount/wordcount.cc (Combine), jobs/sessions/sessions.cc (Reduce, SortKey),
/// jobs/weather/weather.cc (two jobs).
template <typename... Jobs>
std::unique_ptr<JobProgram> MakeChainProgram(Jobs... jobs) {
  static_assert(sizeof...(Jobs) > 0, "MakeChainProgram makes a program of one job or more.");
  // Where a job breaks a rule, the sentence about it is all that the compiler shall say.
  if constexpr (job_rules::Check<Jobs...>()) {
    return std::make_unique<LayeredProgram<Jobs...>>(std::move(jobs)...);
  } else {
    return nullptr;
  }
}

/// What a layer with this job can combine before it reduces, for JobDefinition::Element: a table
/// where the job has Combine, else nothing.
/// Checked by: tests/unit/jobs/combine_step_test.cc.
template <typename Job>
ElementInfo ElementOf() {
  ElementInfo element;
  if constexpr (layered_internal::kCombines<Job>) {
    element.kind = ElementKind::kTable;
    element.places = kTablePlaces;
    element.commutative = IsCommutative<Job>();
  }
  return element;
}

/// A chain of one.
template <typename Job>
std::unique_ptr<JobProgram> MakeJobProgram(Job job) {
  return MakeChainProgram(std::move(job));
}

}  // namespace weir
