#!/bin/sh
# Brings Airflow's database up to date, creates the pools of all flows and the connection of the Spark that stays. May run as often as one likes: after an upgrade, and after a
# flow was added (docker compose run --rm init).
set -eu
airflow db migrate
pools=$(mktemp)
connection=$(mktemp --suffix=.json)
trap 'rm -f "$pools" "$connection"' EXIT
token=$("$(dirname "$0")/secret.sh" spark_token)
printf '{"mirror_spark": {"conn_type": "spark_connect", "host": "127.0.0.1", "port": 15002, "password": "%s"}}' "$token" > "$connection"
airflow connections import --overwrite "$connection"
# A configuration that cannot be used must not keep Airflow down: there, the DAG mirror.configuration says what is wrong.
if ! python -m kafka_mirror pools > "$pools"; then
    echo "Some of the configuration cannot be used: see above, and the DAG mirror.configuration in Airflow." >&2
    echo "Airflow starts all the same. When it is corrected: docker compose run --rm init" >&2
fi
if [ -s "$pools" ]; then
    airflow pools import "$pools"
fi
