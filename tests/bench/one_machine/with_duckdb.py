"""The jobs as DuckDB does them. Usage: with_duckdb.py JOB INPUT OUTPUT spaces|any THREADS"""
import sys

import duckdb

job, source, output, white, threads = sys.argv[1:]
WORDS = "line" if white == "spaces" else "translate(line, E'\\t\\x0b\\f\\r', '    ')"
SQL = {
    "wordcount": f"""COPY (SELECT word, count(*) FROM (SELECT unnest(string_split({WORDS}, ' ')) AS word FROM
        read_csv('{source}', header=false, columns={{'line': 'VARCHAR'}}, delim=E'\\x01', quote='', escape='',
        new_line='\\n', auto_detect=false, max_line_size=20000000)) WHERE word <> '' GROUP BY word)
        TO '{output}' (HEADER false, DELIMITER '\\t', QUOTE '', ESCAPE '')""",
    # Exact decimals; the mean is rounded half up.
    "onebrc": f"""COPY (SELECT station || '=' || low || '/' || CAST(
        floor((CAST(total * 20 AS BIGINT) + n) / (2.0 * n)) / 10 AS DECIMAL(5, 1)) || '/' || high FROM
        (SELECT station, min(t) AS low, max(t) AS high, sum(t) AS total, count(*) AS n FROM
        read_csv('{source}', header=false, columns={{'station': 'VARCHAR', 't': 'DECIMAL(4, 1)'}}, delim=';', quote='',
        auto_detect=false) GROUP BY station)) TO '{output}' (HEADER false, DELIMITER '\\t', QUOTE '', ESCAPE '')""",
    # The mean is rounded half away from zero.
    "weather": f"""COPY (SELECT station, day, CAST(sign(total) * floor((abs(CAST(total * 20 AS BIGINT)) + n) / (2.0 * n)) / 10
        AS DECIMAL(5, 1)) FROM (SELECT station, substr(date, 6) AS day, sum(high) AS total, count(*) AS n FROM
        (SELECT station, date, max(t) AS high FROM read_csv('{source}', header=false, columns={{'station': 'VARCHAR',
        'date': 'VARCHAR', 'time': 'VARCHAR', 't': 'DECIMAL(5, 1)'}}, delim=',', quote='', auto_detect=false)
        WHERE t IS NOT NULL GROUP BY station, date) GROUP BY station, day))
        TO '{output}' (HEADER false, DELIMITER '\\t', QUOTE '', ESCAPE '')""",
}
connection = duckdb.connect()
connection.execute(f"SET threads={threads}")
connection.execute("SET preserve_insertion_order=false")
connection.execute(SQL[job])
