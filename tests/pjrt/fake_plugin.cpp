// A shared library that looks like a PJRT plugin of another version.
#include <glia/pjrt/c_api.hpp>

#ifdef GLIA_FAKE_PLUGIN_MAJOR
extern "C" const glia::pjrt_api::api* GetPjrtApi() {
  static glia::pjrt_api::api table{};
  table.struct_size = sizeof(table);
  table.version = {sizeof(table.version), nullptr, GLIA_FAKE_PLUGIN_MAJOR, 3};
  return &table;
}
#endif
