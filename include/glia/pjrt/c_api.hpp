#pragma once

#include <cstddef>
#include <cstdint>

// The part of PJRT's C API that glia uses. Through this interface it calls XLA's plugins. The
// structs and entry points have the layout of version 0.81; later versions only add members at the
// end. The official header, pjrt_c_api.h of the OpenXLA project, contains their documentation. It
// is not used here because g++ rejects it with -Wpedantic; a test compares all sizes and offsets
// with it.
namespace glia::pjrt_api {

inline constexpr int major_version = 0;
inline constexpr int minor_version = 81;

struct extension;
struct error;
struct event;
struct client;
struct device;
struct device_description;
struct memory;
struct buffer;
struct executable;
struct loaded_executable;
struct serialized_executable;
struct topology_description;
struct execute_context;

enum class error_code : int {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  not_found = 5,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
};

enum class buffer_type : int { invalid = 0, s32 = 4, f32 = 11, f64 = 12 };

enum class host_buffer_semantics : int {
  immutable_only_during_call = 0,
};

enum class named_value_type : int { string = 0, int64 = 1, real = 3, boolean = 4 };

/// The beginning of every struct: its size in the version that the caller knows.
template <class Args>
struct sized {
  std::size_t struct_size = sizeof(Args);
  extension* extension_start = nullptr;
};

struct named_value : sized<named_value> {
  const char* name = nullptr;
  std::size_t name_size = 0;
  named_value_type type = named_value_type::string;
  union {
    const char* string_value;
    std::int64_t int64_value;
    const std::int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  std::size_t value_size = 0;  // length of a list or string; else 1
  named_value() : string_value(nullptr) {}
};

enum class memory_layout_type : int { tiled = 0, strides = 1 };

/// The order of a tensor's axes in memory; the fastest varying axis comes first.
struct tiled_layout : sized<tiled_layout> {
  const std::int64_t* minor_to_major = nullptr;
  std::size_t minor_to_major_size = 0;
  const std::int64_t* tile_dims = nullptr;
  const std::size_t* tile_dim_sizes = nullptr;
  std::size_t num_tiles = 0;
};
struct memory_layout : sized<memory_layout> {
  tiled_layout tiled;  // part of a union with smaller members
  memory_layout_type type = memory_layout_type::tiled;
};

struct program : sized<program> {
  char* code = nullptr;
  std::size_t code_size = 0;
  const char* format = nullptr;
  std::size_t format_size = 0;
};

struct error_destroy_args : sized<error_destroy_args> {
  pjrt_api::error* error = nullptr;
};
struct error_message_args : sized<error_message_args> {
  const pjrt_api::error* error = nullptr;
  const char* message = nullptr;
  std::size_t message_size = 0;
};
struct error_get_code_args : sized<error_get_code_args> {
  const pjrt_api::error* error = nullptr;
  error_code code = error_code::ok;
};

struct plugin_initialize_args : sized<plugin_initialize_args> {};

struct event_destroy_args : sized<event_destroy_args> {
  pjrt_api::event* event = nullptr;
};
struct event_await_args : sized<event_await_args> {
  pjrt_api::event* event = nullptr;
};

struct client_create_args : sized<client_create_args> {
  const named_value* create_options = nullptr;
  std::size_t num_options = 0;
  void* kv_get_callback = nullptr;
  void* kv_get_user_arg = nullptr;
  void* kv_put_callback = nullptr;
  void* kv_put_user_arg = nullptr;
  pjrt_api::client* client = nullptr;
  void* kv_try_get_callback = nullptr;
  void* kv_try_get_user_arg = nullptr;
};
struct client_destroy_args : sized<client_destroy_args> {
  pjrt_api::client* client = nullptr;
};
struct client_platform_name_args : sized<client_platform_name_args> {
  pjrt_api::client* client = nullptr;
  const char* platform_name = nullptr;
  std::size_t platform_name_size = 0;
};
struct client_platform_version_args : sized<client_platform_version_args> {
  pjrt_api::client* client = nullptr;
  const char* platform_version = nullptr;
  std::size_t platform_version_size = 0;
};
struct client_addressable_devices_args : sized<client_addressable_devices_args> {
  pjrt_api::client* client = nullptr;
  device* const* addressable_devices = nullptr;
  std::size_t num_addressable_devices = 0;
};
struct client_lookup_device_args : sized<client_lookup_device_args> {
  pjrt_api::client* client = nullptr;
  int id = 0;
  pjrt_api::device* device = nullptr;
};
struct client_default_device_assignment_args : sized<client_default_device_assignment_args> {
  pjrt_api::client* client = nullptr;
  int num_replicas = 0;
  int num_partitions = 0;
  std::size_t default_assignment_size = 0;
  int* default_assignment = nullptr;
};
struct client_compile_args : sized<client_compile_args> {
  pjrt_api::client* client = nullptr;
  const pjrt_api::program* program = nullptr;
  const char* compile_options = nullptr;
  std::size_t compile_options_size = 0;
  loaded_executable* executable = nullptr;
};
struct client_buffer_from_host_buffer_args : sized<client_buffer_from_host_buffer_args> {
  pjrt_api::client* client = nullptr;
  const void* data = nullptr;
  buffer_type type = buffer_type::invalid;
  const std::int64_t* dims = nullptr;
  std::size_t num_dims = 0;
  const std::int64_t* byte_strides = nullptr;
  std::size_t num_byte_strides = 0;
  pjrt_api::host_buffer_semantics host_buffer_semantics =
      pjrt_api::host_buffer_semantics::immutable_only_during_call;
  pjrt_api::device* device = nullptr;
  pjrt_api::memory* memory = nullptr;
  memory_layout* device_layout = nullptr;
  event* done_with_host_buffer = nullptr;
  pjrt_api::buffer* buffer = nullptr;
};

struct device_get_description_args : sized<device_get_description_args> {
  pjrt_api::device* device = nullptr;
  pjrt_api::device_description* device_description = nullptr;
};
struct device_description_kind_args : sized<device_description_kind_args> {
  pjrt_api::device_description* device_description = nullptr;
  const char* device_kind = nullptr;
  std::size_t device_kind_size = 0;
};
struct executable_destroy_args : sized<executable_destroy_args> {
  pjrt_api::executable* executable = nullptr;
};
struct executable_get_compiled_memory_stats_args
    : sized<executable_get_compiled_memory_stats_args> {
  pjrt_api::executable* executable = nullptr;
  std::int64_t generated_code_size_in_bytes = 0;
  std::int64_t argument_size_in_bytes = 0;
  std::int64_t output_size_in_bytes = 0;
  std::int64_t alias_size_in_bytes = 0;
  std::int64_t temp_size_in_bytes = 0;
  std::int64_t host_generated_code_size_in_bytes = 0;
  std::int64_t host_argument_size_in_bytes = 0;
  std::int64_t host_output_size_in_bytes = 0;
  std::int64_t host_alias_size_in_bytes = 0;
  std::int64_t host_temp_size_in_bytes = 0;
  std::int64_t peak_memory_in_bytes = 0;
};
struct executable_serialize_args : sized<executable_serialize_args> {
  const pjrt_api::executable* executable = nullptr;
  const char* serialized_bytes = nullptr;
  std::size_t serialized_bytes_size = 0;
  pjrt_api::serialized_executable* serialized_executable = nullptr;
  void (*serialized_executable_deleter)(pjrt_api::serialized_executable*) = nullptr;
};
struct executable_deserialize_and_load_args : sized<executable_deserialize_and_load_args> {
  pjrt_api::client* client = nullptr;
  const char* serialized_executable = nullptr;
  std::size_t serialized_executable_size = 0;
  pjrt_api::loaded_executable* loaded_executable = nullptr;
  const char* overridden_serialized_compile_options = nullptr;
  std::size_t overridden_serialized_compile_options_size = 0;
};

struct loaded_executable_destroy_args : sized<loaded_executable_destroy_args> {
  loaded_executable* executable = nullptr;
};
struct loaded_executable_get_executable_args : sized<loaded_executable_get_executable_args> {
  pjrt_api::loaded_executable* loaded_executable = nullptr;
  pjrt_api::executable* executable = nullptr;
};
struct execute_options : sized<execute_options> {
  void** send_callbacks = nullptr;
  void** recv_callbacks = nullptr;
  std::size_t num_send_ops = 0;
  std::size_t num_recv_ops = 0;
  int launch_id = 0;
  const std::int64_t* non_donatable_input_indices = nullptr;
  std::size_t num_non_donatable_input_indices = 0;
  execute_context* context = nullptr;
  const char* call_location = nullptr;
  std::size_t num_tasks = 0;
  int* task_ids = nullptr;
  std::int64_t* incarnation_ids = nullptr;
};
struct loaded_executable_execute_args : sized<loaded_executable_execute_args> {
  loaded_executable* executable = nullptr;
  execute_options* options = nullptr;
  buffer* const* const* argument_lists = nullptr;
  std::size_t num_devices = 0;
  std::size_t num_args = 0;
  buffer** const* output_lists = nullptr;
  event** device_complete_events = nullptr;
  device* execute_device = nullptr;
};

struct buffer_destroy_args : sized<buffer_destroy_args> {
  pjrt_api::buffer* buffer = nullptr;
};
struct buffer_to_host_buffer_args : sized<buffer_to_host_buffer_args> {
  buffer* src = nullptr;
  memory_layout* host_layout = nullptr;
  void* dst = nullptr;
  std::size_t dst_size = 0;
  pjrt_api::event* event = nullptr;
};
struct topology_description_create_args : sized<topology_description_create_args> {
  const char* topology_name = nullptr;
  std::size_t topology_name_size = 0;
  const named_value* create_options = nullptr;
  std::size_t num_options = 0;
  topology_description* topology = nullptr;
};
struct topology_description_destroy_args : sized<topology_description_destroy_args> {
  topology_description* topology = nullptr;
};
struct compile_args : sized<compile_args> {
  const topology_description* topology = nullptr;
  const pjrt_api::program* program = nullptr;
  const char* compile_options = nullptr;
  std::size_t compile_options_size = 0;
  pjrt_api::client* client = nullptr;
  pjrt_api::executable* executable = nullptr;
};

template <class Args>
using entry = error* (*)(Args*);
/// An entry point that glia does not call.
using skipped = void (*)();

/// The entry points of a plugin, in the order of `PJRT_Api` in PJRT's header.
struct api {
  std::size_t struct_size;
  extension* extension_start;
  struct {
    std::size_t struct_size;
    extension* extension_start;
    int major_version;
    int minor_version;
  } version;

  void (*error_destroy)(error_destroy_args*);
  void (*error_message)(error_message_args*);
  entry<error_get_code_args> error_get_code;
  entry<plugin_initialize_args> plugin_initialize;
  skipped plugin_attributes;
  entry<event_destroy_args> event_destroy;
  skipped event_is_ready_and_error[2];
  entry<event_await_args> event_await;
  skipped event_on_ready;
  entry<client_create_args> client_create;
  entry<client_destroy_args> client_destroy;
  entry<client_platform_name_args> client_platform_name;
  skipped client_process_index;
  entry<client_platform_version_args> client_platform_version;
  skipped client_devices;
  entry<client_addressable_devices_args> client_addressable_devices;
  entry<client_lookup_device_args> client_lookup_device;
  skipped client_lookups_and_memories[2];
  entry<client_compile_args> client_compile;
  entry<client_default_device_assignment_args> client_default_device_assignment;
  entry<client_buffer_from_host_buffer_args> client_buffer_from_host_buffer;
  skipped device_description_numbers_and_attributes[3];
  entry<device_description_kind_args> device_description_kind;
  skipped device_description_strings[2];
  entry<device_get_description_args> device_get_description;
  skipped device_and_memory_properties[10];
  entry<executable_destroy_args> executable_destroy;
  skipped executable_properties[8];
  entry<executable_serialize_args> executable_serialize;
  entry<loaded_executable_destroy_args> loaded_executable_destroy;
  entry<loaded_executable_get_executable_args> loaded_executable_get_executable;
  skipped loaded_executable_properties[3];
  entry<loaded_executable_execute_args> loaded_executable_execute;
  entry<executable_deserialize_and_load_args> executable_deserialize_and_load;
  skipped loaded_executable_fingerprint;
  entry<buffer_destroy_args> buffer_destroy;
  skipped buffer_properties_and_copies[11];
  entry<buffer_to_host_buffer_args> buffer_to_host_buffer;
  skipped buffer_events_pointers_and_streams[11];
  entry<topology_description_create_args> topology_description_create;
  entry<topology_description_destroy_args> topology_description_destroy;
  skipped topology_description_properties[5];
  entry<compile_args> compile;
  skipped executable_outputs_and_copies[6];
  entry<executable_get_compiled_memory_stats_args> executable_get_compiled_memory_stats;
};

/// The only symbol of a plugin.
inline constexpr const char* symbol = "GetPjrtApi";
using get_api = const api* (*)();

}  // namespace glia::pjrt_api
