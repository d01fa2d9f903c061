# Optional components: targets glia::NAME, each there where all PACKAGES that it needs are found.
#
#   glia_component(NAME PACKAGES package... LIBRARIES target...)
#
# glia_components lists those that are there, glia_missing_components the others, and
# glia_component_packages what gliaConfig.cmake has to find for each.
set(glia_components)
set(glia_missing_components)
set(glia_component_packages)

function(glia_component name)
  cmake_parse_arguments(PARSE_ARGV 1 component "" "" "PACKAGES;LIBRARIES")
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
  set(glia_components ${glia_components} ${name} PARENT_SCOPE)
  set(glia_component_packages
      "${glia_component_packages}set(glia_${name}_packages ${component_PACKAGES})\n" PARENT_SCOPE)
endfunction()
