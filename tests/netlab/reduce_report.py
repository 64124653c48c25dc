"""Tables, heat map and goals of the comparison with MPI, from the JSON of `reduce`."""
import json
import math
import statistics

LIBRARIES = ("openmpi", "mpich")
NAMES = {"weir": "Weir", "openmpi": "Open MPI", "mpich": "MPICH"}
SMALL, LARGE = 65536, 1 << 20
BEHIND_MAX = 1.10      # from SMALL bytes on, against the libraries' own choice
FASTER_LARGE = 1.3     # median from LARGE bytes on
FASTER_COSTLY = 2.0    # the same where combining costs as much as moving
OFF_MEDIAN, OFF_MOST = 0.15, 0.25  # of the prediction, in the median and in 90 %


def json_text(document):
    """The document with one row a line."""
    head = {key: value for key, value in document.items() if key != "rows"}
    rows = ",\n ".join(json.dumps(row) for row in document["rows"])
    return json.dumps(head)[:-1] + ',\n"rows": [\n ' + rows + "\n]}\n"


def size_text(size):
    for unit, text in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {text}"
    return f"{size} B"


def seconds_text(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def cells(document):
    """By (kind, operation, bytes, p): contender -> row."""
    found = {}
    for row in document["rows"]:
        found.setdefault((row["kind"], row["operation"], row["bytes"], row["p"]), {})[row["contender"]] = row
    return dict(sorted(found.items()))


def best_forced(cell, library):
    """The fastest row of a library, whichever algorithm; None without its forced ones."""
    rows = [row for name, row in cell.items() if name.split(":")[0] == library]
    return min(rows, key=lambda row: row["median_s"]) if len(rows) > 1 else None


def ratios(document, library, keep):
    found = []
    for key, cell in cells(document).items():
        if keep(key) and "weir" in cell and library in cell:
            found.append((cell[library]["median_s"] / cell["weir"]["median_s"], key))
    return found


def deviations(document, least=SMALL):
    """Actual over predicted, minus 1, of every cell of Weir from `least` bytes on."""
    return [row["median_s"] / row["predicted_s"] - 1 for row in document["rows"]
            if row["contender"] == "weir" and row["bytes"] >= least and row["predicted_s"] > 0]


def missed(document):
    sentences = []
    for library in LIBRARIES:
        behind = [(ratio, key) for ratio, key in ratios(document, library, lambda k: k[2] >= SMALL) if ratio < 1 / BEHIND_MAX]
        for ratio, (kind, operation, size, p) in behind:
            sentences.append(f"{kind} of {size_text(size)} by {operation} on {p} hosts takes {1 / ratio:.2f} times as long as "
                             f"{NAMES[library]}")
        for operation, goal in (("sum", FASTER_LARGE), ("costly", FASTER_COSTLY)):
            large = [r for r, _ in ratios(document, library, lambda k, o=operation: k[2] >= LARGE and k[1] == o)]
            if large and statistics.median(large) < goal:
                sentences.append(f"from {size_text(LARGE)} on, {operation}: {statistics.median(large):.2f} times as fast as "
                                 f"{NAMES[library]} in the median, not {goal:g}")
    off = sorted(abs(d) for d in deviations(document))
    if off:
        if statistics.median(off) > OFF_MEDIAN:
            sentences.append(f"the median call is {100 * statistics.median(off):.0f} % off its prediction, not {100 * OFF_MEDIAN:.0f}")
        share = sum(d <= OFF_MOST for d in off) / len(off)
        if share < 0.9:
            sentences.append(f"{100 * share:.0f} % of the calls are within {100 * OFF_MOST:.0f} % of their prediction, not 90")
    return sentences


def conditions(document):
    """What the figures were measured with: calls that count of each size, fewest first, and the machine's load."""
    calls = {}
    for row in document["rows"]:
        calls.setdefault(row["bytes"], []).append(len(row["seconds"]))
    counts = ", ".join(f"{size_text(size)}: {min(numbers)} to {max(numbers)}" for size, numbers in sorted(calls.items()))
    loads = [value for pair in document["load_average"].values() for value in pair]
    load = f"; load average {min(loads):g} to {max(loads):g} on {document['cores']} cores" if loads else ""
    return f"Links of {document['rate_mbit']} Mbit/s; calls that count: {counts}{load}."


def tables(document):
    lines = []
    last = None
    for (kind, operation, size, p), cell in cells(document).items():
        if (kind, operation) != last:
            last = (kind, operation)
            lines += ["", f"{kind}, {operation}:", "",
                      "| bytes | hosts | Weir | predicted | schedule | Open MPI | times | best | MPICH | times | best |",
                      "|---|---|---|---|---|---|---|---|---|---|---|"]
        if "weir" not in cell:
            continue
        mine = cell["weir"]
        row = [size_text(size), str(p), seconds_text(mine["median_s"]), seconds_text(mine["predicted_s"]), mine["method"]]
        for library in LIBRARIES:
            theirs, best = cell.get(library), best_forced(cell, library)
            row += [seconds_text(theirs["median_s"]), f"{theirs['median_s'] / mine['median_s']:.2f}"] if theirs else ["-", "-"]
            row.append(f"{best['median_s'] / mine['median_s']:.2f}" if best else "-")
        lines.append("| " + " | ".join(row) + " |")
    lines.append("")
    for library in LIBRARIES:
        for operation in ("sum", "costly"):
            large = sorted(r for r, _ in ratios(document, library, lambda k, o=operation: k[2] >= LARGE and k[1] == o))
            if large:
                lines.append(f"From {size_text(LARGE)} on, {operation}: {NAMES[library]} takes {statistics.median(large):.2f} times "
                             f"as long in the median ({large[0]:.2f} to {large[-1]:.2f}, {len(large)} cells).")
    lines.append(conditions(document))
    off = sorted(abs(d) for d in deviations(document))
    if off:
        lines.append(f"Weir beside its prediction, from {size_text(SMALL)} on: median {100 * statistics.median(off):.0f} % off, "
                     f"{100 * sum(d <= OFF_MOST for d in off) / len(off):.0f} % of {len(off)} cells within "
                     f"{100 * OFF_MOST:.0f} %.")
    return "\n".join(lines)


def summary(document):
    """One row a kind, operation and size: over all numbers of hosts, least, median and most."""
    groups = {}
    for (kind, operation, size, p), cell in cells(document).items():
        if "weir" in cell:
            groups.setdefault((kind, operation, size), []).append(cell)
    lines = ["| call | operation | bytes | over prediction | Open MPI / Weir | its best | MPICH / Weir | its best |",
             "|---|---|---|---|---|---|---|---|"]

    def spread(values):
        values = sorted(values)
        return f"{values[0]:.2f} - {statistics.median(values):.2f} - {values[-1]:.2f}" if values else "-"

    for (kind, operation, size), group in groups.items():
        row = [kind, operation, size_text(size), spread([c["weir"]["median_s"] / c["weir"]["predicted_s"] for c in group])]
        for library in LIBRARIES:
            row.append(spread([c[library]["median_s"] / c["weir"]["median_s"] for c in group if library in c]))
            row.append(spread([b["median_s"] / c["weir"]["median_s"] for c in group if (b := best_forced(c, library))]))
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def colour(ratio):
    """Green where Weir is faster, red where it is slower; full at 4 times."""
    depth = max(-1.0, min(1.0, math.log2(ratio) / 2))
    fade = int(255 - 150 * abs(depth))
    return f"rgb({fade},235,{fade})" if depth >= 0 else f"rgb(245,{fade},{fade})"


def heat_map(document):
    """SVG: a panel a kind, operation and library; hosts across, bytes down; how many times as long the library takes."""
    found = cells(document)
    kinds = sorted({(k[0], k[1]) for k in found})
    sizes, hosts = sorted({k[2] for k in found}), sorted({k[3] for k in found})
    wide, high, left, top = 46, 26, 70, 46
    panel_w, panel_h = left + wide * len(hosts) + 16, top + high * len(sizes) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{panel_w * len(LIBRARIES)}" height="{panel_h * len(kinds)}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for row, (kind, operation) in enumerate(kinds):
        for column, library in enumerate(LIBRARIES):
            x, y = panel_w * column, panel_h * row
            out.append(f'<text x="{x + 8}" y="{y + 18}" font-weight="bold">{kind}, {operation}: {NAMES[library]} / Weir</text>')
            for i, p in enumerate(hosts):
                out.append(f'<text x="{x + left + wide * i + wide / 2}" y="{y + top - 6}" text-anchor="middle">p={p}</text>')
            for j, size in enumerate(sizes):
                line = y + top + high * j
                out.append(f'<text x="{x + left - 6}" y="{line + 17}" text-anchor="end">{size_text(size)}</text>')
                for i, p in enumerate(hosts):
                    cell = found.get((kind, operation, size, p), {})
                    if "weir" not in cell or library not in cell:
                        continue
                    ratio = cell[library]["median_s"] / cell["weir"]["median_s"]
                    out.append(f'<rect x="{x + left + wide * i}" y="{line}" width="{wide - 2}" height="{high - 2}" '
                               f'fill="{colour(ratio)}"/><text x="{x + left + wide * i + wide / 2 - 1}" y="{line + 17}" '
                               f'text-anchor="middle">{ratio:.3g}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
