"""What two programs must agree on, as one short text.

Upstream: tests/bench/run. Downstream: sort and sha256sum, as outputs have millions of lines.
"""
import glob
import os
import subprocess


def parts_of(path):
    """The file, or those of a directory."""
    return sorted(glob.glob(os.path.join(glob.escape(path), "part-*"))) if os.path.isdir(path) else [path]


def digest(job, path):
    """Of the lines of all parts in any order; of sorted records, of every byte in order."""
    order = "cat" if job == "terasort" else "sort -S 1G"
    done = subprocess.run(["sh", "-c", f"LC_ALL=C {order} -- \"$@\" | sha256sum", "digest", *parts_of(path)],
                          check=True, capture_output=True, text=True)
    return done.stdout.split()[0]
