#!/usr/bin/env python3
"""How well the first runs of jobs are predicted that run people's own code: scripts, and a module if one is given.

Usage: predict_scripts.py WEIR [--scale 1.0] [--workers 2] [--module PATH:JOB] [--json FILE] [--check] [--only NAME]

Runs each job once, with nothing known of it, so that it is sampled; prints predicted and actual time and the quotient. Only
runs of 2 s and more count. The bar: of these at least 80 % are predicted within 35 % (|actual / predicted - 1| <= 0.35), and
at least ten runs count. --check: the exit status is 1 where it is missed. On a busy machine the figures say more about the
machine. --scale: of all inputs, for faster or slower machines.
"""
import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

WITHIN = 0.35
SHARE = 0.8
COUNTED_S = 2.0
RUNS_MIN = 10

COMPARATOR = "org.apache.hadoop.mapreduce.lib.partition.KeyFieldBasedComparator"

SCRIPTS = {
    "words.py": """
import sys
for line in sys.stdin:
    sys.stdout.write("".join([word + "\\t1\\n" for word in line.split()]))
""",
    "sum.py": """
import itertools, sys
pairs = (line.rstrip("\\n").split("\\t") for line in sys.stdin)
for word, group in itertools.groupby(pairs, key=lambda pair: pair[0]):
    print("%s\\t%d" % (word, sum(int(pair[1]) for pair in group)))
""",
    "grep.py": """
import re, sys
wanted = re.compile("([a-z])\\\\1.*([a-z])\\\\2")
for line in sys.stdin:
    if wanted.search(line):
        sys.stdout.write(line)
""",
    "hash.py": """
import hashlib, sys
for line in sys.stdin:
    digest = line.encode()
    for _ in range(300):
        digest = hashlib.sha256(digest).digest()
    print("%s\\t%s" % (digest.hex()[:3], digest.hex()))
""",
    # What many real scripts do: they load a model before they read the first line.
    "model.py": """
import sys
model = {str(i): i * i for i in range(1500000)}
for line in sys.stdin:
    for word in line.split():
        print("%d\\t%d" % (len(word), model[str(len(word))]))
""",
    "aggregate.py": """
import sys
for line in sys.stdin:
    for word in line.split():
        print("LongValueSum:%s\\t1" % word[:3])
""",
    "fields.py": """
import sys
for line in sys.stdin:
    words = line.split()
    for a, b in zip(words, words[1:]):
        print("%s\\t%d" % (a[:2], len(b)))
""",
    "longest.py": """
import sys
last = None
for line in sys.stdin:
    key = line.split("\\t")[0]
    if key != last:
        sys.stdout.write(line)
        last = key
""",
    "local_sums.py": """
import collections, sys
counts = collections.Counter()
for line in sys.stdin:
    counts.update(line.split())
for word, count in counts.items():
    print("%s\\t%d" % (word, count))
""",
}


class Inputs:
    def __init__(self, folder, scale):
        self.folder, self.scale = folder, scale
        draw = random.Random(11)
        words = ["".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randint(2, 9)))
                 for _ in range(30000)]
        self.lines = [" ".join(words[int(draw.paretovariate(0.8)) % len(words)] for _ in range(10)) + "\n"
                      for _ in range(20000)]
        self.text = "".join(self.lines).encode()
        self.draw = draw

    def files(self, name, megabytes, count=1, zipped=False):
        """A folder with `count` files, `megabytes` of text together."""
        folder = os.path.join(self.folder, name)
        os.makedirs(folder)
        size = int(megabytes * self.scale * 1e6 / count)
        for i in range(count):
            text = (self.text * (size // len(self.text) + 2))
            begin = text.index(b"\n", self.draw.randrange(len(self.text))) + 1
            piece = text[begin:text.index(b"\n", begin + size - 1) + 1]
            path = os.path.join(folder, f"{i:04}" + (".gz" if zipped else ""))
            with gzip.open(path, "wb", 1) if zipped else open(path, "wb") as file:
                file.write(piece)
        return folder


def jobs(python, scripts, awk):
    """Name, input (megabytes, files, zipped), options of `weir streaming`."""
    def script(name):
        return f"{python} {scripts}/{name}"
    count = ["-mapper", script("words.py"), "-reducer", script("sum.py"), "-numReduceTasks", "2"]
    return [
        ("word count", (40, 1, False), count),
        ("word count, combined", (60, 1, False), [*count, "-combiner", script("sum.py")]),
        ("word count, one reducer", (30, 1, False), ["-mapper", script("words.py"), "-reducer", script("sum.py")]),
        ("word count, many files", (30, 60, False), count),
        ("word count, gzip", (60, 240, True), count),
        ("sums in the mapper", (150, 4, False),
         ["-mapper", script("local_sums.py"), "-reducer", script("sum.py"), "-numReduceTasks", "2"]),
        ("filter without reducers", (60, 1, False), ["-mapper", script("grep.py"), "-reducer", "NONE"]),
        ("slow script, little input", (4, 1, False), ["-mapper", script("hash.py"), "-reducer", "uniq -c"]),
        ("slow start", (12, 1, False), ["-mapper", script("model.py"), "-reducer", script("sum.py")]),
        ("aggregate", (50, 1, False), ["-mapper", script("aggregate.py"), "-reducer", "aggregate"]),
        ("order within keys", (30, 1, False),
         ["-mapper", script("fields.py"), "-reducer", script("longest.py"), "-D", "stream.num.map.output.key.fields=2",
          "-D", f"mapreduce.job.output.key.comparator.class={COMPARATOR}",
          "-D", "mapreduce.partition.keycomparator.options=-k1,1 -k2,2nr", "-numReduceTasks", "2"]),
        ("awk", (120, 2, False),
         ["-mapper", f"{awk} '{{ for (i = 1; i <= NF; ++i) print $i \"\t1\" }}'", "-reducer",
          f"{awk} -F '\t' '{{ if ($1 != last) {{ if (NR > 1) print last \"\t\" n; last = $1; n = 0 }} n += $2 }} "
          "END { print last \"\t\" n }'", "-numReduceTasks", "2"]),
    ]


def run(weir, words, folder, workers):
    out = os.path.join(folder, "out")
    env = {**os.environ, "XDG_STATE_HOME": os.path.join(folder, "state")}
    done = subprocess.run([weir, *words(out), "--workers", str(workers), "--work-dir", folder], env=env,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{words(out)} failed:\n{done.stderr}")
    with open(os.path.join(out, "_weir", "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    origin = next(n["origin"] for n in plan["numbers"] if n["name"] == "map time")
    return plan["predicted_s"], plan["actual_s"], origin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--module", metavar="PATH:JOB")
    parser.add_argument("--only")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    weir = os.path.abspath(args.weir)
    rows = []
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as scripts:
        for name, text in SCRIPTS.items():
            with open(os.path.join(scripts, name), "w", encoding="ascii") as file:
                file.write(text)
        table = [(name, given, lambda source, out, options=options: ["streaming", "-input", source, "-output", out, *options])
                 for name, given, options in jobs(sys.executable, scripts, shutil.which("awk"))]
        if args.module:
            module, _, job = args.module.rpartition(":")
            table.append((f"module {job}", (400, 1, False),
                          lambda source, out: ["run", "--module", module, job, source, "-o", out]))
        print(f"{'job':26} {'MB':>5} {'files':>5} {'predicted':>10} {'actual':>9} {'actual/predicted':>17}  map rate from")
        for name, (megabytes, count, zipped), words in table:
            if args.only and args.only not in name:
                continue
            with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
                source = Inputs(folder, args.scale).files("in", megabytes, count, zipped)
                predicted, actual, origin = run(weir, lambda out: words(source, out), folder, args.workers)
            counts = actual >= COUNTED_S
            off = actual / predicted - 1
            rows.append({"job": name, "predicted_s": predicted, "actual_s": actual, "off": off, "counts": counts,
                         "map_rate_from": origin})
            print(f"{name:26} {megabytes:5} {count:5} {predicted:9.2f}s {actual:8.2f}s {actual / predicted:16.2f}"
                  f"{' ' if counts and abs(off) <= WITHIN else '!' if counts else '-'} {origin}", flush=True)
    counted = [row for row in rows if row["counts"]]
    within = sum(abs(row["off"]) <= WITHIN for row in counted)
    print(f"{len(counted)} runs of {COUNTED_S:.0f} s and more, {within} of them within {WITHIN:.0%}")
    if args.json:
        with open(args.json, "w", encoding="ascii") as file:
            json.dump({"runs": rows, "counted": len(counted), "within": within}, file, indent=2)
            file.write("\n")
    if args.check and (len(counted) < RUNS_MIN or within < SHARE * len(counted)):
        sys.exit("the bar is missed")


if __name__ == "__main__":
    main()
