"""The jobs as chDB (ClickHouse in a process) does them. Usage: with_chdb.py JOB INPUT OUTPUT spaces|any THREADS"""
import os
import sys

import chdb

job, source, output, white, threads = sys.argv[1:]
WORDS = "splitByChar(' ', line)" if white == "spaces" else "splitByWhitespace(line)"


def text(whole):
    """Of tenths."""
    return f"concat(if({whole} < 0, '-', ''), toString(intDiv(abs({whole}), 10)), '.', toString(abs({whole}) % 10))"


SQL = {
    "wordcount": f"""SELECT word, count() FROM (SELECT arrayJoin({WORDS}) AS word FROM
        file('{source}', 'LineAsString', 'line String')) WHERE word <> '' GROUP BY word
        INTO OUTFILE '{output}' FORMAT TSVRaw""",
    # Exact decimals; the mean is rounded half up.
    "onebrc": f"""SELECT concat(station, '=', {text('low')}, '/', {text('mean')}, '/', {text('high')}) FROM
        (SELECT station, toInt64(min(t) * 10) AS low, toInt64(max(t) * 10) AS high, toInt64(count()) AS n,
        toInt64(floor((toInt64(sum(t) * 20) + n) / (2 * n))) AS mean FROM
        file('{source}', 'CSV', 'station String, t Decimal(4, 1)') GROUP BY station)
        INTO OUTFILE '{output}' FORMAT TSVRaw SETTINGS format_csv_delimiter = ';'""",
    # The mean is rounded half away from zero.
    "weather": f"""SELECT station, day, {text('mean')} FROM
        (SELECT station, substring(date, 6) AS day, toInt64(sum(high) * 20) AS twice, toInt64(count()) AS n,
        toInt64(sign(twice) * floor((abs(twice) + n) / (2 * n))) AS mean FROM
        (SELECT station, date, max(t) AS high FROM
        file('{source}', 'CSV', 'station String, date String, time String, t Nullable(Decimal(5, 1))')
        WHERE t IS NOT NULL GROUP BY station, date) GROUP BY station, day)
        INTO OUTFILE '{output}' FORMAT TSVRaw""",
    "terasort": f"""SELECT record FROM file('{source}', 'RowBinary', 'record FixedString(100)') ORDER BY substring(record, 1, 10)
        INTO OUTFILE '{output}' FORMAT RowBinary""",
}
if os.path.exists(output):
    os.remove(output)
chdb.query(f"SET max_threads = {threads}")
sql = SQL[job]
chdb.query(sql + (", " if "SETTINGS" in sql else " SETTINGS ") + f"max_threads = {threads}")
