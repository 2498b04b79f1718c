// /v1/operator/: members of the cluster and autopilot (contract 12). raft/configuration is in local_routes.cpp.

#include "protocol/golang/duration.hpp"
#include "protocol/golang/json_input.hpp"
#include "protocol/golang/json_output.hpp"
#include "protocol/golang/syntax.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/routes.hpp"

namespace belay::http {

namespace {

response bad_request(const std::string& why) {
  return error_response(400, "Bad request: " + why);
}

/// Members that are not there become zero: a PUT replaces the whole record.
refused read_settings(std::string_view body, state::autopilot_settings& out) {
  out = {false, 0, 0, 0, 0, {}, false, {}, {}, {}};
  golang::json_decoder d;
  const auto parsed = golang::read_json(body);
  if (!parsed)
    d.fail(parsed.error());
  else
    d.object(*parsed, "value of type api.AutopilotConfiguration",
             [&](const std::string& name, const boost::json::value& v) {
               if (name == "cleanupdeadservers")
                 d.boolean(v, {"AutopilotConfiguration", "CleanupDeadServers"}, out.cleanup_dead_servers);
               else if (name == "lastcontactthreshold")
                 d.duration_ns(v, {"AutopilotConfiguration", "LastContactThreshold"}, out.last_contact_threshold_ns);
               else if (name == "maxtrailinglogs")
                 d.unsigned_integer(v, {"AutopilotConfiguration", "MaxTrailingLogs"}, out.max_trailing_logs);
               else if (name == "minquorum")
                 d.unsigned_integer(v, {"AutopilotConfiguration", "MinQuorum"}, out.min_quorum);
               else if (name == "serverstabilizationtime")
                 d.duration_ns(v, {"AutopilotConfiguration", "ServerStabilizationTime"}, out.server_stabilization_ns);
               else if (name == "redundancyzonetag")
                 d.text(v, {"AutopilotConfiguration", "RedundancyZoneTag"}, out.redundancy_zone_tag);
               else if (name == "disableupgrademigration")
                 d.boolean(v, {"AutopilotConfiguration", "DisableUpgradeMigration"}, out.disable_upgrade_migration);
               else if (name == "upgradeversiontag")
                 d.text(v, {"AutopilotConfiguration", "UpgradeVersionTag"}, out.upgrade_version_tag);
               else
                 return name == "createindex" || name == "modifyindex"; // clients send back what they got
               return true;
             });
  if (!d.ok())
    return bad_request("Error parsing autopilot config: " + d.error());
  return std::nullopt;
}

} // namespace

action raft_peer_route(request_context& c) {
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  const bool id = c.query.has("id"), address = c.query.has("address");
  if (!id && !address)
    return bad_request("Must specify either ?id with the server's ID or ?address with IP:port of peer to remove");
  if (id && address)
    return bad_request("Must specify only one of ?id or ?address");
  local_request r;
  r.kind = local_kind::remove_peer;
  if (id)
    r.removed = {forward::remove_member::named_by::id, std::string(c.query.get("id"))};
  else
    r.removed = {forward::remove_member::named_by::address, std::string(c.query.get("address"))};
  return r;
}

action autopilot_configuration_route(request_context& c) {
  if (c.request.method == "PUT") {
    if (auto r = refuse_datacenter(c))
      return std::move(*r);
    state::autopilot_set set;
    if (auto r = read_settings(c.request.body, set.wanted))
      return std::move(*r);
    if (c.query.has("cas")) {
      const auto cas = golang::read_uint(c.query.get("cas"));
      if (!cas)
        return bad_request("Error parsing cas value: " + cas.error());
      set.check = log_index{*cas};
    }
    return write_request{std::move(set)};
  }
  query_options o;
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  o.min_index = 0; // it never waits
  return make_read(state::autopilot_get{}, o);
}

action autopilot_health_route(request_context& c) {
  query_options o;
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  local_request r;
  r.kind = local_kind::autopilot_health;
  return r;
}

response render_autopilot(const state::autopilot_settings& s, const render_options& options) {
  const auto duration = [](std::int64_t ns) { return golang::format_duration(std::chrono::nanoseconds(ns)); };
  std::string out = "{\"CleanupDeadServers\":";
  golang::append_bool(out, s.cleanup_dead_servers);
  out += ",\"LastContactThreshold\":";
  golang::append_json_string(out, duration(s.last_contact_threshold_ns));
  out += ",\"MaxTrailingLogs\":";
  golang::append_number(out, s.max_trailing_logs);
  out += ",\"MinQuorum\":";
  golang::append_number(out, s.min_quorum);
  out += ",\"ServerStabilizationTime\":";
  golang::append_json_string(out, duration(s.server_stabilization_ns));
  out += ",\"RedundancyZoneTag\":";
  golang::append_json_string(out, s.redundancy_zone_tag);
  out += ",\"DisableUpgradeMigration\":";
  golang::append_bool(out, s.disable_upgrade_migration);
  out += ",\"UpgradeVersionTag\":";
  golang::append_json_string(out, s.upgrade_version_tag);
  out += ",\"CreateIndex\":";
  golang::append_number(out, s.create_index);
  out += ",\"ModifyIndex\":";
  golang::append_number(out, s.modify_index);
  return json_response(out += '}', options);
}

} // namespace belay::http
