"""What was measured, as JSON, as the table of docs/benchmarks.md, and held against the bars.

Upstream: tests/bench/run. Downstream: nothing.
"""
import functools
import json
import os
import statistics
import subprocess

SLOTS_BAR = 1.05


@functools.cache
def commit(root):
    """Which version was measured, and whether files differed from it when it was first asked for: figures that are then written do not count."""
    describe = ["git", "-C", root, "describe", "--always", "--dirty", "--abbrev=9"]
    return subprocess.run(describe, capture_output=True, text=True, check=False).stdout.strip()


def spread(values):
    values = sorted(values)
    return {"least": round(values[0], 3), "median": round(statistics.median(values), 3), "most": round(values[-1], 3)}


def row_of(name, taken, of_weir):
    """One program on one input; ratios are weir's to the program's, turn by turn, so that what slows a turn slows both."""
    row = {"program": name, "turns": len(taken), "cpu_s": spread(m["cpu_s"] for m in taken),
           "wall_s": spread(m["wall_s"] for m in taken), "peak_bytes": max(m["peak_bytes"] for m in taken)}
    if name != "weir":
        by_turn = {m["turn"]: m for m in of_weir}
        for what in ("cpu_s", "wall_s"):
            row[f"weir_to_it_{what[:-2]}"] = spread(by_turn[m["turn"]][what] / m[what] for m in taken)
    return row


def write_json(path, content):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")


def merged(path, results):
    """Results of earlier runs on other inputs, with these in their place."""
    kept = {"schema": 2, "inputs": {}}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
    kept["inputs"].update(results)
    return kept


def measured_at(inputs):
    """A line for below a table: which versions, and when."""
    of_version = {}
    for name, result in inputs.items():
        of_version.setdefault((result["commit"], result["date"]), []).append(name)
    return ["", "; ".join(f"{', '.join(names)}: {version} of {date}" for (version, date), names in of_version.items()) + "."]


def ratio_text(ratio):
    if not ratio:
        return ""
    alone = ratio["least"] == ratio["most"]
    return f"{ratio['median']:.2f}" + ("" if alone else f" ({ratio['least']:.2f}-{ratio['most']:.2f})")


def table(inputs):
    """Lines of Markdown."""
    lines = ["| input | program | turns | CPU s | wall s | peak MB | weir's CPU to its | weir's wall to its |",
             "|---|---|---|---|---|---|---|---|"]
    for name, result in inputs.items():
        what = f"{name}, {result['input_bytes'] / 1e6:.0f} MB"
        for row in result["rows"]:
            lines.append(f"| {what} | {row['program']} | {row['turns']} | {row['cpu_s']['median']:.2f} | "
                         f"{row['wall_s']['median']:.2f} | {row['peak_bytes'] / 1e6:.0f} | "
                         f"{ratio_text(row.get('weir_to_it_cpu'))} | {ratio_text(row.get('weir_to_it_wall'))} |")
            what = ""
    return lines


def verdicts(inputs, bars):
    """(input, what is asked, what was measured, held) of each bar. What cannot be measured is not held."""
    for name, result in inputs.items():
        rows = {row["program"]: row for row in result["rows"]}
        bar = bars[name]
        if bar is not None:
            limit = rows.pop("limit", None)
            got = limit and limit["weir_to_it_cpu"]["median"]
            yield (name, f"CPU at most {bar} times the limit program's",
                   f"{got:.2f}" if limit else "not measured: no limit program was built", bool(limit) and got <= bar)
        rows.pop("limit", None)
        if workers := rows.pop("workers", None):
            for what, unit in (("cpu", "CPU"), ("wall", "wall time")):
                got = workers[f"weir_to_it_{what}"]["median"]
                yield (name, f"one worker of two slots: at most {SLOTS_BAR} of the {unit} of two workers", f"{got:.2f}", got <= SLOTS_BAR)
        for other, row in rows.items():
            if other == "weir":
                continue
            for what in ("cpu", "wall"):
                got = row[f"weir_to_it_{what}"]["median"]
                if got >= 1:
                    yield name, f"less {what} time than {other}", f"{got:.2f} times", False
        if len(rows) > 1:
            yield (name, "faster than all others", f"{len(rows) - 1} beside it",
                   all(row[f"weir_to_it_{what}"]["median"] < 1 for other, row in rows.items() if other != "weir"
                       for what in ("cpu", "wall")))


def bars_table(inputs, bars):
    lines = ["| input | bar | measured | |", "|---|---|---|---|"]
    return lines + [f"| {name} | {asked} | {got} | {'held' if held else '**missed**'} |"
                    for name, asked, got, held in verdicts(inputs, bars)]


def has_place(document, name):
    with open(document, encoding="utf-8") as file:
        return f"<!-- {name}: begin -->\n" in file.read()


def put_into(document, name, lines):
    """Replaces what stands between two marks of a Markdown file."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    with open(document, encoding="utf-8") as file:
        text = file.read()
    head, rest = text.split(begin)
    tail = rest.split(end)[1]
    with open(document, "w", encoding="utf-8") as file:
        file.write(head + begin + "\n".join(lines) + "\n" + end + tail)
