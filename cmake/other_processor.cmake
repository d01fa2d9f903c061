# Toolchain for another processor under Linux, with Debian's cross compilers; programs run in QEMU.
#
#   cmake --toolchain cmake/other_processor.cmake -DGLIA_PROCESSOR=PROCESSOR [-DGLIA_EMULATOR=PROGRAM] ...
#
# PROCESSOR is aarch64, i386, riscv64, riscv64v (with vectors, compiled by clang 19) or s390x. PROGRAM is by default
# the system's QEMU.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GLIA_PROCESSOR)
string(REGEX REPLACE "v$" "" CMAKE_SYSTEM_PROCESSOR "${GLIA_PROCESSOR}")
set(CMAKE_SYSTEM_NAME Linux)
set(glia_emulator_options)
set(triple ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
if(GLIA_PROCESSOR STREQUAL "aarch64")
  # A processor without any extension: what runs there runs on all.
  set(glia_emulator_options -cpu cortex-a53)
elseif(GLIA_PROCESSOR STREQUAL "i386")
  set(triple i686-linux-gnu)
  # Registers of the x87 have 80 bits: a result would depend on which numbers stay in them.
  set(CMAKE_CXX_FLAGS_INIT "-msse2 -mfpmath=sse")
elseif(GLIA_PROCESSOR STREQUAL "riscv64v")
  set(glia_emulator_options -cpu rv64,v=true,vlen=128,vext_spec=v1.0)
endif()

if(GLIA_PROCESSOR STREQUAL "riscv64v")
  set(CMAKE_C_COMPILER clang-19)
  set(CMAKE_CXX_COMPILER clang++-19)
  set(CMAKE_C_COMPILER_TARGET ${triple})
  set(CMAKE_CXX_COMPILER_TARGET ${triple})
  # clang warns of what libstdc++ itself uses, and of loops that it does not vectorize.
  set(CMAKE_CXX_FLAGS_INIT "-march=rv64gcv -Wno-deprecated-declarations -Wno-pass-failed")
else()
  set(CMAKE_C_COMPILER ${triple}-gcc)
  set(CMAKE_CXX_COMPILER ${triple}-g++)
endif()
set(GLIA_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR} CACHE STRING "")
# Where this machine runs programs of that processor, too, the loader would find its libraries first.
set(CMAKE_CROSSCOMPILING_EMULATOR
    ${GLIA_EMULATOR} ${glia_emulator_options} -L /usr/${triple} -E LD_LIBRARY_PATH=/usr/${triple}/lib)

# Debian keeps the packages of header-only libraries in the folder of the building machine.
file(GLOB packages /usr/lib/*-linux-gnu/cmake)
list(APPEND CMAKE_PREFIX_PATH ${packages})
