# Files for pkg-config: glia, and glia-NAME for each component. They find their folder by where they
# lie, so that what is installed can be moved.
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH to_prefix "/${pkgconfig_dir}" "/")
string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")

# glia_pkg_config(NAME DESCRIPTION REQUIRES module... FLAGS flag... LIBS flag...)
function(glia_pkg_config name description)
  cmake_parse_arguments(PARSE_ARGV 2 pc "" "" "REQUIRES;FLAGS;LIBS")
  list(JOIN pc_REQUIRES " " requires)
  list(JOIN pc_FLAGS " " flags)
  list(JOIN pc_LIBS " " libs)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc" @ONLY CONTENT
       "prefix=\${pcfiledir}/@to_prefix@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@

Name: @name@
Description: @description@
Version: @PROJECT_VERSION@
Requires: @requires@
Cflags: @flags@
Libs: @libs@
")
  install(FILES "${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc" DESTINATION "${pkgconfig_dir}")
endfunction()

if(GLIA_COMPILED)
  glia_pkg_config(glia-compiled "glia::compiled, ready-built" REQUIRES glia FLAGS -DGLIA_COMPILED
                  LIBS [[-L${libdir}]] -lglia_compiled)
endif()
if(GLIA_C)
  glia_pkg_config(glia-c "the C interface of glia" FLAGS [[-I${includedir}]] LIBS [[-L${libdir}]] -lglia)
endif()
set(requires xtensor ${glia_blas_module})
list(REMOVE_ITEM requires none)
set(libraries -pthread)
if(glia_blas STREQUAL "Accelerate")
  list(APPEND libraries -framework Accelerate)
endif()
glia_pkg_config(glia "${PROJECT_DESCRIPTION}" REQUIRES ${requires}
                FLAGS [[-I${includedir}]] -DGLIA_BLAS_${glia_blas_upper} -pthread LIBS ${libraries})
foreach(component IN LISTS glia_components)
  glia_pkg_config(glia-${component} "glia's component ${component}"
                  REQUIRES ${glia_${component}_pc_requires} FLAGS ${glia_${component}_pc_flags}
                  LIBS ${glia_${component}_pc_libs})
endforeach()
