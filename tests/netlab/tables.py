"""Markdown tables from a result file of the laboratory."""
import statistics

import bars


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def size(count):
    return f"{count / 1e6:.2g} MB" if count >= 1e6 else f"{count / 1e3:.0f} KB"


def machine_line(result):
    m = result["machine"]
    return (f"Commit {m['commit']}, {m['when']}, {m['cpu']} ({m['cores']} cores), kernel {m['kernel']}, {m['version']}, links "
            f"{result['options']['rate']} Mbit/s ({m['rate_limiter']}, MTU {m['mtu']}), congestion control "
            f"{result['options']['congestion_control'] or 'by kind of send'}, {m['cpu_limit']}, load at the start {m['load']:.1f}, medians of "
            f"{result['options']['repeats']}.")


def shuffle_tables(cells):
    variants = list(cells[0]["variants"])
    rows = []
    for c in cells:
        medians = [c["variants"][v]["median"] for v in variants]
        best = min(m["ratio"] for m in medians[1:]) if len(medians) > 1 else None
        rows.append([c["topology"], c["queue"], c["scenario"], size(c["section_bytes"]),
                     *[f"{m['ratio']:.3f} ({m['retransmits']:.0f})" for m in medians],
                     "" if best is None else f"{medians[0]['ratio'] / best - 1:+.1%}"])
    text = ["Shuffle time over the port and cut bound, from the mappers' real release on (segments sent again):", "",
            table(["topology", "queue", "scenario", "section", *variants, f"{variants[0]} against best other"], rows),
            *observed_table(cells, variants), "", table(["bar", "result"], bars.counts(cells))]
    if all("predicted_shuffle_s" in m for c in cells for m in (c["variants"][v]["median"] for v in variants)):
        text += ["", *predictions(cells, variants)]
    return "\n".join(text)


def predictions(cells, variants):
    """How long each variant took beside what its plan said, and which way the planner chose."""
    rows, off = [], {v: [] for v in variants}
    for c in cells:
        ratios = []
        for v in variants:
            m = c["variants"][v]["median"]
            off[v].append(m["shuffle_s"] / m["predicted_shuffle_s"])
            ratios.append(f"{off[v][-1]:.3f}")
        chosen = sorted({run["transfer_order"] for run in c["variants"][variants[0]]["runs"]})
        rows.append([c["topology"], c["queue"], c["scenario"], *ratios, " ".join(chosen)])
    text = ["Actual over predicted time of the shuffle, and what the first variant is:", "",
            table(["topology", "queue", "scenario", *variants, "chosen"], rows), ""]
    return text + [f"- {v}: within 5 % in {sum(abs(r - 1) <= 0.05 for r in off[v])} of {len(off[v])} cells; "
                   f"{min(off[v]):.3f} to {max(off[v]):.3f}." for v in variants]


def observed_table(cells, variants):
    """What the observer saw, of the first and the last variant; nothing for results of before there was one."""
    if any("observed" not in c["variants"][v]["median"] for c in cells for v in variants):
        return []
    rows, shown = [], list(dict.fromkeys([variants[0], variants[-1]]))
    for c in cells:
        row = [c["topology"], c["queue"], c["scenario"], c["limit"]]
        for v in shown:
            o = c["variants"][v]["median"]["observed"]
            line = f"{o['limit_busy']:.1%}, {o['limit_idle']:.1%}" if "limit_busy" in o else ""
            row += [line, f"{o['peers']:.2f}", f"{o['dropped']['ports']:.0f} / {o['dropped']['core']:.0f}"]
        rows.append(row)
    seen = [run["observed"] for c in cells for v in variants for run in c["variants"][v]["runs"]]
    return ["", "Seen from outside, by the kernel's counters: what the port or core that is the bound carried of its rate, and for how much of the shuffle it "
            f"stood idle; peers that a port received from at a time; packets dropped before ports / core. {' and '.join(shown)}:", "",
            table(["topology", "queue", "scenario", "bound by", *["busy, idle", "peers", "dropped"] * len(shown)], rows), "",
            f"In no window of {sum(o['samples'] for o in seen)} samples in {len(seen)} runs did a link or core carry more than its rate and "
            f"burst (at most {max(o['over_limit_bytes'] for o in seen):.0f} bytes above the rate). Each host's link carried the frames of what it had to "
            f"receive, and at most {max(o['overhead'] for o in seen):.1%} more: acknowledgements, segments sent again, messages."]


def jobs_tables(results):
    rows = []
    for r in results:
        if "skipped" in r:
            rows.append([r["channels"], r["job"], "skipped: " + r["skipped"], "", "", "", "", "", ""])
            continue
        runs = sorted(r["runs"], key=lambda run: abs(run["error"]))
        run = runs[len(runs) // 2]
        part = [f"{run['parts']['predicted'][p]:.2f} -> {run['parts']['actual'][p]:.2f}"
                for p in ("map_s", "shuffle_s", "reduce_s")]
        rows.append([r["channels"], r["job"], f"{r['first']['predicted_s']:.2f}", f"{r['first']['actual_s']:.2f}",
                     f"{r['first']['error']:+.0%}", f"{run['predicted_s']:.2f}", f"{run['actual_s']:.2f}",
                     f"{run['error']:+.0%}", "; ".join(part)])
    done = [run for r in results if "runs" in r for run in [r["first"], *r["runs"]]]
    text = [table(["l", "job", "first predicted s", "actual s", "off", "later predicted s", "actual s", "off",
                   "map; shuffle; reduce s"], rows)]
    if done:
        errors = [abs(run["error"]) for run in done]
        text += ["", f"Within 20 %: {sum(e <= 0.2 for e in errors)} of {len(errors)} runs; median "
                     f"{statistics.median(errors):.0%}."]
    return "\n".join(text)


def rules_tables(results):
    rows = []
    for r in results:
        if "median" in r:
            m = r["median"]
            rows.append([r["rule"], r["value"], f"{m['ratio']:.3f}", f"{m['retransmits']:.0f}"])
        else:
            rows.append([r["rule"], r["value"], "skipped" if "skipped" in r else "failed",
                         r.get("skipped") or r.get("failed", "")[:120]])
    return table(["rule", "value", "ratio to the bound", "segments again"], rows)


def codecs_tables(results):
    rows = []
    for r in results:
        for codec, c in r["codecs"].items():
            chosen = sorted({"+".join(one) or "none" for one in c["chosen"]})
            rows.append([r["channels"], r["job"], codec if codec != "auto" else f"auto ({', '.join(chosen)})",
                         size(c["moved_bytes"]), f"{c['predicted_s']:.2f}", f"{c['actual_s']:.2f}", f"{c['ratio']:.2f}"])
    return table(["l", "job", "codec", "moved", "predicted s", "actual s", "to none"], rows)


def trees_tables(results):
    rows = []
    for r in results:
        for way, w in r["ways"].items():
            rows.append([r["channels"], r["job"], way, w["combined"], f"{w['predicted_s']:.2f}", f"{w['actual_s']:.2f}",
                         f"{w['error']:.0%}", f"{w['ratio']:.2f}"])
    return table(["l", "job", "way", "combined along", "predicted s", "actual s", "off", "to all to one"], rows)


def calibrate_tables(results):
    rows = [[r["topology"], r.get("skipped") or r["configured"], "" if "skipped" in r else r["found"],
             "" if "skipped" in r else f"{r['rate_error']:+.1%}",
             "" if "skipped" in r else ("yes" if r["cuts_right"] else "no")] for r in results]
    return table(["topology", "configured", "found", "rate off", "cuts right"], rows)


def report(result):
    text = [machine_line(result) + "".join(f" `{command}`." for command in result.get("commands", []))]
    for key, title, make in (("shuffle", "Planned against unplanned shuffles", shuffle_tables),
                             ("jobs", "Predicted against actual makespan", jobs_tables),
                             ("calibrate", "Calibration", calibrate_tables),
                             ("rules", "Rules of the data plane", rules_tables),
                             ("codecs", "Packed runs", codecs_tables),
                             ("trees", "Trees beside all to one", trees_tables)):
        if result.get(key):
            text += ["", f"### {title}", "", make(result[key])]
    return "\n".join(text) + "\n"
