# Checks what the compiler says of programs that must not compile: the first error has the text after
# "expects:" in the program's first line. And of builds with options that cost, which must compile.
#
#   cmake -DCOMPILER=g++ -DINCLUDE=include -P run.cmake
# With the declarations of glia::compiled, which are read in half the time.
set(compile "${COMPILER}" -std=c++20 -fsyntax-only -DGLIA_COMPILED -I "${INCLUDE}")

file(GLOB programs "${CMAKE_CURRENT_LIST_DIR}/*.cpp")
foreach(program IN LISTS programs)
  file(STRINGS "${program}" first LIMIT_COUNT 1)
  string(REGEX REPLACE "^// expects: " "" expected "${first}")
  execute_process(
    COMMAND ${compile} "${program}" RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
  string(REGEX MATCH "error:[^\n]*" error "${said}")
  string(FIND "${error}" "${expected}" found)
  if(status EQUAL 0 OR found EQUAL -1)
    message(SEND_ERROR "${program}: expected an error with \"${expected}\", got\n${said}")
  endif()
endforeach()

function(expect_message wanted text)
  execute_process(
    COMMAND ${compile} ${ARGN} -Wall -Wextra -Wpedantic -Werror -include
            "${INCLUDE}/glia/core/build_options.hpp" -x c++ /dev/null
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
  string(FIND "${said}" "glia is compiled without ${text}" found)
  if(found EQUAL -1)
    set(shown FALSE)
  else()
    set(shown TRUE)
  endif()
  if(NOT status EQUAL 0 OR NOT shown STREQUAL wanted)
    message(SEND_ERROR "core/build_options.hpp with ${ARGN}: status ${status}, it said\n${said}")
  endif()
endfunction()
expect_message(TRUE "optimization" -O0)
expect_message(TRUE "NaN and infinity" -O2 -ffast-math)
expect_message(FALSE "" -DGLIA_QUIET -ffast-math)
expect_message(FALSE "" -O2)
