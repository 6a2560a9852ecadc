#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pkg_config.sh <compiler> <prefix> <libdir> <program> <version> [--static]: builds and runs main.cpp with what tulle.pc says.
set -eu
compiler=$1 prefix=$2 libdir=$3 program=$4 version=$5
shift 5
PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
export PKG_CONFIG_PATH
test "$(pkg-config --modversion tulle)" = "$version"
flags=$(pkg-config "$@" --cflags --libs tulle)
# shellcheck disable=SC2086 # flags are words
"$compiler" "$(dirname "$0")/main.cpp" $flags "-Wl,-rpath,$prefix/$libdir" -o "$program"
exec "$program" "$version"
