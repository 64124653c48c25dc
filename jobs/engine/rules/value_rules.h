#pragma once

// What a job whose result is one value must have, each said in a sentence where it is missing.
// Upstream: value_program.h. Downstream: the author's class.

#include <cstdint>
#include <string>
#include <type_traits>

#include "jobs/engine/rules/record_rules.h"

namespace weir::value_rules {

using namespace job_rules;  // of this folder; nobody includes it but the engine

template <typename Job>
constexpr bool kSizesValues = requires(const Job& job, std::int64_t& bytes) {
  bytes = job.ValueBytes();
};
template <typename Job>
constexpr bool kCombinesValues = requires(const Job& job, typename Job::Value& into,
                                          const typename Job::Value& from) {
  job.Combine(into, from);
};
template <typename Job>
constexpr bool kFormatsValue = requires(const Job& job, const typename Job::Value& value,
                                        std::string& out) {
  job.Format(std::int64_t{0}, value, out);
};
template <typename Job, typename Record>
constexpr bool kMapsRecord = requires(Job& job, Record record, typename Job::Value& value,
                                      AnyEmit& emit) {
  job.Map(record, value, emit);
};
template <typename Job>
constexpr bool kMapsRecord<Job, void> = true;

/// What the members of a job with sound types do.
template <typename Job>
constexpr bool CheckMembers() {
  constexpr bool kMaps = kMapsRecord<Job, typename RecordOf<typename Job::Reader>::Type>;
  static_assert(kMaps,
                "Map of this job of one value cannot be called with the records of its Reader: "
                "write 'template <typename Emit> void Map(record, Value& value, Emit& emit)', with "
                "std::string_view for TextLines and FixedRecords, const weir::CsvRow& for CsvRows, "
                "const weir::TextBlock& for Block.");
  if constexpr (std::is_final_v<Job>) {
    return kMaps;  // nothing can be derived to see what it names
  } else {
    static_assert(kNamesValueBytes<Job>,
                  "This job of one value has no ValueBytes: write 'std::int64_t ValueBytes() "
                  "const', about how many bytes of a value are sent.");
    static_assert(!kNamesValueBytes<Job> || kSizesValues<Job>,
                  "ValueBytes of this job of one value cannot be called as Weir does: it must be "
                  "public and const, as 'std::int64_t ValueBytes() const'.");
    static_assert(kNamesCombine<Job>,
                  "This job of one value has no Combine: write 'void Combine(Value& into, const "
                  "Value& from) const'.");
    static_assert(!kNamesCombine<Job> || kCombinesValues<Job>,
                  "Combine of this job of one value cannot be called as Weir does: it must be "
                  "public and const, as 'void Combine(Value& into, const Value& from) const'.");
    static_assert(kNamesFormat<Job>,
                  "This job of one value has no Format: write 'void Format(std::int64_t begin, "
                  "const Value& value, std::string& out) const', which appends the output.");
    static_assert(!kNamesFormat<Job> || kFormatsValue<Job>,
                  "Format of this job of one value cannot be called as Weir does: it must be "
                  "public and const, as 'void Format(std::int64_t begin, const Value& value, "
                  "std::string& out) const'; begin is the first place of the part.");
    return kMaps && kSizesValues<Job> && kCombinesValues<Job> && kFormatsValue<Job>;
  }
}

/// True when a job has what value_program.h asks for; else the build fails with a sentence.
/// Checked by: tests/integration/job_rules_test.py (one wrong job a sentence).
template <typename Job>
constexpr bool Check() {
  static_assert(kHasValue<Job>,
                "This job of one value has no Value: write 'using Value = MySketch;', the type of "
                "what all records become together.");
  if constexpr (!CheckIsCopied<Job>() || !CheckHasReader<Job>() || !kHasValue<Job>) {
    return false;
  } else if constexpr (!CheckValue<Job>()) {
    return false;
  } else {
    return CheckMembers<Job>();
  }
}

}  // namespace weir::value_rules
