#!/bin/bash
# `make image`: builds the image of docker-compose.yaml by buildah. Run it by enter.sh. AIRFLOW_VERSION: another Airflow than the Dockerfile's.
#
# What the image starts from is made here too, unless BASES=pull: for machines that reach Debian's mirror and PyPI, but no registry of images.
# These stand-ins are Debian with what the mirror uses of the images; what they lack, docs/develop/testing.md says.
set -euo pipefail
cd "$(dirname "$0")/../.."
default=$(sed -n 's/^ARG AIRFLOW_VERSION=//p' Dockerfile)
airflow=${AIRFLOW_VERSION:-$default}
debian=docker.io/library/debian:bookworm-slim
postgres=docker.io/library/$(sed -n 's/^ *image: \(postgres:.*\)/\1/p' docker-compose.yaml)
image=$(sed -n 's/^ *image: \(mirror-airflow:.*\)/\1/p' docker-compose.yaml)
[ "$airflow" = "$default" ] || image=$image-airflow-$airflow

has() { buildah inspect --type image "$1" > /dev/null 2>&1; }

make_debian() {
    local root tools=$CONTAINERS/tools/usr container
    root=$(mktemp -d -p "$CONTAINERS")
    DEBOOTSTRAP_DIR=$tools/share/debootstrap "$tools/sbin/debootstrap" --variant=minbase --include=ca-certificates bookworm "$root" \
        "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
    # This machine may trust more than Debian does, such as a proxy before PyPI.
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$root" /
    buildah config --cmd bash "$container"
    buildah commit --quiet --rm "$container" "$debian"
    rm -rf "$root"
}

# Makes an image by a Dockerfile of this directory, unless there is one of that name.
make_base() {
    has "$1" || buildah bud --pull-never --network host --tag "$1" --file "tools/containers/$2" tools/containers
}

pull=--pull
if [ "${BASES:-}" != pull ]; then
    pull=--pull-never
    has "$debian" || make_debian
    make_base "docker.io/apache/airflow:$airflow-python3.11" airflow.Dockerfile
    make_base "$postgres" postgres.Dockerfile
fi
buildah bud $pull --layers --network host --build-arg "AIRFLOW_VERSION=$airflow" --tag "$image" .
buildah images --filter "reference=$image"
