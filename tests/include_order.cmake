# Checks that includes point one way: headers include those of their own folder and of folders in
# the rows above. The same holds for the folders in backends/cpu. Nothing but reports includes charts,
# and nothing includes reports.
#
#   cmake -DINCLUDE=include/glia -P include_order.cmake
set(rows
    "core"
    "kernels text"
    "graph"
    "backends"
    "ops data profiling"
    "io"
    "layers losses optimizers compression image stablehlo"
    "models pjrt video"
    "training testing"
    "distributed"
    "mpi onnx"
    "compiled"
    "plot"
    "report")

set(cpu_rows
    "loops"
    "isa"
    "threads"
    "elementwise normalization products"
    "attention convolution recurrence"
    "integers")

# check_order(PREFIX ROW...): the folders below glia/PREFIX.
function(check_order prefix)
  set(row_number 0)
  foreach(row IN LISTS ARGN)
    math(EXPR row_number "${row_number} + 1")
    string(REPLACE " " ";" folders "${row}")
    foreach(folder IN LISTS folders)
      set(row_of_${folder} ${row_number})
    endforeach()
  endforeach()

  file(GLOB_RECURSE headers RELATIVE "${INCLUDE}/${prefix}" "${INCLUDE}/${prefix}*.hpp" "${INCLUDE}/${prefix}*.inl")
  set(edges 0)
  foreach(header IN LISTS headers)
    string(REGEX MATCH "^[a-z]+/" from "${header}")
    if(from STREQUAL "")
      continue() # what includes everything
    endif()
    string(REPLACE "/" "" from "${from}")
    file(STRINGS "${INCLUDE}/${prefix}${header}" lines REGEX "^#include \"glia/${prefix}[a-z]+/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"glia/${prefix}([a-z]+)/.*" "\\1" to "${line}")
      math(EXPR edges "${edges} + 1")
      if(NOT DEFINED row_of_${from} OR NOT DEFINED row_of_${to})
        message(SEND_ERROR "${prefix}${header}: ${from} or ${to} is not in the list of folders")
      elseif(NOT from STREQUAL to AND NOT row_of_${to} LESS row_of_${from})
        message(SEND_ERROR "${prefix}${header}: ${from} must not include ${to}: ${line}")
      endif()
    endforeach()
  endforeach()
  if(edges EQUAL 0)
    message(SEND_ERROR "no includes found in ${INCLUDE}/${prefix}")
  endif()
endfunction()

check_order("" ${rows})
check_order("backends/cpu/" ${cpu_rows})

# The headers of whole parts include anything else.
file(GLOB headers RELATIVE "${INCLUDE}" "${INCLUDE}/*.hpp")
foreach(header IN LISTS headers)
  file(STRINGS "${INCLUDE}/${header}" lines REGEX "^#include \"glia/(plot|report)[/.]")
  if(lines AND NOT header MATCHES "^(plot|report).hpp$")
    message(SEND_ERROR "${header} must not include charts or reports: ${lines}")
  endif()
endforeach()
