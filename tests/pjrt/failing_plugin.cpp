// A PJRT plugin that hands all calls on to the one in $GLIA_REAL_PLUGIN, but for those that are to
// fail: $GLIA_FAIL_COMPILE, _LOAD, _EXECUTE, _AWAIT and _COPY hold an error's code and its words,
// "14 the device is gone". A third part behind a bar lets only those compilations fail whose text
// has it: "12 not here|stablehlo.convolution".
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <glia/pjrt/c_api.hpp>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace c_api = glia::pjrt_api;

struct own_error {
  c_api::error_code code;
  std::string words;
};

const c_api::api* real = nullptr;
std::mutex lock;
std::set<const void*> own_errors;

const own_error* find_own_error(const c_api::error* e) {
  const std::lock_guard guard(lock);
  return own_errors.contains(e) ? reinterpret_cast<const own_error*>(e) : nullptr;
}

/// The error that a call is to fail with, if it is.
c_api::error* failure(const char* variable, std::string_view module = {}) {
  const char* const setting = std::getenv(variable);
  if (setting == nullptr || *setting == 0) {
    return nullptr;
  }
  char* words = nullptr;
  const auto code = static_cast<c_api::error_code>(std::strtol(setting, &words, 10));
  std::string text(words);
  if (const std::size_t bar = text.find('|'); bar != std::string::npos) {
    if (module.find(text.substr(bar + 1)) == std::string_view::npos) {
      return nullptr;
    }
    text.resize(bar);
  }
  auto* const error = new own_error{code, text};
  const std::lock_guard guard(lock);
  own_errors.insert(error);
  return reinterpret_cast<c_api::error*>(error);
}

void error_destroy(c_api::error_destroy_args* args) {
  if (const own_error* const e = find_own_error(args->error)) {
    const std::lock_guard guard(lock);
    own_errors.erase(e);
    delete e;
  } else {
    real->error_destroy(args);
  }
}
void error_message(c_api::error_message_args* args) {
  if (const own_error* const e = find_own_error(args->error)) {
    args->message = e->words.data();
    args->message_size = e->words.size();
  } else {
    real->error_message(args);
  }
}
c_api::error* error_get_code(c_api::error_get_code_args* args) {
  if (const own_error* const e = find_own_error(args->error)) {
    args->code = e->code;
    return nullptr;
  }
  return real->error_get_code(args);
}

c_api::error* compile(c_api::client_compile_args* args) {
  c_api::error* const e =
      failure("GLIA_FAIL_COMPILE", {args->program->code, args->program->code_size});
  return e != nullptr ? e : real->client_compile(args);
}
c_api::error* load(c_api::executable_deserialize_and_load_args* args) {
  c_api::error* const e = failure("GLIA_FAIL_LOAD");
  return e != nullptr ? e : real->executable_deserialize_and_load(args);
}
c_api::error* execute(c_api::loaded_executable_execute_args* args) {
  c_api::error* const e = failure("GLIA_FAIL_EXECUTE");
  return e != nullptr ? e : real->loaded_executable_execute(args);
}
c_api::error* await(c_api::event_await_args* args) {
  c_api::error* const e = failure("GLIA_FAIL_AWAIT");
  return e != nullptr ? e : real->event_await(args);
}
c_api::error* copy(c_api::client_buffer_from_host_buffer_args* args) {
  c_api::error* const e = failure("GLIA_FAIL_COPY");
  return e != nullptr ? e : real->client_buffer_from_host_buffer(args);
}

}  // namespace

extern "C" const c_api::api* GetPjrtApi() {
  static std::vector<char> table;
  void* const library = dlopen(std::getenv("GLIA_REAL_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
  real = reinterpret_cast<c_api::get_api>(dlsym(library, c_api::symbol))();
  const char* const bytes = reinterpret_cast<const char*>(real);
  table.assign(bytes, bytes + real->struct_size);
  auto* const changed = reinterpret_cast<c_api::api*>(table.data());
  changed->error_destroy = error_destroy;
  changed->error_message = error_message;
  changed->error_get_code = error_get_code;
  changed->client_compile = compile;
  changed->executable_deserialize_and_load = load;
  changed->loaded_executable_execute = execute;
  changed->event_await = await;
  changed->client_buffer_from_host_buffer = copy;
  return changed;
}
