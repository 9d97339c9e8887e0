#!/bin/sh
# Starts the api-server. Its login wants a file of passwords that it may write to, so the secret is put into one.
set -eu
password=$("$(dirname "$0")/secret.sh" airflow_password)
(umask 077 && printf '{"admin": "%s"}\n' "$password" > "$AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE")
exec airflow api-server "$@"
