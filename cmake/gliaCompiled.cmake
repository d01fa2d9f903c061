# glia::compiled: models, training and the cpu backend's loops, in float and double, as a static library.
# It is built where a program links it, by that project's compiler and with its flags, and nowhere else;
# programs link it in place of glia::glia, include the same headers, and compile in a fraction of the time.
#
# glia_compiled_folder: where its sources are, by default beside this file's folder.
if(NOT glia_compiled_folder)
  get_filename_component(glia_compiled_folder "${CMAKE_CURRENT_LIST_DIR}/../include/glia/compiled" ABSOLUTE)
endif()

# glia_compile_for_others(TARGET): settings of what is compiled in a project that is not glia's. Its compiler,
# flags, kind of build and sanitizers apply; what checks or rearranges its own sources does not.
function(glia_compile_for_others target)
  set_target_properties(
    ${target} PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF DISABLE_PRECOMPILE_HEADERS ON
                         CXX_CLANG_TIDY "" CXX_CPPCHECK "" CXX_CPPLINT "" CXX_INCLUDE_WHAT_YOU_USE ""
                         AUTOMOC OFF AUTOUIC OFF AUTORCC OFF)
  target_compile_definitions(${target} PRIVATE GLIA_QUIET)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A tenth of the compiler's time is the collection of its garbage.
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=400000)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    # These call the loops and compute nothing themselves: they run as fast, and compile in three quarters of the time.
    foreach(name training layers inference ops passes open)
      set_property(SOURCE "${glia_compiled_folder}/${name}.cpp"
                   PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release,RelWithDebInfo>:-O1>")
    endforeach()
  endif()
  if(NOT CMAKE_SOURCE_DIR STREQUAL glia_SOURCE_DIR)
    target_compile_options(${target} PRIVATE -w)
  endif()
endfunction()

# glia_add_compiled(TARGET [FLOAT_ALONE]): the library, or half of it for programs without double.
function(glia_add_compiled target)
  cmake_parse_arguments(arg "FLOAT_ALONE" "" "" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${glia_compiled_folder}/*.cpp")
  list(REMOVE_ITEM sources "${glia_compiled_folder}/onnx.cpp" "${glia_compiled_folder}/open.cpp")
  if(arg_FLOAT_ALONE)
    list(FILTER sources EXCLUDE REGEX "_double.cpp$")
  endif()
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${sources})
  glia_compile_for_others(${target})
  target_link_libraries(${target} PUBLIC glia::glia)
  target_compile_definitions(${target} PUBLIC GLIA_COMPILED PRIVATE $<$<BOOL:${arg_FLOAT_ALONE}>:GLIA_COMPILED_FLOAT_ALONE>)
  # Of what the archive holds, a program gets the functions that it calls: a third for one that predicts.
  target_link_options(${target} INTERFACE "$<$<PLATFORM_ID:Linux>:LINKER:--gc-sections>")
endfunction()

if(CMAKE_CXX_COMPILER_LOADED AND NOT TARGET glia::compiled)
  glia_add_compiled(glia_compiled)
  add_library(glia::compiled ALIAS glia_compiled)
endif()
# Readers and writers of ONNX files are in it where the project has glia::onnx, and `open` where it has
# glia::safetensors. Programs without them need none of their libraries, as nothing then refers to these
# parts of the archive.
function(glia_add_compiled_part name component)
  if(TARGET glia_compiled AND TARGET glia::${component} AND NOT TARGET glia_compiled_${name})
    add_library(glia_compiled_${name} OBJECT EXCLUDE_FROM_ALL "${glia_compiled_folder}/${name}.cpp")
    glia_compile_for_others(glia_compiled_${name})
    target_link_libraries(glia_compiled_${name} PRIVATE glia::${component})
    target_compile_definitions(glia_compiled_${name} PRIVATE GLIA_COMPILED)
    target_sources(glia_compiled PRIVATE $<TARGET_OBJECTS:glia_compiled_${name}>)
  endif()
endfunction()
glia_add_compiled_part(onnx onnx)
glia_add_compiled_part(open safetensors)
