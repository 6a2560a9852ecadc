// SPDX-License-Identifier: Apache-2.0

/// Everything a user may want.
#pragma once
#include "tulle/core/any_matrix.hpp"
#include "tulle/core/error.hpp"
#include "tulle/core/machine.hpp"
#include "tulle/core/recycling.hpp"
#include "tulle/core/where.hpp"
#include "tulle/format/formats.hpp"
#include "tulle/format/sparse_vector.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/io/matrix_market.hpp"
#include "tulle/op/add.hpp"
#include "tulle/op/assemble.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/level1.hpp"
#include "tulle/op/optimize.hpp"
#include "tulle/op/spmv.hpp"
#include "tulle/op/transpose.hpp"
#include "tulle/solve/cg.hpp"
#include "tulle/view/dense.hpp"
#include "tulle/view/transposed.hpp"
#include "tulle/view/vector.hpp"
