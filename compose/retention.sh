#!/bin/sh
# Deletes from Airflow's database and log files what is older than so many days: `retention.sh <days>` does it every day, and
# `retention.sh <days> once` once. Where it fails it says so and tries again in an hour; the container is then called unhealthy after two days.
set -eu
days=$1
case $days in
    '' | 0 | *[!0-9]*)
        echo "How many days Airflow's history is kept has to be a number from 1 on, and not '$days'." >&2
        exit 2
        ;;
esac
logs=${AIRFLOW__LOGGING__BASE_LOG_FOLDER:?}
done_mark=${RETENTION_DONE:-/tmp/retention-done}

clean() {
    airflow db clean --clean-before-timestamp "$(date --utc --date "$days days ago" +%Y-%m-%dT%H:%M:%S)" \
        --tables dag_run,task_instance,task_instance_history,xcom,log,job,callback,deadline \
        --skip-archive --error-on-cleanup-failure --yes &&
        find "$logs" -type f -mtime "+$days" -delete &&
        # A task may have made its folder just now, and not yet its file.
        find "$logs" -mindepth 1 -type d -empty -mmin +60 -delete
}

if [ "${2:-}" = once ]; then
    clean
    exit
fi
while true; do
    if clean; then
        touch "$done_mark"
        pause=86400
    else
        echo "Airflow's history could not be cleaned; the next attempt is in an hour." >&2
        pause=3600
    fi
    sleep "$pause"
done
