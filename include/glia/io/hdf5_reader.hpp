#pragma once

#include <algorithm>
#include <array>
#include <bit>
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

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/core/representable.hpp"
#include "glia/core/shape.hpp"
#include "glia/io/hdf5_calls.hpp"
#include "glia/io/tensor_map.hpp"

namespace glia::detail {

/// Reads the data sets of one file. What a file says of itself is checked before it takes memory,
/// and no other file is opened, whatever this one asks for.
class hdf5_reader {
 public:
  explicit hdf5_reader(const std::filesystem::path& path) : path_(path.string()) {
    require_no_folder(path);
    require<data_error>(std::ifstream(path, std::ios::binary).is_open(), path_,
                        ": cannot be opened for reading");
    const hdf5_id access(H5Pcreate(H5P_FILE_ACCESS), &H5Pclose);
    // File systems without locks would have no file opened at all.
    H5Pset_file_locking(access.get(), true, true);
    file_ = hdf5_id(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, access.get()), &H5Fclose);
    if (!file_) {
      throw data_error(text(path_, ": expected an HDF5 file; it is of another format, damaged or ",
                            "cut short (", hdf5_failure(), ")"));
    }
    std::error_code unknown;
    size_ = std::filesystem::file_size(path, unknown);
    find_data_sets();
  }

  /// The data sets of numbers, under their full names.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const data_set& d : found_) {
      result.push_back(d.name);
    }
    return result;
  }

  /// Reads the data sets that `name_in_result(name)` has a name for.
  template <class Rename>
  [[nodiscard]] tensor_map read(std::size_t max_bytes, const Rename& name_in_result) const {
    tensor_map tensors;
    std::vector<place> wanted;
    std::size_t total = 0;
    for (const data_set& d : found_) {
      if (std::optional<std::string> name = name_in_result(d.name)) {
        try {
          require<unreadable_elements>(d.kind != element_kind::elsewhere, called(d.name),
                                       ": has its elements in other files, which are not opened; "
                                       "make a file that holds them itself");
          wanted.push_back({*name, &d, extents_of(d)});
          require_sizes(wanted.back(), max_bytes, total);
        } catch (const unreadable_elements& e) {
          tensors.add_unreadable(*name, e.what());
        }
      }
    }
    for (place& p : wanted) {
      const std::string where = called(p.from->name);
      require<data_error>(!tensors.is_in_file(p.name), where,
                          ": there is another one that is called '", p.name, "'");
      try {
        tensors.emplace(p.name, within_memory(where, [&] { return elements(p, where); }));
      } catch (const unreadable_elements& e) {
        tensors.add_unreadable(p.name, e.what());
      }
    }
    return tensors;
  }

 private:
  static constexpr std::size_t max_name = 4096;   // bytes, with the groups before it
  static constexpr std::size_t max_element = 16;  // bytes

  enum class element_kind : std::uint8_t {
    number,
    wide_float,
    integer,
    wide_integer,
    bfloat16,
    elsewhere  ///< in other files
  };

  struct data_set {
    std::string name;
    hdf5_id id;
    element_kind kind;
  };

  /// A data set that is to be read.
  struct place {
    std::string name;  // in the result
    const data_set* from;
    shape extents;
  };

  [[nodiscard]] std::string called(const std::string& name) const {
    return path_ + ": data set '" + name + "'";
  }

  [[nodiscard]] std::string called_group(const std::string& prefix) const {
    return path_ + ": group '/" + prefix + "'";
  }

  [[nodiscard]] static data_error failure_of(const std::string& where) {
    return data_error(text(where, ": cannot be read (", hdf5_failure(), "); is the file damaged?"));
  }

  [[nodiscard]] static hdf5_id known(hdf5_id id, const std::string& where) {
    if (!id) {
      throw failure_of(where);
    }
    return id;
  }

  /// Breadth first, so that of several names of a group the shortest is taken; each group once, so
  /// that rings of them end.
  void find_data_sets() {
    std::set<std::string> seen;
    std::deque<std::pair<std::string, hdf5_id>> groups;
    groups.emplace_back("", known({H5Oopen(file_.get(), "/", H5P_DEFAULT), &H5Oclose}, path_));
    for (; !groups.empty(); groups.pop_front()) {
      const auto& [prefix, group] = groups.front();
      const std::string identity = hdf5_identity(group.get());
      if (identity.empty()) {
        throw failure_of(called_group(prefix));
      }
      if (!seen.insert(identity).second) {
        continue;
      }
      for (const std::string& link : links(prefix, group)) {
        const std::string name = prefix + link;
        require<data_error>(name.size() <= max_name && link.find('/') == std::string::npos, path_,
                            ": expected names without '/' and, with the groups before them, ",
                            "of at most ", max_name, " bytes, got one of ", name.size(),
                            "; the file is damaged");
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

  /// The hard links of a group: soft links may lead through external ones, and those elsewhere.
  [[nodiscard]] std::vector<std::string> links(const std::string& prefix,
                                               const hdf5_id& group) const {
    std::vector<std::string> names;
    const auto add = [](hid_t, const char* name, const hdf5_link* link, void* to) -> herr_t {
      try {
        if (link->type == H5L_TYPE_HARD) {
          static_cast<std::vector<std::string>*>(to)->emplace_back(name);
        }
        return 0;
      } catch (const std::bad_alloc&) {  // must not pass through the library
        return -1;
      }
    };
    if (hdf5_for_each_link(group.get(), add, &names) < 0) {
      throw failure_of(called_group(prefix));
    }
    // Not by the library, which fills tables for that, of damaged files not to their end.
    std::sort(names.begin(), names.end());
    return names;
  }

  /// None for data sets that hold no numbers.
  [[nodiscard]] std::optional<element_kind> kind_of(const std::string& name,
                                                    const hdf5_id& object) const {
    const std::string where = called(name);
    const hdf5_id created = known({H5Dget_create_plist(object.get()), &H5Pclose}, where);
    // Before anything is asked of it that would have the library open those files.
    if (H5Pget_external_count(created.get()) != 0 || H5Pget_layout(created.get()) == H5D_VIRTUAL) {
      return element_kind::elsewhere;
    }
    const hdf5_id space = known({H5Dget_space(object.get()), &H5Sclose}, where);
    if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
      return std::nullopt;
    }
    const hdf5_id type = known({H5Dget_type(object.get()), &H5Tclose}, where);
    const H5T_class_t kind = H5Tget_class(type.get());
    const std::size_t size = H5Tget_size(type.get());
    if (kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_ENUM) {
      require<data_error>(size <= max_element, where, ": expected numbers of at most ", max_element,
                          " bytes, got ", size, "; the file is damaged");
      // Of shorter integers and floats a float has all, and enumerations are small.
      if (kind == H5T_INTEGER && size > 2) {
        return size > sizeof(std::int64_t) ? element_kind::wide_integer : element_kind::integer;
      }
      return kind == H5T_FLOAT && size > sizeof(float) ? element_kind::wide_float
                                                       : element_kind::number;
    }
    // How Keras 3 writes them, and with an attribute that says so; nothing else that it writes is
    // opaque. The text itself is not read: of damaged ones the library's 1.10.8 crashes.
    const bool bfloat16 =
        kind == H5T_OPAQUE && size == sizeof(std::uint16_t) && H5Aexists(object.get(), "dtype") > 0;
    return bfloat16 ? std::optional(element_kind::bfloat16) : std::nullopt;
  }

  [[nodiscard]] shape extents_of(const data_set& d) const {
    const std::string where = called(d.name);
    const hdf5_id space = known({H5Dget_space(d.id.get()), &H5Sclose}, where);
    const int rank = H5Sget_simple_extent_ndims(space.get());
    if (rank < 0) {
      throw failure_of(where);
    }
    require<unreadable_elements>(static_cast<std::size_t>(rank) <= shape::max_rank, where,
                                 ": expected at most ", shape::max_rank, " axes, got ", rank);
    std::array<hsize_t, shape::max_rank> extents{};
    if (H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr) < 0) {
      throw failure_of(where);
    }
    return {extents.begin(), extents.begin() + rank};
  }

  /// Throws for a data set that declares more than there is, or more than is allowed.
  void require_sizes(const place& p, std::size_t max_bytes, std::size_t& total) const {
    const std::string where = called(p.from->name);
    require<data_error>(fits_memory(p.extents, sizeof(float)), where, ": its shape ", p.extents,
                        " is larger than any machine's memory; the file is damaged");
    const std::size_t bytes = p.extents.size() * sizeof(float);
    require<data_error>(bytes <= max_bytes - total, where, ": takes ", bytes, " bytes as floats, ",
                        total == 0 ? "" : "with the data sets before it ", "more than the ",
                        max_bytes,
                        " that are allowed; raise max_bytes if the file is to be trusted");
    total += bytes;

    const hid_t id = p.from->id.get();
    const hdf5_id created = known({H5Dget_create_plist(id), &H5Pclose}, where);
    const hdf5_id type = known({H5Dget_type(id), &H5Tclose}, where);
    const std::size_t element = H5Tget_size(type.get());
    const hsize_t stored = H5Dget_storage_size(id);
    bool whole = stored <= size_;
    if (H5Pget_layout(created.get()) == H5D_CHUNKED) {
      const hdf5_id space = known({H5Dget_space(id), &H5Sclose}, where);
      std::array<hsize_t, shape::max_rank> chunk{};
      std::array<hsize_t, shape::max_rank> most{};
      const auto rank = static_cast<int>(p.extents.rank());
      bool fits = H5Pget_chunk(created.get(), rank, chunk.data()) == rank &&
                  H5Sget_simple_extent_dims(space.get(), nullptr, most.data()) == rank;
      for (std::size_t axis = 0; axis < p.extents.rank(); ++axis) {
        fits = fits && chunk[axis] <= most[axis];
      }
      // The library believes a chunk's shape, whatever there is to unpack.
      const shape extents(chunk.begin(), chunk.begin() + rank);
      require<data_error>(fits, where, ": its elements lie in chunks of the shape ", extents,
                          ", larger than it can be; the file is damaged");
      require<data_error>(fits_memory(extents, element) && extents.size() * element <= max_bytes,
                          where, ": its elements lie in chunks of the shape ", extents,
                          ", which take more than the ", max_bytes, " bytes that are allowed");
    } else {
      // Elements that were never written take no bytes.
      whole = whole && (stored == 0 || stored / element == p.extents.size());
    }
    require<data_error>(whole, where, ": its shape ", p.extents, ", with ", element,
                        " bytes for each element, does not match the ", stored,
                        " bytes that it is said to have in a file of ", size_,
                        "; the file is damaged");
  }

  /// Throws for a data set that is packed with a filter that the library does not have.
  static void require_filters(const place& p, const std::string& where) {
    const hdf5_id created = known({H5Dget_create_plist(p.from->id.get()), &H5Pclose}, where);
    for (int i = 0; i < H5Pget_nfilters(created.get()); ++i) {
      std::size_t values = 0;
      const H5Z_filter_t filter = H5Pget_filter2(created.get(), static_cast<unsigned>(i), nullptr,
                                                 &values, nullptr, 0, nullptr, nullptr);
      require<unreadable_elements>(
          filter < 0 || H5Zfilter_avail(filter) > 0, where, ": is packed with filter ", filter,
          " of HDF5's registry, which the library does not have; pack it with gzip "
          "or not at all");
    }
  }

  [[nodiscard]] xt::xarray<float> elements(const place& p, const std::string& where) const {
    xt::xarray<float> values(xt::xarray<float>::shape_type(p.extents.begin(), p.extents.end()));
    if (values.size() == 0) {
      return values;
    }
    const auto read = [&](hid_t as, void* to) {
      if (H5Dread(p.from->id.get(), as, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0) {
        const std::string failure = failure_of(where).what();  // before other calls replace it
        require_filters(p, where);
        throw data_error(failure);
      }
    };
    const auto convert = [&]<class T>(T, hid_t as, const char* type) {
      std::vector<T> stored(values.size());
      read(as, stored.data());
      convert_numbers(
          stored.size(), [&](std::size_t i) { return stored[i]; }, values.data(), where, type,
          "a model's parameters are floats; leave the data set out or convert it "
          "before");
    };
    if (p.from->kind == element_kind::wide_float) {
      // The library makes some of them, near the largest and the least of floats, others.
      convert(double{}, H5T_NATIVE_DOUBLE, "a double");
    } else if (p.from->kind == element_kind::integer) {
      const hdf5_id type = known({H5Dget_type(p.from->id.get()), &H5Tclose}, where);
      if (H5Tget_sign(type.get()) == H5T_SGN_NONE) {
        convert(std::uint64_t{}, H5T_NATIVE_UINT64, "an integer");
      } else {
        convert(std::int64_t{}, H5T_NATIVE_INT64, "an integer");
      }
    } else if (p.from->kind == element_kind::wide_integer) {
      throw unreadable_elements(where + ": holds integers of more than 64 bits; convert it before");
    } else if (p.from->kind == element_kind::bfloat16) {
      std::vector<std::uint16_t> halves(values.size());
      const hdf5_id type = known({H5Dget_type(p.from->id.get()), &H5Tclose}, where);
      read(type.get(), halves.data());
      std::transform(halves.begin(), halves.end(), values.data(), [](std::uint32_t upper_half) {
        return std::bit_cast<float>(upper_half << 16);
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
