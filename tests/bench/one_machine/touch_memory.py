"""Writes to memory that is free, and gives it back.

A virtual machine may have given free pages back to its host, and gets each of them anew when it is touched, which takes longer
than clearing it: of programs in turns the second would find the memory that the first has waited for.
A process of its own: children that are measured inherit the largest memory that their parent had.
Upstream: measure.py. Downstream: the operating system.
  touch_memory.py BYTES
"""
import errno
import mmap
import os
import sys

PAGE = os.sysconf("SC_PAGE_SIZE")
POPULATE_WRITE = 23  # MADV_POPULATE_WRITE, Linux 5.14; Python has no name for it
FREE_PART = 0.8  # of free memory, at most: what is cached stays


def free_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemFree:"))


def touch(size):
    with mmap.mmap(-1, size) as memory:
        try:
            memory.madvise(POPULATE_WRITE)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            for at in range(0, size, PAGE):
                memory[at] = 1


if __name__ == "__main__":
    pages = min(int(sys.argv[1]), int(FREE_PART * free_bytes())) // PAGE
    if pages > 0:
        touch(pages * PAGE)
