#pragma once
// Mode, caching, wait and index of reads (docs/contract/01, section 6; docs/contract/06, section 2)

#include "protocol/http/request_context.hpp"

namespace belay::http {

struct query_options {
  consistency mode = consistency::normal;
  std::uint64_t min_index = 0;
  std::chrono::nanoseconds wait{0}; ///< with default and cap applied
};

/// Which cached responses are acceptable.
struct cache_control {
  std::optional<std::chrono::seconds> max_age;
  bool must_revalidate = false;
  std::chrono::seconds stale_if_error{0};
};

/// @returns nullopt: a number is malformed
std::optional<cache_control> read_cache_control(std::string_view header);

/// In the reference's order: modes, Cache-Control, wait, index.
refused read_query_options(const request_context& c, query_options& out);
/// Only `wait`.
refused read_waiting(const request_context& c, query_options& out);
/// The first two of them, for paths that do not block.
refused read_consistency(const request_context& c, query_options& out);

inline read_request make_read(state::query q, const query_options& o) {
  return {std::move(q), o.mode, o.min_index, o.wait};
}

} // namespace belay::http
