# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# make install DESTDIR=... PREFIX=/opt/tulle puts the command and the library below DESTDIR/opt/tulle, and nothing elsewhere.
file(REMOVE_RECURSE ${DESTDIR})
execute_process(COMMAND make -C ${SOURCE} install PREFIX=/opt/tulle DESTDIR=${DESTDIR}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB tops RELATIVE ${DESTDIR} ${DESTDIR}/* ${DESTDIR}/opt/*)
if(NOT tops STREQUAL "opt;opt/tulle")
  message(SEND_ERROR "below DESTDIR lies ${tops}")
endif()
execute_process(COMMAND ${DESTDIR}/opt/tulle/bin/tulle --version OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS /opt/tulle OR NOT EXISTS ${DESTDIR}/opt/tulle/${LIBDIR}/libtulle.so)
  message(SEND_ERROR "make install does not keep to DESTDIR and PREFIX")
endif()
