#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pkg_config.sh <compiler> <prefix> <libdir> <program>: builds and runs main.cpp with what tulle.pc says.
set -eu
PKG_CONFIG_PATH=$2/$3/pkgconfig
export PKG_CONFIG_PATH
flags=$(pkg-config --define-variable=prefix="$2" --cflags --libs tulle)
# shellcheck disable=SC2086 # flags are words
"$1" "$(dirname "$0")/main.cpp" $flags "-Wl,-rpath,$2/$3" -o "$4"
exec "$4"
