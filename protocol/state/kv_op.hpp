#pragma once
// One operation on a key: alone, in a transaction, or in a session's OnEnd.

#include "protocol/base/bytes.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/state/enum_names.hpp"
#include "protocol/state/fields.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace belay::state {

enum class kv_verb : std::uint8_t {
  set = 0,
  cas = 1,
  lock = 2,
  unlock = 3,
  get = 4,
  get_tree = 5,
  check_index = 6,
  check_session = 7,
  check_not_exists = 8,
  remove = 9,
  remove_tree = 10,
  remove_cas = 11,
  add = 12,
};
/// Names as in the transactions of clients (docs/contract/05).
template <>
inline constexpr auto names_of<kv_verb> = std::to_array<std::string_view>({
    "set",
    "cas",
    "lock",
    "unlock",
    "get",
    "get-tree",
    "check-index",
    "check-session",
    "check-not-exists",
    "delete",
    "delete-tree",
    "delete-cas",
    "add",
});
static_assert(count_of<kv_verb> == static_cast<std::size_t>(kv_verb::add) + 1);

/// Whether the verb writes keys. The others only read or check.
constexpr bool writes_keys(kv_verb verb) {
  switch (verb) {
  case kv_verb::set:
  case kv_verb::cas:
  case kv_verb::lock:
  case kv_verb::unlock:
  case kv_verb::remove:
  case kv_verb::remove_tree:
  case kv_verb::remove_cas:
  case kv_verb::add:
    return true;
  case kv_verb::get:
  case kv_verb::get_tree:
  case kv_verb::check_index:
  case kv_verb::check_session:
  case kv_verb::check_not_exists:
    break;
  }
  return false;
}

struct kv_op {
  kv_verb verb = kv_verb::set;
  std::string key;
  payload value; ///< set, cas, lock, unlock; null: empty
  std::uint64_t flags = 0;
  log_index index;     ///< cas, remove_cas, check_index
  std::string session; ///< lock, unlock, check_session
  // add
  std::int64_t amount = 0;
  std::optional<std::int64_t> min, max; ///< bounds of the sum, inclusive
};
template <>
inline constexpr auto fields_of<kv_op> = std::tuple{
    field<&kv_op::verb, "Verb">{},          field<&kv_op::key, "Key">{},
    field<&kv_op::value, "Value">{},        field<&kv_op::flags, "Flags", as::fixed>{},
    field<&kv_op::index, "Index">{},        field<&kv_op::session, "Session">{},
    field<&kv_op::amount, "", as::later>{}, field<&kv_op::min, "", as::later>{},
    field<&kv_op::max, "", as::later>{},
};

} // namespace belay::state
