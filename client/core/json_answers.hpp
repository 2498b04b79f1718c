#pragma once
// Parses the JSON in servers' responses, as far as recipes need it. Boost.JSON stays in the source
// file. A malformed text gives nullopt; missing members have their defaults.

#include <belay/changes.hpp>
#include <belay/keys.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay {
inline namespace v0 {
namespace detail {

/// The member ID of an object, such as a new session.
std::optional<std::string> id_in(std::string_view body);

/// The member Cause of `/v1/session/ended/ID`.
std::optional<std::string> cause_in(std::string_view body);

/// `/v1/kv/KEY` and `?recurse`.
std::optional<std::vector<entry>> entries_in(std::string_view body);

/// `?changes`; nullopt if it is another list.
std::optional<std::vector<key_change>> changes_in(std::string_view body);

struct claim_state {
  bool held = false;
  std::uint64_t fence = 0;
};
/// The answer to `PUT /v1/claim/NAME`.
std::optional<claim_state> claim_in(std::string_view body);

struct claim_holder {
  std::string id;
  std::string session;
  std::uint64_t fence = 0;
  std::string value;
};
/// The first holder in `GET /v1/claim/NAME`; its ID is empty if there is none.
std::optional<claim_holder> first_holder_in(std::string_view body);

/// The key with which Consul's clients run a semaphore: {"Limit":3,"Holders":{"ID":true}}.
struct slot_table {
  std::uint64_t limit = 0;
  std::vector<std::string> holders;
};
std::optional<slot_table> slots_in(std::string_view text);
std::string text_of(const slot_table& slots);

/// Why operations of a transaction failed: because the key did not exist, or for other reasons.
struct txn_failure {
  bool absent = false;
  bool index = false;
  std::vector<std::size_t> operations; ///< numbers of the failed operations, from 0
  std::string text;                    ///< error text of the first
};
txn_failure txn_failure_in(std::string_view body);
/// `ModifyIndex` of that key in the last result of a transaction that has it; 0 if none has.
std::uint64_t index_of_result(std::string_view body, std::string_view key);

/// The outcome of a write, from the response to the request that cancels it. nullopt: malformed.
struct write_outcome {
  bool done = false; ///< false: the write never takes effect
  answer answered;   ///< the original response, if it is done
};
std::optional<write_outcome> outcome_in(const answer& a);

/// Values of recipes' keys: rows of texts, `[["a","1"],["b"]]`. Bytes not in UTF-8 need base64.
using text_rows = std::vector<std::vector<std::string>>;
std::optional<text_rows> rows_in(std::string_view text);
std::string text_of(const text_rows& rows);
/// nullopt unless it is a 64-bit number.
std::optional<std::uint64_t> number_in(std::string_view text);

/// Whether several keys may have this name: in JSON, Go and this server write U+FFFD for a byte
/// that is not UTF-8. A read of one key shows whether a key of exactly that name exists.
bool is_ambiguous(std::string_view key);

std::string quoted_json(std::string_view text);
std::string base64_encoded(std::string_view text);
std::string base64_decoded(std::string_view text);

} // namespace detail
} // namespace v0
} // namespace belay
