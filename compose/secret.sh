#!/bin/sh
# Prints a secret of this container, for Airflow's AIRFLOW__<section>__<option>_CMD: so no process carries it in its environment.
set -eu
printf %s "$(cat "${SECRETS_DIRECTORY:-/run/secrets}/$1")"
