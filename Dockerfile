# Airflow with the mirror, Java and Spark in one image: with LocalExecutor, spark-submit runs in the scheduler's container.
FROM python:3.11.13-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*

COPY requirements.lock /opt/mirror/requirements.lock
RUN pip install --root-user-action ignore --no-cache-dir --no-deps --require-hashes -r /opt/mirror/requirements.lock

# The tuned Spark start fits this Java and these jars alone, so it belongs into the image; it needs no more of the mirror than two modules.
COPY tools/tune_spark.py /opt/mirror/tools/tune_spark.py
COPY include /opt/mirror/include
RUN python /opt/mirror/tools/tune_spark.py

COPY dags /opt/mirror/dags
COPY jobs /opt/mirror/jobs
COPY plugins /opt/mirror/plugins
COPY compose /opt/mirror/compose
# Nobody may write here later, so without this every process would compile every module again.
RUN python -m compileall -q --invalidation-mode unchecked-hash /opt/mirror

# A named volume takes over the owner of the directory that it is mounted on.
RUN useradd --uid 50000 --gid 0 --home-dir /opt/airflow --create-home airflow \
    && mkdir /opt/airflow/logs \
    && chown airflow:0 /opt/airflow/logs

ENV AIRFLOW_HOME=/opt/airflow \
    AIRFLOW__CORE__DAGS_FOLDER=/opt/mirror/dags \
    AIRFLOW__CORE__PLUGINS_FOLDER=/opt/mirror/plugins \
    AIRFLOW__CORE__LOAD_EXAMPLES=False \
    MIRROR_CONFIG=/opt/mirror/mm2.properties \
    PYTHONPATH=/opt/mirror/include

USER airflow
WORKDIR /opt/mirror
CMD ["airflow", "version"]
