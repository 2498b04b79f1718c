#pragma once
// Writes that take effect once (docs/reference/exactly-once.md): their key, queries of outcomes, refusals.

#include "protocol/state/outcomes/outcome_records.hpp"

#include <array>

namespace belay::state {

/// Part of a command that takes effect once.
struct once_request {
  std::string key; ///< is_once_key()
  fingerprint print;
  cluster_time requested; ///< not later than the cluster time when it was proposed
};
template <>
inline constexpr auto fields_of<once_request> = std::tuple{
    field<&once_request::key>{},
    field<&once_request::print>{},
    field<&once_request::requested>{},
};

/// `PUT /v1/outcome/KEY/cancel`: returns the write's outcome, or prevents it forever. See
/// state::reply.
struct outcome_seal {
  static constexpr command_tag tag = command_tag::outcome_seal;

  std::string key;
  cluster_time requested; ///< as in once_request
};
template <>
inline constexpr auto fields_of<outcome_seal> = std::tuple{
    field<&outcome_seal::key>{},
    field<&outcome_seal::requested>{},
};

/// `GET /v1/outcome/KEY`, in the scope of the requester. Returns an outcome_view.
struct outcome_read {
  std::string key;
  bool operator==(const outcome_read&) const = default;
};
struct outcome_view {
  outcome_ptr row; ///< null: unknown
};

/// Why a write with an Idempotency-Key had no effect, for reasons that are not kept as its outcome.
enum class once_error : std::uint8_t {
  key = 0,           ///< not a valid key
  other_request = 1, ///< the key was used for another request
  sealed = 2,        ///< it never takes effect
  too_old = 3,       ///< this copy was in transit too long
  full = 4,          ///< outcomes_max, outcome_bytes_max, or the share of a token
  answer_size = 5,   ///< above kept_answer_bytes_max
};
template <>
inline constexpr auto names_of<once_error> =
    std::to_array<std::string_view>({"key", "other-request", "sealed", "too-old", "outcomes-full", "answer-size"});
static_assert(count_of<once_error> == static_cast<std::size_t>(once_error::answer_size) + 1);

/// The HTTP status.
constexpr int status_of(once_error e) {
  switch (e) {
  case once_error::key:
    return 400;
  case once_error::too_old:
    return 408;
  case once_error::sealed:
    return 410;
  case once_error::answer_size:
    return 413;
  case once_error::other_request:
    return 422;
  case once_error::full:
    return 429;
  }
  return 500;
}

struct once_refusal {
  once_error why = once_error::key;
  cluster_time now; ///< too_old: of the entry that rejected it
};
template <>
inline constexpr auto fields_of<once_refusal> = std::tuple{
    field<&once_refusal::why>{},
    field<&once_refusal::now>{},
};

} // namespace belay::state
