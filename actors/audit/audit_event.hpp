#pragma once
// An event of the audit log, and its line (docs/operate/operations.md, "The audit log").
// The members are those of Consul Enterprise; additional ones are in `belay`.

#include "actors/gateway/requests/logged_request.hpp"
#include "protocol/base/ids.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

/// What a request changes. Never contains a value or a secret.
struct audit_target {
  std::string_view verb; ///< static text: `set`, `delete-tree`, `register`, ...
  std::string_view kind; ///< static text: `key`, `session`, `policy`, ...
  std::string name = {}; ///< empty: it has none, or only an ID
  std::string id = {};   ///< empty: it has none

  bool operator==(const audit_target&) const = default;
};

enum class audit_outcome : std::uint8_t {
  done,
  refused, ///< rejected without change: bad input, a failed compare-and-set, a held lock, an overload, ...
  denied,  ///< the caller has no permission
  unknown, ///< it was started and has no result: it may have been done
};

/// Times are nanoseconds of the wall clock since 1970.
struct audit_event {
  std::string id; ///< a fresh UUID
  std::int64_t began_ns = 0, completed_ns = 0;

  std::string accessor; ///< token's accessor ID; empty: unknown token, or ACLs are off
  std::string description;
  std::int64_t token_created_ns = 0; ///< 0: not known

  std::string method;
  std::string endpoint; ///< the path, decoded, without the query
  std::string remote_address;
  std::string user_agent;
  std::string host;

  std::string_view route; ///< static text
  std::vector<audit_target> targets;
  std::size_t more_targets = 0; ///< number of targets left out
  audit_outcome outcome = audit_outcome::done;
  log_index index;   ///< log entry that made the change; zero: there is none
  int status = 0;    ///< HTTP status; 0: the client disconnected before the answer
  std::string error; ///< text of the answer, if its status is 400 or above
};

// Limits of texts from clients; longer ones are truncated and end with "...".
inline constexpr std::size_t audit_path_bytes_max = 2048;
inline constexpr std::size_t audit_text_bytes_max = 512;
/// The limit of operations in a transaction.
inline constexpr std::size_t audit_targets_max = 64;

/// One JSON object and a line feed.
std::string audit_line(const audit_event& e);
/// Replaces `lost` lines that could not be written.
/// @param id a fresh UUID
std::string audit_gap_line(std::string_view id, std::int64_t now_ns, std::uint64_t lost);

/// Replaces `secret` by `<hidden>` in all texts from clients (logged_request.hpp).
void hide_secret(audit_event& e, std::string_view secret);
/// The same for everything that has the form of a secret, a UUID.
void hide_uuids(std::string& text);

} // namespace belay::actors
