#!/usr/bin/env python3
"""Fails when what modules and weir know of each other has changed and WEIR_MODULE_API has not.

A module calls weir, and weir a module, through the classes of jobs/api. A module that was built with other ones must be refused
by its number, not crash. tests/golden/module_api.txt has the number and a hash of the code (without comments) of the headers that
jobs/api/module.h includes.

Module and weir each have an Abseil of their own, of one version (docs/adr/0038-grpc-and-abseil-are-linked-in.md). Its hash tables and
mutexes belong to the one that made them, so that those headers include only what two of them can share.

Usage: check_module_api.py ROOT [--write]
"""
import hashlib
import os
import re
import sys

HEAD = "jobs/api/module.h"
KEPT = "tests/golden/module_api.txt"
# Of these all is in what is passed, nothing in variables of the library.
SHARED_ABSL = {"absl/base/config.h", "absl/container/btree_map.h", "absl/status/status.h", "absl/status/statusor.h", "absl/strings/string_view.h", "absl/types/span.h"}
ABSL = re.compile(r'^#include "(absl/[^"]+)"', re.M)
INCLUDE = re.compile(r'^#include "(jobs/[^"]+)"', re.M)


def code_of(text):
    """Without comments and blanks, so that words about the code and its format change nothing."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"\s+", "", text)


def border(root):
    """The files that HEAD includes, itself among them, and their code; what they include of Abseil and should not."""
    found, left, unshared = {}, [HEAD], []
    while left:
        path = left.pop()
        if path in found:
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        found[path] = code_of(re.sub(r"^#define WEIR_MODULE_API \d+$", "", text, flags=re.M))
        left += INCLUDE.findall(text)
        unshared += [f"{path}: includes {name}, which a module and weir cannot share" for name in ABSL.findall(text) if name not in SHARED_ABSL]
    return found, unshared


def main(root, write):
    with open(os.path.join(root, HEAD), encoding="utf-8") as file:
        number = re.search(r"^#define WEIR_MODULE_API (\d+)$", file.read(), re.M)[1]
    files, unshared = border(root)
    for line in unshared:
        print(line)
    digest = hashlib.sha256("\n".join(f"{path} {files[path]}" for path in sorted(files)).encode()).hexdigest()
    now = f"{number} {digest}\n"
    kept_path = os.path.join(root, KEPT)
    if write:
        with open(kept_path, "w", encoding="ascii") as file:
            file.write(now)
    with open(kept_path, encoding="ascii") as file:
        kept = file.read()
    problem = kept != now
    if problem and kept.split()[0] == number:
        print(f"{HEAD}: the code of it or of what it includes has changed: raise WEIR_MODULE_API, unless no weir with {number} was released; "
              f"then tests/lint/check_module_api.py . --write")
    elif problem:
        print(f"{KEPT} is not of WEIR_MODULE_API {number}: tests/lint/check_module_api.py . --write")
    problems = int(problem) + len(unshared)
    print(f"module API: {len(files)} headers, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--write" in sys.argv[2:]))
