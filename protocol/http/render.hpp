#pragma once
// Renders typed results as HTTP responses: status, headers, JSON
// (docs/contract/01, sections 7 and 8; docs/contract/03 to 08).

#include "protocol/http/request.hpp"
#include "protocol/http/response.hpp"
#include "protocol/state/queries.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::http {

/// The three meta headers of a read.
struct read_meta {
  std::uint64_t last_contact_ms = 0;
  bool known_leader = true;
  // docs/reference/http-extensions.md; zero: no header
  std::uint64_t lock_delay_ms = 0;  ///< remaining lock delay of the key that was read
  std::uint64_t session_ttl_ms = 0; ///< remaining life of the session that was read, if it is not renewed
};

/// All rows of the result, ignoring the filter in the options (see filtering.hpp). The read's
/// query and mode decide shape and headers (404 of a missing key, Effective-Consistency, ...).
response render_read(const read_request& request, const state::query_result& result, const read_meta& meta,
                     const render_options& options);
/// The head of the same; piecewise_body.hpp has the body. @pre rows_of() the result is not nullopt
response render_read_head(const read_request& request, const state::query_result& result, const read_meta& meta,
                          const render_options& options);
/// The response to a write that the state machine decided, by this entry or an earlier one.
/// `index`: of its entry; zero: rejected before. `ttl_ms`: as in read_meta, of a held claim.
response render_write(const state::command& command, const state::reply& reply, const render_options& options,
                      log_index index = {}, std::uint64_t ttl_ms = 0);
/// `session` null: 404 `Session id '...' not found`. `ttl_ms`: as in read_meta.
response render_renew(const std::string& id, const state::session_ptr& session, const render_options& options,
                      std::uint64_t ttl_ms = 0);
/// `ttls_ms` has, for each session in request order, its TTL, or zero without one; nullopt: not
/// found.
response render_renewals(const std::vector<std::string>& ids, const std::vector<std::optional<std::uint64_t>>& ttls_ms,
                         const render_options& options);
/// The response to reads that fail before evaluation or are rejected: refusal_response(). For
/// sessions, catalog, health and ACLs it has the headers of docs/contract/01, section 7 (index 1,
/// no leader).
response render_read_error(const read_request& request, std::string text);

/// Texts by which clients recognize a missing permission, and an unknown token.
inline constexpr std::string_view permission_denied = "Permission denied";
inline constexpr std::string_view acl_not_found = "ACL not found";
/// Status of a state machine's refusal, by its text as in Consul:
/// 403 for a missing permission or an unknown token, else 500.
int status_of_refusal(std::string_view text);
response refusal_response(std::string text);

/// The response to GET /v1/snapshot without its body: an archive of the state at `index`.
response render_snapshot_head(log_index index, const read_meta& meta);

} // namespace belay::http
