#pragma once
// Refusals of commands about claims.

#include "protocol/state/claims/claim_answers.hpp"

namespace belay::state {

inline claim_refusal refuse_claim(claim_error why, std::string text) {
  claim_refusal r;
  r.why = why;
  r.text = std::move(text);
  return r;
}

inline claim_refusal wrong_parameter(std::string parameter, const std::string& text) {
  auto r = refuse_claim(claim_error::parameter, "Invalid " + parameter + ": " + text);
  r.parameter = std::move(parameter);
  return r;
}

/// Rule 7: the end of the claim could not be remembered for long enough.
inline claim_refusal ends_full() {
  return refuse_claim(claim_error::ends_full,
                      "too many claims ended in the last 10 minutes: use fewer new IDs, or try again "
                      "when the oldest of these ends is 10 minutes old");
}

inline std::string in_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

} // namespace belay::state
