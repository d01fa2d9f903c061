# Programs as one program, each in a namespace: what they share is instantiated once for each unit, and
# compiling them takes a fraction of the time. The name by which it is called says which of them runs.
#
# glia_add_together(NAME SOURCE... [NAMES NAME...] [OWN HEADER...] [SHARED HEADER...] [UNITS N])
#
# NAMES are those by which the SOURCEs are called, without which they are the files' own. OWN are the headers
# beside a source that only it includes, SHARED those that stand before all namespaces. The sources are
# dealt out to N units, 1 without it. Beside the program stands a link to it for each name.
function(glia_add_together together)
  cmake_parse_arguments(arg "" "UNITS" "NAMES;OWN;SHARED" ${ARGN})
  set(sources ${arg_UNPARSED_ARGUMENTS})
  set(names ${arg_NAMES})
  if(NOT names)
    foreach(source IN LISTS sources)
      cmake_path(GET source STEM name)
      list(APPEND names "${name}")
    endforeach()
  endif()
  if(NOT arg_UNITS)
    set(arg_UNITS 1)
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${together}_units")

  set(before)
  foreach(header IN LISTS arg_SHARED)
    list(APPEND before "\"${header}\"")
  endforeach()
  set(links)
  set(declared "")
  set(choice "")
  list(LENGTH sources count)
  foreach(unit RANGE 1 ${arg_UNITS})
    set(includes_${unit} ${before})
    set(code_${unit} "")
  endforeach()
  foreach(source IN LISTS arg_OWN arg_SHARED)
    glia_includes_of("${source}" includes)
    foreach(unit RANGE 1 ${arg_UNITS})
      list(APPEND includes_${unit} ${includes})
    endforeach()
  endforeach()

  set(index 0)
  foreach(source name IN ZIP_LISTS sources names)
    math(EXPR unit "${index} * ${arg_UNITS} / ${count} + 1")
    math(EXPR index "${index} + 1")
    glia_includes_of("${source}" includes)
    list(APPEND includes_${unit} ${includes})
    string(MAKE_C_IDENTIFIER "program_${name}" space)

    # A main that another one calls has to return what it may leave out.
    file(READ "${source}" text)
    set(included "${source}")
    if(NOT text MATCHES "\n  return [^;]*;\n}\n*$")
      string(REGEX REPLACE "}\n*$" "  return 0;\n}\n" text "${text}")
      set(included "${folder}/${name}.cpp")
      file(CONFIGURE OUTPUT "${included}" CONTENT "#line 1 \"${source}\"\n${text}" @ONLY)
    endif()
    string(APPEND code_${unit} "namespace ${space} {\n#include \"${included}\"\n}\n")
    if(text MATCHES "\nint main\\(\\)")
      string(APPEND declared "namespace ${space} {\nint main();\n}\n")
      set(arguments "")
    else()
      string(APPEND declared "namespace ${space} {\nint main(int argc, char** argv);\n}\n")
      set(arguments "argc, argv")
    endif()
    string(APPEND choice "  if (name == \"${name}\") {\n    return ${space}::main(${arguments});\n  }\n")
    list(APPEND links COMMAND "${CMAKE_COMMAND}" -E create_symlink ${together} "${name}")
  endforeach()

  set(units)
  foreach(unit RANGE 1 ${arg_UNITS})
    list(REMOVE_DUPLICATES includes_${unit})
    list(JOIN includes_${unit} "\n#include " includes)
    list(APPEND units "${folder}/unit_${unit}.cpp")
    file(CONFIGURE OUTPUT "${folder}/unit_${unit}.cpp" CONTENT "#include ${includes}\n${code_${unit}}" @ONLY)
  endforeach()
  file(CONFIGURE OUTPUT "${folder}/main.cpp" CONTENT "#include <filesystem>
#include <iostream>
#include <string>
${declared}
int main(int argc, char** argv) {
  const std::string name = std::filesystem::path(argv[0]).filename().string();
${choice}  std::cerr << \"there is no program '\" << name << \"' in this one\\n\";
  return argc > 0 ? 1 : 2;
}
" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources} ${arg_OWN} ${arg_SHARED})

  glia_add_program(${together} "${folder}/main.cpp" ${units} COMPILED)
  add_custom_command(TARGET ${together} POST_BUILD ${links})
  target_compile_options(${together} PRIVATE -O0)
  target_compile_definitions(${together} PRIVATE GLIA_QUIET)
endfunction()

# What a file includes of libraries, as <header>;...
function(glia_includes_of source result)
  file(STRINGS "${source}" lines REGEX "^ *#include <")
  set(headers)
  foreach(line IN LISTS lines)
    string(REGEX MATCH "<[^>]+>" header "${line}")
    list(APPEND headers "${header}")
  endforeach()
  set(${result} ${headers} PARENT_SCOPE)
endfunction()
