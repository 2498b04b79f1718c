#pragma once
// What servers say in JSON, as far as recipes ask. Boost.JSON stays in the source. A text that is not what it should be is
// nullopt; members that are missing have their defaults.

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

/// The member ID of an object: of a new session.
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
/// The first holder of `GET /v1/claim/NAME`; one without an ID if there is none.
std::optional<claim_holder> first_holder_in(std::string_view body);

/// The value of the key with which Consul's clients run a semaphore: {"Limit":3,"Holders":{"ID":true}}.
struct slot_table {
  std::uint64_t limit = 0;
  std::vector<std::string> holders;
};
std::optional<slot_table> slots_in(std::string_view text);
std::string text_of(const slot_table& slots);

/// Whether operations of a transaction failed because the key was not there, and for other reasons.
struct txn_failure {
  bool absent = false;
  bool index = false;
  std::vector<std::size_t> operations; ///< numbers of those that failed, from 0
  std::string text;                    ///< of the first
};
txn_failure txn_failure_in(std::string_view body);
/// `ModifyIndex` of that key in the last of a transaction's results that has it; 0 if none has.
std::uint64_t index_of_result(std::string_view body, std::string_view key);

/// What became of a write: the answer to `DELETE /v1/outcome/KEY`. nullopt: that is no such answer.
struct write_outcome {
  bool done = false; ///< false: it never takes effect
  answer answered;   ///< as it was answered, if it is done
};
std::optional<write_outcome> outcome_in(const answer& a);

/// What recipes keep in keys of their own: rows of texts, `[["a","1"],["b"]]`. Bytes that are no UTF-8 go in as base64.
using text_rows = std::vector<std::vector<std::string>>;
std::optional<text_rows> rows_in(std::string_view text);
std::string text_of(const text_rows& rows);
/// nullopt unless it is a number of 64 bits.
std::optional<std::uint64_t> number_in(std::string_view text);

/// The name may be that of several keys: for a byte that is no UTF-8 Go and this server write
/// U+FFFD in JSON. A read of one key tells whether there is one of exactly that name.
bool is_ambiguous(std::string_view key);

std::string quoted_json(std::string_view text);
std::string base64_encoded(std::string_view text);
std::string base64_decoded(std::string_view text);

} // namespace detail
} // namespace v0
} // namespace belay
