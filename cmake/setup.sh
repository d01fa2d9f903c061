#!/usr/bin/env bash
# Installs the system packages that glia's programs need and that are missing.
#
#   cmake/setup.sh             to build and run tests and examples
#   cmake/setup.sh PROCESSOR   also what tests/run_processor PROCESSOR builds and runs with
#   cmake/setup.sh libcxx      also what tests/run_libcxx builds with
#   cmake/setup.sh windows     also what tests/run_windows builds and runs with
#   cmake/setup.sh fuzz        also what tests/run_fuzz builds with
#   cmake/setup.sh ci          also what CI checks with, all that included
#   cmake/setup.sh web         only what examples/web/build and tests/run_web need
#   cmake/setup.sh docs        only what docs/build needs
#
# GLIA_SKIP_SETUP=1 leaves the system alone, for those who provide the packages in another way.
set -euo pipefail

packages=(g++ cmake ninja-build libxtensor-dev libxtensor-blas-dev libopenblas-dev
  catch2 libbenchmark-dev zlib1g-dev libturbojpeg0-dev libpng-dev libzip-dev libhdf5-dev
  libcli11-dev nlohmann-json3-dev gnuplot-nox fonts-dejavu-core libsvm-dev libavformat-dev
  libavcodec-dev libswscale-dev ffmpeg libopenmpi-dev openmpi-bin libonnx-dev
  libprotobuf-dev libonnx-testdata pkg-config)
if [[ "${1:-}" == ci ]]; then
  packages+=(clang-format clang-tidy doxygen python3-venv python3-clang clang-19 libc++-19-dev libc++abi-19-dev)
fi
if [[ "${1:-}" == ci || "${1:-}" == fuzz ]]; then
  packages+=(clang libclang-rt-14-dev)
fi
case "${1:-}" in
  ci | aarch64) packages+=(g++-aarch64-linux-gnu qemu-user) ;;
  i386) packages+=(g++-i686-linux-gnu qemu-user) ;;
  riscv64 | s390x) packages+=("g++-$1-linux-gnu" qemu-user) ;;
  riscv64v) packages+=(g++-riscv64-linux-gnu clang-19 qemu-user) ;;
  libcxx) packages+=(clang-19 libc++-19-dev libc++abi-19-dev) ;;
  windows)
    packages+=(clang-19 lld-19 g++-mingw-w64-x86-64-posix binutils-mingw-w64-x86-64 libz-mingw-w64-dev wine wine64
      python3-pip protobuf-compiler)
    ;;
esac
if [[ "${1:-}" == web ]]; then
  packages=(g++ emscripten nodejs chromium libxtensor-dev nlohmann-json3-dev zlib1g-dev catch2)
fi
if [[ "${1:-}" == docs ]]; then
  packages=(doxygen)
fi

[[ "${GLIA_SKIP_SETUP:-0}" == 1 ]] && exit 0

if ! command -v apt-get dpkg-query >/dev/null; then
  cat >&2 <<'TEXT'
glia: this system has no apt, so the set-up cannot install what is needed. Please provide
  a C++20 compiler (g++ 12, clang 14 or newer), CMake 3.22, Ninja,
  xtensor 0.24, xtensor-blas 0.20, OpenBLAS 0.3.21, zlib 1.2, libjpeg-turbo 2.1 with TurboJPEG,
  libpng 1.6, nlohmann-json 3.11, libzip 1.7, HDF5 1.10.7, FFmpeg 5.0 with its libraries,
  ONNX 1.12 and Protocol Buffers 3.21,
  Catch2 2.13 or 3 (tests), CLI11 2.1 and LIBSVM 3.24 (examples), gnuplot 5.4 (both),
  Google Benchmark 1.7 (benchmarks), pkg-config (tests), Doxygen 1.9.4 (documentation), an MPI 3 (for several machines; not needed otherwise),
and call this again with GLIA_SKIP_SETUP=1.
TEXT
  exit 1
fi

missing=()
installed=$(dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' "${packages[@]}" \
  2>/dev/null || true)
for package in "${packages[@]}"; do
  grep -q "^$package installed$" <<<"$installed" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $EUID -ne 0 ]]; then
  # Without a terminal, sudo could only wait for a password that nobody types.
  if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
    as_root=(sudo)
  else
    echo "glia: these packages are missing, and installing them needs root's rights:" >&2
    printf '  %s\n' "${missing[@]}" >&2
    echo "Ask an administrator for: apt-get install ${missing[*]}" >&2
    exit 1
  fi
fi

echo "glia: installing ${missing[*]}"
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes
  --no-install-recommends "${missing[@]}")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A list of packages that is still fresh saves the update.
if ! "${install[@]}" >"$log" 2>&1; then
  if ! { "${as_root[@]}" apt-get update && "${install[@]}"; } >"$log" 2>&1; then
    cat "$log" >&2
    echo "glia: installing failed (above); missing: ${missing[*]}" >&2
    exit 1
  fi
fi
