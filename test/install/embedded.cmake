# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# Configures a project that has tulle in it, by WAY, and compiles its own file.
file(REMOVE_RECURSE ${BUILD})
execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${BUILD} -DWAY=${WAY} -DTULLE=${TULLE} -DTULLE_CUDA=OFF
                        -DFETCHCONTENT_SOURCE_DIR_TULLE=${TULLE} -DFETCHCONTENT_FULLY_DISCONNECTED=ON
                        -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target CMakeFiles/app.dir/app.cpp.o
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
