"""The jobs as Spark does them in one process. Usage: with_spark.py JOB INPUT OUTPUT spaces|any THREADS"""
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

job, source, output, white, threads = sys.argv[1:]
spark = (SparkSession.builder.master(f"local[{threads}]").config("spark.driver.memory", "6g")
         .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", threads)
         .config("spark.log.level", "ERROR").getOrCreate())


def rows(separator, schema):
    return spark.read.csv(source, sep=separator, schema=schema, quote="")


def wordcount():
    words = spark.read.text(source).select(f.explode(f.split("value", " " if white == "spaces" else "[ \t\x0b\f\r]")).alias("w"))
    return words.where("w <> ''").groupBy("w").count().select(f.concat_ws("\t", "w", "count"))


def onebrc():
    # Exact decimals; the mean is rounded half up.
    stations = rows(";", "station string, t decimal(4,1)").groupBy("station").agg(
        f.min("t").alias("low"), f.max("t").alias("high"), f.sum("t").alias("s"), f.count("*").alias("n"))
    mean = "cast(floor((cast(s * 20 as bigint) + n) / (2 * n)) / 10 as decimal(5,1))"
    return stations.selectExpr(f"concat(station, '=', low, '/', {mean}, '/', high)")


def weather():
    days = rows(",", "station string, date string, time string, t decimal(5,1)").where("t is not null") \
        .groupBy("station", "date").agg(f.max("t").alias("high"))
    means = days.groupBy("station", f.substring("date", 6, 5).alias("day")).agg(f.sum("high").alias("s"), f.count("*").alias("n"))
    # Half away from zero.
    mean = "cast(sign(s) * floor((abs(cast(s * 20 as bigint)) + n) / (2 * n)) / 10 as decimal(5,1))"
    return means.selectExpr(f"concat(station, '\t', day, '\t', {mean})")


{"wordcount": wordcount, "onebrc": onebrc, "weather": weather}[job]().write.mode("overwrite").text(output)
# The virtual machine is waited for, so that its processor time counts as this process's.
machine = spark.sparkContext._gateway.proc  # pylint: disable=protected-access
spark.stop()
machine.stdin.close()
machine.wait()
