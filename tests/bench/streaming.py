#!/usr/bin/env python3
"""Word count by Python scripts: weir streaming, a pipeline with two mappers at a time, and Hadoop Streaming, in turn.

Usage: streaming.py WEIR [--bytes 100000000] [--runs 3] [--hadoop CACHE] [--json FILE] [--check] [--work-dir DIR]

The pipeline is
    (map.py < half 1 & map.py < half 2) | LC_ALL=C sort | reduce.py
and Hadoop Streaming runs in one process (local job runner), two mappers and two reducers at a time, as does weir. All must
count the same. Prints of each the wall time and the processor time (user and system, of all its processes) that is spent
outside of the scripts, each of which says itself how much it took; then two ratios of medians and their bars:
    wall time of weir to the pipeline's: at most 1.15
    processor time outside of the scripts, weir's to Hadoop's: at most 0.35
--hadoop: Hadoop's jars are fetched into this folder once, by mvn, from Maven Central; without it that part is left out.
--check: the exit status is 1 where a bar is missed (or where there is no Hadoop to compare with).
"""
import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

WALL_BAR = 1.15
CPU_BAR = 0.35

# Each script adds its own processor time to a file when it ends.
CPU = """
import atexit, os
def _note():
    t = os.times()
    with open(os.environ["CPU_LOG"], "a") as log:
        log.write("%f\\n" % (t.user + t.system))
atexit.register(_note)
"""
MAP = CPU + """
import sys
out = sys.stdout
for line in sys.stdin:
    out.write("".join([word + "\\t1\\n" for word in line.split()]))
"""
REDUCE = CPU + """
import sys
last, count = None, 0
for line in sys.stdin:
    word, _, n = line.rstrip("\\n").partition("\\t")
    if word != last:
        if last is not None:
            print("%s\\t%d" % (last, count))
        last, count = word, 0
    count += int(n)
if last is not None:
    print("%s\\t%d" % (last, count))
"""

HADOOP = "3.3.5"
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>weir.bench</groupId>
  <artifactId>hadoop-streaming-classpath</artifactId>
  <version>{HADOOP}</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.hadoop</groupId>
      <artifactId>hadoop-streaming</artifactId>
      <version>{HADOOP}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.hadoop</groupId>
      <artifactId>hadoop-client</artifactId>
      <version>{HADOOP}</version>
    </dependency>
  </dependencies>
</project>
"""


def write_words(path, size):
    draw = random.Random(7)
    words = ["".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randint(2, 9))) for _ in range(50000)]
    lines, bytes_made = [], 0
    while bytes_made < min(size, 4 << 20):
        lines.append(" ".join(words[int(draw.paretovariate(0.8)) % len(words)] for _ in range(12)) + "\n")
        bytes_made += len(lines[-1])
    with open(path, "w", encoding="ascii") as file:
        for _ in range(max(1, round(size / bytes_made))):
            draw.shuffle(lines)
            file.writelines(lines)


def fetch_hadoop(cache):
    """The class path, fetched where it is not there yet."""
    jars = os.path.join(cache, f"hadoop-{HADOOP}")
    done = os.path.join(jars, "done")
    if not os.path.exists(done):
        os.makedirs(jars, exist_ok=True)
        with open(os.path.join(cache, "pom.xml"), "w", encoding="ascii") as file:
            file.write(POM)
        subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={os.path.abspath(jars)}",
                        "-DincludeScope=runtime"], cwd=cache, check=True, stdout=sys.stderr)
        with open(done, "w", encoding="ascii"):
            pass
    return os.path.join(os.path.abspath(jars), "*")


class Runs:
    def __init__(self, folder, weir, source):
        self.folder, self.weir, self.source = folder, weir, source
        self.log = os.path.join(folder, "cpu")
        self.classpath = None
        self.env = dict(os.environ, CPU_LOG=self.log, LC_ALL="C", XDG_STATE_HOME=os.path.join(folder, "state"))
        for name, text in (("map.py", MAP), ("reduce.py", REDUCE)):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)
        self.mapper, self.reducer = (f"{sys.executable} {folder}/{n}" for n in ("map.py", "reduce.py"))

    def measure(self, what):
        """Returns wall time, processor time of and outside of the scripts, and the sorted lines of the result."""
        open(self.log, "w", encoding="ascii").close()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        lines = what()
        wall = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        with open(self.log, encoding="ascii") as log:
            scripts = sum(float(line) for line in log)
        return wall, scripts, total - scripts, sorted(lines)

    def pipeline(self):
        half = os.path.getsize(self.source) // 2
        with open(self.source, "rb") as file:
            file.seek(half)
            half += len(file.readline())
        script = (f"(head -c {half} {self.source} | {self.mapper} & tail -c +{half + 1} {self.source} | {self.mapper}; wait)"
                  f" | sort -T {self.folder} | {self.reducer}")
        out = subprocess.run(["bash", "-c", script], env=self.env, check=True, stdout=subprocess.PIPE).stdout
        return out.split(b"\n")[:-1]

    def take_parts(self, out):
        lines = []
        for name in sorted(os.listdir(out)):
            if name.startswith("part-"):
                with open(os.path.join(out, name), "rb") as file:
                    lines += file.read().split(b"\n")[:-1]
        shutil.rmtree(out)
        return lines

    def streaming_words(self, out):
        return ["-input", self.source, "-output", out, "-mapper", self.mapper, "-reducer", self.reducer, "-cmdenv",
                f"CPU_LOG={self.log}", "-numReduceTasks", "2"]

    def weir_streaming(self):
        out = os.path.join(self.folder, "out")
        subprocess.run([self.weir, "streaming", *self.streaming_words(out), "--workers", "2", "--work-dir", self.folder,
                        "--quiet"], env=self.env, check=True)
        return self.take_parts(out)

    def hadoop_streaming(self):
        out = os.path.join(self.folder, "hadoop-out")
        said = os.path.join(self.folder, "hadoop.log")
        with open(said, "wb") as log:
            code = subprocess.run(
                ["java", "-cp", self.classpath, "org.apache.hadoop.streaming.HadoopStreaming",
                 "-D", "mapreduce.framework.name=local", "-D", "fs.defaultFS=file:///",
                 "-D", f"hadoop.tmp.dir={self.folder}/hadoop-tmp", "-D", "mapreduce.local.map.tasks.maximum=2",
                 "-D", "mapreduce.local.reduce.tasks.maximum=2", *self.streaming_words(out)],
                env=self.env, cwd=self.folder, stdout=log, stderr=log, check=False).returncode
        if code != 0:
            with open(said, encoding="utf-8", errors="replace") as log:
                sys.exit("Hadoop Streaming failed:\n" + log.read()[-3000:])
        return self.take_parts(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir")
    parser.add_argument("--bytes", type=int, default=100_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--hadoop", metavar="CACHE")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--work-dir")
    args = parser.parse_args()
    classpath = fetch_hadoop(os.path.abspath(args.hadoop)) if args.hadoop else None
    folder = tempfile.mkdtemp(prefix="weir-bench-", dir=args.work_dir)
    try:
        source = os.path.join(folder, "words")
        write_words(source, args.bytes)
        runs = Runs(folder, os.path.abspath(args.weir), source)
        runs.classpath = classpath
        ways = [("pipeline", runs.pipeline), ("weir", runs.weir_streaming)]
        if classpath:
            ways.append(("hadoop", runs.hadoop_streaming))
        seen = {name: {"wall_s": [], "scripts_cpu_s": [], "other_cpu_s": []} for name, _ in ways}
        for _ in range(args.runs):
            results = {}
            for name, what in ways:
                wall, scripts, other, results[name] = runs.measure(what)
                for figure, value in zip(("wall_s", "scripts_cpu_s", "other_cpu_s"), (wall, scripts, other)):
                    seen[name][figure].append(round(value, 3))
                print(f"{name:9} {wall:7.2f} s; processor time: scripts {scripts:7.2f} s, all else {other:7.2f} s", flush=True)
            if any(lines != results["pipeline"] for lines in results.values()):
                sys.exit("the results differ")
        size = os.path.getsize(source)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    medians = {name: {figure: statistics.median(values) for figure, values in of.items()} for name, of in seen.items()}
    wall = medians["weir"]["wall_s"] / medians["pipeline"]["wall_s"]
    print(f"wall time: weir / pipeline = {wall:.2f} (medians of {args.runs}; bar {WALL_BAR})")
    met = wall <= WALL_BAR
    cpu = None
    if classpath:
        cpu = medians["weir"]["other_cpu_s"] / medians["hadoop"]["other_cpu_s"]
        print(f"processor time outside of the scripts: weir / Hadoop {HADOOP} = {cpu:.2f} (bar {CPU_BAR})")
        met = met and cpu <= CPU_BAR
    if args.json:
        with open(args.json, "w", encoding="ascii") as file:
            json.dump({"bytes": size, "runs": seen, "medians": medians, "wall_ratio": wall, "cpu_ratio": cpu,
                       "hadoop": HADOOP if classpath else None, "processors": os.cpu_count()}, file, indent=2)
            file.write("\n")
    if args.check and not (met and classpath):
        sys.exit("a bar is missed" if classpath else "without --hadoop there is nothing to check against")


if __name__ == "__main__":
    main()
