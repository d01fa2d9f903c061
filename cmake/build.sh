#!/usr/bin/env bash
# Configures build/ if that is still to be done and builds targets, quietly unless they fail.
#
#   cmake/build.sh [TARGET...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake/setup.sh
log=build/build.log
mkdir -p build

quietly() {
  if ! "$@" >"$log" 2>&1; then
    grep -vE '^\[[0-9]+/[0-9]+\]' "$log" >&2 || true # the steps that went well
    echo "glia: failed: $*" >&2
    exit 1
  fi
}

[[ -f build/build.ninja ]] || quietly cmake --preset default
# Ninja is asked first, so that nothing is announced when nothing is to be done.
if ! ninja -C build -n "$@" 2>/dev/null | grep -q 'no work to do'; then
  echo "glia: building ${*:-everything}" >&2
  quietly cmake --build build --target "${@:-all}"
fi
