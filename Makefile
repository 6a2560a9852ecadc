# SPDX-License-Identifier: Apache-2.0
# make run     builds the library and the command line (minutes), then shows what they are worth on this machine (seconds)
# make test    builds the rest and runs all tests
# make gpu     builds the CUDA module; make run does so too where there is a GPU
# make asan    the quick tests under the address and undefined-behaviour sanitizers; likewise make tsan
# make bench   measures tulle against its peers on generated matrices: build/bench.json and build/bench.html; and on real ones
#              where TULLE_MATRICES names a folder of them: build/real.json, and the plots build/real-light.svg and -dark.svg
# make bench-peers   fetches further peers first (scripts/peers), into build/peers
# make docs    builds the site of docs/ and of the public headers: build/site/index.html
# make install PREFIX=/usr/local   builds and installs the library, its headers and the command; DESTDIR=... goes in front
# Each installs what is missing first (scripts/setup).

.PHONY: run test gpu bench bench-peers docs asan tsan fuzz setup install clean
SHELL := /bin/bash
tulle := build/release/apps/tulle

run: build/release/build.ninja
	@echo "Building the library and the command line: once, about five minutes on two cores."
	@cmake --build --preset release --target tulle_run
	@echo
	@$(tulle) demo

gpu: build/release/build.ninja
	cmake --build --preset release --target tulle_gpu
	$(tulle) devices

test: build/release/.built
	@scripts/setup chromium python3-venv # some tests look at pages in it
	ctest --preset release

bench: build/release/.built
	$(tulle) bench spmv --suite generated --json=build/bench.json
	$(tulle) bench report build/bench.json -o build/bench.html
	@if [ -n "$$TULLE_MATRICES" ]; then set -e; \
	  $(tulle) bench spmv --suite real --formats core,optimize --json=build/real.json; \
	  for theme in light dark; do \
	    $(tulle) bench report build/real.json --title "Real matrices" --theme $$theme -o build/real-$$theme.svg; \
	  done; \
	else echo "Real matrices are left out: TULLE_MATRICES names no folder of them."; fi

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

docs: build/release/build.ninja
	@scripts/setup python3-venv
	@cmake --build --preset release --target tulle_cli
	scripts/site --tulle $(tulle) -o build/site

setup:
	@scripts/setup

# Configured once; the build itself looks whether it has to be configured again.
build/release/build.ninja: | setup
	@echo "Configuring."
	@cmake --preset release >/dev/null

.PHONY: build/release/.built
build/release/.built: setup
	cmake --preset release >/dev/null
	cmake --build --preset release
	@touch $@

clean:
	rm -rf build
