# Toolchain for 64-bit Windows, with Debian's clang and MinGW; programs run in Wine. Not g++: it places
# 32-byte registers on Windows's stack without their alignment (GCC bug 54412), which ends programs with
# AVX2 at random; what it builds must stay with the instructions of all processors.
#
#   cmake --toolchain cmake/x86_64-w64-mingw32.cmake -DGLIA_BLAS=none ...
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET x86_64-w64-mingw32)
endforeach()
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
# A program is one file, which needs no other library than those of Windows.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld -static")
set(CMAKE_CXX_STANDARD_LIBRARIES "-lstdc++ -lwinpthread" CACHE STRING "")

set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR wine)
