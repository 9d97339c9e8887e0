#!/bin/sh
# Makes the secrets that docker-compose.yaml mounts, where they do not exist yet. Run it once, on the host.
#
# The directory is closed to everybody else; the files in it are not, because in the containers they belong to another user.
set -eu
directory=${1:-"$(dirname "$0")/../.secrets"}
mkdir -p "$directory/kafka"
chmod 700 "$directory"
random() { python3 -c "import secrets; print(secrets.token_hex($1), end='')"; }
make() {
    [ -e "$directory/$1" ] || printf %s "$2" > "$directory/$1"
    chmod 444 "$directory/$1"
}
make postgres_password "$(random 16)"
make airflow_password "$(random 8)"
make fernet_key "$(python3 -c 'import base64, os; print(base64.urlsafe_b64encode(os.urandom(32)).decode(), end="")')"
make jwt_secret "$(random 64)"
make api_secret_key "$(random 32)"
make spark_token "$(random 32)"
echo "The secrets are in $directory; the password of Airflow's user 'admin' is in $directory/airflow_password."
