#!/bin/sh
# `make promtool`: puts promtool, Prometheus' own checker of rules, into .run/bin, where the tests look for it. It is taken out of Debian's
# package: installing that would start a server. Elsewhere, install Prometheus; its promtool in the PATH will do.
set -eu
cd "$(dirname "$0")/.."
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Here is no apt-get. Install Prometheus, which brings promtool, so that the PATH has it." >&2
    exit 1
fi
mkdir -p .run/bin
place=$PWD/.run/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get -q -o APT::Sandbox::User=root download prometheus
dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
mv usr/bin/promtool "$place/promtool"
"$place/promtool" --version
