// /v1/agent/service..., /v1/agent/check..., maintenance and health (docs/contract/09).

#include "protocol/go_compat/duration.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/agent/agent_input.hpp"
#include "protocol/http/discovery/catalog_input.hpp"
#include "protocol/http/reading/filtering.hpp"
#include "protocol/http/routes.hpp"
#include "protocol/http/tokens.hpp"

#include <algorithm>

namespace belay::http {

namespace {

// docs/contract/09, 13: default and maximum of blocking reads of the agent.
constexpr std::chrono::minutes wait_max{10};

refused read_enable(const request_context& c, bool& enable) {
  if (!c.query.has("enable"))
    return error_response(400, "Missing value for enable");
  const auto text = c.query.get("enable");
  const auto value = go_compat::parse_bool(text);
  if (!value)
    return error_response(400, "Invalid value for enable: " + go_compat::quoted(text));
  enable = *value;
  return std::nullopt;
}

action update(request_context& c, std::string_view status) {
  if (auto no = refuse_namespace(c))
    return std::move(*no);
  return agent_request{
      agent::update_check{std::string(c.argument), std::string(status), std::string(c.query.get("note"))}};
}

action health(request_context& c, bool by_id) {
  if (c.argument.empty())
    return error_response(500, by_id ? "Bad request: Missing serviceID" : "Bad request: Missing service Name");
  if (auto no = refuse_namespace(c))
    return std::move(*no);
  const auto format = c.query.get("format");
  const bool text = c.accept.substr(0, 10) == "text/plain" || format == "text";
  return agent_request{agent::service_health{std::string(c.argument), by_id}, text};
}

action filtered(request_context& c, agent::request r) {
  if (auto no = refuse_namespace(c))
    return std::move(*no);
  if (auto no = read_filter(c, r))
    return std::move(*no);
  return agent_request{std::move(r)};
}

/// Catalog writes of the registration use the request's token or, without one, the body's.
refused keep_token(const request_context& c, std::string& token) {
  if (!token.empty() && !could_be_token(token))
    return error_response(400, std::string(invalid_token));
  if (const auto brought = brought_token(c); !brought.empty())
    token = brought;
  return std::nullopt;
}

} // namespace

refused read_wait(const request_context& c, std::chrono::nanoseconds& out) {
  out = wait_max;
  const auto text = c.query.get("wait");
  if (text.empty())
    return std::nullopt;
  const auto wait = go_compat::parse_duration(text);
  if (!wait)
    return error_response(400, "Invalid wait time");
  if (wait->count() > 0)
    out = std::min<std::chrono::nanoseconds>(*wait, wait_max);
  return std::nullopt;
}

action agent_services_route(request_context& c) {
  return filtered(c, agent::list_services{});
}

action agent_checks_route(request_context& c) {
  return filtered(c, agent::list_checks{});
}

action agent_service_route(request_context& c) {
  agent::read_service r{std::string(c.argument), std::string(c.query.get("hash")), {}};
  if (auto no = read_wait(c, r.wait))
    return std::move(*no);
  if (const auto index = c.query.get("index");
      !index.empty() && !go_compat::parse_uint(index)) // it has no other effect
    return error_response(400, "Invalid index");
  if (auto no = refuse_namespace(c))
    return std::move(*no);
  return agent_request{std::move(r)};
}

action agent_health_id_route(request_context& c) {
  return health(c, true);
}

action agent_health_name_route(request_context& c) {
  return health(c, false);
}

action agent_service_register_route(request_context& c) {
  agent::register_service r;
  if (auto no = decode_body(c, [&](auto& d, const auto& v) { decode_service_definition(d, v, r.definition); }))
    return std::move(*no);
  if (r.definition.service.service.empty())
    return error_response(400, "Missing service name");
  if (c.query.has("replace-existing-checks")) {
    const auto text = c.query.get("replace-existing-checks");
    r.replace_existing_checks = text.empty() || go_compat::parse_bool(text).value_or(false);
  }
  if (auto no = keep_token(c, r.definition.token))
    return std::move(*no);
  return agent_request{std::move(r)};
}

action agent_service_deregister_route(request_context& c) {
  if (auto no = refuse_namespace(c))
    return std::move(*no);
  if (c.argument.empty())
    return error_response(500, "ServiceID missing");
  return agent_request{agent::deregister_service{std::string(c.argument)}};
}

action agent_service_maintenance_route(request_context& c) {
  if (c.argument.empty())
    return error_response(400, "Missing service ID");
  agent::service_maintenance r{std::string(c.argument), false, std::string(c.query.get("reason")),
                               std::string(brought_token(c))};
  if (auto no = read_enable(c, r.enable))
    return std::move(*no);
  if (auto no = refuse_namespace(c))
    return std::move(*no);
  return agent_request{std::move(r)};
}

action agent_maintenance_route(request_context& c) {
  agent::node_maintenance r{false, std::string(c.query.get("reason")), std::string(brought_token(c))};
  if (auto no = read_enable(c, r.enable))
    return std::move(*no);
  return agent_request{std::move(r)};
}

action agent_check_register_route(request_context& c) {
  agent::register_check r;
  std::optional<std::string> unsupported;
  if (auto no = decode_body(c, [&](auto& d, const auto& v) {
        decode_check_definition(d, v, r.definition);
        unsupported = unsupported_kind(v);
      }))
    return std::move(*no);
  if (r.definition.name.empty())
    return error_response(400, "Missing check name");
  if (!r.definition.status.empty() && !agent::is_status(r.definition.status))
    return error_response(400, "Bad check status");
  if (unsupported)
    return error_response(400, *unsupported);
  if (auto no = keep_token(c, r.definition.token))
    return std::move(*no);
  return agent_request{std::move(r)};
}

action agent_check_deregister_route(request_context& c) {
  if (auto no = refuse_namespace(c))
    return std::move(*no);
  if (c.argument.empty())
    return error_response(500, "CheckID missing");
  return agent_request{agent::deregister_check{std::string(c.argument)}};
}

action agent_check_pass_route(request_context& c) {
  return update(c, "passing");
}

action agent_check_warn_route(request_context& c) {
  return update(c, "warning");
}

action agent_check_fail_route(request_context& c) {
  return update(c, "critical");
}

action agent_check_update_route(request_context& c) {
  agent::update_check r{std::string(c.argument), {}, {}};
  constexpr std::string_view owner = "checkUpdate";
  if (auto no = decode_only_body(c, [&](auto& d, const auto& v) {
        d.object(v, "value of type agent.checkUpdate", [&](const std::string& name, const auto& each) {
          if (name == "status")
            d.text(each, {owner, "Status"}, r.status);
          else if (name == "output")
            d.text(each, {owner, "Output"}, r.output);
          else
            return false;
          return true;
        });
      }))
    return std::move(*no);
  if (!agent::is_status(r.status))
    return error_response(400, "Invalid check status: '" + r.status + "'");
  if (auto no = refuse_namespace(c))
    return std::move(*no);
  return agent_request{std::move(r)};
}

} // namespace belay::http
