"""Reads the parts of a result. Upstream: an output directory. Downstream: pairs."""
import json
import os

from . import _codec


def parts(output):
    names = sorted(name for name in os.listdir(output) if name.startswith("part-"))
    return [os.path.join(output, name) for name in names]


def pairs(output, form):
    """Yields (key, value) in the order of the parts. `form`: typed, json, text, or lines, as jobs of Weir's own write them; texts are
    cut at the first tab, and a line without one is a key with the value ""."""
    for path in parts(output):
        if form == "typed":
            with open(path, "rb") as file:
                for _, content in _codec.read_frames(file):
                    yield from zip(*_codec.decode_pairs(content))
        elif form == "json":
            for line in _lines(path):
                yield tuple(json.loads(line))
        else:
            for line in _lines(path):
                key, _, value = line.partition("\t")
                yield key, value


def lines(output):
    for path in parts(output):
        yield from _lines(path)


def _lines(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        for line in file:
            yield line[:-1] if line.endswith("\n") else line
