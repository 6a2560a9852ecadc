# SPDX-License-Identifier: Apache-2.0
"""The recipes under packaging/ agree with the build: version, options, dependencies, files."""

import ast
import fnmatch
import json
import os
import re
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")

# What the build looks for, as the two package managers call it. Of the threads it needs the system's.
PACKAGES = {"ZLIB": ("zlib", "zlib"), "FastFloat": ("fast-float", "fast_float"), "TULLE_HWY_INCLUDE": ("highway", "highway"),
            "Threads": (None, None), "OpenMP": (None, None)}


def read(*path):
    with open(os.path.join(TOP, *path)) as file:
        return file.read()


class Recipes(unittest.TestCase):
    def setUp(self):
        self.cmake = read("CMakeLists.txt")
        self.port = read("packaging", "vcpkg", "portfile.cmake")
        self.vcpkg = json.loads(read("packaging", "vcpkg", "vcpkg.json"))
        self.conan = read("packaging", "conan", "conanfile.py")

    def test_version_is_one(self):
        header = read("include", "tulle", "version.hpp")
        version = re.search(r'TULLE_VERSION_STRING "(.*)"', header)[1]
        parts = [re.search(rf"TULLE_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(version, ".".join(parts))
        self.assertEqual(self.vcpkg["version"], version)

    def test_dependencies_are_those_of_the_build(self):
        found = re.findall(r"^find_p\w+\((\w+)[^\n]* REQUIRED|^find_package\((\w+) REQUIRED", self.cmake, re.M)
        found = [a or b for a, b in found]
        self.assertIn("ZLIB", found)
        wanted = [PACKAGES[name] for name in found]
        ours = [d for d in self.vcpkg["dependencies"] if isinstance(d, str)]
        self.assertEqual(sorted(ours), sorted(v for v, _ in wanted if v))
        required = re.findall(r'self\.requires\("([\w-]+)/', self.conan)
        self.assertEqual(sorted(required), sorted(c for _, c in wanted if c))

    def test_options_are_those_of_the_build(self):
        options = set(re.findall(r"option\((\w+)", self.cmake + read("src", "CMakeLists.txt")))
        for text in (self.port, self.conan):
            used = set(re.findall(r"TULLE_[A-Z]+", re.sub(r"TULLE_VERSION\w*", "", text)))
            self.assertEqual(used, {"TULLE_APPS", "TULLE_TESTS", "TULLE_EXAMPLES", "TULLE_CUDA"})
            self.assertLessEqual(used, options)
        self.assertEqual(re.findall(r"FEATURES (\w+)", self.port), list(self.vcpkg["features"]))

    def test_conan_takes_every_file_that_a_build_needs(self):
        tree = ast.parse(self.conan)
        loops = [n for n in ast.walk(tree) if isinstance(n, ast.For) and getattr(n.target, "id", "") == "pattern"]
        patterns = ast.literal_eval(loops[0].iter)
        for pattern in patterns:
            self.assertTrue(os.path.exists(os.path.join(TOP, pattern.rstrip("*"))), pattern)
        # Whatever the build names at the top, without the parts that the recipe turns off.
        for name in ["LICENSE", "CMakeLists.txt", *re.findall(r"(?:include|src|cmake)/[\w./]+", self.cmake + read("cmake", "tulle_install.cmake"))]:
            self.assertTrue(any(fnmatch.fnmatch(name, p) for p in patterns), name)
        self.assertIn('target="tulle_installed"', self.conan)

    def test_the_port_finds_what_is_installed(self):
        install = read("cmake", "tulle_install.cmake")
        self.assertIn("set(tulle_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tulle)", install)
        self.assertIn("CONFIG_PATH lib/cmake/tulle)", self.port)


if __name__ == "__main__":
    unittest.main()
