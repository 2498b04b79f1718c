#include "protocol/golang/url.hpp"
#include "protocol/http/request.hpp"

#include <algorithm>
#include <limits>

namespace belay::http {

namespace {

// The reference has no limit here. Registrations and sessions are small; this keeps a client from filling our memory.
constexpr std::size_t other_bytes_max = 4 << 20;

enum class kind { kv, txn, snapshot, other };

/// The path is not clean yet, but a request that must be redirected may be judged by its literal spelling, too.
kind kind_of(std::string_view target) {
  constexpr std::string_view kv = "/v1/kv/", txn = "/v1/txn", snapshot = "/v1/snapshot";
  std::string decoded;
  auto path = target.substr(0, std::min(target.find('?'), target.size()));
  if (path.find('%') != std::string_view::npos) {
    if (!golang::decode_path(path, decoded))
      return kind::other;
    path = decoded;
  }
  if (path.substr(0, kv.size()) == kv)
    return kind::kv;
  if (path == snapshot)
    return kind::snapshot;
  return path == txn ? kind::txn : kind::other;
}

} // namespace

body_limit body_limit_of(std::string_view method, std::string_view target, const route_settings& s) {
  switch (kind_of(target)) {
  case kind::kv:
    if (method == "PUT")
      return {s.kv_max_value_size};
    break;
  case kind::txn:
    return {std::max(s.txn_max_req_len, s.kv_max_value_size)};
  case kind::snapshot:
    if (method == "PUT")
      return {std::numeric_limits<std::size_t>::max(), true};
    break;
  case kind::other:
    break;
  }
  return {other_bytes_max};
}

response body_too_large(std::string_view target, std::uint64_t length, const route_settings& s) {
  const auto what = kind_of(target);
  const auto limit = body_limit_of("PUT", target, s).bytes_max;
  std::string text = "Request body";
  if (length != 0)
    text += "(" + std::to_string(length) + " bytes)";
  text += " too large, max size: " + std::to_string(limit) + " bytes.";
  if (what == kind::kv)
    text += " See https://www.consul.io/docs/agent/options.html#kv_max_value_size.";
  else if (what == kind::txn)
    text += " See https://www.consul.io/docs/agent/options.html#txn_max_req_len.";
  auto r = error_response(413, std::move(text));
  r.close = true;
  return r;
}

} // namespace belay::http
