#!/usr/bin/env python3
"""Draws the messages of a transfer: transfer-messages.svg, and the same in words, transfer-messages.txt.

Usage: transfer_messages.py [--check]     writes both beside this file; --check only says whether they are up to date.
"""
import os
import sys
from xml.sax.saxutils import escape

# Who takes part, from left to right: transfer 1 goes from S to R, transfer 2 from S to Q, transfer 3 from T to R.
LANES = {"Q": "worker Q", "S": "worker S", "R": "worker R", "M": "master"}
ROLES = {"Q": "receives 2", "S": "sends 1, then 2", "R": "receives 1, then 3", "M": "conductor"}

# ("message", from, to, what, what it carries) or ("event", at, what happens there); numbered in order.
COURSE = [
    ("message", "S", "M", "ReportStep", "the run is published: its sections and their bytes"),
    ("event", "M", "grants 1: it heads its orders, both ports and its lanes of the cuts are free; takes them"),
    ("message", "M", "R", "GrantTransfer 1", "fence, job token, run, range, pacing rate, two marks"),
    ("message", "R", "M", "answer", "accepted; the round trip tells how far ahead later grants must be"),
    ("message", "R", "S", "request 1", "token, epochs, range, credit, pacing rate, first mark"),
    ("event", "S", "checks token, epochs and range; its port is free: takes it, paces the socket"),
    ("message", "S", "R", "status OK, then frames", "at most 1 MiB each, with a checksum; sendfile"),
    ("message", "R", "S", "credit", "whenever a part of what was given has been written"),
    ("event", "R", "first mark: grant_ahead_bytes are left"),
    ("message", "R", "M", "ReportTransfer 1: nearly done", "bytes_left"),
    ("event", "M", "1 has passed: ports and lanes are free; grants 2 (port of S) and 3 (port of R), takes them"),
    ("message", "M", "Q", "GrantTransfer 2", "from S"),
    ("message", "M", "R", "GrantTransfer 3", "from T; it waits in R's queue"),
    ("message", "Q", "S", "request 2", ""),
    ("event", "S", "send 1 is beyond its first mark: takes request 2, answers when 1 is handed to the kernel"),
    ("event", "S", "the last byte of 1 is handed to the kernel; the port is free"),
    ("message", "S", "Q", "status OK, then frames", "of 2"),
    ("event", "R", "second mark: look_ahead_bytes are left; R sends request 3 to T"),
    ("event", "R", "the last frame of 1 is checked and written"),
    ("message", "R", "M", "ReportTransfer 1: done", "bytes, seconds"),
    ("event", "M", "1 is done: the step that waited for its last section starts"),
    ("message", "M", "R", "StartStep", "sections in plan order"),
]

# What a lane is busy with between two entries of COURSE (numbers as printed): (lane, first, last, side, colour, text).
BUSY = [
    ("M", 2, 11, 0, "#7b8794", "1"),
    ("M", 11, 22, 0, "#b4bcc4", "2, 3"),
    ("R", 5, 19, 0, "#009E73", "1"),
    ("R", 18, 22, 1, "#7fcdb6", "3"),
    ("S", 6, 16, 0, "#56B4E9", "1"),
    ("S", 16, 22, 0, "#a9d8f3", "2"),
    ("Q", 14, 22, 0, "#7fcdb6", "2"),
]

WIDTH, TOP, ROW = 1180, 104, 46
LANE_X = {"Q": 110, "S": 390, "R": 690, "M": 1000}
BAR = 12
STYLE = """<style>
text{font-family:Helvetica,Arial,sans-serif;fill:#1f2328;font-size:12px}
.lane{font-size:14px;font-weight:700;text-anchor:middle}.role{fill:#57606a;font-size:11px;text-anchor:middle}
.what{font-weight:700;text-anchor:middle}.carries{fill:#57606a;font-size:10.5px;text-anchor:middle}
.event{font-size:11px}.mark{font-size:11px;font-weight:700}.busy{font-size:10px;text-anchor:middle}
.number{fill:#57606a;font-size:10px;text-anchor:end}
.life{stroke:#d0d7de;stroke-width:1}.arrow{stroke:#1f2328;stroke-width:1.2;marker-end:url(#head)}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0,0 L8,4 L0,8 z" fill="#1f2328"/></marker></defs>"""


def row_y(number):
    return TOP + (number - 1) * ROW + ROW // 2


def label_x(sender, receiver):
    """The middle of the gap beside the sender, on the way to the receiver."""
    names = list(LANES)
    step = 1 if names.index(receiver) > names.index(sender) else -1
    return (LANE_X[sender] + LANE_X[names[names.index(sender) + step]]) / 2


def wrapped(text, columns):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > columns:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return lines + [line]


def svg():
    height = row_y(len(COURSE)) + 34
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}" role="img">', "<title>The messages of a transfer</title>", STYLE,
           f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
           '<text x="16" y="24" style="font-size:17px;font-weight:700">The messages of a transfer, and of the next '
           'ones of its ports</text>',
           '<text class="role" x="16" y="92" style="text-anchor:start">bars: transfers that hold a port, and, at the '
           'master, those that are granted</text>']
    for lane, x in LANE_X.items():
        out.append(f'<text class="lane" x="{x}" y="56">{LANES[lane]}</text>')
        out.append(f'<text class="role" x="{x}" y="72">{ROLES[lane]}</text>')
        out.append(f'<line class="life" x1="{x}" y1="98" x2="{x}" y2="{height - 12}"/>')
    for lane, first, last, side, colour, text in BUSY:
        x, y = LANE_X[lane] - BAR / 2 + side * BAR, row_y(first)
        to = height - 12 if last == len(COURSE) else row_y(last)
        out.append(f'<rect x="{x}" y="{y}" width="{BAR}" height="{to - y}" fill="{colour}" stroke="#fff"/>')
        for i, part in enumerate(text.split(", ")):
            out.append(f'<text class="busy" x="{x + BAR / 2}" y="{y + 14 + 11 * i}">{part}</text>')
    for number, (kind, *entry) in enumerate(COURSE, 1):
        y = row_y(number)
        out.append(f'<text class="number" x="26" y="{y + 4}">{number}</text>')
        if kind == "message":
            sender, receiver, what, carries = entry
            right = LANE_X[receiver] > LANE_X[sender]
            begin, end = LANE_X[sender] + (8 if right else -8), LANE_X[receiver] + (-8 if right else 8)
            out.append(f'<line class="arrow" x1="{begin}" y1="{y}" x2="{end}" y2="{y}"/>')
            middle = label_x(sender, receiver)
            out.append(f'<text class="what" x="{middle}" y="{y - 5}">{escape(what)}</text>')
            for i, line in enumerate(wrapped(carries, 44) if carries else []):
                out.append(f'<text class="carries" x="{middle}" y="{y + 12 + 11 * i}">{escape(line)}</text>')
        else:
            at, what = entry
            lines = wrapped(what, 26 if at == "M" else 40)
            mark = "mark" if what.startswith(("first mark", "second mark")) else "event"
            x = LANE_X[at] + 24
            out.append(f'<circle cx="{LANE_X[at]}" cy="{y}" r="4" fill="#1f2328"/>')
            for i, line in enumerate(lines):
                out.append(f'<text class="{mark}" x="{x}" y="{y + 4 - 6.5 * (len(lines) - 1) + 13 * i}">'
                           f'{escape(line)}</text>')
    return "\n".join(out + ["</svg>", ""])


def text():
    lines = ["The messages of a transfer, and of the next ones of its ports.", ""]
    lines += [f"{LANES[lane]}: {ROLES[lane]}" for lane in LANES]
    lines.append("")
    for number, (kind, *entry) in enumerate(COURSE, 1):
        if kind == "message":
            sender, receiver, what, carries = entry
            lines.append(f"{number:2}  {sender} -> {receiver}  {what}" + (f" ({carries})" if carries else ""))
        else:
            lines.append(f"{number:2}  {entry[0]}       {entry[1]}")
    return "\n".join(lines + [""])


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    stale = []
    for name, content in (("transfer-messages.svg", svg()), ("transfer-messages.txt", text())):
        path = os.path.join(here, name)
        if "--check" in sys.argv[1:]:
            written = open(path, encoding="utf-8").read() if os.path.exists(path) else None
            if written != content:
                stale.append(f"docs/figures/{name} is not what transfer_messages.py writes: run it")
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
    print("\n".join(stale) or "transfer messages: up to date")
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
