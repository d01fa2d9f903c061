// Compared with the official header while it is compiled, without -Wpedantic, which that header
// does not bear with.
#include <cstddef>
#include <glia/pjrt/c_api.hpp>

#include PJRT_HEADER

#define GLIA_SAME_SIZE(name, official) \
  static_assert(sizeof(glia::pjrt_api::name) == sizeof(official), #name)
#define GLIA_SAME_FIELD(name, official, field)                                        \
  static_assert(offsetof(glia::pjrt_api::name, field) == offsetof(official, field) && \
                    sizeof(glia::pjrt_api::name::field) == sizeof(official::field),   \
                #name "::" #field)
#define GLIA_SAME_ENTRY(name, official) \
  static_assert(offsetof(glia::pjrt_api::api, name) == offsetof(PJRT_Api, official), #name)
#define GLIA_SAME_NUMBER(name, official) \
  static_assert(static_cast<int>(glia::pjrt_api::name) == static_cast<int>(official), #name)

static_assert(glia::pjrt_api::major_version == PJRT_API_MAJOR);

GLIA_SAME_SIZE(named_value, PJRT_NamedValue);
GLIA_SAME_FIELD(named_value, PJRT_NamedValue, name);
GLIA_SAME_FIELD(named_value, PJRT_NamedValue, name_size);
GLIA_SAME_FIELD(named_value, PJRT_NamedValue, type);
GLIA_SAME_FIELD(named_value, PJRT_NamedValue, string_value);
GLIA_SAME_FIELD(named_value, PJRT_NamedValue, int64_value);
GLIA_SAME_FIELD(named_value, PJRT_NamedValue, int64_array_value);
GLIA_SAME_FIELD(named_value, PJRT_NamedValue, float_value);
GLIA_SAME_FIELD(named_value, PJRT_NamedValue, bool_value);
GLIA_SAME_FIELD(named_value, PJRT_NamedValue, value_size);
GLIA_SAME_SIZE(tiled_layout, PJRT_Buffer_MemoryLayout_Tiled);
GLIA_SAME_FIELD(tiled_layout, PJRT_Buffer_MemoryLayout_Tiled, minor_to_major);
GLIA_SAME_FIELD(tiled_layout, PJRT_Buffer_MemoryLayout_Tiled, minor_to_major_size);
GLIA_SAME_FIELD(tiled_layout, PJRT_Buffer_MemoryLayout_Tiled, tile_dims);
GLIA_SAME_FIELD(tiled_layout, PJRT_Buffer_MemoryLayout_Tiled, tile_dim_sizes);
GLIA_SAME_FIELD(tiled_layout, PJRT_Buffer_MemoryLayout_Tiled, num_tiles);
GLIA_SAME_SIZE(memory_layout, PJRT_Buffer_MemoryLayout);
GLIA_SAME_FIELD(memory_layout, PJRT_Buffer_MemoryLayout, tiled);
GLIA_SAME_FIELD(memory_layout, PJRT_Buffer_MemoryLayout, type);
GLIA_SAME_NUMBER(memory_layout_type::tiled, PJRT_Buffer_MemoryLayout_Type_Tiled);
GLIA_SAME_SIZE(client_lookup_device_args, PJRT_Client_LookupDevice_Args);
GLIA_SAME_FIELD(client_lookup_device_args, PJRT_Client_LookupDevice_Args, client);
GLIA_SAME_FIELD(client_lookup_device_args, PJRT_Client_LookupDevice_Args, id);
GLIA_SAME_FIELD(client_lookup_device_args, PJRT_Client_LookupDevice_Args, device);
GLIA_SAME_ENTRY(client_lookup_device, PJRT_Client_LookupDevice);
GLIA_SAME_SIZE(client_default_device_assignment_args, PJRT_Client_DefaultDeviceAssignment_Args);
GLIA_SAME_FIELD(client_default_device_assignment_args, PJRT_Client_DefaultDeviceAssignment_Args,
                num_partitions);
GLIA_SAME_FIELD(client_default_device_assignment_args, PJRT_Client_DefaultDeviceAssignment_Args,
                default_assignment_size);
GLIA_SAME_FIELD(client_default_device_assignment_args, PJRT_Client_DefaultDeviceAssignment_Args,
                default_assignment);
GLIA_SAME_ENTRY(client_default_device_assignment, PJRT_Client_DefaultDeviceAssignment);
GLIA_SAME_SIZE(program, PJRT_Program);
GLIA_SAME_FIELD(program, PJRT_Program, code);
GLIA_SAME_FIELD(program, PJRT_Program, code_size);
GLIA_SAME_FIELD(program, PJRT_Program, format);
GLIA_SAME_FIELD(program, PJRT_Program, format_size);
GLIA_SAME_SIZE(error_destroy_args, PJRT_Error_Destroy_Args);
GLIA_SAME_FIELD(error_destroy_args, PJRT_Error_Destroy_Args, error);
GLIA_SAME_SIZE(error_message_args, PJRT_Error_Message_Args);
GLIA_SAME_FIELD(error_message_args, PJRT_Error_Message_Args, error);
GLIA_SAME_FIELD(error_message_args, PJRT_Error_Message_Args, message);
GLIA_SAME_FIELD(error_message_args, PJRT_Error_Message_Args, message_size);
GLIA_SAME_SIZE(error_get_code_args, PJRT_Error_GetCode_Args);
GLIA_SAME_FIELD(error_get_code_args, PJRT_Error_GetCode_Args, error);
GLIA_SAME_FIELD(error_get_code_args, PJRT_Error_GetCode_Args, code);
GLIA_SAME_SIZE(plugin_initialize_args, PJRT_Plugin_Initialize_Args);
GLIA_SAME_SIZE(event_destroy_args, PJRT_Event_Destroy_Args);
GLIA_SAME_FIELD(event_destroy_args, PJRT_Event_Destroy_Args, event);
GLIA_SAME_SIZE(event_await_args, PJRT_Event_Await_Args);
GLIA_SAME_FIELD(event_await_args, PJRT_Event_Await_Args, event);
GLIA_SAME_SIZE(client_create_args, PJRT_Client_Create_Args);
GLIA_SAME_FIELD(client_create_args, PJRT_Client_Create_Args, create_options);
GLIA_SAME_FIELD(client_create_args, PJRT_Client_Create_Args, num_options);
GLIA_SAME_FIELD(client_create_args, PJRT_Client_Create_Args, kv_get_callback);
GLIA_SAME_FIELD(client_create_args, PJRT_Client_Create_Args, kv_get_user_arg);
GLIA_SAME_FIELD(client_create_args, PJRT_Client_Create_Args, kv_put_callback);
GLIA_SAME_FIELD(client_create_args, PJRT_Client_Create_Args, kv_put_user_arg);
GLIA_SAME_FIELD(client_create_args, PJRT_Client_Create_Args, client);
GLIA_SAME_FIELD(client_create_args, PJRT_Client_Create_Args, kv_try_get_callback);
GLIA_SAME_FIELD(client_create_args, PJRT_Client_Create_Args, kv_try_get_user_arg);
GLIA_SAME_SIZE(client_destroy_args, PJRT_Client_Destroy_Args);
GLIA_SAME_FIELD(client_destroy_args, PJRT_Client_Destroy_Args, client);
GLIA_SAME_SIZE(client_platform_name_args, PJRT_Client_PlatformName_Args);
GLIA_SAME_FIELD(client_platform_name_args, PJRT_Client_PlatformName_Args, client);
GLIA_SAME_FIELD(client_platform_name_args, PJRT_Client_PlatformName_Args, platform_name);
GLIA_SAME_FIELD(client_platform_name_args, PJRT_Client_PlatformName_Args, platform_name_size);
GLIA_SAME_SIZE(client_platform_version_args, PJRT_Client_PlatformVersion_Args);
GLIA_SAME_FIELD(client_platform_version_args, PJRT_Client_PlatformVersion_Args, client);
GLIA_SAME_FIELD(client_platform_version_args, PJRT_Client_PlatformVersion_Args, platform_version);
GLIA_SAME_FIELD(client_platform_version_args, PJRT_Client_PlatformVersion_Args,
                platform_version_size);
GLIA_SAME_SIZE(client_addressable_devices_args, PJRT_Client_AddressableDevices_Args);
GLIA_SAME_FIELD(client_addressable_devices_args, PJRT_Client_AddressableDevices_Args, client);
GLIA_SAME_FIELD(client_addressable_devices_args, PJRT_Client_AddressableDevices_Args,
                addressable_devices);
GLIA_SAME_FIELD(client_addressable_devices_args, PJRT_Client_AddressableDevices_Args,
                num_addressable_devices);
GLIA_SAME_SIZE(client_compile_args, PJRT_Client_Compile_Args);
GLIA_SAME_FIELD(client_compile_args, PJRT_Client_Compile_Args, client);
GLIA_SAME_FIELD(client_compile_args, PJRT_Client_Compile_Args, program);
GLIA_SAME_FIELD(client_compile_args, PJRT_Client_Compile_Args, compile_options);
GLIA_SAME_FIELD(client_compile_args, PJRT_Client_Compile_Args, compile_options_size);
GLIA_SAME_FIELD(client_compile_args, PJRT_Client_Compile_Args, executable);
GLIA_SAME_SIZE(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args, client);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args, data);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args, type);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args, dims);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args,
                num_dims);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args,
                byte_strides);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args,
                num_byte_strides);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args,
                host_buffer_semantics);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args, device);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args, memory);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args,
                device_layout);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args,
                done_with_host_buffer);
GLIA_SAME_FIELD(client_buffer_from_host_buffer_args, PJRT_Client_BufferFromHostBuffer_Args, buffer);
GLIA_SAME_SIZE(device_get_description_args, PJRT_Device_GetDescription_Args);
GLIA_SAME_FIELD(device_get_description_args, PJRT_Device_GetDescription_Args, device);
GLIA_SAME_FIELD(device_get_description_args, PJRT_Device_GetDescription_Args, device_description);
GLIA_SAME_SIZE(device_description_kind_args, PJRT_DeviceDescription_Kind_Args);
GLIA_SAME_FIELD(device_description_kind_args, PJRT_DeviceDescription_Kind_Args, device_description);
GLIA_SAME_FIELD(device_description_kind_args, PJRT_DeviceDescription_Kind_Args, device_kind);
GLIA_SAME_FIELD(device_description_kind_args, PJRT_DeviceDescription_Kind_Args, device_kind_size);
GLIA_SAME_SIZE(executable_destroy_args, PJRT_Executable_Destroy_Args);
GLIA_SAME_FIELD(executable_destroy_args, PJRT_Executable_Destroy_Args, executable);
GLIA_SAME_SIZE(executable_get_compiled_memory_stats_args,
               PJRT_Executable_GetCompiledMemoryStats_Args);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, executable);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, generated_code_size_in_bytes);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, argument_size_in_bytes);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, output_size_in_bytes);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, alias_size_in_bytes);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, temp_size_in_bytes);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, host_generated_code_size_in_bytes);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, host_argument_size_in_bytes);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, host_output_size_in_bytes);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, host_alias_size_in_bytes);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, host_temp_size_in_bytes);
GLIA_SAME_FIELD(executable_get_compiled_memory_stats_args,
                PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes);
GLIA_SAME_SIZE(executable_serialize_args, PJRT_Executable_Serialize_Args);
GLIA_SAME_FIELD(executable_serialize_args, PJRT_Executable_Serialize_Args, executable);
GLIA_SAME_FIELD(executable_serialize_args, PJRT_Executable_Serialize_Args, serialized_bytes);
GLIA_SAME_FIELD(executable_serialize_args, PJRT_Executable_Serialize_Args, serialized_bytes_size);
GLIA_SAME_FIELD(executable_serialize_args, PJRT_Executable_Serialize_Args, serialized_executable);
GLIA_SAME_FIELD(executable_serialize_args, PJRT_Executable_Serialize_Args,
                serialized_executable_deleter);
GLIA_SAME_SIZE(executable_deserialize_and_load_args, PJRT_Executable_DeserializeAndLoad_Args);
GLIA_SAME_FIELD(executable_deserialize_and_load_args, PJRT_Executable_DeserializeAndLoad_Args,
                client);
GLIA_SAME_FIELD(executable_deserialize_and_load_args, PJRT_Executable_DeserializeAndLoad_Args,
                serialized_executable);
GLIA_SAME_FIELD(executable_deserialize_and_load_args, PJRT_Executable_DeserializeAndLoad_Args,
                serialized_executable_size);
GLIA_SAME_FIELD(executable_deserialize_and_load_args, PJRT_Executable_DeserializeAndLoad_Args,
                loaded_executable);
GLIA_SAME_FIELD(executable_deserialize_and_load_args, PJRT_Executable_DeserializeAndLoad_Args,
                overridden_serialized_compile_options);
GLIA_SAME_FIELD(executable_deserialize_and_load_args, PJRT_Executable_DeserializeAndLoad_Args,
                overridden_serialized_compile_options_size);
GLIA_SAME_SIZE(loaded_executable_destroy_args, PJRT_LoadedExecutable_Destroy_Args);
GLIA_SAME_FIELD(loaded_executable_destroy_args, PJRT_LoadedExecutable_Destroy_Args, executable);
GLIA_SAME_SIZE(loaded_executable_get_executable_args, PJRT_LoadedExecutable_GetExecutable_Args);
GLIA_SAME_FIELD(loaded_executable_get_executable_args, PJRT_LoadedExecutable_GetExecutable_Args,
                loaded_executable);
GLIA_SAME_FIELD(loaded_executable_get_executable_args, PJRT_LoadedExecutable_GetExecutable_Args,
                executable);
GLIA_SAME_SIZE(execute_options, PJRT_ExecuteOptions);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, send_callbacks);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, recv_callbacks);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, num_send_ops);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, num_recv_ops);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, launch_id);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, non_donatable_input_indices);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, num_non_donatable_input_indices);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, context);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, call_location);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, num_tasks);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, task_ids);
GLIA_SAME_FIELD(execute_options, PJRT_ExecuteOptions, incarnation_ids);
GLIA_SAME_SIZE(loaded_executable_execute_args, PJRT_LoadedExecutable_Execute_Args);
GLIA_SAME_FIELD(loaded_executable_execute_args, PJRT_LoadedExecutable_Execute_Args, executable);
GLIA_SAME_FIELD(loaded_executable_execute_args, PJRT_LoadedExecutable_Execute_Args, options);
GLIA_SAME_FIELD(loaded_executable_execute_args, PJRT_LoadedExecutable_Execute_Args, argument_lists);
GLIA_SAME_FIELD(loaded_executable_execute_args, PJRT_LoadedExecutable_Execute_Args, num_devices);
GLIA_SAME_FIELD(loaded_executable_execute_args, PJRT_LoadedExecutable_Execute_Args, num_args);
GLIA_SAME_FIELD(loaded_executable_execute_args, PJRT_LoadedExecutable_Execute_Args, output_lists);
GLIA_SAME_FIELD(loaded_executable_execute_args, PJRT_LoadedExecutable_Execute_Args,
                device_complete_events);
GLIA_SAME_FIELD(loaded_executable_execute_args, PJRT_LoadedExecutable_Execute_Args, execute_device);
GLIA_SAME_SIZE(buffer_destroy_args, PJRT_Buffer_Destroy_Args);
GLIA_SAME_FIELD(buffer_destroy_args, PJRT_Buffer_Destroy_Args, buffer);
GLIA_SAME_SIZE(buffer_to_host_buffer_args, PJRT_Buffer_ToHostBuffer_Args);
GLIA_SAME_FIELD(buffer_to_host_buffer_args, PJRT_Buffer_ToHostBuffer_Args, src);
GLIA_SAME_FIELD(buffer_to_host_buffer_args, PJRT_Buffer_ToHostBuffer_Args, host_layout);
GLIA_SAME_FIELD(buffer_to_host_buffer_args, PJRT_Buffer_ToHostBuffer_Args, dst);
GLIA_SAME_FIELD(buffer_to_host_buffer_args, PJRT_Buffer_ToHostBuffer_Args, dst_size);
GLIA_SAME_FIELD(buffer_to_host_buffer_args, PJRT_Buffer_ToHostBuffer_Args, event);
GLIA_SAME_SIZE(topology_description_create_args, PJRT_TopologyDescription_Create_Args);
GLIA_SAME_FIELD(topology_description_create_args, PJRT_TopologyDescription_Create_Args,
                topology_name);
GLIA_SAME_FIELD(topology_description_create_args, PJRT_TopologyDescription_Create_Args,
                topology_name_size);
GLIA_SAME_FIELD(topology_description_create_args, PJRT_TopologyDescription_Create_Args,
                create_options);
GLIA_SAME_FIELD(topology_description_create_args, PJRT_TopologyDescription_Create_Args,
                num_options);
GLIA_SAME_FIELD(topology_description_create_args, PJRT_TopologyDescription_Create_Args, topology);
GLIA_SAME_SIZE(topology_description_destroy_args, PJRT_TopologyDescription_Destroy_Args);
GLIA_SAME_FIELD(topology_description_destroy_args, PJRT_TopologyDescription_Destroy_Args, topology);
GLIA_SAME_SIZE(compile_args, PJRT_Compile_Args);
GLIA_SAME_FIELD(compile_args, PJRT_Compile_Args, topology);
GLIA_SAME_FIELD(compile_args, PJRT_Compile_Args, program);
GLIA_SAME_FIELD(compile_args, PJRT_Compile_Args, compile_options);
GLIA_SAME_FIELD(compile_args, PJRT_Compile_Args, compile_options_size);
GLIA_SAME_FIELD(compile_args, PJRT_Compile_Args, client);
GLIA_SAME_FIELD(compile_args, PJRT_Compile_Args, executable);

GLIA_SAME_ENTRY(error_destroy, PJRT_Error_Destroy);
GLIA_SAME_ENTRY(error_message, PJRT_Error_Message);
GLIA_SAME_ENTRY(error_get_code, PJRT_Error_GetCode);
GLIA_SAME_ENTRY(plugin_initialize, PJRT_Plugin_Initialize);
GLIA_SAME_ENTRY(event_destroy, PJRT_Event_Destroy);
GLIA_SAME_ENTRY(event_await, PJRT_Event_Await);
GLIA_SAME_ENTRY(client_create, PJRT_Client_Create);
GLIA_SAME_ENTRY(client_destroy, PJRT_Client_Destroy);
GLIA_SAME_ENTRY(client_platform_name, PJRT_Client_PlatformName);
GLIA_SAME_ENTRY(client_platform_version, PJRT_Client_PlatformVersion);
GLIA_SAME_ENTRY(client_addressable_devices, PJRT_Client_AddressableDevices);
GLIA_SAME_ENTRY(client_compile, PJRT_Client_Compile);
GLIA_SAME_ENTRY(client_buffer_from_host_buffer, PJRT_Client_BufferFromHostBuffer);
GLIA_SAME_ENTRY(device_description_kind, PJRT_DeviceDescription_Kind);
GLIA_SAME_ENTRY(device_get_description, PJRT_Device_GetDescription);
GLIA_SAME_ENTRY(executable_destroy, PJRT_Executable_Destroy);
GLIA_SAME_ENTRY(executable_serialize, PJRT_Executable_Serialize);
GLIA_SAME_ENTRY(loaded_executable_destroy, PJRT_LoadedExecutable_Destroy);
GLIA_SAME_ENTRY(loaded_executable_get_executable, PJRT_LoadedExecutable_GetExecutable);
GLIA_SAME_ENTRY(loaded_executable_execute, PJRT_LoadedExecutable_Execute);
GLIA_SAME_ENTRY(executable_deserialize_and_load, PJRT_Executable_DeserializeAndLoad);
GLIA_SAME_ENTRY(buffer_destroy, PJRT_Buffer_Destroy);
GLIA_SAME_ENTRY(buffer_to_host_buffer, PJRT_Buffer_ToHostBuffer);
GLIA_SAME_ENTRY(topology_description_create, PJRT_TopologyDescription_Create);
GLIA_SAME_ENTRY(topology_description_destroy, PJRT_TopologyDescription_Destroy);
GLIA_SAME_ENTRY(compile, PJRT_Compile);
GLIA_SAME_ENTRY(executable_get_compiled_memory_stats, PJRT_Executable_GetCompiledMemoryStats);

GLIA_SAME_NUMBER(buffer_type::invalid, PJRT_Buffer_Type_INVALID);
GLIA_SAME_NUMBER(buffer_type::s32, PJRT_Buffer_Type_S32);
GLIA_SAME_NUMBER(buffer_type::f32, PJRT_Buffer_Type_F32);
GLIA_SAME_NUMBER(buffer_type::f64, PJRT_Buffer_Type_F64);
GLIA_SAME_NUMBER(error_code::ok, PJRT_Error_Code_OK);
GLIA_SAME_NUMBER(error_code::cancelled, PJRT_Error_Code_CANCELLED);
GLIA_SAME_NUMBER(error_code::unknown, PJRT_Error_Code_UNKNOWN);
GLIA_SAME_NUMBER(error_code::invalid_argument, PJRT_Error_Code_INVALID_ARGUMENT);
GLIA_SAME_NUMBER(error_code::not_found, PJRT_Error_Code_NOT_FOUND);
GLIA_SAME_NUMBER(error_code::resource_exhausted, PJRT_Error_Code_RESOURCE_EXHAUSTED);
GLIA_SAME_NUMBER(error_code::failed_precondition, PJRT_Error_Code_FAILED_PRECONDITION);
GLIA_SAME_NUMBER(error_code::unimplemented, PJRT_Error_Code_UNIMPLEMENTED);
GLIA_SAME_NUMBER(error_code::internal, PJRT_Error_Code_INTERNAL);
GLIA_SAME_NUMBER(error_code::unavailable, PJRT_Error_Code_UNAVAILABLE);
GLIA_SAME_NUMBER(named_value_type::string, PJRT_NamedValue_kString);
GLIA_SAME_NUMBER(named_value_type::int64, PJRT_NamedValue_kInt64);
GLIA_SAME_NUMBER(named_value_type::real, PJRT_NamedValue_kFloat);
GLIA_SAME_NUMBER(named_value_type::boolean, PJRT_NamedValue_kBool);
GLIA_SAME_NUMBER(host_buffer_semantics::immutable_only_during_call,
                 PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
