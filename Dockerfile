# Airflow's own image with the mirror's wheel, Java and Spark: with LocalExecutor, spark-submit runs in the scheduler's container.
# For another Airflow that image/ has a lock of: docker build --build-arg AIRFLOW_VERSION=3.2.1 .
ARG AIRFLOW_VERSION=3.3.2
FROM apache/airflow:${AIRFLOW_VERSION}-python3.11 AS packages
ARG AIRFLOW_VERSION

USER root
RUN apt-get update \
    && apt-get install -y --no-install-recommends default-jre-headless \
    && rm -rf /var/lib/apt/lists/*

# That image installs packages as this user alone.
USER airflow
COPY image/airflow-${AIRFLOW_VERSION}.lock /opt/mirror/requirements.lock
RUN pip install --no-cache-dir --no-deps --require-hashes -r /opt/mirror/requirements.lock

# The sources stay in this stage.
FROM packages AS wheel
COPY pyproject.toml /opt/mirror/wheel/pyproject.toml
COPY README.md /opt/mirror/wheel/README.md
COPY LICENSE /opt/mirror/wheel/LICENSE
COPY include /opt/mirror/wheel/include
COPY jobs /opt/mirror/wheel/jobs
RUN cd /opt/mirror/wheel && python -m hatchling build -t wheel -d /tmp/dist

FROM packages
RUN --mount=type=bind,from=wheel,source=/tmp/dist,target=/tmp/dist pip install --no-cache-dir --no-deps /tmp/dist/*.whl

# The tuned Spark start fits this Java and these jars alone, so it belongs into the image.
RUN kafka-mirror spark tune

COPY dags /opt/mirror/dags
COPY compose /opt/mirror/compose

# The page comes with the package.
ENV AIRFLOW__CORE__DAGS_FOLDER=/opt/mirror/dags \
    AIRFLOW__CORE__LOAD_EXAMPLES=False \
    MIRROR_CONFIG=/opt/mirror/config/mm2.properties

WORKDIR /opt/mirror
# The image's own entrypoint takes every command that it does not know for one of `airflow`.
ENTRYPOINT []
CMD ["airflow", "version"]
