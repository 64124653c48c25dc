#!/usr/bin/env python3
"""Fails when a source file includes what tests/lint/layering.rules does not allow.

Usage: check_layering.py ROOT [--self-test]
"""
import os
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
OURS = ("proto/", "weir/v1/", "planner/", "jobs/", "runtime/")


def load_rules(path):
    allowed, external = {}, {}
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if ":" not in line:
            sys.exit(f"{path}:{number}: no ':' in rule: {line}")
        key, rest = line.split(":", 1)
        (external if key.startswith("<") else allowed)[key.lstrip("<").rstrip(">")] = rest.split()
    return allowed, external


def within(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def folder_of(path, allowed):
    matches = [f for f in allowed if within(path, f)]
    return max(matches, key=len) if matches else None


def check_file(path, lines, allowed, external):
    """Yields (line number, message). `path` is relative to the root."""
    folder = folder_of(path, allowed)
    if folder is None:
        yield 0, "stands in no folder of layering.rules"
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(2)
        if match.group(2).endswith(".grpc.pb.h"):
            if not within(path, "runtime/rpc/grpc"):
                yield number, f"includes {target}: only runtime/rpc/grpc may include gRPC"
            continue
        if target.startswith(OURS):
            target = "proto" if target.startswith("weir/v1/") else target
            if within(target, folder) and folder_of(target, allowed) in (folder, None):
                continue
            if any(within(target, f) for f in allowed[folder]):
                continue
            yield number, f"{folder} must not include {target}"
            continue
        for prefix, folders in external.items():
            if (target == prefix or target.startswith(prefix + "/") or
                    (target.startswith(prefix) and not prefix.islower())) or target in (
                        prefix + ".h", prefix + ".hpp"):
                if not any(within(path, f) for f in folders):
                    yield number, f"includes <{target}>: only {', '.join(folders) or 'nobody'} may"


def sources(root):
    for top in ("planner", "jobs", "runtime"):
        for directory, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(directory, name), root)


def self_test(allowed, external):
    """A check that cannot fail is no check: these lines must be found."""
    bad = [
        ("runtime/worker/x.cc", '#include "jobs/api/program.h"'),
        ("runtime/master/x.cc", '#include "runtime/task/task.h"'),
        ("planner/plan/x.cc", '#include "weir/v1/plan.pb.h"'),
        ("planner/load/x.cc", '#include "planner/tree/x.h"'),
        ("runtime/worker/x.cc", "#include <grpcpp/grpcpp.h>"),
        ("runtime/base/x.h", "#include <thread>"),
        ("runtime/task/x.cc", '#include "absl/synchronization/mutex.h"'),
        ("runtime/client/x.cc", "#include <asio.hpp>"),
        ("planner/job/x.cc", "#include <ClpSimplex.hpp>"),
        ("runtime/env/x.cc", '#include "runtime/env/real/x.h"'),
    ]
    good = [
        ("runtime/worker/x.cc", '#include "runtime/transfer/fetcher.h"'),
        ("planner/wire/x.cc", '#include "weir/v1/plan.pb.h"'),
        ("runtime/rpc/grpc/x.cc", "#include <grpcpp/grpcpp.h>"),
        ("jobs/wordcount/x.cc", '#include "jobs/api/program.h"'),
        ("runtime/app/x.cc", "#include <thread>"),
    ]
    for path, line in bad:
        if not list(check_file(path, [line], allowed, external)):
            sys.exit(f"self-test: not found: {path}: {line}")
    for path, line in good:
        found = list(check_file(path, [line], allowed, external))
        if found:
            sys.exit(f"self-test: wrongly found: {path}: {line}: {found}")


def main():
    root = sys.argv[1]
    allowed, external = load_rules(os.path.join(root, "tests/lint/layering.rules"))
    self_test(allowed, external)
    count, problems = 0, 0
    for path in sources(root):
        count += 1
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, message in check_file(path, file, allowed, external):
                problems += 1
                print(f"{path}:{number}: {message}")
    if count == 0:
        sys.exit("no source file found")
    print(f"layering: {count} files, {problems} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
