/* Preloaded into MPI's ranks (reduce_lab.py): waits where they would spin.
 *
 * Both libraries ask their sockets again and again, with epoll_wait or poll and no time to wait. On hosts of their own that costs nothing; here all
 * hosts share a few cores, and ranks that spin take the time of those that have something to do. Once a rank has asked in vain
 * kPatience times, its next question waits for an answer, at most a millisecond: data wake it at once. */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kPatience = 20, kWaitMs = 1 };

static _Thread_local int in_vain;

static int wait_on(int set, struct epoll_event* events, int n, int timeout_ms) {
  return (int)syscall(SYS_epoll_pwait, set, events, n, timeout_ms, NULL, 8);
}

int poll(struct pollfd* fds, nfds_t n, int timeout_ms) {
  const int patient_ms = timeout_ms == 0 && in_vain >= kPatience ? kWaitMs : timeout_ms;
  const struct timespec wait = {patient_ms / 1000, patient_ms % 1000 * 1000000L};
  const int found = (int)syscall(SYS_ppoll, fds, n, patient_ms < 0 ? NULL : &wait, NULL, 8);
  in_vain = timeout_ms == 0 && found == 0 ? in_vain + 1 : 0;
  return found;
}

int epoll_wait(int set, struct epoll_event* events, int n, int timeout_ms) {
  const int found = wait_on(set, events, n, timeout_ms == 0 && in_vain >= kPatience ? kWaitMs : timeout_ms);
  in_vain = timeout_ms == 0 && found == 0 ? in_vain + 1 : 0;
  return found;
}
