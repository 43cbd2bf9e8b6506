#!/bin/sh
# Starts a process of Inquest in a container. What it needs and nobody has given is made in its home, a volume.
set -eu

fail() {
    echo "$1" >&2
    exit 3
}

# The installation key: made once, whole or not at all. Of two containers that share the volume the first one wins.
key=${INQUEST_KEY_FILE:-$HOME/installation.key}
if [ ! -e "$key" ]; then
    made=$(umask 077; mktemp "$key.XXXXXX") || fail "INQUEST_KEY_FILE: $key is not there, and its folder takes no file"
    od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n' > "$made"
    ln "$made" "$key" 2>/dev/null || true
    rm -f "$made"
fi
export INQUEST_KEY_FILE="$key"

# The database's password, where libpq looks for it: it stands in no URL and in no environment, and `docker compose
# exec inquest inquest list` finds it too.
if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then
    [ -r "$POSTGRES_PASSWORD_FILE" ] || fail "POSTGRES_PASSWORD_FILE: $POSTGRES_PASSWORD_FILE cannot be read by $(id -un)"
    made=$(umask 077; mktemp "$HOME/.pgpass.XXXXXX")
    printf '*:*:*:*:%s\n' "$(sed 's/[\\:]/\\&/g' "$POSTGRES_PASSWORD_FILE")" > "$made"
    mv "$made" "$HOME/.pgpass"
fi

exec inquest "$@"
