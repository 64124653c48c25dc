"""What controlled shuffles must reach, cell by cell. Pure. Upstream: tests/netlab/run --check. Downstream: nothing."""

LARGE_SECTION = 1_000_000
LARGE_BAR, SMALL_BAR = 1.05, 1.08  # of the bound
SLOWER_MAX = 1.01  # to the best way without a plan
FEWER_RESENT = 50


def verdicts(cells):
    """(cell, what is asked, what was measured, held) for each bar. A cell without its `planned` variant has none."""
    for cell in cells:
        medians = {name: variant["median"] for name, variant in cell["variants"].items()}
        if "planned" not in medians:
            continue
        name = f"{cell['topology']}, {cell['queue']}, {cell['scenario']}"
        planned = medians["planned"]
        bar = LARGE_BAR if cell["section_bytes"] >= LARGE_SECTION else SMALL_BAR
        yield name, f"at most {bar} of the bound", f"{planned['ratio']:.3f}", planned["ratio"] <= bar
        others = {other: median for other, median in medians.items() if other.startswith("fetch-")}
        if not others:
            continue
        best = min(others, key=lambda other: others[other]["ratio"])
        against = planned["ratio"] / others[best]["ratio"]
        yield name, f"at most {SLOWER_MAX} of {best}", f"{against:.3f}", against <= SLOWER_MAX
        resent = others.get("fetch-all", others[best])["retransmits"]
        yield (name, f"segments sent again: {FEWER_RESENT} times fewer than {resent:.0f}", f"{planned['retransmits']:.0f}",
               planned["retransmits"] * FEWER_RESENT <= max(resent, FEWER_RESENT - 1))


def table(cells):
    rows = list(verdicts(cells))
    held = sum(1 for row in rows if row[-1])
    lines = ["| cell | bar | measured | |", "|---|---|---|---|"]
    lines += [f"| {cell} | {asked} | {got} | **missed** |" for cell, asked, got, held_ in rows if not held_]
    return [*(lines if held < len(rows) else []), f"{held} of {len(rows)} bars held."]
