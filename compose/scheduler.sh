#!/bin/sh
# Starts the scheduler, in whose container the tasks run: `scheduler.sh <cores> <memory>`. With cores a Spark that stays runs beside it. Its
# server listens on this container's 127.0.0.1 alone, wants the token of the connection `mirror_spark`, and is started anew when it ended.
set -eu
cores=$1 memory=$2
case $cores in
    '' | *[!0-9]*)
        echo "How many cores the Spark server has must be a number (0: there is none), and not '$cores'." >&2
        exit 2
        ;;
esac
if [ "$cores" -gt 0 ]; then
    token=$(mktemp)
    "$(dirname "$0")/secret.sh" spark_token > "$token"
    while true; do
        python -m kafka_mirror spark serve --cores "$cores" --memory "$memory" --token-file "$token" || true
        echo "The Spark server ended; the next one starts in five seconds." >&2
        sleep 5
    done &
fi
# The log files are on a volume that the api-server sees, so nobody has to serve them.
exec airflow scheduler --skip-serve-logs
