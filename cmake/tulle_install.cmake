# SPDX-License-Identifier: Apache-2.0
# cmake --install: headers, library, find_package(tulle CONFIG) with tulle::tulle, and a .pc file.
include(CMakePackageConfigHelpers)

install(TARGETS tulle EXPORT tulle_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TULLE_APPS)
  install(TARGETS tulle_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/tulle ${TULLE_GENERATED}/include/tulle
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")

set(tulle_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tulle)
install(EXPORT tulle_targets NAMESPACE tulle:: DESTINATION ${tulle_cmake_dir})
configure_package_config_file(cmake/tulleConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tulleConfig.cmake
                              INSTALL_DESTINATION ${tulle_cmake_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tulleConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tulleConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/tulleConfigVersion.cmake DESTINATION ${tulle_cmake_dir})

configure_file(cmake/tulle.pc.in ${CMAKE_CURRENT_BINARY_DIR}/tulle.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tulle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
