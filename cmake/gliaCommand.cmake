# The command glia, with GLIA_COMMAND: one program, its completion for Bash, and nothing else is compiled but
# glia::compiled, which it links.
foreach(component image safetensors hdf5 npz onnx pjrt)
  if(NOT TARGET glia::${component})
    message(FATAL_ERROR "GLIA_COMMAND needs glia::${component}, whose libraries are missing (above)")
  endif()
endforeach()
find_package(CLI11 REQUIRED)

glia_add_program(glia_command "${PROJECT_SOURCE_DIR}/examples/tools/glia/main.cpp" COMPILED
                 LINK glia::image glia::safetensors glia::hdf5 glia::npz glia::onnx glia::pjrt CLI11::CLI11)
set_target_properties(glia_command PROPERTIES OUTPUT_NAME glia)
if(NOT CMAKE_CROSSCOMPILING)
  add_custom_command(TARGET glia_command POST_BUILD VERBATIM
                     COMMAND bash -c "\"$0\" completion >glia.bash" "$<TARGET_FILE:glia_command>"
                     WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
endif()
