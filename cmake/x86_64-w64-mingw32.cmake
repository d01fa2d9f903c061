# Toolchain for 64-bit Windows, with Debian's clang and MinGW; programs run in Wine. It finds Debian's packages of
# header-only libraries. Not g++: it places 32-byte registers on Windows's stack without their alignment (GCC bug
# 54412), and programs with AVX2 then crash at random.
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

# glia_find_headers(PACKAGE FOLDERS TARGET): makes a package of Debian's headers in FOLDERS. They are found through
# links, because the other headers of /usr/include are those of Linux.
function(glia_find_headers package folders target)
  set(headers "${CMAKE_BINARY_DIR}/headers/${package}")
  file(MAKE_DIRECTORY "${headers}")
  foreach(folder IN LISTS folders)
    if(NOT EXISTS "/usr/include/${folder}")
      return()
    endif()
    file(CREATE_LINK "/usr/include/${folder}" "${headers}/${folder}" SYMBOLIC)
  endforeach()
  file(WRITE "${headers}/${package}Config.cmake"
       "if(NOT TARGET ${target})\n  add_library(${target} INTERFACE IMPORTED GLOBAL)\n"
       "  target_include_directories(${target} INTERFACE \"${headers}\")\nendif()\n")
  set(${package}_DIR "${headers}" CACHE PATH "")
endfunction()
get_property(in_try_compile GLOBAL PROPERTY IN_TRY_COMPILE)
if(NOT in_try_compile)
  glia_find_headers(xtensor "xtensor;xtl" xtensor)
  glia_find_headers(xtensor-blas "xtensor-blas;xflens" xtensor-blas)
  glia_find_headers(nlohmann_json nlohmann nlohmann_json::nlohmann_json)
  glia_find_headers(Catch2 catch2 Catch2::Catch2)
  glia_find_headers(CLI11 CLI CLI11::CLI11)
endif()
