#!/bin/sh
# Brings Airflow's database up to date and creates the pools of all flows. May run as often as one likes: after an upgrade, and after a
# flow was added (docker compose run --rm init).
set -eu
airflow db migrate
pools=$(mktemp)
python -m mirror pools > "$pools"
airflow pools import "$pools"
rm "$pools"
