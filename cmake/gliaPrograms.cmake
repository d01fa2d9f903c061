# glia's own programs: the library's users get none of these settings.

# glia_add_program(NAME SOURCE... [COMPILED] LINK LIBRARY...)
#
# COMPILED links glia::compiled.
function(glia_add_program name)
  cmake_parse_arguments(arg "COMPILED" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  if(MINGW)
    target_sources(${name} PRIVATE "${glia_SOURCE_DIR}/cmake/windows.rc")
  endif()
  if(arg_COMPILED)
    target_link_libraries(${name} PRIVATE glia::compiled)
  endif()
  target_link_libraries(${name} PRIVATE glia::glia ${arg_LINK})
  glia_set_warnings(${name})
endfunction()

function(glia_set_warnings name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 sees overlapping copies in every std::string concatenation (GCC bug 105329).
    target_compile_options(${name} PRIVATE -Wno-restrict)
  endif()
  if(GLIA_WARNINGS_AS_ERRORS)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
endfunction()

# Programs that begin with the same headers have them compiled once.
#
# glia_share_headers("PROGRAM;..." HEADER...)
function(glia_share_headers programs)
  list(POP_FRONT programs first)
  target_precompile_headers(${first} PRIVATE ${ARGN})
  foreach(program IN LISTS programs)
    target_precompile_headers(${program} REUSE_FROM ${first})
  endforeach()
endfunction()
