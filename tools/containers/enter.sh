#!/bin/bash
# Runs a command where Debian's buildah and podman, and podman-compose, are in the PATH: `enter.sh [--alone] COMMAND…`. For root on Debian or
# Ubuntu. No daemon runs, and nothing is installed: the packages are unpacked into a directory, which a mount namespace lays over /usr/lib.
#
# With --alone the command also has a network of its own: a loopback and what podman adds. It cannot be reached from outside.
# CONTAINERS is the directory of the tools, images and containers; delete it to begin again. PODMAN_COMPOSE is the version from PyPI.
set -euo pipefail
if [ "$(id -u)" != 0 ] || ! command -v apt-get dpkg-architecture > /dev/null; then
    echo "Images are built and started here by root, on Debian or Ubuntu with dpkg-dev. Elsewhere use docker build and docker compose." >&2
    exit 1
fi
alone=()
if [ "$1" = --alone ]; then
    alone=(--net)
    shift
fi
export CONTAINERS=${CONTAINERS:-${TMPDIR:-/tmp}/kafka-mirror-containers}
tools=$CONTAINERS/tools
packages=(
    buildah podman crun conmon catatonit netavark aardvark-dns iptables debootstrap golang-github-containers-common
    golang-github-containers-image libgpgme11 libassuan0 libsubid4 libyajl2 libdevmapper1.02.1 libip4tc2 libip6tc2 libxtables12 libmnl0
    libnetfilter-conntrack3 libnfnetlink0 libnftnl11 uidmap
)

unpack() {
    local work
    work=$(mktemp -d)
    (cd "$work" && apt-get -q -o APT::Sandbox::User=root download "${packages[@]}") >&2
    rm -rf "$tools"
    mkdir -p "$tools"
    for package in "$work"/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$tools" --exclude=./usr/share/doc --exclude=./usr/share/man
    done
    rm -r "$work"
    # An installation would make these links.
    ln -s xtables-nft-multi "$tools/usr/sbin/iptables"
    ln -s xtables-nft-multi "$tools/usr/sbin/ip6tables"
    python3 -m venv "$tools/python"
    "$tools/python/bin/pip" install --quiet "podman-compose==${PODMAN_COMPOSE:-1.6.0}"
}

configure() {
    cat > "$tools/storage.conf" <<END
[storage]
driver = "${STORAGE_DRIVER:-overlay}"
runroot = "$CONTAINERS/run"
graphroot = "$CONTAINERS/storage"
END
    cat > "$tools/containers.conf" <<END
[containers]
cgroups = "disabled"
cgroupns = "host"
utsns = "host"
init_path = "$tools/usr/libexec/podman/catatonit"
default_ulimits = ["nofile=20000:20000", "nproc=8192:8192"]
log_driver = "k8s-file"

[engine]
tmp_dir = "$CONTAINERS/run/libpod"
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
conmon_path = ["$tools/usr/bin/conmon"]
helper_binaries_dir = ["$tools/usr/lib/podman", "$tools/usr/bin"]
num_locks = 512
lock_type = "file"

[engine.runtimes]
crun = ["$tools/usr/bin/crun"]

[network]
network_backend = "netavark"
network_config_dir = "$CONTAINERS/networks"
END
    echo 'unqualified-search-registries = ["docker.io"]' > "$tools/registries.conf"
    mkdir -p "$CONTAINERS/networks" "$CONTAINERS/run" "$CONTAINERS/etc"
    echo '{"default": [{"type": "insecureAcceptAnything"}]}' > "$CONTAINERS/etc/policy.json"
}

[ -x "$tools/python/bin/podman-compose" ] || unpack
configure
libraries=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
export CONTAINERS_STORAGE_CONF=$tools/storage.conf CONTAINERS_CONF=$tools/containers.conf CONTAINERS_REGISTRIES_CONF=$tools/registries.conf
# There is no systemd to run health checks, and no cgroup of a container's own.
export BUILDAH_ISOLATION=chroot DISABLE_HC_SYSTEMD=true
exec unshare --mount "${alone[@]}" --propagation private bash -c '
    tools=$1 libraries=$2
    shift 2
    mount -t overlay overlay -o "lowerdir=$tools/$libraries:/$libraries" "/$libraries"
    umount -R /sys/fs/cgroup
    mount -t cgroup2 none /sys/fs/cgroup
    # Podman looks there whatever it is told elsewhere. The directories stay, empty.
    mkdir -p /etc/containers /run/containers
    mount --bind "$CONTAINERS/etc" /etc/containers
    # What ran in another namespace does not run in this one.
    mount -t tmpfs tmpfs /run/containers
    mount -t tmpfs tmpfs "$CONTAINERS/run"
    ip link set lo up
    PATH=$tools/python/bin:$tools/usr/bin:$tools/usr/sbin:$PATH exec "$@"' enter "$tools" "$libraries" "$@"
