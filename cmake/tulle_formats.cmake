# SPDX-License-Identifier: Apache-2.0
# Reads formats.def: TULLE_FORMATS, and the sources that the list promises: a header and a source per format, its kernels.
# A promised file that is missing stops here and names the path.

set(TULLE_FORMATS_DEF ${CMAKE_CURRENT_SOURCE_DIR}/include/tulle/format/formats.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TULLE_FORMATS_DEF})
set(TULLE_GENERATED ${CMAKE_CURRENT_BINARY_DIR}/generated)

option(TULLE_LITERATURE "Build the formats of the literature shelf" ON)
set(TULLE_FORMATS "")
set(TULLE_FORMATS_LEFT_OUT "")
set(TULLE_CPU_KERNELS "") # those of operations on csr alone, and those that the list promises
foreach(operation IN ITEMS spgemm sddmm trsv)
  list(APPEND TULLE_CPU_KERNELS ${CMAKE_CURRENT_SOURCE_DIR}/src/cpu/${operation}/csr.cpp)
endforeach()
set(TULLE_CUDA_KERNELS "")
set(TULLE_FORMAT_SOURCES "")
set(tulle_includes "")
file(STRINGS ${TULLE_FORMATS_DEF} tulle_lines REGEX "^TULLE_FORMAT\\(")
foreach(line IN LISTS tulle_lines)
  if(NOT line MATCHES "^TULLE_FORMAT\\( *([a-z0-9_]+) *, *(core|literature|internal) *, *(every|basic) *, *([A-Z| ]+), *([A-Z| ]+)\\)")
    message(FATAL_ERROR "formats.def: cannot read the line\n  ${line}")
  endif()
  set(name ${CMAKE_MATCH_1})
  set(backends_spmv ${CMAKE_MATCH_4})
  set(backends_spmm ${CMAKE_MATCH_5})
  if(CMAKE_MATCH_2 STREQUAL literature AND NOT TULLE_LITERATURE)
    list(APPEND TULLE_FORMATS_LEFT_OUT ${name})
    continue()
  endif()
  list(APPEND TULLE_FORMATS ${name})
  string(APPEND tulle_includes "#include \"tulle/format/${name}.hpp\"\n")
  set(promised include/tulle/format/${name}.hpp src/format/${name}.cpp)
  list(APPEND TULLE_FORMAT_SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/src/format/${name}.cpp)
  foreach(op IN ITEMS spmv spmm)
    if(backends_${op} MATCHES "CPU")
      list(APPEND promised src/cpu/${op}/${name}.cpp)
      list(APPEND TULLE_CPU_KERNELS ${CMAKE_CURRENT_SOURCE_DIR}/src/cpu/${op}/${name}.cpp)
    endif()
    if(backends_${op} MATCHES "CUDA")
      list(APPEND promised src/cuda/${op}/${name}.cu)
      list(APPEND TULLE_CUDA_KERNELS ${CMAKE_CURRENT_SOURCE_DIR}/src/cuda/${op}/${name}.cu)
    endif()
    if(backends_${op} MATCHES "OPENCL")
      list(APPEND promised src/opencl/${op}/${name}.cl)
    endif()
  endforeach()
  foreach(path IN LISTS promised)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${path})
      message(FATAL_ERROR "formats.def promises a file that is missing: ${path}")
    endif()
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${TULLE_GENERATED}/include/tulle/format/formats.hpp CONTENT
"// SPDX-License-Identifier: Apache-2.0
// Written by the build from formats.def: the header of each format.
#pragma once
${tulle_includes}")
if(TULLE_LITERATURE)
  set(tulle_literature 1)
else()
  set(tulle_literature 0)
endif()
file(CONFIGURE OUTPUT ${TULLE_GENERATED}/include/tulle/format/shelves.hpp CONTENT
"// SPDX-License-Identifier: Apache-2.0
// Written by the build: whether the formats of the literature shelf are in it.
#pragma once
#define TULLE_LITERATURE ${tulle_literature}
")
