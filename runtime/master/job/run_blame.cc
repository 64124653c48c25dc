#include "runtime/master/job/run_blame.h"

#include "runtime/base/limits.h"

namespace weir::master {

RunBlame::Cure RunBlame::Damaged(const RunName& run, const std::string& maker,
                                 planner::StepIndex reader, bool received) {
  if (received && fetched_again_.insert({run, reader}).second) return Cure::kFetchAgain;
  // Several readers find it in one run.
  if (!made_again_.insert(run).second) return Cure::kMakeAgain;
  const bool first = damaged_.insert({maker, run.step}).second;
  return first && ++num_damaged_[maker] < limits::kDamagedRunsMax ? Cure::kMakeAgain
                                                                  : Cure::kLeaveOutMaker;
}

}  // namespace weir::master
