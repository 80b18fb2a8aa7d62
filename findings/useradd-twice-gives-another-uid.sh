#!/usr/bin/env bash
# Debian's passwd 4.13: of two `useradd NAME` at once both succeed, and the second replaces the first's entry by one with
# another uid, so processes that run as the first have no name ("could not look up effective user ID"). Guessed: it locks
# /etc/passwd, so the second fails with 9, "already exists", as it does a moment later. Needs root; touches no user here.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
dpkg-query --show passwd
mkdir "$folder/etc"
cp /etc/login.defs "$folder/etc/"
empty() { for file in passwd group shadow gshadow; do : > "$folder/etc/$file"; done; }
add() { useradd --prefix "$folder" --system server 2> "$folder/said"; }
uid() { cut -d: -f3 "$folder/etc/passwd"; }
empty
add
alone=$(uid)
changed=0
for _ in $(seq 20); do
    empty
    add & first=$!
    add & second=$!
    if wait "$first" && wait "$second" && [ "$(uid)" != "$alone" ]; then changed=$((changed + 1)); fi
    wait
done
later=0
add || later=$?
echo "alone: uid $alone; of 20 pairs at once, both succeeded and left another uid: $changed; once more: $later, $(cat "$folder/said")"
test "$changed" -gt 0 -a "$later" = 9
