# SPDX-License-Identifier: Apache-2.0
# make run     builds and shows the main job: every format on a set of matrices
# make test    builds and runs all tests
# make asan    the quick tests under the address and undefined-behaviour sanitizers; likewise make tsan
# make bench   measures tulle against its peers on generated matrices: build/bench.json and build/bench.html
# make bench-peers   fetches further peers first (scripts/peers), into build/peers
# make install PREFIX=/usr/local   builds and installs the library, its headers and the command; DESTDIR=... goes in front
# Each installs what is missing first (scripts/setup).

.PHONY: run test bench bench-peers asan tsan fuzz setup install clean
SHELL := /bin/bash

run: build/release/.built
	build/release/apps/tulle bench spmv --quick

test: build/release/.built
	@scripts/setup chromium # one test looks at a page in it
	ctest --preset release

bench: build/release/.built
	build/release/apps/tulle bench spmv --suite generated --json=build/bench.json
	build/release/apps/tulle bench report build/bench.json -o build/bench.html

bench-peers: setup
	scripts/peers
	cmake --preset release >/dev/null
	cmake --build --preset release

asan: setup
	cmake --preset asan >/dev/null
	cmake --build --preset asan
	ctest --preset asan

tsan:
	@scripts/setup clang libomp-dev
	cmake --preset tsan >/dev/null
	cmake --build --preset tsan
	ctest --preset tsan

fuzz:
	@scripts/setup clang
	cmake --preset fuzz >/dev/null
	cmake --build --preset fuzz --target matrix_market_fuzz matrix_file_fuzz dynamic_csr_fuzz
	mkdir -p build/fuzz/corpus build/fuzz/files build/fuzz/dynamic
	build/fuzz/test/fuzz/matrix_market_fuzz -max_total_time=300 -timeout=20 build/fuzz/corpus test/fuzz/corpus/matrix_market
	build/fuzz/test/fuzz/matrix_file_fuzz -max_total_time=300 -timeout=20 build/fuzz/files test/fuzz/corpus/matrix_file
	build/fuzz/test/fuzz/dynamic_csr_fuzz -max_total_time=300 -timeout=20 build/fuzz/dynamic

PREFIX ?= /usr/local
install: setup
	cmake --preset release >/dev/null
	cmake --build --preset release --target tulle_installed
	cmake --install build/release --prefix "$(PREFIX)"

setup:
	@scripts/setup

.PHONY: build/release/.built
build/release/.built: setup
	cmake --preset release >/dev/null
	cmake --build --preset release
	@touch $@

clean:
	rm -rf build
