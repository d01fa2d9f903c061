# A Debian package, libglia-dev: cmake --build build && (cd build && cpack -G DEB).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libglia-dev)
set(CPACK_PACKAGE_VENDOR "the glia authors")
set(CPACK_PACKAGE_CONTACT "the glia authors <glia@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Neural networks in C++20, on xtensor (headers)")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libxtensor-dev (>= 0.24)")
if(NOT glia_blas_package STREQUAL "none")
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libxtensor-blas-dev (>= 0.20), ${glia_blas_package}")
endif()
# What the components need, of which a program uses those that it links.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "zlib1g-dev, libturbojpeg0-dev, libpng-dev, nlohmann-json3-dev, libzip-dev, libhdf5-dev, libavformat-dev, libavcodec-dev, libswscale-dev, libopenmpi-dev, libonnx-dev, libprotobuf-dev, gnuplot-nox")
if(NOT GLIA_COMPILED AND NOT GLIA_C AND NOT GLIA_COMMAND)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
endif()
if(GLIA_COMMAND)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries that the command links
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/libglia-dev"
        RENAME copyright)
include(CPack)
