#!/bin/sh
# The entrypoint of the stand-in for PostgreSQL's image: makes the database where there is none, and starts the server.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-host=scram-sha-256 --auth-local=trust
    echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
    [ "$POSTGRES_DB" = postgres ] || echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single postgres
fi
exec "$@" -c listen_addresses='*'
