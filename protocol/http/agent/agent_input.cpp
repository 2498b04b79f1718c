#include "protocol/http/agent/agent_input.hpp"

#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/discovery/catalog_input.hpp"

#include <boost/json/array.hpp>

#include <algorithm>

namespace belay::http {

namespace {

using boost::json::value;

// Consul has no limit. A service has a handful of checks, each of about half a kilobyte.
constexpr std::size_t checks_max = 512;

/// Consul accepts most members with underscores, too.
std::string plain(std::string name) {
  std::erase(name, '_');
  return name;
}

void decode_header(go_compat::json_decoder& d, const value& v, go_compat::json_field at,
                   std::map<std::string, std::vector<std::string>>& out) {
  out.clear();
  if (v.is_null())
    return;
  const auto* object = v.if_object();
  if (!object)
    return d.wrong_type(v, "struct field " + std::string(at.owner) + "." + std::string(at.name) +
                               " of type map[string][]string");
  for (const auto& m : *object) {
    std::optional<std::vector<std::string>> values;
    d.texts(m.value(), at, values);
    out[std::string(m.key().data(), m.key().size())] = values.value_or(std::vector<std::string>{});
  }
}

/// Members that are equal in both kinds of checks. @returns false: not one of them
bool decode_check_member(go_compat::json_decoder& d, const std::string& full_name, const value& v,
                         std::string_view owner, agent::check_definition& out) {
  const auto name = plain(full_name);
  struct text_member {
    std::string_view name, shown;
    std::string& to;
  };
  std::string ignored_text;
  for (const auto& m : {text_member{"name", "Name", out.name},
                        {"notes", "Notes", out.notes},
                        {"status", "Status", out.status},
                        {"http", "HTTP", out.http},
                        {"method", "Method", out.method},
                        {"body", "Body", out.body},
                        {"tcp", "TCP", out.tcp},
                        {"aliasnode", "AliasNode", out.alias_node},
                        {"aliasservice", "AliasService", out.alias_service},
                        {"shell", "Shell", ignored_text},
                        {"grpc", "GRPC", out.grpc},
                        {"dockercontainerid", "DockerContainerID", ignored_text},
                        {"token", "Token", out.token}})
    if (name == m.name) {
      d.text(v, {owner, m.shown}, m.to);
      return true;
    }
  struct duration_member {
    std::string_view name, shown;
    std::int64_t& to;
  };
  for (const auto& m : {duration_member{"ttl", "TTL", out.ttl_ns},
                        {"interval", "Interval", out.interval_ns},
                        {"timeout", "Timeout", out.timeout_ns},
                        {"deregistercriticalserviceafter", "DeregisterCriticalServiceAfter", out.deregister_after_ns}})
    if (name == m.name) {
      d.duration_ns(v, {owner, m.shown}, m.to);
      return true;
    }
  if (name == "tlsskipverify")
    d.boolean(v, {owner, "TLSSkipVerify"}, out.tls_skip_verify);
  else if (name == "grpcusetls")
    d.boolean(v, {owner, "GRPCUseTLS"}, out.grpc_use_tls);
  else if (name == "successbeforepassing")
    d.integer(v, {owner, "SuccessBeforePassing"}, out.success_before_passing);
  else if (name == "failuresbeforecritical")
    d.integer(v, {owner, "FailuresBeforeCritical"}, out.failures_before_critical);
  else if (name == "outputmaxsize")
    d.integer(v, {owner, "OutputMaxSize"}, out.output_bytes_max);
  else if (name == "header")
    decode_header(d, v, {owner, "Header"}, out.header);
  else if (name == "args" || name == "scriptargs") {
    std::optional<std::vector<std::string>> args;
    d.texts(v, {owner, name == "args" ? "Args" : "ScriptArgs"}, args);
    if (args)
      out.args = std::move(*args);
  } else
    return false;
  return true;
}

/// Members of a service's check that clients send and Consul ignores.
bool is_ignored_of_check(std::string_view name) {
  return name == "serviceid" || name == "service_id" || name == "proxyhttp" || name == "proxygrpc";
}

void decode_service_check(go_compat::json_decoder& d, const value& v, std::vector<agent::check_definition>& out) {
  constexpr std::string_view owner = "CheckType";
  if (!d.fits(out.size() + 1, {"ServiceDefinition", "Checks"}, checks_max))
    return;
  agent::check_definition c;
  d.object(v, "struct field ServiceDefinition.Check of type structs.CheckType",
           [&](const std::string& name, const value& each) {
             std::string ignored;
             if (name == "checkid" || name == "check_id" || name == "id")
               d.text(each, {owner, "CheckID"}, c.id);
             else if (is_ignored_of_check(name))
               d.text(each, {owner, name}, ignored);
             else
               return decode_check_member(d, name, each, owner, c);
             return true;
           });
  if (auto why = unsupported_kind(v))
    d.fail(*why);
  out.push_back(std::move(c));
}

} // namespace

std::optional<std::string> unsupported_kind(const value& check) {
  const auto* object = check.if_object();
  if (!object)
    return std::nullopt;
  for (const auto& m : *object) {
    const auto name = plain(go_compat::lower_case({m.key().data(), m.key().size()}));
    const auto* text = m.value().if_string();
    if (text != nullptr && !text->empty() && name == "dockercontainerid")
      return "Invalid check: Docker checks are not supported by this server; a script check that calls 'docker exec' "
             "does the same";
  }
  return std::nullopt;
}

void decode_check_definition(go_compat::json_decoder& d, const value& v, agent::check_definition& out) {
  constexpr std::string_view owner = "CheckDefinition";
  std::string check_id;
  d.object(v, "value of type structs.CheckDefinition", [&](const std::string& name, const value& each) {
    if (name == "id")
      d.text(each, {owner, "ID"}, out.id);
    else if (name == "checkid" || name == "check_id")
      d.text(each, {owner, "CheckID"}, check_id);
    else if (name == "serviceid" || name == "service_id")
      d.text(each, {owner, "ServiceID"}, out.service_id);
    else
      return decode_check_member(d, name, each, owner, out);
    return true;
  });
  if (out.id.empty())
    out.id = check_id.empty() ? out.name : check_id;
}

void decode_service_definition(go_compat::json_decoder& d, const value& v, agent::service_definition& out) {
  constexpr std::string_view owner = "ServiceDefinition";
  d.object(v, "value of type structs.ServiceDefinition", [&](const std::string& name, const value& each) {
    if (name == "name")
      d.text(each, {owner, "Name"}, out.service.service);
    else if (name == "token")
      d.text(each, {owner, "Token"}, out.token);
    else if (name == "check") {
      const auto* object = each.if_object();
      if (!object || !object->empty()) // ignores an empty one
        if (!each.is_null())
          decode_service_check(d, each, out.checks);
    } else if (name == "checks") {
      if (const auto* list = each.if_array())
        for (const auto& c : *list)
          decode_service_check(d, c, out.checks);
      else if (!each.is_null())
        d.wrong_type(each, "struct field ServiceDefinition.Checks of type structs.CheckTypes");
    } else
      return name != "service" && decode_service_member(d, name, each, owner, out.service);
    return true;
  });
  bound_tags(d, out.service, out.checks.size());
}

} // namespace belay::http
