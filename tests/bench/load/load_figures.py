#!/usr/bin/env python3
"""Draws figures 5 to 12 of 004 and two Gantt charts as SVG.

usage: load_figures.py PLANNER_LOAD_FIGURES OUTPUT_DIRECTORY

PLANNER_LOAD_FIGURES is the program tests/bench/load/load_figures.cc; it prints the data. Standard library only.
"""

import json
import math
import os
import subprocess
import sys

WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 40, 46
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00"]  # told apart by colour-blind readers
MARKS = ["circle", "square", "diamond", "triangle", "cross"]


def ticks(low, high, count=6):
    """Round numbers that cover [low, high]."""
    span = max(high - low, 1e-12)
    step = 10 ** math.floor(math.log10(span / count))
    for factor in (1, 2, 5, 10):
        if span / (step * factor) <= count:
            step *= factor
            break
    first = math.floor(low / step) * step
    values = []
    while first <= high + step * 0.999:
        values.append(round(first, 12))
        first += step
    return values


def number(value):
    return f"{value:.6g}"


def mark(kind, x, y, colour):
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>'
    if kind == "square":
        return f'<rect x="{x - 2.4:.1f}" y="{y - 2.4:.1f}" width="4.8" height="4.8" fill="{colour}"/>'
    if kind == "diamond":
        return f'<path d="M{x:.1f} {y - 3.4:.1f}l3.4 3.4l-3.4 3.4l-3.4 -3.4z" fill="{colour}"/>'
    if kind == "triangle":
        return f'<path d="M{x:.1f} {y - 3.2:.1f}l3.2 5.6h-6.4z" fill="{colour}"/>'
    return f'<path d="M{x - 2.6:.1f} {y - 2.6:.1f}l5.2 5.2m0 -5.2l-5.2 5.2" stroke="{colour}" fill="none"/>'


def draw(figure):
    points = [p for s in figure["series"] for p in s["points"]]
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    y_ticks = ticks(min(0.0, min(ys)) if min(ys) < 0.5 * max(ys) else min(ys), max(ys))
    x_ticks = [t for t in ticks(min(xs), max(xs), 10) if min(xs) <= t <= max(xs)]
    y_low, y_high = y_ticks[0], y_ticks[-1]
    x_low, x_high = min(xs), max(xs)

    def at_x(x):
        return LEFT + (x - x_low) / max(x_high - x_low, 1e-12) * (WIDTH - LEFT - RIGHT)

    def at_y(y):
        return HEIGHT - BOTTOM - (y - y_low) / max(y_high - y_low, 1e-12) * (HEIGHT - TOP - BOTTOM)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="16" font-size="13">Figure {figure["id"]}: {figure["title"]}</text>',
    ]
    for tick in y_ticks:
        y = at_y(tick)
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for tick in x_ticks:
        out.append(f'<text x="{at_x(tick):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{number(tick)}</text>')
    out.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" stroke="#333" fill="none"/>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{figure["x_label"]}</text>')
    out.append(f'<text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">{figure["y_label"]}</text>')
    legend_x = LEFT + 8
    for index, series in enumerate(figure["series"]):
        colour, kind = COLOURS[index % len(COLOURS)], MARKS[index % len(MARKS)]
        path = "L".join(f"{at_x(x):.1f} {at_y(y):.1f}" for x, y in series["points"])
        out.append(f'<path d="M{path}" stroke="{colour}" fill="none"/>')
        out += [mark(kind, at_x(x), at_y(y), colour) for x, y in series["points"]]
        out.append(mark(kind, legend_x, 29, colour))
        out.append(f'<text x="{legend_x + 8}" y="33">{series["name"]}</text>')
        legend_x += 24 + 6.2 * len(series["name"])
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
    directory = sys.argv[2]
    os.makedirs(directory, exist_ok=True)
    for figure in data["figures"]:
        with open(os.path.join(directory, f"figure-{figure['id']}.svg"), "w", encoding="utf-8") as file:
            file.write(draw(figure))
    for gantt in data["gantts"]:
        with open(os.path.join(directory, f"{gantt['name']}.svg"), "w", encoding="utf-8") as file:
            file.write(gantt["svg"])
    print(f"{len(data['figures'])} figures and {len(data['gantts'])} Gantt charts in {directory}")


if __name__ == "__main__":
    main()
