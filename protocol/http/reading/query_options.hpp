#pragma once
// The parameters that all reads share: consistency, caching, wait and index (docs/contract/01, section 6; docs/contract/06, section 2).

#include "protocol/http/request_context.hpp"

namespace belay::http {

struct query_options {
  consistency mode = consistency::normal;
  std::uint64_t min_index = 0;
  std::chrono::nanoseconds wait{0}; ///< defaulted and capped
};

/// What is said of earlier answers.
struct cache_control {
  std::optional<std::chrono::seconds> max_age;
  bool must_revalidate = false;
  std::chrono::seconds stale_if_error{0};
};

/// @returns nullopt: a number in it is none
std::optional<cache_control> read_cache_control(std::string_view header);

/// In the reference's order: modes, Cache-Control, wait, index.
refused read_query_options(const request_context& c, query_options& out);
/// `wait`, into wait.
refused read_waiting(const request_context& c, query_options& out);
/// The first two of them, where a path knows no waiting.
refused read_consistency(const request_context& c, query_options& out);

inline read_request make_read(state::query q, const query_options& o) {
  return {std::move(q), o.mode, o.min_index, o.wait};
}

} // namespace belay::http
