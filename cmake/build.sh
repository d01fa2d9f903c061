#!/usr/bin/env bash
# Configures build/ if that is still to be done, or if it was without these options, and builds targets, quietly unless
# they fail.
#
#   cmake/build.sh [-DOPTION=VALUE...] [TARGET...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake/setup.sh
log=build/build.log
mkdir -p build
# One build at a time, where several programs are started at once.
exec 9>build/.lock
! command -v flock >/dev/null || flock 9

quietly() {
  if ! "$@" >"$log" 2>&1; then
    grep -vE '^\[[0-9]+/[0-9]+\]' "$log" >&2 || true # the steps that went well
    echo "glia: failed: $*" >&2
    exit 1
  fi
}

options=()
while [[ ${1:-} == -D* ]]; do
  options+=("$1")
  shift
done
if [[ ! -f build/build.ninja ]]; then
  quietly cmake --preset default "${options[@]}"
fi
for option in "${options[@]}"; do
  name=${option#-D} value=${option#*=}
  grep -qE "^${name%%=*}:[A-Z]+=$value\$" build/CMakeCache.txt || quietly cmake "$option" build
done
# Only what takes a while is announced.
{ sleep 2 >/dev/null 2>&1 && echo "glia: building ${*:-everything}" >&2; } 9>&- &
announcement=$!
trap 'kill $announcement 2>/dev/null || true' EXIT
quietly cmake --build build --target "${@:-all}"
