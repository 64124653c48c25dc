#!/usr/bin/env python3
"""Fails when a document says what the tree does not: paths and links that are not there, limits of another value, stale figures.

- every path from the root that a Markdown file names in backticks, and every relative link, exists;
- so does the heading that a link names;
- every file that docs/tour.md names exists, from the root or in a folder that the heading above it names;
- every constant and every line of code in the tables of docs/limits.md stands in its file, with the value given there, and of a
  file that a heading names no constant is missing;
- the floors of rooms in ARCHITECTURE.md follow from tests/lint/layering.rules;
- CONTRIBUTING.md names every label of a test, and no other;
- docs/errors.md has a row for each named error, and for no other;
- every test that a Markdown file names in backticks is there: `Suite.Case`, `SuiteTest`, `script_test.py -k words`;
- docs/figures/transfer-messages.* are what their script writes.

Usage: check_docs.py ROOT
"""
import glob
import os
import re
import subprocess
import sys

from check_layering import folder_of, load_rules, permits, within

TOUR = "docs/tour.md"
LIMITS = "docs/limits.md"
FLOORS = "ARCHITECTURE.md"
LABELS = "CONTRIBUTING.md"
ERRORS = "docs/errors.md"
# Where each error has its name. Those of the package for Python are those of the others, and its own.
NAMED_IN = ["runtime/base/job_errors.h", "jobs/api/step_error.h", "runtime/rpc/not_ready.h",
            "runtime/master/master_calibrate.cc", "runtime/client/python/src/weir/_errors.py"]
FIGURES = "docs/figures/transfer_messages.py"
# What is told of the past may name what is gone.
PAST = re.compile(r"CHANGELOG\.md|docs/benchmarks(/[\w-]+)?\.md|docs/bug_ledger\.md")

CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(proto|planner|jobs|runtime|tests|deploy|docs|cmake)/[\w./*-]+")
ANCHOR = re.compile(r"\]\(([^)#\s]*)#([^)\s]+)\)")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FILE = re.compile(r"[\w./-]+\.(h|cc|proto|py|md|rules)")
CONSTANT = re.compile(r"k[A-Z]\w*")
DECLARED = re.compile(r"\bconstexpr\s[\w:<>\s]*?\b(k[A-Z]\w*)\s*(?:=\s*([^;]+)|\{([^}]*)\});")
CPP_TEST = re.compile(r"\b(?:TEST(?:_F|_P)?|TYPED_TEST(?:_P)?|RC_GTEST(?:_FIXTURE)?_PROP)\(\s*(\w+)\s*,\s*(\w+)")
CASE = re.compile(r"(?<![\w.:/])([A-Z]\w*)\.((?:[A-Z]|test_)\w+\*?)")
SUITE = re.compile(r"[A-Z]\w*Test")
SCRIPT = re.compile(r"\b(\w+\.py)\b|-k (\"[^\"]+\"|\w+)")
UNITS = {"": 1, "%": 0.01, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}
DURATIONS = {"Milliseconds": "1e-3", "Seconds": "1", "Minutes": "60"}


def check_paths(path, text, exists):
    """Yields names of files that are not there. `exists` takes a path from the root, which may hold a "*"."""
    for number, line in enumerate(text.split("\n"), 1):
        for code in CODE.findall(line):
            if PATH.fullmatch(code) and not exists(code.rstrip("/")):
                yield f"{path}:{number}: names {code}, which is not there"
        for link in LINK.findall(line):
            target = os.path.normpath(os.path.join(os.path.dirname(path), link))
            if "://" not in link and not exists(target):
                yield f"{path}:{number}: links to {target}, which is not there"


def anchors_of(text):
    """The names by which links reach the headings of a document."""
    lines = [line.lstrip("#") for line in text.split("\n") if line.startswith("#")]
    headings = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line) for line in lines]
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def check_anchors(path, text, read):
    """Yields links to headings that are not there. `read` takes a path from the root; None: no such file."""
    for number, line in enumerate(text.split("\n"), 1):
        for link, anchor in ANCHOR.findall(line):
            target = os.path.normpath(os.path.join(os.path.dirname(path), link)) if link else path
            linked = read(target) if "://" not in link and target.endswith(".md") else None
            if linked is not None and anchor not in anchors_of(linked):
                yield f"{path}:{number}: links to the heading {anchor} of {target}, which is not there"


def check_tour(path, text, exists):
    """Yields files that are neither at the root nor in a folder of the heading above."""
    folders, named = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            folders = [code.rstrip("/") for code in CODE.findall(line)]
            for folder in folders:
                if not exists(folder):
                    yield f"{path}:{number}: names {folder}, which is not there"
            continue
        for code in CODE.findall(line):
            if not FILE.fullmatch(code):
                continue
            named += 1
            if not any(exists(os.path.join(folder, code)) for folder in ["", *folders]):
                yield f"{path}:{number}: names {code}, which is in none of: {', '.join(folders) or 'the root'}"
    if named == 0:
        yield f"{path}: names no file: is it a tour?"


def value_of_code(expression):
    """The value of a constant: numbers, shifts, products and absl durations (in seconds); None for anything else."""
    text = re.sub(r"//.*", "", expression).strip().replace("'", "")
    text = re.sub(r"\bstd::\w+\{(\w+)\}", r"\1", text)
    for name, seconds in DURATIONS.items():
        text = re.sub(rf"\babsl::{name}\(([\d.]+)\)", rf"(\1 * {seconds})", text)
    text = re.sub(r"\b0x[0-9a-fA-F]+\b", lambda match: str(int(match.group(0), 16)), text)
    if not re.fullmatch(r"[\d.e+\-*/<>() ]+", text):
        return None
    return eval(text, {"__builtins__": {}})  # digits and operators only


def value_of_text(text):
    """The value of a cell: "20 000", "64 MiB", "3e7", "2^22", "750 ms", "3 %"; None for anything else."""
    match = re.fullmatch(r"([\d ]*\d(?:\.\d+)?(?:e-?\d+)?|2\^\d+)(?: ?([A-Za-z%]+))?", text.strip())
    if not match or (match.group(2) or "") not in UNITS:
        return None
    number = match.group(1).replace(" ", "")
    base = 2 ** int(number[2:]) if number.startswith("2^") else float(number)
    return base * UNITS[match.group(2) or ""]


def constants_of(source):
    """Name -> expression of each constexpr of a file."""
    return {name: value or braced for name, value, braced in DECLARED.findall(source)}


def check_limits(path, text, read):
    """Yields rows whose constant or code is not what the file says. A file is named from the root or from the folder of
    the heading above; a heading may name the file of its table. `read` returns the text of a file, or None."""
    heading, folder, columns, listed, rows = None, "", None, {}, 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            codes = CODE.findall(line)
            heading = next((code for code in codes if FILE.fullmatch(code)), None)
            folder = next((code for code in codes if PATH.fullmatch(code) and code != heading), "")
            if heading:
                listed[heading] = set()
        if not line.startswith("|"):
            columns = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if columns is None:
            columns = cells
            continue
        if not line.strip("|- "):
            continue
        row = dict(zip(columns, cells))
        where = row.get("file", "").strip("`") or heading
        if folder and where and read(where) is None:
            where = f"{folder}/{where}"
        source = read(where) if where else None
        if source is None:
            yield f"{path}:{number}: the row names no file that is there: {where}"
            continue
        rows += 1
        constant = row.get("constant", "").strip("`")
        if "code" in row:
            if row["code"].strip("`") not in source:
                yield f"{path}:{number}: {where} does not say {row['code']}"
        elif not CONSTANT.fullmatch(constant):
            yield f"{path}:{number}: no constant in this row"
        elif constant not in constants_of(source):
            yield f"{path}:{number}: {where} has no constant {constant}"
        else:
            listed.setdefault(where, set()).add(constant)
            expression = constants_of(source)[constant]
            said, is_so = value_of_text(row.get("value", "")), value_of_code(expression)
            if said is None or is_so is None or abs(said - is_so) > 1e-9 * abs(is_so):
                yield f"{path}:{number}: {constant} is said to be {row.get('value')}, {where} has {expression.strip()}"
    for where in re.findall(r"^#+ .*`([^`]+\.h)`", text, re.M):
        for constant in constants_of(read(where) or ""):
            if constant not in listed.get(where, set()):
                yield f"{path}: {constant} of {where} is not listed"
    if rows == 0:
        yield f"{path}: no rows: where are the limits?"


def floor_of(room, house, allowed):
    """How many rooms of its house stand below a room, one on the other."""
    below = [other for other in allowed if other != room and within(other, house) and
             any(permits(rule, other, allowed) or folder_of(rule, allowed) == other for rule in allowed[room])]
    return 1 + max(floor_of(other, house, allowed) for other in below) if below else 0


def check_floors(path, text, allowed):
    """Yields rooms of the table "| floor | `house` | ..." that stand on another floor by layering.rules, or in no row."""
    houses, named = [], set()
    for number, line in enumerate(text.split("\n"), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0] == "floor":
            houses = [cell.strip("`") for cell in cells[1:]]
        elif not cells:
            houses = houses if not named else []
        elif houses and cells[0].isdigit():
            for house, cell in zip(houses, cells[1:]):
                for room in (f"{house}/{code}" for code in CODE.findall(cell)):
                    named.add(room)
                    if room not in allowed:
                        yield f"{path}:{number}: {room} is not a room of layering.rules"
                    elif floor_of(room, house, allowed) != int(cells[0]):
                        yield f"{path}:{number}: {room} stands on floor {floor_of(room, house, allowed)}"
    known = {room for room in allowed if room.startswith(("planner/", "jobs/", "runtime/master/"))}
    for room in sorted(known - named):
        yield f"{path}: {room} has no floor"


def check_labels(path, text, cmake):
    """Yields labels that are named after "runs one label:" and that no CMake file gives, and the other way round."""
    sentence = re.search(r"runs one label:(.*?)\.\s", text, re.S)
    named = set(CODE.findall(sentence.group(1))) if sentence else set()
    given = {label for match in re.findall(r"\bLABELS?\s+(\w+|\"[\w;]+\")", cmake) for label in match.strip('"').split(";")}
    given |= set(re.findall(r"weir_label_test\(\S+\s+\S+\s+([a-z]+)\s", cmake))
    for label in sorted(named ^ given):
        yield f"{path}: label {label} " + ("is given to no test" if label in named else "is not named")


def check_errors(path, text, sources):
    """Yields names of errors that have no row, and rows of what is no error."""
    named = {name for source in sources for name in re.findall(r"\"([A-Z]{4,}(?:_[A-Z]+)*|[A-Z]+(?:_[A-Z]+)+)\"", source)}
    rows = set(re.findall(r"^\| `([A-Z_]+)`", text, re.M))
    for name in sorted(named ^ rows):
        yield f"{path}: {name} " + ("is no error" if name in rows else "has no row")


def tests_of(sources):
    """Returns the cases of each suite (services and their calls among them), and the text of each script by its name."""
    cases, scripts, methods = {}, {}, set()
    for path, text in sources:
        for suite, case in CPP_TEST.findall(text):
            cases.setdefault(suite, set()).add(case)
        if path.endswith(".proto"):
            for service, body in re.findall(r"^service (\w+) \{(.*?)^\}", text, re.M | re.S):
                cases.setdefault(service, set()).update(re.findall(r"\brpc (\w+)", body))
        if path.endswith(".py"):
            scripts[os.path.basename(path)] = scripts.get(os.path.basename(path), "") + text
            methods.update(re.findall(r"def (test_\w+)", text))
    for text in scripts.values():
        for suite in re.findall(r"^class (\w+)", text, re.M):
            cases.setdefault(suite, set()).update(methods)  # some are of a base in another file
    return cases, scripts


def check_tests(path, text, cases, scripts):
    """Yields tests that are not there. What follows -k belongs to the script that was named last."""
    last = None
    for number, line in enumerate(text.split("\n"), 1):
        for code in CODE.findall(line):
            for suite, case in CASE.findall(code):
                there = cases.get(suite, ())
                if not any(name == case or case[-1] == "*" and name.startswith(case[:-1]) for name in there):
                    yield f"{path}:{number}: names the test {suite}.{case}, which is not there"
            if SUITE.fullmatch(code) and code not in cases:
                yield f"{path}:{number}: names the tests {code}, which are not there"
            for script, words in SCRIPT.findall(code):
                last = script or last
                for word in re.findall(r"\w+", words):
                    if word not in ("and", "or", "not") and last in scripts and word not in scripts[last]:
                        yield f"{path}:{number}: {last} has no test for -k {word}"


def self_test():
    """A check that cannot fail is not a check."""
    there = {"docs/a.md", "docs", "planner/plan/plan.h", "planner/plan", "README.md"}.__contains__
    assert list(check_paths("README.md", "see `planner/gone.h`", there))
    assert list(check_paths("docs/a.md", "see [x](b.md)", there))
    assert not list(check_paths("docs/a.md", "see [x](a.md#part), [y](https://z), `planner/plan/`, `make x/y`", there))
    pages = {"docs/a.md": "# A: `b`, c\n", "README.md": "x"}.get
    assert not list(check_anchors("README.md", "[x](docs/a.md#a-b-c) [y](https://z/a.md#b) [z](gone.md#b)", pages))
    assert list(check_anchors("README.md", "[x](docs/a.md#a-b)", pages))
    for wrong in ("[x](#a-c)", "[x](../README.md#a)"):
        assert list(check_anchors("docs/a.md", wrong, pages)), wrong
    assert list(check_tour("t", "# 1 `planner/plan`\n- `gone.h`: x", there))
    assert list(check_tour("t", "# 1 `planner/gone`\n- `planner/plan/plan.h`: x", there))
    assert list(check_tour("t", "# 1\n- no file", there))
    assert not list(check_tour("t", "# 1 `planner/plan`\n- `plan.h`, `README.md`: x", there))
    source = ("inline constexpr std::int64_t kBytesMax = std::int64_t{4} << 20;\n"
              "constexpr absl::Duration kWait = absl::Milliseconds(1'500);\nstatic constexpr int kOther = kWait / 2;\n")
    read = {"a.h": source}.get
    table = "# `a.h`\n| value | constant |\n|---|---|\n| 4 MiB | `kBytesMax` |\n| 1.5 s | `kWait` |\n"
    row = "| value | constant | file |\n|---|---|---|\n"
    assert [m for m in check_limits("l", table, read) if "kOther of a.h is not listed" in m]
    assert not list(check_limits("l", row + "| 4 MiB | `kBytesMax` | `a.h` |\n| 1500 ms | `kWait` | `a.h` |", read))
    for wrong in ("| 5 MiB | `kBytesMax` | `a.h` |", "| 4 MB | `kBytesMax` | `a.h` |", "| 4 MiB | `kGone` | `a.h` |",
                  "| 4 MiB | `kBytesMax` | `b.h` |", "| 750 ms | `kOther` | `a.h` |", "| 4 MiB | | `a.h` |"):
        assert list(check_limits("l", row + wrong, read)), wrong
    in_folder = {"planner/load/a.h": source}.get
    assert not list(check_limits("l", "# `planner/load`\n" + row + "| 4 MiB | `kBytesMax` | `a.h` |", in_folder))
    assert list(check_limits("l", "# `planner/tree`\n" + row + "| 4 MiB | `kBytesMax` | `a.h` |", in_folder))
    assert list(check_limits("l", "| code | file |\n|---|---|\n| `int x{3}` | `a.h` |", read))
    assert list(check_limits("l", "no table", read))
    floors = {"planner/a": [], "planner/b": ["planner/a"]}
    table = "| floor | `planner` |\n|---|---|\n| 1 | `b` (x) |\n| 0 | `a` |\n"
    assert not list(check_floors("a", table, floors))
    assert list(check_floors("a", table.replace("| 1", "| 2"), floors))
    assert list(check_floors("a", table.replace("`a`", "`c`"), floors))
    assert list(check_floors("a", table, {**floors, "planner/c": []}))
    labels = "runs one label:\n`unit`, `sim`. More."
    assert not list(check_labels("c", labels, "weir_label_test(a a unit 60)\nLABELS \"sim;unit\" X"))
    assert list(check_labels("c", labels, "LABEL unit)"))
    assert list(check_labels("c", labels, "LABEL unit)\nLABEL sim)\nLABELS lint"))
    rows = "| name | when |\n|---|---|\n| `DISK_FULL` (4) | x |\n| `INTERNAL` | y |\n"
    assert not list(check_errors("e", rows, ["kDiskFull = \"DISK_FULL\";", "(\"INTERNAL\", \"a Word\")"]))
    assert list(check_errors("e", rows, ["\"DISK_FULL\""]))
    assert list(check_errors("e", rows, ["\"DISK_FULL\", \"INTERNAL\", \"NO_ROW\""]))
    tests = tests_of([("a.cc", "TEST_F(ATest, Holds) {\nRC_GTEST_PROP(B, IsSo, ()) {"),
                      ("p.py", "class C(D):\n  def test_it(self"),
                      ("s.proto", "service S {\n  rpc Ask(X) returns (Y);\n}\n")])
    for right in ("ATest.Holds", "x ATest.Hol*", "ATest", "B.IsSo", "C.test_it", "S.Ask", "p.py -k it",
                  "p.py -k \"C or it\"", "a.b", "Plan.codec", "x::Plan.Of", "gone.py -k it"):
        assert not list(check_tests("d", f"`{right}`", *tests)), right
    for wrong in ("ATest.IsSo", "x ATest.Gone*", "BTest", "Gone.IsSo", "C.test_gone", "S.Gone", "p.py -k gone",
                  "p.py -k \"it or no\""):
        assert list(check_tests("d", f"`{wrong}`", *tests)), wrong
    assert list(check_tests("d", "`p.py`\n`-k gone`", *tests))
    assert value_of_text("20 000") == 20000 and value_of_text("2^22") == 1 << 22 and value_of_text("3 %") == 0.03


def main():
    root = sys.argv[1]
    self_test()
    out = subprocess.run(["git", "-C", root, "ls-files", "*.md"], check=True, capture_output=True, text=True)
    documents = [path for path in out.stdout.split("\n") if path and os.path.isfile(os.path.join(root, path))]
    if not documents:
        sys.exit("no document found: is this a git checkout?")

    def exists(path):
        return bool(glob.glob(os.path.join(root, path)))

    def read(path):
        full = os.path.join(root, path)
        return open(full, encoding="utf-8").read() if os.path.isfile(full) else None

    patterns = ["tests/*.cc", "tests/*.h", "tests/*.py", "proto/*.proto"]
    out = subprocess.run(["git", "-C", root, "ls-files", *patterns], check=True, capture_output=True, text=True)
    cases, scripts = tests_of([(path, read(path) or "") for path in out.stdout.split("\n") if path])
    problems = []
    for path in documents:
        if not PAST.fullmatch(path):
            problems += check_paths(path, read(path), exists)
        problems += check_anchors(path, read(path), read)
        problems += check_tests(path, read(path), cases, scripts)
    problems += check_errors(ERRORS, read(ERRORS) or "", [read(file) or "" for file in NAMED_IN])
    problems += check_tour(TOUR, read(TOUR) or "", exists)
    problems += check_limits(LIMITS, read(LIMITS) or "", read)
    allowed, _, _ = load_rules(os.path.join(root, "tests/lint/layering.rules"))
    problems += check_floors(FLOORS, read(FLOORS) or "", allowed)
    listed = subprocess.run(["git", "-C", root, "ls-files", "*CMakeLists.txt"], check=True, capture_output=True, text=True)
    cmake = "\n".join(read(file) or "" for file in listed.stdout.split("\n") if file)
    problems += check_labels(LABELS, read(LABELS) or "", cmake)
    drawn = subprocess.run([sys.executable, os.path.join(root, FIGURES), "--check"], capture_output=True, text=True)
    if drawn.returncode:
        problems.append((drawn.stdout or drawn.stderr).strip())
    for problem in problems:
        print(problem)
    print(f"documents: {len(documents)} files, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
