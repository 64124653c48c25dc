#!/usr/bin/env python3
"""Fails when the tree breaks a rule of CONTRIBUTING.md that a machine can see.

Sizes, banned names, leftovers in comments, tests and files that comments name and that are not there, sources in no target,
tests that never run, calls that belong to runtime/env/real, files not formatted, shell scripts that do not parse, tables too
wide to read. Usage: check_tree.py ROOT
"""
import os
import re
import shutil
import subprocess
import sys

LINES_MAX = 500
LINES_MAX_TESTS = 900
TABLE_COLUMNS_MAX = 120
BANNED_NAMES = re.compile(r"(utils?|helpers?|common|manager)(_|\.|$)|^(new|legacy)_", re.I)
LEFTOVERS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
BANNED_CALLS = re.compile(
    r"\b(steady_clock|system_clock|high_resolution_clock|absl::Now|SleepFor|sleep_for|sleep_until|usleep|"
    r"std::thread|std::jthread|std::async|random_device|std::rand|srand|getenv|[io]?fstream)\b")
# Where the operating system's clock, entropy, environment and threads may be touched, each with its reason.
CALLS_ALLOWED = {
    "jobs/testing/": "runs a job within its author's test: no task process brings threads",
    "runtime/env/real/": "the one real implementation of the seams",
    "runtime/app/": "creates threads, reads the environment",
    "runtime/reduce/": "a library in the process of its user, who brings neither loop nor clock",
}
# Kinds of steps are rows of tables (planner/plan/step_kind.h, runtime/task/step_kinds.h): code asks the row.
KIND_ASKED_FOR = re.compile(r"[=!]=\s*(planner::)?StepKind::k|\bcase\s+(v1::)?STEP_KIND_|[=!]=\s*v1::STEP_KIND_")
# Tests that ctest does not run, each with its reason.
STARTED_BY_HAND = {"tests/netlab/calibrate_test.py": "networks of eight hosts, for minutes each, with root"}
PRODUCT = ("planner/", "jobs/", "runtime/", "proto/")


def tracked(root):
    out = subprocess.run(["git", "-C", root, "ls-files"], check=True, capture_output=True, text=True)
    return [p for p in out.stdout.split("\n") if p and os.path.isfile(os.path.join(root, p))]


def code_without_comments_and_strings(line):
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return line.split("//", 1)[0]


def check_names(path):
    for part in path.split("/"):
        if path.endswith((".h", ".cc", ".py", ".proto")) and BANNED_NAMES.search(part):
            yield f"{path}: name says nothing: {part} (name the concept)"


def check_content(path, text):
    lines = text.split("\n")
    limit = LINES_MAX_TESTS if path.startswith("tests/") else LINES_MAX
    if len(lines) > limit + 1:
        yield f"{path}: {len(lines)} lines, more than {limit}: is it one concept?"
    allowed = any(path.startswith(p) for p in CALLS_ALLOWED)
    for number, line in enumerate(lines, 1):
        if LEFTOVERS.search(line):
            yield f"{path}:{number}: leftover: {line.strip()[:80]}"
        if path.startswith(PRODUCT) and KIND_ASKED_FOR.search(line):
            yield f"{path}:{number}: asks for one kind of step; ask what its row says"
        if path.startswith(PRODUCT) and not allowed:
            match = BANNED_CALLS.search(code_without_comments_and_strings(line))
            if match:
                yield f"{path}:{number}: {match.group(0)} belongs to runtime/env/real or runtime/app"


def check_tables(path, text):
    """Rows of Markdown tables, which cannot be wrapped by whoever reads the source."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("|") and len(line) > TABLE_COLUMNS_MAX:
            yield f"{path}:{number}: a table row of {len(line)} columns, more than {TABLE_COLUMNS_MAX}"


def check_named_tests(path, text, exists):
    """Tests that a comment promises ("Checked by: ..."), the rest of a list being in the folder of the first."""
    for promise in re.findall(r"Checked by:((?:.|\n)*?)(?:\.\s|\n\s*(?!///|//)\S|$)", text):
        folder = ""
        for name in re.findall(r"[\w/]+\.(?:cc|py)\b", promise):
            folder = os.path.dirname(name) or folder
            full = os.path.join(folder, os.path.basename(name))
            if not exists(full):
                yield f"{path}: promises {full}, which is not there"


def check_named_cases(path, text, read):
    """Cases that such a promise names in parentheses behind a test: "Checked by: tests/unit/a_test.cc (ThisCase, ThatCase)"."""
    for promise in re.findall(r"Checked by:((?:.|\n)*?)(?:\n\s*(?!///|//)\S|$)", text):
        promise = re.sub(r"\s*\n\s*//+\s*", " ", promise)
        for name, cases in re.findall(r"(tests/[\w/]+\.(?:cc|py)) \(([A-Z]\w+(?:, [A-Z]\w+)*)\)", promise):
            for case in cases.split(", "):
                if case not in (read(name) or case):
                    yield f"{path}: promises {case} of {name}, which is not in it"


def check_named_sources(path, text, basenames):
    """Files of ours that a comment names: those of others stand in <>, as includes of theirs do."""
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.search(r"(?:^|\s)//.*", line)
        for name in re.findall(r"(?<![\w<./-])(?:[\w-]+/)*([\w-]+\.(?:h|cc))(?![\w-])", comment.group(0) if comment else ""):
            if name not in basenames:
                yield f"{path}:{number}: names {name}, which is not there"


def check_in_target(path, root):
    if not path.endswith(".cc"):
        return
    folder, name = os.path.split(path)
    while True:
        cmake = os.path.join(root, folder, "CMakeLists.txt")
        if os.path.exists(cmake):
            text = open(cmake, encoding="utf-8").read()
            relative = os.path.relpath(path, folder)
            if re.search(r"(?<![\w/])" + re.escape(relative) + r"(?![\w])", text):
                return
        if not folder:
            break
        folder = os.path.dirname(folder)
    yield f"{path}: in no target of a CMakeLists.txt (tests that are not built are lost)"


def check_registered(path, root):
    """A test in Python is named, with its ending or without, by the CMakeLists.txt beside it."""
    folder, name = os.path.split(path)
    if not (path.startswith("tests/") and name.endswith("_test.py")) or path in STARTED_BY_HAND:
        return
    cmake = os.path.join(root, folder, "CMakeLists.txt")
    words = set()
    if os.path.exists(cmake):
        with open(cmake, encoding="utf-8") as file:
            words = set(re.findall(r"[\w.]+", re.sub(r"#.*", "", file.read())))
    if not words & {name, name.removesuffix("_test.py")}:
        yield f"{path}: no test of the CMakeLists.txt beside it (it would never run)"


def check_format(paths, root):
    tool = shutil.which("clang-format")
    if not tool:
        sys.exit("clang-format not found: run deploy/install-packages test")
    for start in range(0, len(paths), 100):
        done = subprocess.run([tool, "--dry-run", "-Werror", *paths[start:start + 100]], cwd=root,
                              capture_output=True, text=True)
        if done.returncode:
            files = sorted({l.split(":")[0] for l in done.stderr.split("\n") if ": error:" in l})
            for file in files:
                yield f"{file}: not formatted (clang-format -i)"


def check_shell(path, text, root):
    first = text.split("\n", 1)[0]
    if first.startswith("#!") and ("bash" in first or first.endswith("/sh")):
        done = subprocess.run(["bash", "-n", os.path.join(root, path)], capture_output=True, text=True)
        if done.returncode:
            yield f"{path}: {done.stderr.strip()[:200]}"
        if "set -" not in text:
            yield f"{path}: a script without 'set -e' or 'set -u' hides failures"


def self_test(root):
    """A check that cannot fail is not a check."""
    assert list(check_registered("tests/integration/no_such_test.py", root))
    assert list(check_registered("tests/no_such_folder/cluster_test.py", root))
    assert not list(check_registered("tests/integration/cluster_test.py", root))
    assert list(check_names("runtime/base/string_utils.h"))
    assert not list(check_names("runtime/base/mono_time.h"))
    assert list(check_content("runtime/master/x.cc", "auto t = std::chrono::steady_clock::now();"))
    assert not list(check_content("runtime/env/real/x.cc", "std::chrono::steady_clock::now();"))
    assert not list(check_content("runtime/master/x.cc", "// not absl::Now, time is passed in"))
    assert list(check_content("planner/x.cc", "if (step.kind == StepKind::kMap) {"))
    assert list(check_content("runtime/task/x.cc", "    case v1::STEP_KIND_MAP:"))
    assert not list(check_content("planner/x.cc", "step.kind = StepKind::kMap;"))
    assert list(check_content("planner/x.cc", "// TO" + "DO later"))
    assert list(check_content("planner/x.cc", "\n" * (LINES_MAX + 1)))
    promise = "/// Checked by: tests/unit/a_test.cc,\n///   b_test.cc.\nclass A;"
    assert len(list(check_named_tests("a.h", promise, lambda _: False))) == 2
    assert not list(check_named_tests("a.h", promise, {"tests/unit/a_test.cc", "tests/unit/b_test.cc"}.__contains__))
    promise = "/// Checked by: tests/unit/a_test.cc (OneCase,\n///   AnotherCase), tests/unit/b_test.cc (by hand).\nclass A;"
    assert len(list(check_named_cases("a.h", promise, {"tests/unit/a_test.cc": "TEST(A, OneCase)"}.get))) == 1
    assert not list(check_named_cases("a.h", promise, lambda _: "OneCase AnotherCase"))
    assert list(check_named_sources("a.h", "// Upstream: here. Downstream: planner/load/gone.h.", {"a.h"}))
    assert not list(check_named_sources("a.h", "// Downstream: jobs/a.h, <zstd.h>, docs/adr/0039-in.md.\n#include \"b.h\"", {"a.h"}))
    assert list(check_tables("a.md", "text\n" + "|".ljust(TABLE_COLUMNS_MAX) + "|"))
    assert not list(check_tables("a.md", "|".ljust(TABLE_COLUMNS_MAX - 1) + "|\n" + "x" * 200))


def main():
    root = sys.argv[1]
    self_test(root)
    problems, cpp, count = [], [], 0
    basenames = {os.path.basename(path) for path in tracked(root)}

    def read(path):
        full = os.path.join(root, path)
        return open(full, encoding="utf-8").read() if os.path.isfile(full) else None

    for path in tracked(root):
        if path.endswith(".md"):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                problems += check_tables(path, file.read())
        if path.startswith(("tests/golden/", "docs/")) or path.endswith((".svg", ".png", ".gz")):
            continue
        try:
            text = open(os.path.join(root, path), encoding="utf-8").read()
        except UnicodeDecodeError:
            continue
        count += 1
        problems += check_names(path)
        if path != "tests/lint/check_tree.py":
            problems += check_shell(path, text, root)
        if path.endswith((".h", ".cc", ".proto", ".py")) and path != "tests/lint/check_tree.py":
            problems += check_content(path, text)
        if path.endswith((".h", ".cc")):
            cpp.append(path)
            problems += check_named_tests(path, text, lambda name: os.path.exists(os.path.join(root, name)))
            problems += check_named_cases(path, text, read)
            problems += check_named_sources(path, text, basenames)
        problems += check_in_target(path, root)
        problems += check_registered(path, root)
    problems += check_format(cpp, root)
    if count == 0:
        sys.exit("no file found: is this a git checkout?")
    for problem in problems:
        print(problem)
    print(f"tree: {count} files, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
