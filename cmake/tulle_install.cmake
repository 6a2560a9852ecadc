# SPDX-License-Identifier: Apache-2.0
# cmake --install: headers, library, command, licence, find_package(tulle CONFIG) with tulle::tulle, and a .pc file. What is
# installed may be moved: all of it finds the rest from where it lies.
include(CMakePackageConfigHelpers)

set(tulle_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tulle)
# tulle_install_library(<target> <shared> [install options...]): a library, and what find_package and pkg-config say of it.
function(tulle_install_library target TULLE_SHARED)
  install(TARGETS ${target} EXPORT ${target}_targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${ARGN} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${ARGN}
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} ${ARGN})
  install(EXPORT ${target}_targets FILE tulle_targets.cmake NAMESPACE tulle:: DESTINATION ${tulle_cmake_dir} ${ARGN})
  set(to ${CMAKE_CURRENT_BINARY_DIR}/package/${target})
  file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tulle.pc.in ${to}/tulle.pc @ONLY)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tulleConfig.cmake.in ${to}/tulleConfig.cmake
                                INSTALL_DESTINATION ${tulle_cmake_dir})
  write_basic_package_version_file(${to}/tulleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${to}/tulleConfig.cmake ${to}/tulleConfigVersion.cmake DESTINATION ${tulle_cmake_dir} ${ARGN})
  install(FILES ${to}/tulle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${ARGN})
endfunction()

tulle_install_library(tulle ${BUILD_SHARED_LIBS})
install(DIRECTORY include/tulle ${TULLE_GENERATED}/include/tulle COMPONENT headers
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

add_custom_target(tulle_installed DEPENDS tulle) # all that an installation copies
if(TULLE_APPS)
  file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(tulle_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  install(TARGETS tulle_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES data/README.md data/4elt.mtx.gz data/rajat01.mtx.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/tulle/data)
  add_dependencies(tulle_installed tulle_cli)
endif()
if(TARGET tulle_cuda)
  set_target_properties(tulle_cuda PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS tulle_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  add_dependencies(tulle_installed tulle_cuda)
endif()
