#!/bin/sh
# Install the real servers of the end-to-end tests, where they are missing: Debian's Prometheus and
# Alertmanager. The tests start their own processes on ports of their own; the packages' services stay off.
set -eu

packages=''
command -v prometheus >/dev/null || packages="$packages prometheus"
command -v prometheus-alertmanager >/dev/null || packages="$packages prometheus-alertmanager"
[ -n "$packages" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "The end-to-end tests need on the PATH:$packages. This is no Debian: install them by hand." >&2
    exit 1
fi
as_root=''
if [ "$(id -u)" -ne 0 ]; then as_root=$(command -v sudo) || { echo "Installing$packages needs root or sudo." >&2; exit 1; }; fi

$as_root apt-get update -qq
# RUNLEVEL=1 keeps sysv services down while they are installed.
# shellcheck disable=SC2086  # a list of package names
$as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
# systemd may have started what was just installed; an Alertmanager that already ran here was not installed just now.
for service in $packages; do
    if command -v systemctl >/dev/null && systemctl --quiet is-active "$service" 2>/dev/null; then
        $as_root systemctl disable --now "$service"
    fi
done
