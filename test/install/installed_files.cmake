# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# What an installation holds; and the command runs from it without help of the environment.
string(REGEX MATCH "^[0-9]+\\.[0-9]+" soversion ${VERSION})
foreach(file IN ITEMS ${LIBDIR}/libtulle.so.${soversion} ${LIBDIR}/libtulle.so.${VERSION} ${LIBDIR}/pkgconfig/tulle.pc
                      ${LIBDIR}/cmake/tulle/tulleConfig.cmake include/tulle/tulle.hpp include/tulle/version.hpp
                      include/tulle/format/formats.hpp ${DOCDIR}/LICENSE)
  if(NOT EXISTS ${PREFIX}/${file})
    message(SEND_ERROR "not installed: ${file}")
  endif()
endforeach()
if(APPS)
  if(NOT EXISTS ${PREFIX}/share/tulle/data/4elt.mtx.gz)
    message(SEND_ERROR "not installed: the matrices of tulle demo")
  endif()
  unset(ENV{LD_LIBRARY_PATH})
  execute_process(COMMAND ${PREFIX}/bin/tulle --version OUTPUT_VARIABLE said RESULT_VARIABLE status
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0 OR NOT said STREQUAL "tulle ${VERSION}")
    message(SEND_ERROR "bin/tulle --version: status ${status}, '${said}'")
  endif()
  execute_process(COMMAND ldd ${PREFIX}/bin/tulle OUTPUT_VARIABLE needed)
  string(FIND "${needed}" "${PREFIX}" at)
  if(at EQUAL -1)
    message(SEND_ERROR "bin/tulle does not load the library beside it:\n${needed}")
  endif()
endif()
