# Sources as a few large units, each source in a namespace of its own: what they share is instantiated
# once for each unit, and compiling them takes a fraction of the time.

# glia_write_units(RESULT SOURCE... FOLDER FOLDER [UNITS N] [NAMES NAME...] [OWN HEADER...])
#
# Writes N units, 1 without it, to FOLDER and sets RESULT to their paths. The namespaces are called
# program_<name>, of NAMES or else of the files'. What a source includes stands before all namespaces;
# but OWN headers, which stand beside one source and which no other includes, are in its namespace.
function(glia_write_units result)
  cmake_parse_arguments(arg "" "FOLDER;UNITS" "NAMES;OWN" ${ARGN})
  set(sources ${arg_UNPARSED_ARGUMENTS})
  glia_names_of(names "${sources}" "${arg_NAMES}")
  if(NOT arg_UNITS)
    set(arg_UNITS 1)
  endif()
  list(LENGTH sources count)

  set(own_includes)
  foreach(header IN LISTS arg_OWN)
    glia_includes_of("${header}" "${arg_OWN}" includes)
    list(APPEND own_includes ${includes})
  endforeach()
  foreach(unit RANGE 1 ${arg_UNITS})
    set(includes_${unit} ${own_includes})
    set(code_${unit} "")
  endforeach()

  set(index 0)
  foreach(source name IN ZIP_LISTS sources names)
    math(EXPR unit "${index} * ${arg_UNITS} / ${count} + 1")
    math(EXPR index "${index} + 1")
    glia_includes_of("${source}" "${arg_OWN}" includes)
    list(APPEND includes_${unit} ${includes})

    # A main that another one calls has to return what it may leave out.
    set(included "${source}")
    file(READ "${source}" text)
    if(text MATCHES "\nint main\\(" AND NOT text MATCHES "\n  return [^;]*;\n}\n*$")
      string(REGEX REPLACE "}\n*$" "  return 0;\n}\n" text "${text}")
      set(included "${arg_FOLDER}/${name}.cpp")
      file(CONFIGURE OUTPUT "${included}" CONTENT "#line 1 \"${source}\"\n${text}" @ONLY)
    endif()
    string(MAKE_C_IDENTIFIER "program_${name}" space)
    string(APPEND code_${unit} "namespace ${space} {\n#include \"${included}\"\n}\n")
  endforeach()

  set(units)
  foreach(unit RANGE 1 ${arg_UNITS})
    list(REMOVE_DUPLICATES includes_${unit})
    list(JOIN includes_${unit} "\n#include " includes)
    list(APPEND units "${arg_FOLDER}/unit_${unit}.cpp")
    file(CONFIGURE OUTPUT "${arg_FOLDER}/unit_${unit}.cpp" CONTENT "#include ${includes}\n${code_${unit}}" @ONLY)
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources} ${arg_OWN})
  set(${result} ${units} PARENT_SCOPE)
endfunction()

# glia_add_together(NAME SOURCE... [UNITS N] [NAMES NAME...] [OWN HEADER...])
#
# Programs as one program NAME, which links glia::compiled and is not optimized. The name by which it is
# called says which of them runs: beside it stands a link to it for each.
function(glia_add_together together)
  cmake_parse_arguments(arg "" "UNITS" "NAMES;OWN" ${ARGN})
  set(sources ${arg_UNPARSED_ARGUMENTS})
  glia_names_of(names "${sources}" "${arg_NAMES}")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${together}_units")
  glia_write_units(units ${sources} FOLDER "${folder}" UNITS ${arg_UNITS} NAMES ${names} OWN ${arg_OWN})

  set(links)
  set(declared "")
  set(choice "")
  foreach(source name IN ZIP_LISTS sources names)
    string(MAKE_C_IDENTIFIER "program_${name}" space)
    file(STRINGS "${source}" main REGEX "^int main\\(int")
    if(main)
      string(APPEND declared "namespace ${space} {\nint main(int argc, char** argv);\n}\n")
      set(arguments "argc, argv")
    else()
      string(APPEND declared "namespace ${space} {\nint main();\n}\n")
      set(arguments "")
    endif()
    string(APPEND choice "  if (name == \"${name}\") {\n    return ${space}::main(${arguments});\n  }\n")
    list(APPEND links COMMAND "${CMAKE_COMMAND}" -E create_symlink ${together} "${name}")
  endforeach()
  file(CONFIGURE OUTPUT "${folder}/main.cpp" CONTENT "#include <filesystem>
#include <iostream>
#include <string>
${declared}
int main([[maybe_unused]] int argc, char** argv) {
  const std::string name = std::filesystem::path(argv[0]).filename().string();
${choice}  std::cerr << \"there is no program '\" << name << \"' in this one\\n\";
  return 1;
}
" @ONLY)

  glia_add_program(${together} "${folder}/main.cpp" ${units} COMPILED)
  add_custom_command(TARGET ${together} POST_BUILD ${links})
  target_compile_options(${together} PRIVATE -O0)
  target_compile_definitions(${together} PRIVATE GLIA_QUIET)
endfunction()

# The given names, or else those of the files.
function(glia_names_of result sources names)
  if(NOT names)
    foreach(source IN LISTS sources)
      cmake_path(GET source STEM name)
      list(APPEND names "${name}")
    endforeach()
  endif()
  set(${result} ${names} PARENT_SCOPE)
endfunction()

# What a file includes, as <header>;"header";..., but for its own headers.
function(glia_includes_of source own result)
  file(STRINGS "${source}" lines REGEX "^#include [<\"]")
  cmake_path(GET source PARENT_PATH folder)
  set(headers)
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[<\"][^>\"]+[>\"]" header "${line}")
    if(header MATCHES "\"(.*)\"")
      cmake_path(ABSOLUTE_PATH CMAKE_MATCH_1 BASE_DIRECTORY "${folder}" NORMALIZE OUTPUT_VARIABLE path)
      if(path IN_LIST own)
        continue()
      elseif(EXISTS "${path}")
        set(header "\"${path}\"")
      endif()
    endif()
    list(APPEND headers "${header}")
  endforeach()
  set(${result} ${headers} PARENT_SCOPE)
endfunction()
