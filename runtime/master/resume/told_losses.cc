#include "runtime/master/resume/told_losses.h"

#include <utility>

namespace weir::master {

void SumUpOldLosses(google::protobuf::RepeatedPtrField<v1::WorkerLoss>& losses) {
  const int surplus = losses.size() - kLossesToldMax;
  int summed = 0;  // those that go, and one that stands for them too
  while (surplus > 0 && summed <= surplus && losses[summed].plan_epoch() != 0) ++summed;
  if (summed < 2) return;
  v1::WorkerLoss sum;
  sum.set_why("others were lost before these; the log of the master names them");
  sum.set_plan_epoch(losses[summed - 1].plan_epoch());
  sum.set_unix_ms(losses[summed - 1].unix_ms());
  losses[summed - 1] = std::move(sum);
  losses.DeleteSubrange(0, summed - 1);
}

bool IsSumOfLosses(const v1::WorkerLoss& loss) { return loss.worker().empty(); }

}  // namespace weir::master
