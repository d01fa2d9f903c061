# Finds HDF5's library of C without MPI: LibHDF5::LibHDF5, LibHDF5_FOUND. CMake's own module asks a
# compiler of C, too. Debian keeps the headers in a folder of its own.
find_path(LibHDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(LibHDF5_LIBRARY NAMES hdf5_serial hdf5)
mark_as_advanced(LibHDF5_INCLUDE_DIR LibHDF5_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibHDF5 REQUIRED_VARS LibHDF5_LIBRARY LibHDF5_INCLUDE_DIR)

if(LibHDF5_FOUND AND NOT TARGET LibHDF5::LibHDF5)
  add_library(LibHDF5::LibHDF5 UNKNOWN IMPORTED)
  set_target_properties(
    LibHDF5::LibHDF5 PROPERTIES IMPORTED_LOCATION "${LibHDF5_LIBRARY}"
                                INTERFACE_INCLUDE_DIRECTORIES "${LibHDF5_INCLUDE_DIR}")
endif()
