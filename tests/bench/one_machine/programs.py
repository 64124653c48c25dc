"""What is measured: weir, the hand-written limit programs, pipelines of Unix tools.

Upstream: tests/bench/run. Downstream: the build directory, coreutils, mawk. Databases and the like: engines.py.
"""
import os
import shutil
from dataclasses import dataclass, field


@dataclass
class Program:
    """A command that reads the input and leaves its result at `output`."""
    name: str
    command: list
    output: str
    environment: dict = field(default_factory=dict)


# What is no job's own beside the bare result: word count prints a top ten, too.
JOB_FLAGS = {"wordcount": ["--set", "top=0"]}

PIPELINES = {
    ("coreutils", "wordcount"): ("sort", r"""tr -s ' \t\v\f\r' '\n' <"$0" | LC_ALL=C sort --parallel=2 -S 1G | uniq -c |
        LC_ALL=C awk 'NF == 2 { print $2 "\t" $1 }' >"$1" """),
    ("mawk", "wordcount"): ("mawk", r"""LC_ALL=C mawk -F '[ \t\v\f\r]+' '
        { for (i = 1; i <= NF; ++i) if ($i != "") ++n[$i] } END { for (w in n) print w "\t" n[w] }' <"$0" >"$1" """),
    # Tenths are whole numbers, so that sums are exact; the mean is rounded half up.
    ("mawk", "onebrc"): ("mawk", r"""LC_ALL=C mawk -F ';' '
        function tenths(t) { return (t < 0 ? "-" : "") int((t < 0 ? -t : t) / 10) "." (t < 0 ? -t : t) % 10 }
        function floor(x) { return int(x) > x ? int(x) - 1 : int(x) }
        { s = $1; t = $2; sub(/\./, "", t); t += 0
          if (!(s in n) || t < low[s]) low[s] = t
          if (!(s in n) || t > high[s]) high[s] = t
          sum[s] += t; ++n[s] }
        END { for (s in n) print s "=" tenths(low[s]) "/" tenths(floor((2 * sum[s] + n[s]) / (2 * n[s]))) "/" \
                   tenths(high[s]) }' <"$0" >"$1" """),
    # The mean is rounded half away from zero.
    ("mawk", "weather"): ("mawk", r"""LC_ALL=C mawk -F ',' '
        function tenths(t) { return (t < 0 ? "-" : "") int((t < 0 ? -t : t) / 10) "." (t < 0 ? -t : t) % 10 }
        function nearest(s, n) { return s < 0 ? -int((-2 * s + n) / (2 * n)) : int((2 * s + n) / (2 * n)) }
        $4 != "" { k = $1 "\t" $2; t = $4; sub(/\./, "", t); t += 0; if (!(k in high) || t > high[k]) high[k] = t }
        END { for (k in high) { split(k, of, "\t"); d = of[1] "\t" substr(of[2], 6); sum[d] += high[k]; ++n[d] }
              for (d in n) print d "\t" tenths(nearest(sum[d], n[d]) + 0) }' <"$0" >"$1" """),
}


def weir(args, job, source, folder, name="weir", shape=("--workers", "1", "--slots", "2")):
    output = os.path.join(folder, name + ".out")
    return Program(name, [args.weir, "run", job, source, "-o", output, "--overwrite", "--quiet", "--no-history",
                          "--work-dir", folder, *shape, *JOB_FLAGS.get(job, [])], output)


def weir_of_workers(args, job, source, folder):
    """The same with both threads in workers of their own, which should be no better (report.py)."""
    return weir(args, job, source, folder, "workers", ("--workers", "2", "--slots", "1"))


def limit(args, job, source, folder):
    """The program that an expert would write for this one job and machine, or None where it was not built."""
    binary = os.path.join(args.build, "tests/bench", f"weir_bench_limit_{job}")
    output = os.path.join(folder, "limit.out")
    return Program("limit", [binary, source, output, "2"], output) if os.path.exists(binary) else None


def pipelines(job, source, folder):
    for (name, of), (needs, script) in PIPELINES.items():
        if of == job and shutil.which(needs):
            output = os.path.join(folder, name + ".out")
            yield Program(name, ["sh", "-c", script, source, output], output)
