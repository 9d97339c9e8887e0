#!/bin/sh
# Prints the URL of Airflow's database. The password stands in it as it is, so it has to be letters, digits, '-' and '_'.
set -eu
printf 'postgresql+psycopg2://airflow:%s@%s/airflow' "$("$(dirname "$0")/secret.sh" postgres_password)" "${DATABASE_HOST:-postgres:5432}"
