/* One rank of the comparison with MPI (reduce_lab.py): carries out the calls that its command line lists.
 *
 * Arguments: one call each, "kind:bytes:operation:seconds_per_element:repeats" (kind reduce or allreduce; operation sum or
 * costly). Prints a line of JSON a repetition: when this rank began and ended it, on the clock that all hosts of the
 * laboratory share, and whether the result is right. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds_per_element;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A sum that takes seconds_per_element each, waiting for what it does not compute: 16 hosts have 2 cores here. */
static void costly_sum(void* in, void* inout, int* n, MPI_Datatype* type) {
  const double end_s = now_s() + seconds_per_element * *n;
  const double* l = in;
  double* r = inout;
  (void)type;
  for (int i = 0; i < *n; ++i) r[i] += l[i];
  const struct timespec until = {(time_t)end_s, (long)((end_s - (double)(time_t)end_s) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Op costly;
  MPI_Op_create(costly_sum, 1, &costly);
  double warm = 1, warmed = 0;
  MPI_Allreduce(&warm, &warmed, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int at = 1; at < argc; ++at) {
    char kind[16], operation[16];
    long bytes;
    int repeats;
    if (sscanf(argv[at], "%15[^:]:%ld:%15[^:]:%lf:%d", kind, &bytes, operation, &seconds_per_element, &repeats) != 5) {
      fprintf(stderr, "what is '%s'?\n", argv[at]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int n = (int)(bytes / 8);
    const int reduces = strcmp(kind, "reduce") == 0;
    const MPI_Op op = strcmp(operation, "sum") == 0 ? MPI_SUM : costly;
    double* mine = malloc((size_t)bytes);
    double* result = malloc((size_t)bytes);
    for (int repeat = 0; repeat < repeats; ++repeat) {
      for (int i = 0; i < n; ++i) mine[i] = i % 1000 + rank;
      memset(result, 0, (size_t)bytes);
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin_s = now_s();
      if (reduces) {
        MPI_Reduce(mine, result, n, MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
      } else {
        MPI_Allreduce(mine, result, n, MPI_DOUBLE, op, MPI_COMM_WORLD);
      }
      const double end_s = now_s();
      int right = 1;
      if (!reduces || rank == 0) {
        for (int i = 0; i < n; ++i) {
          if (result[i] != (double)(i % 1000) * size + size * (size - 1) / 2) right = 0;
        }
      }
      printf("{\"call\": %d, \"repeat\": %d, \"rank\": %d, \"begin_s\": %.6f, \"end_s\": %.6f, \"right\": %s}\n", at - 1,
             repeat, rank, begin_s, end_s, right ? "true" : "false");
      fflush(stdout);
    }
    free(mine);
    free(result);
  }
  /* Debian's MPICH now and then does not come out of MPI_Finalize: whoever started this may stop waiting. */
  printf("{\"finished\": %d}\n", rank);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
