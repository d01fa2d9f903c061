#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/bit_cast.hpp"
#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/core/representable.hpp"
#include "glia/core/shape.hpp"
#include "glia/io/hdf5_calls.hpp"
#include "glia/io/tensor_map.hpp"

namespace glia::detail {

/// Reads the data sets of one HDF5 file. Declared sizes are checked before memory is allocated. No
/// other file is opened, even if this one refers to others.
class hdf5_reader {
 public:
  explicit hdf5_reader(const std::filesystem::path& path) : path_(path.string()) {
    require_no_folder(path);
    require<data_error>(std::ifstream(path, std::ios::binary).is_open(), path_,
                        ": the file cannot be opened for reading");
    const hdf5_id access(H5Pcreate(H5P_FILE_ACCESS), &H5Pclose);
    // On file systems without locks, no file could be opened otherwise.
    H5Pset_file_locking(access.get(), true, true);
    file_ = hdf5_id(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, access.get()), &H5Fclose);
    if (!file_) {
      throw data_error(text(path_,
                            ": expected an HDF5 file; the file is in another format, damaged or "
                            "truncated (",
                            hdf5_failure(), ")"));
    }
    std::error_code unknown;
    size_ = std::filesystem::file_size(path, unknown);
    find_data_sets();
  }

  /// Returns the full names of the numeric data sets.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const data_set& d : found_) {
      result.push_back(d.name);
    }
    return result;
  }

  /// Reads the data sets for which `name_in_result(name)` returns a name.
  template <class Rename>
  [[nodiscard]] tensor_map read(std::uint64_t max_bytes, const Rename& name_in_result) const {
    tensor_map tensors;
    std::vector<place> places;
    std::uint64_t total = 0;
    for (const data_set& d : found_) {
      if (std::optional<std::string> name = name_in_result(d.name)) {
        try {
          require<unreadable_elements>(d.kind != element_kind::elsewhere, called(d.name),
                                       ": the elements are in other files, which glia does not "
                                       "open; write them into this file");
          places.push_back({*name, &d, extents_of(d)});
          require_sizes(places.back(), max_bytes, total);
        } catch (const unreadable_elements& e) {
          tensors.add_unreadable(*name, e.what());
        }
      }
    }
    for (place& p : places) {
      const std::string location = called(p.source->name);
      require<data_error>(!tensors.is_in_file(p.name), location,
                          ": another data set gets the same name, '", p.name, "'");
      try {
        tensors.emplace(p.name, within_memory(location, [&] { return elements(p, location); }));
      } catch (const unreadable_elements& e) {
        tensors.add_unreadable(p.name, e.what());
      }
    }
    return tensors;
  }

 private:
  static constexpr std::size_t max_name = 4096;   // bytes, including the groups' names
  static constexpr std::size_t max_element = 16;  // bytes

  enum class element_kind : std::uint8_t {
    number,
    wide_float,
    integer,
    wide_integer,
    bfloat16,
    elsewhere  ///< Elements in other files.
  };

  struct data_set {
    std::string name;
    hdf5_id id;
    element_kind kind;
  };

  /// A data set to be read.
  struct place {
    std::string name;  // name in the result
    const data_set* source;
    shape extents;
  };

  [[nodiscard]] std::string called(const std::string& name) const {
    return path_ + ": data set '" + name + "'";
  }

  [[nodiscard]] std::string called_group(const std::string& prefix) const {
    return path_ + ": group '/" + prefix + "'";
  }

  [[nodiscard]] static data_error failure_of(const std::string& location) {
    return data_error(
        text(location, ": reading failed (", hdf5_failure(), "); is the file damaged?"));
  }

  [[nodiscard]] static hdf5_id known(hdf5_id id, const std::string& location) {
    if (!id) {
      throw failure_of(location);
    }
    return id;
  }

  /// Finds all data sets, breadth first, so that a group with several names gets the name with the
  /// fewest parent groups. Each group is visited once, so that the search ends even if links form a
  /// cycle.
  void find_data_sets() {
    std::set<std::string> visited;
    std::deque<std::pair<std::string, hdf5_id>> groups;
    groups.emplace_back("", known({H5Oopen(file_.get(), "/", H5P_DEFAULT), &H5Oclose}, path_));
    for (; !groups.empty(); groups.pop_front()) {
      const auto& [prefix, group] = groups.front();
      const std::string identity = hdf5_identity(group.get());
      if (identity.empty()) {
        throw failure_of(called_group(prefix));
      }
      if (!visited.insert(identity).second) {
        continue;
      }
      for (const std::string& link : links(prefix, group)) {
        const std::string name = prefix + link;
        require<data_error>(name.size() <= max_name && link.find('/') == std::string::npos, path_,
                            ": expected names without '/' and, including the groups' names, of at "
                            "most ",
                            max_name, " bytes, got one of ", name.size(),
                            " bytes; the file is damaged");
        hdf5_id object = known({H5Oopen(group.get(), link.c_str(), H5P_DEFAULT), &H5Oclose},
                               path_ + ": '" + name + "'");
        const H5I_type_t type = H5Iget_type(object.get());
        if (type == H5I_GROUP) {
          groups.emplace_back(name + "/", std::move(object));
        } else if (type == H5I_DATASET) {
          if (const auto kind = kind_of(name, object)) {
            found_.push_back({name, std::move(object), *kind});
          }
        }
      }
    }
  }

  /// Returns the names of the hard links of a group. Soft links are skipped because they may lead
  /// through external links to other files.
  [[nodiscard]] std::vector<std::string> links(const std::string& prefix,
                                               const hdf5_id& group) const {
    std::vector<std::string> names;
    const auto add = [](hid_t, const char* name, const hdf5_link* link,
                        void* destination) -> herr_t {
      try {
        if (link->type == H5L_TYPE_HARD) {
          static_cast<std::vector<std::string>*>(destination)->emplace_back(name);
        }
        return 0;
      } catch (const std::bad_alloc&) {  // exceptions must not pass through the C library
        return -1;
      }
    };
    if (hdf5_for_each_link(group.get(), add, &names) < 0) {
      throw failure_of(called_group(prefix));
    }
    // Sorted here, because the library's own sorting leaves entries of its tables unset for damaged
    // files.
    std::sort(names.begin(), names.end());
    return names;
  }

  /// Returns the kind of a data set's elements, or `std::nullopt` if they are not numbers.
  [[nodiscard]] std::optional<element_kind> kind_of(const std::string& name,
                                                    const hdf5_id& object) const {
    const std::string location = called(name);
    const hdf5_id created = known({H5Dget_create_plist(object.get()), &H5Pclose}, location);
    // Checked first, because other calls would make the library open these files.
    if (H5Pget_external_count(created.get()) != 0 || H5Pget_layout(created.get()) == H5D_VIRTUAL) {
      return element_kind::elsewhere;
    }
    const hdf5_id space = known({H5Dget_space(object.get()), &H5Sclose}, location);
    if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
      return std::nullopt;
    }
    const hdf5_id type = known({H5Dget_type(object.get()), &H5Tclose}, location);
    const H5T_class_t kind = H5Tget_class(type.get());
    const std::size_t size = H5Tget_size(type.get());
    if (kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_ENUM) {
      require<data_error>(size <= max_element, location, ": expected numbers of at most ",
                          max_element, " bytes, got ", size, "; the file is damaged");
      // A float holds all values of shorter integers and floats; enumerations are small.
      if (kind == H5T_INTEGER && size > 2) {
        return size > sizeof(std::int64_t) ? element_kind::wide_integer : element_kind::integer;
      }
      return kind == H5T_FLOAT && size > sizeof(float) ? element_kind::wide_float
                                                       : element_kind::number;
    }
    // Keras 3 writes bfloat16 as opaque elements with the attribute "dtype", and nothing else as
    // opaque. The text of the attribute is not read: release 1.10.8 crashes on damaged texts.
    const bool bfloat16 =
        kind == H5T_OPAQUE && size == sizeof(std::uint16_t) && H5Aexists(object.get(), "dtype") > 0;
    return bfloat16 ? std::optional(element_kind::bfloat16) : std::nullopt;
  }

  [[nodiscard]] shape extents_of(const data_set& d) const {
    const std::string location = called(d.name);
    const hdf5_id space = known({H5Dget_space(d.id.get()), &H5Sclose}, location);
    const int rank = H5Sget_simple_extent_ndims(space.get());
    if (rank < 0) {
      throw failure_of(location);
    }
    require<unreadable_elements>(static_cast<std::size_t>(rank) <= shape::max_rank, location,
                                 ": expected at most ", shape::max_rank, " axes, got ", rank);
    std::array<hsize_t, shape::max_rank> extents{};
    if (H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr) < 0) {
      throw failure_of(location);
    }
    return {extents.begin(), extents.begin() + rank};
  }

  /// Throws `data_error` if a data set declares more bytes than the file has, or more than
  /// `max_bytes` allows. `total` is the number of bytes of the data sets checked so far.
  void require_sizes(const place& p, std::uint64_t max_bytes, std::uint64_t& total) const {
    const std::string location = called(p.source->name);
    require<data_error>(fits_memory(p.extents, sizeof(float)), location, ": the shape ", p.extents,
                        " is larger than any machine's memory; the file is damaged");
    const std::size_t bytes = p.extents.size() * sizeof(float);
    require<data_error>(bytes <= max_bytes - total, location, " takes ", bytes,
                        " bytes as floats, ", total == 0 ? "" : "with the data sets before it ",
                        "more than the ", max_bytes,
                        " that are allowed; if you trust the file, raise hdf5_options::max_bytes");
    total += bytes;

    const hid_t id = p.source->id.get();
    const hdf5_id created = known({H5Dget_create_plist(id), &H5Pclose}, location);
    const hdf5_id type = known({H5Dget_type(id), &H5Tclose}, location);
    const std::size_t element = H5Tget_size(type.get());
    const hsize_t stored = H5Dget_storage_size(id);
    bool whole = stored <= size_;
    if (H5Pget_layout(created.get()) == H5D_CHUNKED) {
      const hdf5_id space = known({H5Dget_space(id), &H5Sclose}, location);
      std::array<hsize_t, shape::max_rank> chunk{};
      std::array<hsize_t, shape::max_rank> max_extents{};
      const auto rank = static_cast<int>(p.extents.rank());
      bool fits = H5Pget_chunk(created.get(), rank, chunk.data()) == rank &&
                  H5Sget_simple_extent_dims(space.get(), nullptr, max_extents.data()) == rank;
      for (std::size_t axis = 0; axis < p.extents.rank(); ++axis) {
        fits = fits && chunk[axis] <= max_extents[axis];
      }
      // The library trusts the declared shape of chunks and does not compare it with their data.
      const shape extents(chunk.begin(), chunk.begin() + rank);
      require<data_error>(fits, location, ": the elements are in chunks of the shape ", extents,
                          ", larger than the data set can be; the file is damaged");
      require<data_error>(fits_memory(extents, element) && extents.size() * element <= max_bytes,
                          location, ": the elements are in chunks of the shape ", extents,
                          ", which take more than the ", max_bytes, " bytes that are allowed");
    } else {
      // Elements that were never written take no bytes.
      whole = whole && (stored == 0 || stored / element == p.extents.size());
    }
    require<data_error>(whole, location, ": the shape ", p.extents, ", with ", element,
                        " bytes for each element, does not match the ", stored,
                        " bytes that it declares in a file of ", size_,
                        " bytes; the file is damaged");
  }

  /// Throws `unreadable_elements` if a data set is compressed with a filter that the library does
  /// not have.
  static void require_filters(const place& p, const std::string& location) {
    const hdf5_id created = known({H5Dget_create_plist(p.source->id.get()), &H5Pclose}, location);
    for (int i = 0; i < H5Pget_nfilters(created.get()); ++i) {
      std::size_t values = 0;
      const H5Z_filter_t filter = H5Pget_filter2(created.get(), static_cast<unsigned>(i), nullptr,
                                                 &values, nullptr, 0, nullptr, nullptr);
      require<unreadable_elements>(
          filter < 0 || H5Zfilter_avail(filter) > 0, location, " is compressed with filter ",
          filter,
          " of HDF5's registry, which this HDF5 library does not have; compress it with gzip or "
          "not at all");
    }
  }

  [[nodiscard]] xt::xarray<float> elements(const place& p, const std::string& location) const {
    xt::xarray<float> values(xt::xarray<float>::shape_type(p.extents.begin(), p.extents.end()));
    if (values.size() == 0) {
      return values;
    }
    const auto read = [&](hid_t memory_type, void* destination) {
      if (H5Dread(p.source->id.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, destination) <
          0) {
        const std::string failure = failure_of(location).what();  // other calls would overwrite it
        require_filters(p, location);
        throw data_error(failure);
      }
    };
    const auto convert = [&]<class T>(T, hid_t memory_type, const char* type) {
      std::vector<T> stored(values.size());
      read(memory_type, stored.data());
      convert_numbers(
          stored.size(), [&](std::size_t i) { return stored[i]; }, values.data(), location, type,
          "glia reads data sets as floats; leave the data set out or convert it before saving");
    };
    if (p.source->kind == element_kind::wide_float) {
      // Converted here: the library rounds some values near the limits of float incorrectly.
      convert(double{}, H5T_NATIVE_DOUBLE, "a double");
    } else if (p.source->kind == element_kind::integer) {
      const hdf5_id type = known({H5Dget_type(p.source->id.get()), &H5Tclose}, location);
      if (H5Tget_sign(type.get()) == H5T_SGN_NONE) {
        convert(std::uint64_t{}, H5T_NATIVE_UINT64, "an integer");
      } else {
        convert(std::int64_t{}, H5T_NATIVE_INT64, "an integer");
      }
    } else if (p.source->kind == element_kind::wide_integer) {
      throw unreadable_elements(
          location +
          ": expected integers of at most 64 bits, got wider ones; convert the data set "
          "before saving");
    } else if (p.source->kind == element_kind::bfloat16) {
      std::vector<std::uint16_t> halves(values.size());
      const hdf5_id type = known({H5Dget_type(p.source->id.get()), &H5Tclose}, location);
      read(type.get(), halves.data());
      std::transform(halves.begin(), halves.end(), values.data(), [](std::uint32_t upper_half) {
        return detail::bit_cast<float>(upper_half << 16);
      });
    } else {
      read(H5T_NATIVE_FLOAT, values.data());
    }
    return values;
  }

  std::string path_;
  hdf5_id file_{H5I_INVALID_HID, &H5Fclose};
  std::uint64_t size_ = 0;
  std::vector<data_set> found_;
};

}  // namespace glia::detail
