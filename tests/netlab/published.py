"""Tables of the laboratory in docs/benchmarks/network.md: each is what the report says of a result file that is kept beside it.

Upstream: tests/netlab/report, published_test.py. Downstream: tables.py. A table stands between two markers:

  <!-- netlab NAME: tests/netlab/report docs/figures/netlab-NAME.json -->
  <!-- end of netlab NAME -->
"""
import json
import os
import re

import tables

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENT = "docs/benchmarks/network.md"
DIGITS = 5  # of what is kept
SAME = ("rate", "repeats", "seconds", "megabytes", "seed", "congestion_control", "master_args")


class PublishError(ValueError):
    pass


def merged(results):
    """One result of several calls that measured parts of one table: the same commit, the same options, no cell twice.

    Errors: PublishError."""
    first = results[0]
    if len(results) == 1:
        return first
    whole = {**first, "shuffle": []}
    for one in results:
        if one["machine"]["commit"] != first["machine"]["commit"]:
            raise PublishError(f"results of two commits, {first['machine']['commit']} and {one['machine']['commit']}, are no table")
        for key in SAME:
            if one["options"].get(key) != first["options"].get(key):
                raise PublishError(f"--{key}: {first['options'].get(key)} and {one['options'].get(key)}")
        whole["shuffle"] += one.get("shuffle", [])
    names = [(c["topology"], c["queue"], c["scenario"]) for c in whole["shuffle"]]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PublishError(f"measured twice: {', '.join(twice[0])}")
    return {**whole, "commands": [command for one in results for command in one.get("commands", [])]}


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def figure(name):
    return f"docs/figures/netlab-{name}.json"


def markers(name):
    return f"<!-- netlab {name}: tests/netlab/report {figure(name)} -->", f"<!-- end of netlab {name} -->"


def names_in(document):
    return re.findall(r"<!-- netlab ([\w-]+): ", document)


def block(result):
    """What stands between the markers: headings are the document's, so the report's become plain lines."""
    return re.sub(r"^### (.*)$", r"**\1**", tables.report(result), flags=re.MULTILINE)


def between(document, name):
    """(text before and with the first marker, text between, the rest).

    Errors: PublishError when the document has no such place."""
    begin, end = markers(name)
    if document.count(begin) != 1 or document.count(end) != 1:
        raise PublishError(f"{DOCUMENT} needs these lines once each, where the table is to stand:\n{begin}\n{end}")
    before, rest = document.split(begin + "\n")
    inside, after = rest.split(end)
    return before + begin + "\n", inside, end + after


def publish(result, name, root=ROOT):
    """Keeps the result in docs/figures and writes its tables into that document. Errors: PublishError."""
    if result["machine"]["commit"].endswith("-dirty"):
        raise PublishError("measured with changes that are in no commit")
    kept = rounded(result)
    document_file = os.path.join(root, DOCUMENT)
    with open(document_file, encoding="utf-8") as file:
        before, _, after = between(file.read(), name)
    with open(os.path.join(root, figure(name)), "w", encoding="utf-8") as file:
        json.dump(kept, file, separators=(",", ":"))
        file.write("\n")
    with open(document_file, "w", encoding="utf-8") as file:
        file.write(before + block(kept) + after)


def problems(root=ROOT):
    """Places in the document that differ from what the report says of the file beside them."""
    with open(os.path.join(root, DOCUMENT), encoding="utf-8") as file:
        document = file.read()
    for name in names_in(document):
        with open(os.path.join(root, figure(name)), encoding="utf-8") as file:
            if between(document, name)[1] != block(json.load(file)):
                yield f"{DOCUMENT}: netlab {name} is not what tests/netlab/report {figure(name)} says: use --publish {name}"
