#include "protocol/http/outcomes/idempotency_key.hpp"

#include "protocol/archive/sha256.hpp"
#include "protocol/base/hex.hpp"

#include <array>
#include <optional>

namespace belay::http {

namespace {

/// A string of RFC 8941, or the text itself. nullopt: a quote is missing.
std::optional<std::string> unquoted(std::string_view value) {
  if (value.empty() || value.front() != '"')
    return std::string(value);
  std::string out;
  for (std::size_t i = 1; i < value.size(); ++i) {
    if (value[i] == '"')
      return i + 1 == value.size() ? std::optional(std::move(out)) : std::nullopt;
    if (value[i] == '\\' && ++i == value.size())
      return std::nullopt;
    out += value[i];
  }
  return std::nullopt;
}

response wrong_key(std::string_view why) {
  return error_response(400, "Invalid Idempotency-Key: " + std::string(why));
}

/// Excludes the token, which decides the scope of the key.
state::fingerprint fingerprint_of(const request_context& c) {
  constexpr auto left_out = std::to_array<std::string_view>({"token"});
  const auto query = c.query.encoded_without(left_out);
  archive::sha256 sum;
  for (const auto part : {c.request.method, c.path, std::string_view(query)})
    sum.add(std::to_string(part.size())).add(" ").add(part);
  const auto hex = sum.add(c.request.body).hex();
  const auto number = [&](std::size_t begin) {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < 16; ++i)
      n = n << 4 | static_cast<std::uint64_t>(hex_value(hex[begin + i]));
    return n;
  };
  return {number(0), number(16)};
}

template <class... Commands>
bool is_any_of(const state::command& c) {
  return (std::holds_alternative<Commands>(c) || ...);
}

/// Claims are idempotent by the claim's id and the session already.
bool is_claim(const state::command& c) {
  const auto* write = std::get_if<state::kv_write>(&c);
  const auto* fenced = std::get_if<state::fenced_write>(&c);
  const auto* op = write != nullptr ? &write->op : fenced != nullptr ? &fenced->op : nullptr;
  return (op != nullptr && op->verb == state::kv_verb::lock) ||
         is_any_of<state::kv_acquire, state::claim_ask, state::claim_release, state::claim_transfer,
                   state::claim_mode_set, state::claim_limit_set, state::claim_limit_unset>(c);
}

bool makes_acl_row(const state::command& c) {
  return is_any_of<state::acl_policy_set, state::acl_role_set, state::acl_token_set, state::acl_token_clone>(c);
}

/// Why the command cannot take effect once; nullopt: it can.
refused refuse_command(const request_context& c, const state::command& command) {
  if (is_claim(command))
    return wrong_key("not for acquires and claims: the session and the id of the claim make them safe to repeat");
  // The reply has a management token's secret, and there is no token yet to protect the outcome.
  if (is_any_of<state::acl_bootstrap>(command))
    return wrong_key("not for the bootstrap of ACLs, which takes effect only once anyway");
  if (is_any_of<state::outcome_seal>(command))
    return wrong_key("not for the request that cancels a write, which is safe to repeat");
  if (makes_acl_row(command) && c.request.body.size() > state::kept_answer_bytes_max)
    return error_response(413, "with an Idempotency-Key, policies, roles and tokens must have at most " +
                                   std::to_string(state::kept_answer_bytes_max) + " bytes");
  return std::nullopt;
}

} // namespace

void make_idempotent(const request_context& c, action& a) {
  if (std::holds_alternative<response>(a) || std::holds_alternative<read_request>(a))
    return; // no outcome is kept of read-only transactions
  auto key = c.idempotency_keys.size() == 1 ? unquoted(c.idempotency_keys.front()) : std::nullopt;
  if (!key || !state::is_once_key(*key)) {
    a = wrong_key("it must have 1 to 64 printable characters without blanks and slashes, and be given once");
    return;
  }
  auto* write = std::get_if<write_request>(&a);
  if (write == nullptr) {
    a = wrong_key("not for this request, which writes nothing to the log");
    return;
  }
  if (auto no = refuse_command(c, write->command))
    a = std::move(*no);
  else
    write->command.once = {std::move(*key), fingerprint_of(c), {}};
}

} // namespace belay::http
