// /v1/operator/keyring (docs/contract/12): the keys by which servers authenticate.

#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/json_input.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/operators/keyring_report.hpp"
#include "protocol/http/routes.hpp"

#include <charconv>

namespace belay::http {

namespace {

using forward::keyring_verb;

response unusable(const std::string& why) {
  return error_response(400, "Bad request: " + why);
}

/// The body.
struct keyring_input {
  std::string key, token;
  std::uint8_t relay_factor = 0;
  bool local_only = false;
};

result<keyring_input> read_body(std::string_view body) {
  keyring_input in;
  const auto parsed = go_compat::read_json(body);
  if (!parsed)
    return parsed.reason();
  constexpr std::string_view owner = "keyringArgs";
  go_compat::json_decoder d(body);
  d.object(*parsed, "value of type agent.keyringArgs", [&](const std::string& name, const boost::json::value& v) {
    if (name == "key")
      d.text(v, {owner, "Key"}, in.key);
    else if (name == "token") // the request's own token is used
      d.text(v, {owner, "Token"}, in.token);
    else if (name == "relayfactor")
      d.octet(v, {owner, "RelayFactor"}, in.relay_factor);
    else if (name == "localonly")
      d.boolean(v, {owner, "LocalOnly"}, in.local_only);
    else
      return false;
    return true;
  });
  if (!d.ok())
    return failure{d.error()};
  return in;
}

/// Validates the parameter and ignores it: every server is connected to all others.
refused check_relay_factor(const request_context& c) {
  const auto text = c.query.get("relay-factor");
  if (text.empty())
    return std::nullopt;
  const auto digits = text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : std::string_view(text);
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (error == std::errc::result_out_of_range)
    return unusable("Error parsing relay factor: " + go_compat::out_of_range("Atoi", text).text);
  if (error != std::errc() || end != digits.data() + digits.size())
    return unusable("Error parsing relay factor: " + go_compat::invalid_syntax("Atoi", text).text);
  if (n < 0 || n > 5)
    return unusable("Invalid relay-factor: Relay factor must be in range: [0, 5]");
  return std::nullopt;
}

refused read_local_only(const request_context& c, bool listing, bool& out) {
  const auto text = c.query.get("local-only");
  if (!text.empty()) {
    const auto on = go_compat::parse_bool(text);
    if (!on)
      return unusable("Error parsing local-only: " + go_compat::invalid_syntax("ParseBool", text).text);
    if (*on && !listing)
      return unusable("Invalid use of local-only: local-only can only be set for list requests");
    out = *on;
  }
  if (out && !listing) // from the body, which Consul's servers check later
    return error_response(500, "argument error: LocalOnly can only be used for List operations");
  return std::nullopt;
}

keyring_verb verb_of(std::string_view method) {
  return method == "POST"  ? keyring_verb::install
         : method == "PUT" ? keyring_verb::use
         : method == "GET" ? keyring_verb::list
                           : keyring_verb::remove;
}

} // namespace

/// Ignores `?dc`, as Consul does.
action keyring_route(request_context& c) {
  local_request r;
  r.kind = local_kind::keyring;
  r.keys.verb = verb_of(c.request.method);
  const bool listing = r.keys.verb == keyring_verb::list;
  keyring_input in;
  if (!listing) {
    auto body = read_body(c.request.body);
    if (!body)
      return unusable("Request decode failed: " + body.error());
    in = std::move(*body);
  }
  if (auto no = check_relay_factor(c))
    return std::move(*no);
  r.local_only = in.local_only;
  if (auto no = read_local_only(c, listing, r.local_only))
    return std::move(*no);
  r.local_only = r.local_only || !c.settings.has_wan_pool;
  if (listing)
    return r;
  const auto secret = go_compat::decode_base64(in.key);
  if (!secret)
    return error_response(500, keyring_errors({}, secret.error(), c.settings.datacenter, r.local_only));
  if (const auto n = secret->size(); n == 16 || n == 24 || n == 32)
    r.keys.key = go_compat::base64(*secret);
  return r;
}

} // namespace belay::http
