#!/usr/bin/env python3
"""Holds the instructions of the engine's hot loops against those kept in instruction_counts.json, within 3 %.

  python3 tests/bench/instruction_counts.py BUILD            compares; fails when a step takes more, or less, than 3 % off
  python3 tests/bench/instruction_counts.py BUILD --update   keeps what is counted now, and prints what changed
  python3 tests/bench/instruction_counts.py BUILD --times 3  counts several times and prints the spread

BUILD is the directory of preset release (default: build/release). Counted by callgrind: all instructions of the map steps
and of the reduce steps of each job, libraries included, on a fixed input of 1 MB, two steps of each kind one after the other
on one thread. Neither the load nor the speed of the machine is in them, and not its processor either: valgrind shows every
program the same one, and the C library is told to use no more than what all x86-64 processors have. The compiler is, so that
figures are compared only where it is the one they were taken with; elsewhere, and without valgrind, the exit status is 77
and a line says why.
"""
import argparse
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEPT = os.path.join(ROOT, "tests/bench/instruction_counts.json")
TOLERANCE = 0.03
SKIPPED = 77
STEPS = {"map": "weir_bench_map_step", "reduce": "weir_bench_reduce_step"}
# Which memcpy is taken is the processor's choice otherwise, and a byte that `rep movsb` moves counts as an instruction.
TUNABLES = ("glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load,-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM,-BMI2,-RTM,-SSE4_2,"
            "-SSE4_1,-SSSE3")
WORDS = ["{generate}", "words", "1000000", "20000", "{out}"]
ROWS = ["{generate}", "weather-csv", "30000", "{out}"]
RECORDS = ["{weir}", "data", "generate", "terasort", "--records", "10000", "-o", "{out}"]
# name: (job, steps of each kind, what makes the input; {out} is where)
CASES = {
    "wordcount-zipf": ("wordcount", 2, WORDS),
    "wordcount-one": ("wordcount", 1, WORDS),
    "wordcount-code": ("wordcount", 2, ["{generate}", "code", "1000000", "{out}"]),
    "onebrc": ("onebrc", 2, ["{generate}", "rows", "72000", "{out}"]),
    "weather": ("weather", 2, ROWS),
    "weather-one": ("weather", 1, ROWS),
    "terasort": ("terasort", 2, RECORDS),
    "terasort-held": ("terasort-held", 2, RECORDS),
}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def build_of(folder):
    """What decides which instructions a build has, as one line."""
    cache = os.path.join(folder, "CMakeCache.txt")
    if not os.path.exists(cache):
        sys.exit(f"instruction_counts: {folder} is no build directory (cmake --preset release)")
    text = read(cache)
    kind = re.search(r"^CMAKE_BUILD_TYPE:\w+=(.*)$", text, re.M).group(1)
    unity = re.search(r"^WEIR_UNITY_BUILD:\w+=(ON|TRUE|1)$", text, re.M)
    compiler = read(glob.glob(os.path.join(folder, "CMakeFiles/*/CMakeCXXCompiler.cmake"))[0])
    name, version = (re.search(rf'set\(CMAKE_CXX_COMPILER_{part} "([^"]*)"\)', compiler).group(1)
                     for part in ("ID", "VERSION"))
    return f"{name} {version}, {platform.machine()}, {kind}{', unity' if unity else ''}"


def inclusive(profile, function):
    """Instructions of all calls of a function in a file that callgrind wrote, what it calls among them."""
    names, called, total, next_is_cost = {}, None, 0, False
    for line in profile.split("\n"):
        if next_is_cost:
            next_is_cost = False
            if called == function:
                total += int(line.split()[-1])
        elif match := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line):
            if match[3]:
                names[match[2]] = match[3]
            if match[1]:
                called = names[match[2]]
        elif line.startswith("calls="):
            next_is_cost = True
    return total


def count(case, args, folder):
    """Returns (digest of the input, {step: instructions})."""
    job, steps, make = CASES[case]
    source = os.path.join(folder, case)
    if not os.path.exists(source):
        programs = {"generate": os.path.join(args.build, "tests/bench/weir_bench_generate_input"),
                    "weir": os.path.join(args.build, "runtime/app/weir"), "out": source}
        subprocess.run([part.format(**programs) for part in make], check=True, stdout=subprocess.DEVNULL)
    profile = os.path.join(folder, "profile")
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}",
         os.path.join(args.build, "tests/bench/weir_bench_engine"), job, source, str(steps), "1"],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C", "GLIBC_TUNABLES": TUNABLES, "LD_BIND_NOW": "1"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"instruction_counts: {case}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    text = read(profile)
    if chosen := re.search(r"fn=\(\d+\) (\w+_(?:avx|evex|sse4|ssse3)\w*)$", text, re.M):
        sys.exit(f"instruction_counts: {case} calls {chosen[1]}, which other processors have not: counts would depend on them")
    counts = {step: inclusive(text, function) for step, function in STEPS.items()}
    if not all(counts.values()):
        sys.exit(f"instruction_counts: {case}: callgrind saw no call of one of {', '.join(STEPS.values())}")
    with open(source, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest(), counts


def verdict(before, now):
    """None when a count is within the tolerance of the kept one, else what to do."""
    if before is None:
        return "is not kept yet: --update"
    if now > before * (1 + TOLERANCE):
        return f"takes {now / before - 1:.1%} more than kept: give it back, or keep the loss with --update and say why"
    if now < before * (1 - TOLERANCE):
        return f"takes {1 - now / before:.1%} less than kept: keep the gain with --update"
    return None


def compare(kept, cases):
    """Prints a table; returns what is wrong."""
    wrong = []
    print(f"{'input and step':<24} {'kept':>12} {'now':>12} {'ratio':>7} {'now a byte':>10}")
    for case, (digest, runs, size) in cases.items():
        before = kept.get("inputs", {}).get(case, {})
        if before.get("sha256", digest) != digest:
            wrong.append(f"the input of {case} is another one than that of the kept counts: --update")
        for step in STEPS:
            now, old = runs[0][step], before.get(step)
            ratio = f"{now / old:7.4f}" if old else "      -"
            spread = "" if len(runs) == 1 else \
                f"  of {len(runs)}: {min(r[step] for r in runs)} to {max(r[step] for r in runs)}"
            print(f"{case + ' ' + step:<24} {old or '-':>12} {now:>12} {ratio} {now / size:>10.2f}{spread}")
            if problem := verdict(old, now):
                wrong.append(f"{case}, {step} steps: {problem}")
    wrong += [f"{case} is kept, but no input has this name: --update" for case in kept.get("inputs", {}) if case not in cases]
    return wrong


def keep(build, cases):
    rows = ",\n".join(f' "{case}": ' + json.dumps({"sha256": digest, **runs[0]}) for case, (digest, runs, _) in cases.items())
    with open(KEPT, "w", encoding="utf-8") as file:
        file.write(f'{{"schema": 1, "build": {json.dumps(build)}, "inputs": {{\n{rows}\n}}}}\n')


def skip_reason(build, kept, update):
    if not shutil.which("valgrind"):
        return "valgrind is not installed (deploy/install-packages test)"
    if not build.endswith("Release, unity"):
        return f"counts are those of preset release; this build is: {build}"
    if kept and kept["build"] != build and not update:
        return f"counts were taken with {kept['build']}; this build is: {build}"
    return None


def self_test():
    profile = ("fn=(1) main\n16 5\ncfn=(2) step\ncalls=1 30\n17 100\ncfn=(3) other\ncalls=1 3\n+1 7\n"
               "fn=(2)\n30 60\ncfn=(3)\ncalls=1 3\n+2 40\nfn=(1)\ncfn=(2)\ncalls=2 30\n* 11\n")
    assert inclusive(profile, "step") == 111 and inclusive(profile, "other") == 47 and inclusive(profile, "none") == 0
    assert verdict(1000, 1030) is None and verdict(1000, 970) is None
    assert "more" in verdict(1000, 1031) and "less" in verdict(1000, 969) and "not kept" in verdict(None, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=os.path.join(ROOT, "build/release"), metavar="BUILD")
    parser.add_argument("--update", action="store_true", help="keep what is counted now")
    parser.add_argument("--times", type=int, default=1, help="count so often")
    args = parser.parse_args()
    self_test()
    kept = json.loads(read(KEPT)) if os.path.exists(KEPT) else {}
    build = build_of(args.build)
    if reason := skip_reason(build, kept, args.update):
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)
    cases = {}
    with tempfile.TemporaryDirectory(prefix="weir-counts-") as folder:
        for case in CASES:
            counted = [count(case, args, folder) for _ in range(args.times)]
            cases[case] = (counted[0][0], [counts for _, counts in counted], os.path.getsize(os.path.join(folder, case)))
    wrong = compare(kept, cases)
    if args.update:
        keep(build, cases)
        print(f"kept in {os.path.relpath(KEPT, ROOT)}")
        sys.exit(0)
    for problem in wrong:
        print(f"instruction_counts: {problem}", file=sys.stderr)
    if wrong:
        print(f"to keep: python3 tests/bench/instruction_counts.py {os.path.relpath(args.build)} --update", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
