#pragma once
// Typed answers to HTTP ones: status, headers, JSON (docs/contract/01, sections 7 and 8;
// docs/contract/03 to 08).

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
  // docs/http-extensions.md; zero: no header
  std::uint64_t lock_delay_ms = 0;  ///< the key that was read cannot be acquired for so long
  std::uint64_t session_ttl_ms = 0; ///< the session that was read lives so long if it is not renewed
};

/// All rows of the result, whatever filter the options have: filtering.hpp leaves out what a client does not want to see.
/// The read's query and mode decide shape and headers (404 of a missing key, Effective-Consistency of catalog and health, ...).
response render_read(const read_request& request, const state::query_result& result, const read_meta& meta,
                     const render_options& options);
/// The same without the body, which comes from elsewhere (piecewise_body.hpp). @pre rows_of() the result is not nullopt
response render_read_head(const read_request& request, const state::query_result& result, const read_meta& meta,
                          const render_options& options);
/// Answer to a write that was decided by the state machine, by this entry or by an earlier one.
/// `index`: of its log entry; zero: it was refused before it became one. `ttl_ms`: of the session of a claim that is held now, as in read_meta.
response render_write(const state::command& command, const state::reply& reply, const render_options& options,
                      log_index index = {}, std::uint64_t ttl_ms = 0);
/// `session` null: 404 `Session id '...' not found`. `ttl_ms`: as in read_meta.
response render_renew(const std::string& id, const state::session_ptr& session, const render_options& options,
                      std::uint64_t ttl_ms = 0);
/// How each of several sessions fared, in the order in which they were asked for: its ttl_ms, zero for one without; nullopt: not found.
response render_renewals(const std::vector<std::string>& ids, const std::vector<std::optional<std::uint64_t>>& ttls_ms,
                         const render_options& options);
/// Reads that failed before they were evaluated, or are refused: refusal_response(); session, catalog, health and ACL reads carry the meta headers of
/// docs/contract/01, section 7 (index 1, no known leader).
response render_read_error(const read_request& request, std::string text);

/// The words by which clients tell that they lack a permission, and that their token is none.
inline constexpr std::string_view permission_denied = "Permission denied";
inline constexpr std::string_view acl_not_found = "ACL not found";
/// What a refusal of the state machine is answered with, by its text as in Consul: 403 if it says that something is not permitted or that
/// there is no such token, else 500.
int status_of_refusal(std::string_view text);
response refusal_response(std::string text);

/// The answer to GET /v1/snapshot without its body: an archive of the state at `index`.
response render_snapshot_head(log_index index, const read_meta& meta);

} // namespace belay::http
