# With GLIA_QUICK_EXAMPLES, all examples are one unit and one program, each in a namespace: what they
# share is instantiated once. The name by which the program is called says which one it is.
file(GLOB headers CONFIGURE_DEPENDS "*.hpp")
file(GLOB own_headers CONFIGURE_DEPENDS "*/*.hpp")

# What they include stands before the namespaces, and so does what several of them share.
set(includes)
foreach(source IN LISTS headers own_headers mains)
  file(STRINGS "${source}" lines REGEX "^ *#include <")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "<[^>]+>" header "${line}")
    list(APPEND includes "${header}")
  endforeach()
endforeach()
list(TRANSFORM headers REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE shared)
foreach(source IN LISTS own_headers mains)
  get_filename_component(folder "${source}" DIRECTORY)
  file(STRINGS "${source}" lines REGEX "^#include \"\\.\\./[a-z_-]+/")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"(.*)\"" "\"${folder}/\\1\"" header "${line}")
    list(APPEND shared "${header}")
  endforeach()
endforeach()
list(REMOVE_DUPLICATES includes)
list(SORT includes)
list(REMOVE_DUPLICATES shared)

set(unit "")
foreach(header IN LISTS includes shared)
  string(APPEND unit "#include ${header}\n")
endforeach()
set(choice "")
add_custom_target(glia_examples)
foreach(main IN LISTS mains)
  get_filename_component(folder "${main}" DIRECTORY)
  get_filename_component(name "${folder}" NAME)
  string(MAKE_C_IDENTIFIER "example_${name}" space)
  string(APPEND unit "namespace ${space} {\n#include \"${main}\"\n}\n")
  string(APPEND choice "  if (name == \"${name}\") {\n    return ${space}::main(argc, argv);\n  }\n")
  add_custom_target(example_${name} COMMAND "${CMAKE_COMMAND}" -E create_symlink together ${name})
  add_dependencies(example_${name} together)
  add_dependencies(glia_examples example_${name})
endforeach()
string(APPEND unit "int main(int argc, char** argv) {
  const std::string name = std::filesystem::path(argv[0]).filename().string();
${choice}  std::cerr << \"there is no example '\" << name << \"'\\n\";
  return 1;
}
")
set(unit_file "${CMAKE_CURRENT_BINARY_DIR}/together.cpp")
file(CONFIGURE OUTPUT "${unit_file}" CONTENT "${unit}" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers} ${own_headers} ${mains})

glia_add_program(together "${unit_file}" COMPILED)
target_compile_options(together PRIVATE -O0)
target_compile_definitions(together PRIVATE GLIA_QUIET)
