#!/usr/bin/env python3
"""Fails when a source file includes what tests/lint/layering.rules does not allow.

Usage: check_layering.py ROOT
"""
import os
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
# Their folders with lines of their own are rooms: each holds so many source files at most.
HOUSES = ("planner", "jobs", "runtime/master", "runtime/client")
OURS = ("proto/", "weir/v1/", "planner/", "jobs/", "runtime/")


def load_rules(path):
    """Returns who may include whom, who may include which external header, and how many files a room may hold."""
    allowed, external, rooms = {}, {}, {}
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if ":" not in line:
            sys.exit(f"{path}:{number}: no ':' in rule: {line}")
        key, rest = line.split(":", 1)
        if key.startswith("rooms "):
            rooms.update({room: int(key.split()[1]) for room in rest.split()})
        else:
            (external if key.startswith("<") else allowed)[key.lstrip("<").rstrip(">")] = rest.split()
    return allowed, external, rooms


def within(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def folder_of(path, allowed):
    matches = [f for f in allowed if within(path, f)]
    return max(matches, key=len) if matches else None


def permits(rule, target, allowed):
    """Whether a rule that names `rule` allows `target`. A folder with a line of its own does not stand for its rooms;
    one without ("planner") stands for all below it."""
    return within(target, rule) and (rule not in allowed or folder_of(target, allowed) == rule)


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
            if any(permits(f, target, allowed) for f in allowed[folder]):
                continue
            yield number, f"{folder} must not include {target}"
            continue
        for prefix, folders in external.items():
            if (target == prefix or target.startswith(prefix + "/") or
                    (target.startswith(prefix) and not prefix.islower())) or target in (
                        prefix + ".h", prefix + ".hpp"):
                if not any(within(path, f) for f in folders):
                    yield number, f"includes <{target}>: only {', '.join(folders) or 'nobody'} may"


def check_table(allowed):
    """Yields each rule that names a folder of a line below its own: an arrow upward, or one half of a cycle."""
    lines = {folder: number for number, folder in enumerate(allowed)}
    for folder, targets in allowed.items():
        for target in targets:
            for other in allowed:
                named = permits(target, other, allowed) or folder_of(target, allowed) == other
                if named and other != folder and lines[other] > lines[folder]:
                    yield f"{folder} may include {other}, which stands above it"


def check_rooms(paths, rooms):
    """Yields each room that holds more source files than it may, or none."""
    count = {room: 0 for room in rooms}
    for path in paths:
        folder = os.path.dirname(path)
        if folder in count:
            count[folder] += 1
    for room, files in count.items():
        if files > rooms[room]:
            yield f"{room}: {files} source files, more than {rooms[room]}: is it one room?"
        elif files == 0:
            yield f"{room}: a room without source files"


def check_limited(allowed, rooms):
    """Yields rooms of houses that have no limit. A folder in "jobs" without a line of its own is a job, not a room."""
    for room in allowed:
        if room not in rooms and room != "jobs" and any(within(room, house) for house in HOUSES):
            yield f"{room}: a room without a line \"rooms N:\""


def sources(root):
    for top in ("planner", "jobs", "runtime"):
        for directory, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(directory, name), root)


def self_test(allowed, external):
    """A check that cannot fail is not a check: these lines must be found."""
    assert list(check_table({"a": ["b"], "b": []}))
    assert list(check_table({"a": ["b/x.h"], "b": []}))
    assert not list(check_table({"a": [], "a/b": ["a"], "c": ["a", "a/b"]}))
    assert list(check_rooms(["a/1.h", "a/2.h"], {"a": 1}))
    assert list(check_rooms([], {"a": 1}))
    assert not list(check_rooms(["a/1.h", "a/b/2.h"], {"a": 1}))
    assert list(check_limited({"planner/a": [], "planner/b": []}, {"planner/a": 1}))
    assert not list(check_limited({"planner/a": [], "jobs": [], "runtime/worker": []}, {"planner/a": 1}))
    bad = [
        ("runtime/worker/x.cc", '#include "jobs/api/program.h"'),
        ("runtime/worker/x.cc", '#include "runtime/worker/supervise/task_process.h"'),
        ("runtime/master/x.cc", '#include "runtime/task/task.h"'),
        ("planner/plan/x.cc", '#include "weir/v1/plan.pb.h"'),
        ("planner/load/x.cc", '#include "planner/tree/x.h"'),
        ("runtime/worker/x.cc", "#include <grpcpp/grpcpp.h>"),
        ("runtime/base/x.h", "#include <thread>"),
        ("runtime/worker/x.cc", "#include <unistd.h>"),
        ("runtime/master/job/x.cc", "#include <sys/stat.h>"),
        ("runtime/task/x.cc", '#include "absl/synchronization/mutex.h"'),
        ("runtime/client/x.cc", "#include <asio.hpp>"),
        ("planner/job/x.cc", "#include <ClpSimplex.hpp>"),
        ("runtime/env/x.cc", '#include "runtime/env/real/x.h"'),
        ("runtime/master/options/x.h", '#include "runtime/master/planning/x.h"'),
        ("runtime/master/conduct/x.h", '#include "runtime/master/job/job_run.h"'),
        ("runtime/master/planning/x.h", '#include "runtime/master/master.h"'),
        ("planner/plan/x.h", '#include "planner/order/x.h"'),
        ("jobs/api/x.h", '#include "jobs/engine/x.h"'),
        ("jobs/wordcount/x.cc", '#include "jobs/engine/combine_layer.h"'),
        ("runtime/rpc/in_process/x.h", '#include "runtime/rpc/grpc/grpc_server.h"'),
        ("runtime/client/flags/x.h", '#include "runtime/client/session.h"'),
    ]
    good = [
        ("runtime/worker/x.cc", '#include "runtime/transfer/fetcher.h"'),
        ("planner/wire/x.cc", '#include "weir/v1/plan.pb.h"'),
        ("runtime/rpc/grpc/x.cc", "#include <grpcpp/grpcpp.h>"),
        ("jobs/wordcount/x.cc", '#include "jobs/api/program.h"'),
        ("jobs/wordcount/x.cc", '#include "jobs/engine/make_program.h"'),
        ("runtime/master/job/x.h", '#include "runtime/master/conduct/x.h"'),
        ("runtime/app/x.cc", "#include <thread>"),
        ("runtime/worker/supervise/x.cc", "#include <sys/wait.h>"),
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
    allowed, external, rooms = load_rules(os.path.join(root, "tests/lint/layering.rules"))
    self_test(allowed, external)
    count, problems = 0, 0
    for message in [*check_table(allowed), *check_rooms(sources(root), rooms), *check_limited(allowed, rooms)]:
        problems += 1
        print(message)
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
