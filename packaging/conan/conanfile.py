# SPDX-License-Identifier: Apache-2.0
"""conan create packaging/conan --build=missing"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

TOP = os.path.join("..", "..")


class Tulle(ConanFile):
    name = "tulle"
    description = "A parallel Sparse BLAS: many formats, CPUs and GPUs, one small interface"
    license = "Apache-2.0"
    topics = ("sparse", "linear-algebra", "blas", "spmv", "spgemm")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "cuda": [True, False]}
    default_options = {"shared": True, "fPIC": True, "cuda": False}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, TOP, "include", "tulle", "version.hpp"))
        self.version = re.search(r'TULLE_VERSION_STRING "(.*)"', header)[1]

    def export_sources(self):
        top = os.path.join(self.recipe_folder, TOP)
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, top, self.export_sources_folder)

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("zlib/[>=1.2.11 <2]")
        self.requires("fast_float/[>=3]")
        self.requires("highway/[>=1.0]")

    def generate(self):
        toolchain = CMakeToolchain(self)
        for option in ("TULLE_APPS", "TULLE_TESTS", "TULLE_EXAMPLES"):
            toolchain.cache_variables[option] = False
        toolchain.cache_variables["TULLE_CUDA"] = bool(self.options.cuda)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="tulle_installed")

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.libs = ["tulle"]
        self.cpp_info.set_property("cmake_file_name", "tulle")
        self.cpp_info.set_property("cmake_target_name", "tulle::tulle")
        self.cpp_info.set_property("pkg_config_name", "tulle")
        if not self.options.shared:
            self.cpp_info.system_libs = ["pthread", "dl"]
