# Optional components: targets glia::NAME, each there where all PACKAGES that it needs are found.
#
#   glia_component(NAME [COMPONENTS component...] PACKAGES package... LIBRARIES target...
#                  [PC_REQUIRES module...] [PC_FLAGS flag...] [PC_LIBS flag...])
#
# COMPONENTS are those it builds on, which stand before it. PC_REQUIRES, PC_FLAGS and PC_LIBS are
# what its file for pkg-config says: modules of others, flags to compile and to link.
#
# glia_components lists those that are there, glia_missing_components the others, and
# glia_component_packages what gliaConfig.cmake has to find for each.
set(glia_components)
set(glia_missing_components)
set(glia_component_packages)

function(glia_component name)
  cmake_parse_arguments(PARSE_ARGV 1 component "" ""
                        "COMPONENTS;PACKAGES;LIBRARIES;PC_REQUIRES;PC_FLAGS;PC_LIBS")
  foreach(other IN LISTS component_COMPONENTS)
    if(NOT TARGET glia_${other})
      message(STATUS "glia::${name} is left out: it builds on glia::${other}")
      set(glia_missing_components ${glia_missing_components} ${name} PARENT_SCOPE)
      return()
    endif()
    list(APPEND component_LIBRARIES glia_${other})
  endforeach()
  foreach(package IN LISTS component_PACKAGES)
    find_package(${package} QUIET)
    if(NOT ${package}_FOUND)
      message(STATUS "glia::${name} is left out: ${package} was not found")
      set(glia_missing_components ${glia_missing_components} ${name} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  add_library(glia_${name} INTERFACE)
  add_library(glia::${name} ALIAS glia_${name})
  set_target_properties(glia_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(glia_${name} INTERFACE glia ${component_LIBRARIES})
  list(TRANSFORM component_COMPONENTS PREPEND "glia-" OUTPUT_VARIABLE bases)
  set(glia_${name}_pc_requires glia ${bases} ${component_PC_REQUIRES} PARENT_SCOPE)
  set(glia_${name}_pc_flags ${component_PC_FLAGS} PARENT_SCOPE)
  set(glia_${name}_pc_libs ${component_PC_LIBS} PARENT_SCOPE)
  set(glia_components ${glia_components} ${name} PARENT_SCOPE)
  set(glia_component_packages
      "${glia_component_packages}set(glia_${name}_packages ${component_PACKAGES})
set(glia_${name}_components ${component_COMPONENTS})\n" PARENT_SCOPE)
endfunction()
