"""Translates a file of lines on Spark: translate.py MODEL INPUT OUTPUT [KEY=VALUE...]

    spark-submit --master local[2] examples/spark/translate.py models/de-en lines.de out beam=4
    cat out/part-*

Every worker has the package residual, and the paths lead to the same files everywhere. Run it
again after a failure: parts that are done are kept. A worker process loads the model once and uses
one thread; Spark's slots decide how many there are.
"""

import json
import sys

from pyspark.sql import SparkSession

from residual.bulk import Job


def value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def main(model, source, output, *settings):
    given = {key: value(text) for key, text in (each.split("=", 1) for each in settings)}
    lines = given.pop("lines", 2000)
    job = Job(model, source, output, lines, {"threads": 1, **given})
    parts = job.parts()
    spark = SparkSession.builder.appName("residual").getOrCreate()
    try:
        translated = spark.sparkContext.parallelize(parts, max(1, len(parts))).map(job.run).sum()
    finally:
        spark.stop()
    print(f"{translated} lines translated, {len(parts)} parts in {output}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
