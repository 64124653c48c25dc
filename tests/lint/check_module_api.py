#!/usr/bin/env python3
"""Fails when what modules and weir know of each other has changed and WEIR_MODULE_API has not.

A module calls weir, and weir a module, through the classes of jobs/api. A module that was built with other ones must be refused
by its number, not crash. tests/golden/module_api.txt has the number and a hash of the code (without comments) of the headers that
jobs/api/module.h includes.

Usage: check_module_api.py ROOT [--write]
"""
import hashlib
import os
import re
import sys

HEAD = "jobs/api/module.h"
KEPT = "tests/golden/module_api.txt"
INCLUDE = re.compile(r'^#include "(jobs/[^"]+)"', re.M)


def code_of(text):
    """Without comments and blanks, so that words about the code and its format change nothing."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"\s+", "", text)


def border(root):
    """The files that HEAD includes, itself among them, and their code."""
    found, left = {}, [HEAD]
    while left:
        path = left.pop()
        if path in found:
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        found[path] = code_of(re.sub(r"^#define WEIR_MODULE_API \d+$", "", text, flags=re.M))
        left += INCLUDE.findall(text)
    return found


def main(root, write):
    with open(os.path.join(root, HEAD), encoding="utf-8") as file:
        number = re.search(r"^#define WEIR_MODULE_API (\d+)$", file.read(), re.M)[1]
    files = border(root)
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
    print(f"module API: {len(files)} headers, {int(problem)} problems")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--write" in sys.argv[2:]))
