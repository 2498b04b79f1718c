// /v1/operator/: members and autopilot (docs/contract/12). raft/configuration: local_routes.cpp.

#include "protocol/base/host_port.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/record_input.hpp"
#include "protocol/http/routes.hpp"

namespace belay::http {

namespace {

response bad_request(const std::string& why) {
  return error_response(400, "Bad request: " + why);
}

/// The name of a record of settings in error texts.
template <class Settings>
struct texts_of;
template <>
struct texts_of<state::autopilot_settings> {
  static constexpr std::string_view type = "AutopilotConfiguration";
  static constexpr std::string_view what = "autopilot config";
};

/// Consul's durations have a type of their own: a text or a number only. null: unchanged.
struct settings_input : member_input {
  template <class Field, class T>
  bool operator()(Field f, T& out) const {
    if constexpr (Field::is(state::as::duration)) {
      if (!value.is_null())
        d.readable_duration_ns(value, {owner, Field::name}, out);
      return true;
    } else
      return member_input::operator()(f, out);
  }
};

/// Missing members become zero: a PUT replaces the whole record.
template <class Settings>
refused read_settings(std::string_view body, Settings& out) {
  using texts = texts_of<Settings>;
  state::for_each_field<Settings>([&]<class Field>(Field) { out.*Field::member = typename Field::type{}; });
  go_compat::json_decoder d(body);
  const auto parsed = go_compat::read_json(body);
  if (!parsed)
    d.fail(parsed.error());
  else
    d.object(*parsed, "value of type api." + std::string(texts::type),
             [&](const std::string& name, const boost::json::value& v) {
               log_index ignored;
               if (name == "createindex" || name == "modifyindex") { // clients send back what they received
                 d.index(v, {texts::type, name == "createindex" ? "CreateIndex" : "ModifyIndex"}, ignored);
                 return true;
               }
               return decode_member(name, out, settings_input{{d, v, texts::type}});
             });
  if (!d.ok())
    return bad_request("Error parsing " + std::string(texts::what) + ": " + d.error());
  return std::nullopt;
}

/// GET and PUT of a record of settings.
template <class Settings>
action settings_route(request_context& c) {
  if (c.request.method == "PUT") {
    state::settings_set<Settings> set;
    if (auto r = read_settings(c.request.body, set.wanted))
      return std::move(*r);
    if (c.query.has("cas")) {
      const auto cas = go_compat::read_uint(c.query.get("cas"));
      if (!cas)
        return bad_request("Error parsing cas value: " + cas.error());
      set.check = log_index{*cas};
    }
    if (auto r = refuse_datacenter(c))
      return std::move(*r);
    return write_request{std::move(set)};
  }
  query_options o;
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  o.min_index = 0; // it never blocks
  return make_read(state::settings_get<Settings>{}, o);
}

/// Not in Consul, whose servers find each other by gossip.
action add_peer(request_context& c) {
  const auto address = c.query.get("address"), id = c.query.get("id");
  if (!address.empty() && !id.empty())
    return bad_request("Must specify only one of ?id or ?address");
  if (id.empty() && split_host_port(address).number() == 0)
    return bad_request("Must specify either ?id with the server's ID or ?address with IP:port of peer to add");
  local_request r;
  r.kind = local_kind::add_peer;
  r.added = {std::string(address), lower_case(id)};
  return r;
}

} // namespace

action raft_peer_route(request_context& c) {
  if (c.request.method == "PUT") {
    if (auto r = refuse_datacenter(c))
      return std::move(*r);
    return add_peer(c);
  }
  const bool id = c.query.has("id"), address = c.query.has("address");
  if (!id && !address)
    return bad_request("Must specify either ?id with the server's ID or ?address with IP:port of peer to remove");
  if (id && address)
    return bad_request("Must specify only one of ?id or ?address");
  if (auto no = refuse_datacenter(c))
    return std::move(*no);
  local_request r;
  r.kind = local_kind::remove_peer;
  if (id)
    r.removed = {forward::remove_member::named_by::id, std::string(c.query.get("id"))};
  else
    r.removed = {forward::remove_member::named_by::address, std::string(c.query.get("address"))};
  return r;
}

action autopilot_configuration_route(request_context& c) {
  return settings_route<state::autopilot_settings>(c);
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

} // namespace belay::http
