// SPDX-License-Identifier: Apache-2.0

/// From triplets in file order to a matrix, as the Matrix Market reader does it: symmetries
/// expanded, zeros dropped, duplicates summed as options say, rows sorted. Defined in
/// matrix_market_read.cpp.
#pragma once
#include "io/matrix_market_parse.hpp"

namespace tulle::detail {

/// Of a source that is parsed in chunks by threads.
std::size_t block_bytes(read_options const& options);

/// The entries behind a Matrix Market header that has been read.
template <class V, class I, class O>
csr<V, I, O> csr_behind(text_source& source, parsed_header const& head,
                        read_options const& options);
template <class V, class I, class O>
coo<V, I, O> coo_behind(text_source& source, parsed_header const& head,
                        read_options const& options);

/// Triplets of any file. Its source gives the name for errors, and its bytes pay for rows. They are
/// a `general` or `symmetric` coordinate matrix and so on, as the header says.
template <class V, class I, class O>
csr<V, I, O> csr_of(text_source const& source, matrix_market_header const& h, triplets<V, I> t,
                    read_options const& options);
template <class V, class I, class O>
coo<V, I, O> coo_of(text_source const& source, matrix_market_header const& h, triplets<V, I> t,
                    read_options const& options);

} // namespace tulle::detail
