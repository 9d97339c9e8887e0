#!/bin/sh
# Brings Airflow's database up to date and creates the connection of the Spark that stays. May run as often as one likes: after an upgrade too.
set -eu
airflow db migrate
connection=$(mktemp --suffix=.json)
trap 'rm -f "$connection"' EXIT
token=$("$(dirname "$0")/secret.sh" spark_token)
printf '{"mirror_spark": {"conn_type": "spark_connect", "host": "127.0.0.1", "port": 15002, "password": "%s"}}' "$token" > "$connection"
airflow connections import --overwrite "$connection"
