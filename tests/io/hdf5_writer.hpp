#pragma once

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <glia/io/hdf5_calls.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace test {

using glia::detail::hdf5_id;

/// A type of HDF5's for half precision: no release before 1.14.4 has one.
inline hdf5_id hdf5_half() {
  hdf5_id type(H5Tcopy(H5T_IEEE_F32LE), &H5Tclose);
  H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), 15);
  return type;
}

template <class T>
hid_t hdf5_native() {
  if constexpr (std::is_same_v<T, float>) {
    return H5T_NATIVE_FLOAT;
  } else if constexpr (std::is_same_v<T, double>) {
    return H5T_NATIVE_DOUBLE;
  } else if constexpr (std::is_signed_v<T>) {
    return sizeof(T) == 1   ? H5T_NATIVE_INT8
           : sizeof(T) == 2 ? H5T_NATIVE_INT16
           : sizeof(T) == 4 ? H5T_NATIVE_INT32
                            : H5T_NATIVE_INT64;
  } else {
    return sizeof(T) == 1   ? H5T_NATIVE_UINT8
           : sizeof(T) == 2 ? H5T_NATIVE_UINT16
           : sizeof(T) == 4 ? H5T_NATIVE_UINT32
                            : H5T_NATIVE_UINT64;
  }
}

/// An HDF5 file that is written until this goes. The same calls write the same bytes.
class hdf5_writer {
 public:
  /// With the structures of the newest format that the library has, or of the oldest, as by h5py.
  explicit hdf5_writer(const std::filesystem::path& path, bool newest = false) {
    H5Pset_libver_bounds(access_.get(), newest ? H5F_LIBVER_LATEST : H5F_LIBVER_EARLIEST,
                         H5F_LIBVER_LATEST);
    for (const hdf5_id* created : {&created_, &groups_, &layout_}) {
      H5Pset_obj_track_times(created->get(), false);
    }
    file_ = hdf5_id(expect(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, created_.get(), access_.get())),
                    &H5Fclose);
  }

  [[nodiscard]] hid_t file() const { return file_.get(); }
  /// How the next data sets are laid out.
  [[nodiscard]] hid_t layout() const { return layout_.get(); }

  /// A group, and those that it is in.
  void add_group(const std::string& name) {
    for (std::size_t end = 0; end != std::string::npos;) {
      end = name.find('/', end + 1);
      const std::string group = name.substr(0, end);
      if (H5Lexists(file(), group.c_str(), H5P_DEFAULT) <= 0) {
        const hdf5_id added(
            expect(H5Gcreate2(file(), group.c_str(), H5P_DEFAULT, groups_.get(), H5P_DEFAULT)),
            &H5Gclose);
      }
    }
  }

  /// A data set whose elements are not written.
  hdf5_id declare(const std::string& name, hid_t type, const std::vector<hsize_t>& extents,
                  const std::vector<hsize_t>& max_extents = {}) {
    if (const std::size_t end = name.rfind('/'); end != std::string::npos) {
      add_group(name.substr(0, end));
    }
    const hdf5_id space(extents.empty()
                            ? H5Screate(H5S_SCALAR)
                            : H5Screate_simple(static_cast<int>(extents.size()), extents.data(),
                                               max_extents.empty() ? nullptr : max_extents.data()),
                        &H5Sclose);
    return {expect(H5Dcreate2(file(), name.c_str(), type, space.get(), H5P_DEFAULT, layout_.get(),
                              H5P_DEFAULT)),
            &H5Dclose};
  }

  /// A data set of the elements `values`, which the library makes numbers of the type `stored`.
  template <class T>
  void add_as(hid_t stored, const std::string& name, const std::vector<T>& values,
              const std::vector<hsize_t>& extents, hid_t memory_type = hdf5_native<T>()) {
    const hdf5_id data = declare(name, stored, extents);
    expect(H5Dwrite(data.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  }
  void add(const std::string& name, const std::vector<float>& values,
           const std::vector<hsize_t>& extents) {
    add_as(H5T_IEEE_F32LE, name, values, extents);
  }
  void add(const std::string& name, const std::vector<float>& values) {
    add(name, values, {values.size()});
  }

  /// A text as h5py writes it: of variable length.
  void add_text(const std::string& object, const std::string& name, const std::string& value) {
    const hdf5_id target(expect(H5Oopen(file(), object.c_str(), H5P_DEFAULT)), &H5Oclose);
    const hdf5_id type(H5Tcopy(H5T_C_S1), &H5Tclose);
    H5Tset_size(type.get(), H5T_VARIABLE);
    const hdf5_id space(H5Screate(H5S_SCALAR), &H5Sclose);
    const hdf5_id attribute(expect(H5Acreate2(target.get(), name.c_str(), type.get(), space.get(),
                                              H5P_DEFAULT, H5P_DEFAULT)),
                            &H5Aclose);
    const char* characters = value.c_str();
    expect(H5Awrite(attribute.get(), type.get(), &characters));
  }

 private:
  template <class Result>
  static Result expect(Result result) {
    if (result < 0) {
      throw std::runtime_error("a file of HDF5 could not be written");
    }
    return result;
  }

  hdf5_id access_{H5Pcreate(H5P_FILE_ACCESS), &H5Pclose};
  hdf5_id created_{H5Pcreate(H5P_FILE_CREATE), &H5Pclose};
  hdf5_id groups_{H5Pcreate(H5P_GROUP_CREATE), &H5Pclose};
  hdf5_id layout_{H5Pcreate(H5P_DATASET_CREATE), &H5Pclose};
  hdf5_id file_{H5I_INVALID_HID, &H5Fclose};
};

}  // namespace test
