#pragma once

#include <cstdlib>
#include <string>

#include "pjrt/plugins.hpp"

namespace test {

/// An environment variable for as long as the object lives.
class variable_set {
 public:
  variable_set(std::string name, const std::string& value) : name_(std::move(name)) {
    setenv(name_.c_str(), value.c_str(), 1);
  }
  variable_set(const variable_set&) = delete;
  variable_set& operator=(const variable_set&) = delete;
  ~variable_set() { unsetenv(name_.c_str()); }

 private:
  std::string name_;
};

/// A plugin whose calls fail as failing_plugin.cpp says, on top of the first one that there is.
class failing_plugin {
 public:
  explicit failing_plugin(const std::string& real) : real_("GLIA_REAL_PLUGIN", real) {}
  [[nodiscard]] static glia::pjrt_options options() { return without_cache(GLIA_FAILING_PLUGIN); }

 private:
  variable_set real_;
};

}  // namespace test
