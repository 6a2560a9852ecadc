// SPDX-License-Identifier: Apache-2.0

// Cells of the module's table for dense operands: dense.cu.
#pragma once
#include "backend/backend.hpp"

namespace tulle::kernels::cuda {

outcome scale_there(work_place const& at, detail::value_kind kind, void const* beta,
                    detail::dense_ref const& c);
outcome conjugate_there(work_place const& at, detail::value_kind kind,
                        detail::dense_ref const& from, detail::dense_ref const& to);
outcome copy_column_there(work_place const& at, detail::value_kind kind, void* to,
                          std::size_t to_stride, void const* from, std::size_t from_stride,
                          std::size_t n);

} // namespace tulle::kernels::cuda
