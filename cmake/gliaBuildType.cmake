# Warns a project that builds without optimization because it never said how to build; GLIA_QUIET turns
# it off.
get_property(glia_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT glia_multi_config AND NOT CMAKE_BUILD_TYPE AND NOT "${CMAKE_CXX_FLAGS}" MATCHES "-O" AND NOT GLIA_QUIET)
  message(WARNING "CMAKE_BUILD_TYPE is empty, so programs are built without optimization, and glia is some ten "
                  "times slower for it. Configure with -DCMAKE_BUILD_TYPE=Release, or with -DGLIA_QUIET=ON "
                  "if it is meant so.")
endif()
unset(glia_multi_config)
