# Installs the headers, and a package that find_package(glia) finds: on any architecture, as long as
# nothing in it is compiled.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/glia")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/glia" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS glia EXPORT gliaTargets)
install(EXPORT gliaTargets NAMESPACE glia:: DESTINATION "${package_dir}")
foreach(component IN LISTS glia_components)
  install(TARGETS glia_${component} EXPORT glia_${component})
  install(EXPORT glia_${component} NAMESPACE glia:: DESTINATION "${package_dir}")
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/cmake/gliaBuildType.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/gliaCompiled.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/gliaC.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/gliaEmbed.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindFFmpeg.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindTurboJPEG.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindLibZip.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindLibHDF5.cmake" DESTINATION "${package_dir}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/cmake/no_lapack" DESTINATION "${package_dir}")

# Ready-built, for compilers that name what is in it alike: of the same kind and main version.
set(glia_ready_built_for)
set(architecture ARCH_INDEPENDENT)
if(GLIA_COMPILED)
  string(REGEX MATCH "^[0-9]+" version "${CMAKE_CXX_COMPILER_VERSION}")
  set(glia_ready_built_for "${CMAKE_CXX_COMPILER_ID} ${version} for ${CMAKE_SYSTEM_PROCESSOR}")
  set(architecture)
  set_target_properties(glia_compiled PROPERTIES EXCLUDE_FROM_ALL OFF EXPORT_NAME compiled)
  install(TARGETS glia_compiled EXPORT glia_ready_built)
  install(EXPORT glia_ready_built NAMESPACE glia:: DESTINATION "${package_dir}")
endif()

# The C interface, for programs in other languages.
if(GLIA_C)
  install(TARGETS glia_c DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  set(architecture)
endif()

# The command, with its completion for Bash.
if(GLIA_COMMAND)
  install(TARGETS glia_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  if(NOT CMAKE_CROSSCOMPILING)
    install(FILES "${PROJECT_BINARY_DIR}/glia.bash"
            DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions" RENAME glia)
  endif()
  set(architecture)
endif()

list(JOIN glia_components ", " glia_component_names)
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/gliaConfig.cmake.in" "${PROJECT_BINARY_DIR}/gliaConfig.cmake"
  INSTALL_DESTINATION "${package_dir}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/gliaConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ${architecture})
install(FILES "${PROJECT_BINARY_DIR}/gliaConfig.cmake"
              "${PROJECT_BINARY_DIR}/gliaConfigVersion.cmake" DESTINATION "${package_dir}")
