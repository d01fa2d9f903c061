# glia::compiled: kernels, layers and training for float and double, compiled once. Programs that
# link it in place of glia::glia include the same headers and compile in a fraction of the time.
file(GLOB compiled_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/compiled/*.cpp")
add_library(glia_compiled STATIC ${compiled_sources})
add_library(glia::compiled ALIAS glia_compiled)
set_target_properties(glia_compiled PROPERTIES EXPORT_NAME compiled POSITION_INDEPENDENT_CODE ON)
target_link_libraries(glia_compiled PUBLIC glia)
target_compile_definitions(glia_compiled PUBLIC GLIA_COMPILED PRIVATE GLIA_QUIET)
glia_set_warnings(glia_compiled)
list(APPEND glia_components compiled)
set(glia_compiled_pc_requires glia)
set(glia_compiled_pc_flags -DGLIA_COMPILED)
set(glia_compiled_pc_libs [[-L${libdir}]] -lglia_compiled)
string(APPEND glia_component_packages "set(glia_compiled_packages Threads)\n")
