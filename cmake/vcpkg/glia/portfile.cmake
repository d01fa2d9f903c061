# A port of this checkout: vcpkg install glia --overlay-ports=CHECKOUT/cmake/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# A component is there where its libraries are found; those of others' features are not looked for.
vcpkg_check_features(
  OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES compiled GLIA_COMPILED
  INVERTED_FEATURES
    compression CMAKE_DISABLE_FIND_PACKAGE_ZLIB
    hdf5 CMAKE_DISABLE_FIND_PACKAGE_LibHDF5
    image CMAKE_DISABLE_FIND_PACKAGE_TurboJPEG
    mpi CMAKE_DISABLE_FIND_PACKAGE_MPI
    npz CMAKE_DISABLE_FIND_PACKAGE_LibZip
    onnx CMAKE_DISABLE_FIND_PACKAGE_ONNX
    safetensors CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json
    video CMAKE_DISABLE_FIND_PACKAGE_FFmpeg)
set(blas none)
if("openblas" IN_LIST FEATURES)
  set(blas OpenBLAS)
endif()
if(NOT "compiled" IN_LIST FEATURES)
  set(VCPKG_BUILD_TYPE release) # headers are alike in all kinds of builds
endif()

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DGLIA_BUILD_TESTS=OFF -DGLIA_BUILD_EXAMPLES=OFF -DGLIA_BUILD_BENCHMARKS=OFF -DGLIA_BLAS=${blas}
          ${FEATURE_OPTIONS}
  MAYBE_UNUSED_VARIABLES CMAKE_DISABLE_FIND_PACKAGE_FFmpeg)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/glia)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
