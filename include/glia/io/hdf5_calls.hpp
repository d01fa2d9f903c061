#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

namespace glia::detail {

/// Owns an identifier of the HDF5 library and closes it in the destructor. The identifier is
/// negative if the call that should create it failed.
class hdf5_id {
 public:
  hdf5_id(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  hdf5_id(hdf5_id&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  hdf5_id& operator=(hdf5_id&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~hdf5_id() {
    if (id_ >= 0) {
      close_(id_);
    }
  }

  [[nodiscard]] hid_t get() const noexcept { return id_; }
  [[nodiscard]] explicit operator bool() const noexcept { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// Gives its thread exclusive access to the HDF5 library and turns off the library's printing of
/// errors. The destructor restores the program's settings for printing.
class hdf5_session {
 public:
  hdf5_session() : alone_(calls()) {
    unsigned second = 1;
    H5Eauto_is_v2(H5E_DEFAULT, &second);
    second_ = second != 0;
    if (second_) {
      H5Eget_auto2(H5E_DEFAULT, &print_, &print_to_);
      H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
#ifndef H5_NO_DEPRECATED_SYMBOLS
    // If a program has set an error handler of HDF5 1.6, the newer functions fail.
    if (!second_) {
      H5Eget_auto1(&first_print_, &print_to_);
      H5Eset_auto1(nullptr, nullptr);
    }
#endif
  }
  hdf5_session(const hdf5_session&) = delete;
  hdf5_session& operator=(const hdf5_session&) = delete;
  ~hdf5_session() {
    if (second_) {
      H5Eset_auto2(H5E_DEFAULT, print_, print_to_);
    }
#ifndef H5_NO_DEPRECATED_SYMBOLS
    if (!second_) {
      H5Eset_auto1(first_print_, print_to_);
    }
#endif
  }

 private:
  // Most builds of the library are not thread-safe.
  [[nodiscard]] static std::mutex& calls() {
    static std::mutex mutex;
    return mutex;
  }

  std::scoped_lock<std::mutex> alone_;
  bool second_ = true;
  H5E_auto2_t print_ = nullptr;
  void* print_to_ = nullptr;
#ifndef H5_NO_DEPRECATED_SYMBOLS
  H5E_auto1_t first_print_ = nullptr;
#endif
};

/// Returns the reason why the library's last call failed, from its innermost function.
[[nodiscard]] inline std::string hdf5_failure() {
  const char* reason = "no reason given";
  const auto innermost = [](unsigned, const H5E_error2_t* error, void* destination) -> herr_t {
    if (error->desc != nullptr) {
      *static_cast<const char**>(destination) = error->desc;
    }
    return 1;  // stop here
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &reason);
  return reason;
}

// Release 1.12 has newer versions of the following structs and functions.
#if H5_VERSION_GE(1, 12, 0)
using hdf5_link = H5L_info2_t;

inline herr_t hdf5_for_each_link(hid_t group,
                                 herr_t (*call)(hid_t, const char*, const hdf5_link*, void*),
                                 void* data) {
  return H5Literate2(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, call, data);
}

/// Returns bytes that identify an object within its file; empty after an error.
[[nodiscard]] inline std::string hdf5_identity(hid_t object) {
  H5O_info2_t info;
  if (H5Oget_info3(object, &info, H5O_INFO_BASIC) < 0) {
    return {};
  }
  return {reinterpret_cast<const char*>(&info.token), sizeof(info.token)};
}
#else
using hdf5_link = H5L_info_t;

inline herr_t hdf5_for_each_link(hid_t group,
                                 herr_t (*call)(hid_t, const char*, const hdf5_link*, void*),
                                 void* data) {
  return H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, call, data);
}

/// Returns bytes that identify an object within its file; empty after an error.
[[nodiscard]] inline std::string hdf5_identity(hid_t object) {
  H5O_info_t info;
  if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0) {
    return {};
  }
  return {reinterpret_cast<const char*>(&info.addr), sizeof(info.addr)};
}
#endif

}  // namespace glia::detail
