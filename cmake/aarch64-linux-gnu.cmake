# Toolchain for 64-bit ARM under Linux, with Debian's cross compiler; programs run in QEMU.
#
#   cmake --toolchain cmake/aarch64-linux-gnu.cmake -DCMAKE_LIBRARY_PATH=FOLDER ...
#
# FOLDER holds OpenBLAS for that processor.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# A processor without any extension: what runs there runs on all.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu cortex-a53 -L /usr/aarch64-linux-gnu)

# Debian keeps the packages of header-only libraries in the folder of the building machine.
file(GLOB packages /usr/lib/*-linux-gnu/cmake)
list(APPEND CMAKE_PREFIX_PATH ${packages})
