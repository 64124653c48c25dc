#include "runtime/worker/measure/given_profile.h"

namespace weir::worker {

MachineProfile WithGiven(MachineProfile measured, const GivenProfile& given, int slots) {
  if (given.compute_rate > 0) {
    measured.compute_rate = given.compute_rate;
    measured.slot_compute_rate = given.compute_rate / slots;
  }
  if (given.disk_write_bytes_per_s > 0) {
    measured.disk_write_bytes_per_s = given.disk_write_bytes_per_s;
  }
  if (given.disk_read_bytes_per_s > 0) {
    measured.disk_read_bytes_per_s = given.disk_read_bytes_per_s;
  }
  if (given.task_start_s > 0) measured.task_start_s = given.task_start_s;
  return measured;
}

}  // namespace weir::worker
