# SPDX-License-Identifier: Apache-2.0
# What every target of ours has: C++20, warnings, the sanitizers asked for. No global flags.
# tulle_precompiled(name header...): these are parsed once for all files of it; 1 s of each.
# tulle_target(name LIGHT): one in which no time is spent; a third as long to compile. PLAIN: without sanitizers.

function(tulle_target target)
  if("LIGHT" IN_LIST ARGN) # the laws of formats: 67 s with -O1, 42 so, and they run as fast; 29 with -O0, and twice as long
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  endif()
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU) # memory is there: coo, csr and csc 36 s instead of 41, most others a little less
    target_compile_options(${target} PRIVATE --param=ggc-min-expand=100 --param=ggc-min-heapsize=1000000)
  endif()
  if(TULLE_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(TULLE_SANITIZE AND NOT "PLAIN" IN_LIST ARGN)
    # Without a check of each pointer that is used or moved, what has most templates takes 42 s to compile instead of 67.
    # A bad one is found by the address sanitizer where it is read.
    target_compile_options(${target} PRIVATE -fsanitize=${TULLE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
                                             -fno-sanitize=null,alignment,object-size,vptr,pointer-overflow)
    target_link_options(${target} PRIVATE -fsanitize=${TULLE_SANITIZE})
    target_compile_definitions(${target} PRIVATE TULLE_SANITIZED)
    if(TULLE_SANITIZE MATCHES "thread")
      target_compile_definitions(${target} PRIVATE TULLE_SANITIZED_THREAD)
    endif()
  endif()
  if(TULLE_COVERAGE)
    target_compile_options(${target} PRIVATE --coverage)
    target_link_options(${target} PRIVATE --coverage)
  endif()
endfunction()

function(tulle_precompiled target)
  if(TULLE_SANITIZE) # flags differ between those that would share it
    return()
  elseif(ARGV1 STREQUAL REUSE_FROM)
    target_precompile_headers(${target} ${ARGN})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
