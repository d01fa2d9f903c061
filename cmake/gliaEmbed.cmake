# glia_embed(TARGET FILE NAME)
#
# Puts the bytes of FILE, for instance a model, into the program or library TARGET. Its sources can
# then include "NAME.hpp", which declares std::span<const std::byte> NAME(). The linker keeps the
# bytes in the program's read-only data, and the file is read again when it changes. Needs g++ or
# clang.
function(glia_embed target file name)
  get_filename_component(file "${file}" ABSOLUTE)
  if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "glia_embed: expected a C++ identifier as the name, got '${name}'")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/glia_embedded/${target}")
  file(CONFIGURE OUTPUT "${folder}/${name}.hpp" CONTENT [[#pragma once

#include <cstddef>
#include <span>

/// Returns the bytes of @file@.
std::span<const std::byte> @name@();
]] @ONLY)
  file(CONFIGURE OUTPUT "${folder}/${name}.cpp" CONTENT [[#include "@name@.hpp"

#if defined(__ELF__)
#define SECTION(name) ".pushsection .rodata\n.hidden " name ", " name "_end\n"
#define END ".popsection\n"
#elif defined(__APPLE__)
#define SECTION(name) ".const_data\n.private_extern " name "\n.private_extern " name "_end\n"
#define END ".text\n"
#else
#define SECTION(name) ".section .rdata,\"dr\"\n"
#define END ".text\n"
#endif
__asm__(
    SECTION("glia_embedded_@name@")
    ".globl glia_embedded_@name@\n"
    ".globl glia_embedded_@name@_end\n"
    ".balign 64\n"
    "glia_embedded_@name@: .incbin \"@file@\"\n"
    "glia_embedded_@name@_end: .byte 0\n"
    END);

extern "C" {
extern const std::byte glia_embedded_@name@[] __asm__("glia_embedded_@name@");
extern const std::byte glia_embedded_@name@_end[] __asm__("glia_embedded_@name@_end");
}

std::span<const std::byte> @name@() {
  return {glia_embedded_@name@, glia_embedded_@name@_end};
}
]] @ONLY)
  target_sources(${target} PRIVATE "${folder}/${name}.cpp")
  set_source_files_properties("${folder}/${name}.cpp" TARGET_DIRECTORY ${target}
                              PROPERTIES OBJECT_DEPENDS "${file}" SKIP_UNITY_BUILD_INCLUSION ON)
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()
