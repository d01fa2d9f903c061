# glia::c: the C interface as a shared library, libglia, whose only symbols are those of glia/c/glia.h.
#
# Several versions of it can be loaded into one process: its symbols have a version, and nothing in it is
# shared with another copy.
if(NOT CMAKE_CXX_COMPILER_LOADED OR NOT TARGET glia::compiled OR NOT TARGET glia::safetensors OR TARGET glia::c)
  return()
endif()
get_filename_component(glia_c_folder "${glia_compiled_folder}/../c" ABSOLUTE)

# glia_add_c_library(TARGET)
function(glia_add_c_library target)
  add_library(${target} SHARED EXCLUDE_FROM_ALL "${glia_c_folder}/glia.cpp")
  glia_compile_for_others(${target})
  target_link_libraries(${target} PRIVATE glia::compiled glia::safetensors)
  target_include_directories(${target} INTERFACE $<TARGET_PROPERTY:glia::glia,INTERFACE_INCLUDE_DIRECTORIES>)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME glia CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON)
  if(glia_VERSION)
    set_target_properties(${target} PROPERTIES VERSION ${glia_VERSION} SOVERSION 1)  # as in exported.map
  endif()
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(${target} PRIVATE "LINKER:--version-script=${glia_c_folder}/exported.map"
                                          LINKER:-Bsymbolic LINKER:--gc-sections)
  endif()
endfunction()

glia_add_c_library(glia_c)
add_library(glia::c ALIAS glia_c)
