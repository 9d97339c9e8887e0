# A stand-in for apache/airflow: Python 3.11, its user and that user's packages, without Airflow, which the lock brings.
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv dumb-init \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 50000 --gid 0 --create-home --home-dir /home/airflow airflow \
    && install -d -o airflow -g 0 -m 775 /opt/airflow /opt/airflow/dags /opt/airflow/logs \
    && su airflow -c 'python3 -m venv /home/airflow/.local'
ENV PATH=/home/airflow/.local/bin:/usr/local/bin:/usr/bin:/bin \
    AIRFLOW_HOME=/opt/airflow \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    LANG=C.UTF-8
WORKDIR /opt/airflow
USER 50000
ENTRYPOINT ["/usr/bin/dumb-init", "--"]
