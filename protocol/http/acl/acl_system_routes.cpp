// The rest of /v1/acl/ and related routes: bootstrap, translation of rules, permission
// questions, and an agent's own tokens (docs/contract/10, sections 2.4 and 5).

#include "protocol/go_compat/json_input.hpp"
#include "protocol/http/acl/acl_input.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/routes.hpp"
#include "protocol/http/tokens.hpp"

#include <algorithm>

namespace belay::http {

namespace {

response not_acceptable(const std::string& why) {
  return error_response(400, "Bad request: " + why);
}

// Consul's limit.
constexpr std::size_t questions_max = 64;

} // namespace

/// The server that proposes it adds the content of the file `acl-bootstrap-reset`.
action acl_bootstrap_route(request_context& c) {
  return write_request{state::acl_bootstrap{c.uuid(), c.uuid(), c.request.now_ns, {}}};
}

/// There is only one datacenter, and no replication.
action acl_replication_route(request_context& c) {
  query_options o;
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  return json_response("{\"Enabled\":false,\"Running\":false,\"SourceDatacenter\":\"\",\"ReplicationType\":\"\","
                       "\"ReplicatedIndex\":0,\"ReplicatedRoleIndex\":0,\"ReplicatedTokenIndex\":0,"
                       "\"LastSuccess\":\"0001-01-01T00:00:00Z\",\"LastError\":\"0001-01-01T00:00:00Z\"}",
                       c.options);
}

action acl_translate_route(request_context& c) {
  return local_request{.kind = local_kind::translate_rules, .text = std::string(c.request.body)};
}

action acl_translate_token_route(request_context& c) {
  if (c.argument.empty())
    return not_acceptable("Missing token ID");
  query_options o;
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return with_unknown_meta(std::move(*r));
  o.min_index = 0; // it never blocks
  c.options.rules_of_token = true;
  return make_read(state::acl_token_read{std::string(c.argument)}, o);
}

action acl_authorize_route(request_context& c) {
  auto questions = read_authorizations(c.request.body);
  if (!questions)
    return not_acceptable("Failed to decode request body: " + questions.error());
  if (questions->size() > questions_max)
    return not_acceptable("Refusing to process more than " + std::to_string(questions_max) + " authorizations at once");
  if (questions->empty())
    return json_response("[]", c.options);
  query_options o; // query options are ignored, as in Consul, except defaults
  o.wait = std::min(c.settings.default_query_time, c.settings.max_query_time);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  state::permissions_read read;
  for (const auto& each : *questions) {
    auto needed = permission_of(each);
    if (!needed)
      return not_acceptable(needed.error());
    read.requested.push_back(std::move(*needed));
  }
  return make_read(std::move(read), o);
}

action acl_rules_route(request_context& c) {
  if (c.request.passed_on_by == nullptr)
    return error_response(403, "only client agents may send this request, on their connections to the server port");
  state::permissions_read read;
  read.rules_too = true;
  query_options o;
  o.mode = c.query.has("stale") ? consistency::stale : consistency::normal;
  return make_read(std::move(read), o);
}

action agent_token_route(request_context& c) {
  agent_token_change change;
  const auto body = go_compat::read_json(c.request.body);
  go_compat::json_decoder d(c.request.body);
  if (!body)
    d.fail(body.error());
  else
    d.object(*body, "value of type api.AgentToken", [&](const std::string& name, const boost::json::value& v) {
      if (name != "token")
        return false;
      d.text(v, {"AgentToken", "Token"}, change.secret);
      return true;
    });
  if (!d.ok())
    return error_response(400, "Request decode failed: " + d.error());
  if (!change.secret.empty() && !could_be_token(change.secret))
    return error_response(400, std::string(invalid_token));
  const auto kind = agent_token_named(c.argument);
  if (!kind) // check first whether the client may know that
    return local_request{
        .kind = local_kind::agent_token, .token = {agent_token_kind::unknown, {}}, .text = std::string(c.argument)};
  change.kind = *kind;
  return local_request{.kind = local_kind::agent_token, .token = std::move(change)};
}

} // namespace belay::http
