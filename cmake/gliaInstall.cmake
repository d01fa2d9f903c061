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
              "${PROJECT_SOURCE_DIR}/cmake/FindFFmpeg.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindTurboJPEG.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindLibZip.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindLibHDF5.cmake" DESTINATION "${package_dir}")

list(JOIN glia_components ", " glia_component_names)
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/gliaConfig.cmake.in" "${PROJECT_BINARY_DIR}/gliaConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
set(architecture ARCH_INDEPENDENT)
if(GLIA_COMPILED)
  set(architecture)
endif()
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/gliaConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ${architecture})
install(FILES "${PROJECT_BINARY_DIR}/gliaConfig.cmake"
              "${PROJECT_BINARY_DIR}/gliaConfigVersion.cmake" DESTINATION "${package_dir}")
