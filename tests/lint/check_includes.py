#!/usr/bin/env python3
"""Fails when a source file uses a name whose header neither it nor a header of ours that it includes includes.

Usage: check_includes.py ROOT
"""
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.M)
PRECOMPILED = "cmake/WeirPrecompiled.cmake"
PUBLIC = "cmake/WeirInstallHeaders.cmake"


def load_rules(text):
    """Returns a pattern for each header, the headers that a header stands for, and those without names."""
    names, gives, unchecked = {}, {}, set()
    for line in text.split("\n"):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        key, rest = line.split(": ", 1)
        if key == "unchecked":
            unchecked.update(h.strip("<>") for h in rest.split())
        elif key.startswith("gives "):
            gives[key.split()[1].strip("<>")] = {h.strip("<>") for h in rest.split()}
        else:
            names.setdefault(key.strip("<>"), []).extend(rest.split())
    return {header: pattern_of(words) for header, words in names.items()}, gives, unchecked


def pattern_of(words):
    parts = [re.escape(w[:-1]) + r"\w*" if w.endswith("*") else re.escape(w) + r"(?!\w)" for w in words]
    return re.compile(r"(?<![\w:])(?:" + "|".join(parts) + ")")


def code_of(text):
    """What is left without comments, strings and directives."""
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"^\s*#[^\n]*", "", text, flags=re.M)


def reached(path, includes, gives):
    """All headers that `path` includes itself or through headers of ours."""
    found, ours = set(), [path]
    seen = set(ours)
    while ours:
        for header in includes[ours.pop()]:
            found.add(header)
            found |= gives.get(header, set())
            if header in includes and header not in seen:
                seen.add(header)
                ours.append(header)
    return found


def public_headers(cmake):
    """What <weir/NAME> stands for: the rows NAME=FILE of its table."""
    return {f"weir/{name}": file for name, file in re.findall(r"^\s+([\w/]+\.h)=([\w/]+\.h)\b", cmake, re.M)}


def check(texts, rules, public=None):
    names, gives, _ = rules
    includes = {path: set(INCLUDE.findall(text)) for path, text in texts.items()}
    includes.update({name: {file} for name, file in (public or {}).items()})
    for path, text in texts.items():
        code, has = code_of(text), reached(path, includes, gives)
        for header, pattern in names.items():
            match = header not in has and pattern.search(code)
            if match:
                yield f"{path}: {match.group(0)} needs #include <{header}>"


def check_precompiled(cmake, rules):
    """Every precompiled header stands in the table."""
    names, _, unchecked = rules
    headers = re.findall(r"<([a-z][\w/]*(?:\.h)?)>", re.sub(r"#[^\n]*", "", cmake))
    if not headers:
        yield f"{PRECOMPILED}: no header found"
    for header in headers:
        if header not in names and header not in unchecked:
            yield f"{PRECOMPILED}: <{header}> is precompiled and has no line in tests/lint/includes.rules"


def self_test():
    """A check that cannot fail is no check."""
    rules = load_rules("<vector>: std::vector\n<a/b.h>: a::Is* EXPECT_*\ngives <c.h>: <vector>\nunchecked: <utility>")

    def problems(*texts):
        return len(list(check({name: text for name, text in texts}, rules)))
    assert problems(("x.cc", "std::vector<int> v;")) == 1
    assert problems(("x.cc", "#include <vector>\nstd::vector<int> v;")) == 0
    assert problems(("x.cc", '#include "y.h"\nstd::vector<int> v;'), ("y.h", "#include <vector>")) == 0
    assert problems(("x.cc", '#include "y.h"\nstd::vector<int> v;'), ("y.h", '#include "z.h"'), ("z.h", "int z;")) == 1
    assert problems(("x.cc", "#include <c.h>\nstd::vector<int> v;")) == 0
    assert problems(("x.cc", '// std::vector\nconst char* s = "std::vector";')) == 0
    assert problems(("x.cc", "bool b = a::IsOne(1);")) == 1
    public = public_headers("set(_public\n  y.h=a/y.h)")
    assert not list(check({"x.cc": "#include <weir/y.h>\nstd::vector<int> v;", "a/y.h": "#include <vector>"}, rules, public))
    assert problems(("x.cc", "std::vectors v; other::a::IsOne(1);")) == 0
    assert not list(check_precompiled("set(_s <vector> <utility> <a/b.h>)  # <map>", rules))
    assert list(check_precompiled("set(_s <map>)", rules))
    assert list(check_precompiled("set(_s)", rules))


def main():
    self_test()
    root = sys.argv[1]

    def read(path):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()
    tracked = subprocess.run(["git", "-C", root, "ls-files", "*.h", "*.cc"], check=True, capture_output=True, text=True)
    paths = [p for p in tracked.stdout.split("\n") if p and os.path.isfile(os.path.join(root, p))]
    if not paths:
        sys.exit("no file found: is this a git checkout?")
    rules = load_rules(read("tests/lint/includes.rules"))
    public = public_headers(read(PUBLIC))
    problems = [*check({path: read(path) for path in paths}, rules, public), *check_precompiled(read(PRECOMPILED), rules)]
    for problem in problems:
        print(problem)
    print(f"includes: {len(paths)} files, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
