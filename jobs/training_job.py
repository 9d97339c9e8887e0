"""The job by which `kafka-mirror spark tune` trains Spark's start: the calls of spark_job.py."""

from pyspark import SparkConf, SparkContext

if __name__ == "__main__":
    context = SparkContext(conf=SparkConf().set("spark.speculation", "false"))
    context.parallelize(list(range(16)), 16).mapPartitions(list).collect()
