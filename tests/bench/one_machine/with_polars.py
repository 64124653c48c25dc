"""The jobs as Polars does them, streaming. Usage: with_polars.py JOB INPUT OUTPUT spaces|any THREADS

POLARS_MAX_THREADS is set by who starts this.
"""
import sys

import polars as pl

job, source, output, white, _ = sys.argv[1:]


def rows(separator, schema):
    return pl.scan_csv(source, has_header=False, separator=separator, quote_char=None, schema=schema)


def tenths(whole):
    """Text of tenths."""
    size = whole.abs()
    return pl.concat_str(pl.when(whole < 0).then(pl.lit("-")).otherwise(pl.lit("")), size // 10, pl.lit("."), size % 10)


def total_tenths(column):
    # Off by far less than half a tenth, so that rounding makes it exact.
    return (pl.col(column).sum() * 10).round().cast(pl.Int64)


def one_tenth(column):
    return (pl.col(column) * 10).round().cast(pl.Int64)


def wordcount():
    line = pl.col("line")
    if white != "spaces":
        line = line.str.replace_all("[\t\x0b\f\r]", " ")
    words = rows("\x01", {"line": pl.String}).select(line.str.split(" ").alias("word")).explode("word")
    return words.filter(pl.col("word") != "").group_by("word").len()


def onebrc():
    stations = rows(";", {"station": pl.String, "t": pl.Float64}).group_by("station").agg(
        pl.col("t").min().alias("low"), pl.col("t").max().alias("high"), total_tenths("t").alias("sum"),
        pl.len().cast(pl.Int64).alias("n"))
    mean = (2 * pl.col("sum") + pl.col("n")).floordiv(2 * pl.col("n"))  # half up
    return stations.select(pl.concat_str(pl.col("station"), pl.lit("="), tenths(one_tenth("low")), pl.lit("/"),
                                         tenths(mean), pl.lit("/"), tenths(one_tenth("high"))))


def weather():
    schema = {"station": pl.String, "date": pl.String, "time": pl.String, "t": pl.Float64}
    days = rows(",", schema).drop_nulls("t").group_by("station", "date").agg(pl.col("t").max())
    means = days.group_by("station", pl.col("date").str.slice(5).alias("day")).agg(
        total_tenths("t").alias("sum"), pl.len().cast(pl.Int64).alias("n"))
    # Half away from zero.
    mean = pl.col("sum").sign() * (2 * pl.col("sum").abs() + pl.col("n")).floordiv(2 * pl.col("n"))
    return means.select("station", "day", tenths(mean))


{"wordcount": wordcount, "onebrc": onebrc, "weather": weather}[job]().sink_csv(
    output, include_header=False, separator="\t", quote_style="never", engine="streaming")
