#include "protocol/http/discovery/check_definition.hpp"

#include "protocol/go_compat/duration.hpp"
#include "protocol/go_compat/json_output.hpp"

#include <boost/json/array.hpp>

namespace belay::http {

namespace {

using boost::json::value;

struct fields {
  std::string http, method, body, tcp, docker_container_id, shell, grpc, alias_node, alias_service;
  bool tls_skip_verify = false, grpc_use_tls = false;
  std::map<std::string, std::vector<std::string>> header;
  std::optional<std::vector<std::string>> script_args;
  std::int64_t interval_ns = 0, timeout_ns = 0, deregister_after_ns = 0, ttl_ns = 0;
  std::uint64_t output_max_size = 0;
};

void decode_header(go_compat::json_decoder& d, const value& v, std::string_view owner,
                   std::map<std::string, std::vector<std::string>>& out) {
  out.clear();
  d.object(v, "struct field " + std::string(owner) + ".Definition.Header of type map[string][]string",
           [](const std::string&, const value&) { return true; });
  const auto* object = v.if_object();
  if (!object)
    return;
  for (const auto& m : *object) { // names in their original spelling
    std::optional<std::vector<std::string>> values;
    d.texts(m.value(), {owner, "Definition.Header"}, values);
    out[std::string(m.key().data(), m.key().size())] = values.value_or(std::vector<std::string>{});
  }
}

/// Decodes one member of a check's Definition into `f`. Transactions know fewer members than
/// registrations, and parse durations differently.
bool decode_member(go_compat::json_decoder& d, const std::string& name, const value& v, std::string_view owner,
                   bool of_transaction, fields& f) {
  const auto text = [&](std::string_view shown, std::string& out) {
    d.text(v, {owner, shown}, out);
    return true;
  };
  const auto flag = [&](std::string_view shown, bool& out) {
    d.boolean(v, {owner, shown}, out);
    return true;
  };
  const auto duration = [&](std::string_view shown, std::int64_t& out) {
    if (of_transaction)
      d.readable_duration_ns(v, {owner, shown}, out);
    else
      d.duration_ns(v, {owner, shown}, out);
    return true;
  };
  // The Go client library repeats each duration under a second name. Only transactions use it.
  const auto repeated = [&](std::string_view shown, std::int64_t& out) {
    if (of_transaction)
      d.duration_ns(v, {owner, shown}, out);
    return true;
  };
  if (name == "http")
    return text("Definition.HTTP", f.http);
  if (name == "method")
    return text("Definition.Method", f.method);
  if (name == "body")
    return text("Definition.Body", f.body);
  if (name == "tcp")
    return text("Definition.TCP", f.tcp);
  if (name == "tlsskipverify")
    return flag("Definition.TLSSkipVerify", f.tls_skip_verify);
  if (name == "interval")
    return duration("Definition.Interval", f.interval_ns);
  if (name == "timeout")
    return duration("Definition.Timeout", f.timeout_ns);
  if (name == "deregistercriticalserviceafter")
    return duration("Definition.DeregisterCriticalServiceAfter", f.deregister_after_ns);
  if (name == "intervalduration")
    return repeated("Definition.IntervalDuration", f.interval_ns);
  if (name == "timeoutduration")
    return repeated("Definition.TimeoutDuration", f.timeout_ns);
  if (name == "deregistercriticalserviceafterduration")
    return repeated("Definition.DeregisterCriticalServiceAfterDuration", f.deregister_after_ns);
  if (name == "header") {
    decode_header(d, v, owner, f.header);
    return true;
  }
  if (of_transaction)
    return true; // ignored, like members of later versions
  if (name == "dockercontainerid")
    return text("Definition.DockerContainerID", f.docker_container_id);
  if (name == "shell")
    return text("Definition.Shell", f.shell);
  if (name == "grpc")
    return text("Definition.GRPC", f.grpc);
  if (name == "aliasnode")
    return text("Definition.AliasNode", f.alias_node);
  if (name == "aliasservice")
    return text("Definition.AliasService", f.alias_service);
  if (name == "grpcusetls")
    return flag("Definition.GRPCUseTLS", f.grpc_use_tls);
  if (name == "ttl")
    return duration("Definition.TTL", f.ttl_ns);
  if (name == "outputmaxsize") {
    d.unsigned_integer(v, {owner, "Definition.OutputMaxSize"}, f.output_max_size);
    return true;
  }
  if (name == "scriptargs") {
    d.texts(v, {owner, "Definition.ScriptArgs"}, f.script_args);
    return true;
  }
  // Consul 1.8.7 decodes a Definition with a function of its own, which ignores unknown
  // members. Newer clients send them with each check, for example TLSServerName.
  return true;
}

/// Writes members in the order of the reference: the durations come first.
class member_list {
public:
  void text(std::string_view name, const std::string& value) {
    if (!value.empty())
      go_compat::append_json_string(lead(name), value);
  }
  void flag(std::string_view name, bool value) {
    if (value)
      lead(name) += "true";
  }
  template <class Int>
  void number(std::string_view name, Int value) {
    if (value != 0)
      go_compat::append_number(lead(name), value);
  }
  void duration(std::string_view name, std::int64_t ns) {
    if (ns != 0)
      go_compat::append_json_string(lead(name), go_compat::format_duration(std::chrono::nanoseconds(ns)));
  }
  void texts(std::string_view name, const std::optional<std::vector<std::string>>& list) {
    if (list && !list->empty())
      go_compat::append_json_strings(lead(name), *list);
  }
  void header(const std::map<std::string, std::vector<std::string>>& values) {
    if (values.empty())
      return;
    auto& out = lead("Header");
    char before = '{';
    for (const auto& [name, list] : values) {
      out += before;
      before = ',';
      go_compat::append_json_string(out, name);
      out += ':';
      go_compat::append_json_strings(out, list);
    }
    out += '}';
  }
  std::string take() { return std::move(out_ += '}'); }

private:
  std::string& lead(std::string_view name) {
    if (out_.size() > 1)
      out_ += ',';
    go_compat::append_json_string(out_, name);
    return out_ += ':';
  }
  std::string out_ = "{";
};

std::string shown(const fields& f) {
  member_list m;
  m.duration("Interval", f.interval_ns);
  m.number("OutputMaxSize", f.output_max_size);
  m.duration("Timeout", f.timeout_ns);
  m.duration("DeregisterCriticalServiceAfter", f.deregister_after_ns);
  m.text("HTTP", f.http);
  m.flag("TLSSkipVerify", f.tls_skip_verify);
  m.header(f.header);
  m.text("Method", f.method);
  m.text("Body", f.body);
  m.text("TCP", f.tcp);
  m.texts("ScriptArgs", f.script_args);
  m.text("DockerContainerID", f.docker_container_id);
  m.text("Shell", f.shell);
  m.text("GRPC", f.grpc);
  m.flag("GRPCUseTLS", f.grpc_use_tls);
  m.text("AliasNode", f.alias_node);
  m.text("AliasService", f.alias_service);
  m.number("TTL", f.ttl_ns);
  return m.take();
}

std::string_view type_of(const fields& f) {
  if (!f.grpc.empty())
    return "grpc";
  if (!f.http.empty())
    return "http";
  if (!f.docker_container_id.empty())
    return "docker";
  if (f.script_args && !f.script_args->empty())
    return "script";
  if (!f.tcp.empty())
    return "tcp";
  if (!f.alias_node.empty() || !f.alias_service.empty())
    return "alias";
  return f.ttl_ns != 0 ? "ttl" : "";
}

} // namespace

check_definition decode_check_definition(go_compat::json_decoder& d, const value& v, std::string_view owner,
                                         bool of_transaction) {
  fields f;
  d.object(v, "struct field " + std::string(owner) + ".Definition of type structs.HealthCheckDefinition",
           [&](const std::string& name, const value& each) {
             return decode_member(d, name, each, owner, of_transaction, f);
           });
  return {shown(f), std::string(type_of(f))};
}

} // namespace belay::http
