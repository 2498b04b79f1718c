#pragma once
// How commands about claims say no.

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

inline std::string in_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

} // namespace belay::state
