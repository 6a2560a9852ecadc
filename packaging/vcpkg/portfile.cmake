# SPDX-License-Identifier: Apache-2.0
# A port of the tree that it lies in: vcpkg install tulle --overlay-ports=packaging/vcpkg
cmake_path(SET SOURCE_PATH NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../..")
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES cuda TULLE_CUDA)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
                      OPTIONS -DTULLE_APPS=OFF -DTULLE_TESTS=OFF -DTULLE_EXAMPLES=OFF ${features})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tulle)
vcpkg_fixup_pkgconfig()
vcpkg_copy_pdbs()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
