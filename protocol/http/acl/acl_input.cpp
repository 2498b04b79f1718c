#include "protocol/http/acl/acl_input.hpp"

#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/record_input.hpp"

#include <boost/json/array.hpp>

#include <array>

namespace belay::http {

namespace {

using boost::json::value;

/// Decodes each element of a list with `read(value, element)`. null: an empty list.
template <class T, class Read>
void decode_each(go_compat::json_decoder& d, const value& v, go_compat::json_field at, std::string_view type,
                 std::vector<T>& out, Read read) {
  out.clear();
  if (v.is_null())
    return;
  const auto* list = v.if_array();
  if (!list)
    return d.wrong_type(v, "struct field " + std::string(at.owner) + "." + std::string(at.name) + " of type " +
                               std::string(type));
  for (const auto& each : *list)
    read(each, out.emplace_back());
}

/// Decodes the members in `Record`'s list of fields, and no others.
template <class Record>
void decode_plain(go_compat::json_decoder& d, const value& v, std::string_view type, Record& out) {
  d.object(v, "value of type structs." + std::string(type), [&](const std::string& name, const value& each) {
    return decode_member(name, out, member_input{d, each, type});
  });
}

void decode_links(go_compat::json_decoder& d, const value& v, go_compat::json_field at, std::string_view type,
                  std::vector<state::acl_link>& out) {
  decode_each(d, v, at, "[]structs." + std::string(type), out,
              [&](const value& each, state::acl_link& link) { decode_plain(d, each, type, link); });
}

/// Formats of members that their types do not express to member_input.
struct acl_member_input : member_input {
  template <class Field, class T>
  bool operator()(Field f, T& out) const {
    const go_compat::json_field at{owner, Field::name};
    if constexpr (std::is_same_v<T, std::vector<state::service_identity>>)
      decode_each(d, value, at, "structs.ACLServiceIdentities", out,
                  [&](const auto& each, auto& to) { decode_plain(d, each, "ACLServiceIdentity", to); });
    else if constexpr (std::is_same_v<T, std::vector<state::node_identity>>)
      decode_each(d, value, at, "structs.ACLNodeIdentities", out,
                  [&](const auto& each, auto& to) { decode_plain(d, each, "ACLNodeIdentity", to); });
    else
      return member_input::operator()(f, out);
    return true;
  }
};

void decode_timestamp(go_compat::json_decoder& d, const value& v, go_compat::json_field at,
                      std::optional<go_compat::timestamp>& out) {
  out.reset();
  if (v.is_null())
    return;
  std::string text;
  d.text(v, at, text);
  if (!v.is_string())
    return;
  const auto t = go_compat::parse_timestamp(text);
  if (!t)
    d.fail(t.error());
  else if (*t != go_compat::timestamp::none())
    out = *t;
}

/// Parses the body and decodes its object with `member(decoder, lower-case
/// name, value)`. Ignores a hash, which clients send back as they received it.
template <class Record, class Member>
result<Record> read_record(std::string_view body, std::string_view type, Record record, Member member) {
  const auto json = go_compat::read_json(body);
  if (!json)
    return json.reason();
  go_compat::json_decoder d(body);
  d.object(*json, "value of type structs." + std::string(type), [&](const std::string& name, const value& v) {
    std::string ignored;
    if (name != "hash")
      return member(d, name, v, record);
    d.text(v, {type, "Hash"}, ignored);
    return true;
  });
  if (!d.ok())
    // docs/contract/01, section 9.
    return failure{d.error() == "json: unknown field \"Namespace\""
                       ? d.error() + " - Namespaces are a Consul Enterprise feature"
                       : d.error()};
  return record;
}

struct resource_name {
  std::string_view name;
  state::permission_needed::of what;
};
// Clients cannot name session owners as a resource.
constexpr auto resource_names = std::to_array<resource_name>({
    {"acl", state::permission_needed::of::acl},
    {"agent", state::permission_needed::of::agent},
    {"event", state::permission_needed::of::event},
    {"key", state::permission_needed::of::key},
    {"keyring", state::permission_needed::of::keyring},
    {"node", state::permission_needed::of::node},
    {"operator", state::permission_needed::of::operators},
    {"query", state::permission_needed::of::query},
    {"service", state::permission_needed::of::service},
    {"session", state::permission_needed::of::session},
});

constexpr std::string_view write_tree = "write-prefix";

} // namespace

result<state::acl_policy> read_acl_policy(std::string_view body) {
  constexpr std::string_view type = "ACLPolicy";
  return read_record(body, type, state::acl_policy{}, [&](auto& d, const std::string& name, const value& v, auto& out) {
    return decode_member(name, out, member_input{d, v, type});
  });
}

result<role_input> read_acl_role(std::string_view body) {
  constexpr std::string_view type = "ACLRole";
  return read_record(body, type, role_input{}, [&](auto& d, const std::string& name, const value& v, auto& out) {
    if (name != "policies")
      return decode_member(name, out.role, acl_member_input{{d, v, type}});
    decode_links(d, v, {type, "Policies"}, "ACLRolePolicyLink", out.policies);
    return true;
  });
}

result<token_input> read_acl_token(std::string_view body) {
  constexpr std::string_view type = "ACLToken";
  return read_record(body, type, token_input{}, [&](auto& d, const std::string& name, const value& v, auto& out) {
    std::optional<go_compat::timestamp> ignored;
    if (name == "policies")
      decode_links(d, v, {type, "Policies"}, "ACLTokenPolicyLink", out.policies);
    else if (name == "roles")
      decode_links(d, v, {type, "Roles"}, "ACLTokenRoleLink", out.roles);
    else if (name == "expirationttl")
      d.duration_ns(v, {type, "ExpirationTTL"}, out.ttl_ns);
    else if (name == "expirationtime")
      decode_timestamp(d, v, {type, "ExpirationTime"}, out.expiration);
    else if (name == "createtime")
      decode_timestamp(d, v, {type, "CreateTime"}, ignored);
    else if (name == "rules")
      d.text(v, {type, "Rules"}, out.rules);
    else if (name == "authmethod")
      d.text(v, {type, "AuthMethod"}, out.auth_method);
    else
      return decode_member(name, out.token, acl_member_input{{d, v, type}});
    return true;
  });
}

result<std::vector<authorization_input>> read_authorizations(std::string_view body) {
  constexpr std::string_view type = "ACLAuthorizationRequest";
  const auto json = go_compat::read_json(body);
  if (!json)
    return json.reason();
  go_compat::json_decoder d(body);
  std::vector<authorization_input> out;
  const auto read = [&](const value& v, authorization_input& to) {
    d.object(v, "value of type structs." + std::string(type), [&](const std::string& name, const value& each) {
      if (name == "resource")
        d.text(each, {type, "Resource"}, to.resource);
      else if (name == "segment")
        d.text(each, {type, "Segment"}, to.segment);
      else if (name == "access")
        d.text(each, {type, "Access"}, to.access);
      else
        return false;
      return true;
    });
  };
  if (const auto* list = json->if_array())
    for (const auto& each : *list)
      read(each, out.emplace_back());
  else if (!json->is_null())
    d.wrong_type(*json, "value of type []structs." + std::string(type));
  if (!d.ok())
    return failure{d.error()};
  return out;
}

result<state::permission_needed> permission_of(const authorization_input& requested) {
  const auto found = std::find_if(resource_names.begin(), resource_names.end(),
                                  [&](const resource_name& r) { return r.name == requested.resource; });
  if (found == resource_names.end())
    return failure{"Invalid ACL resource requested: " + go_compat::quoted(requested.resource)};
  state::permission_needed p{found->what, acl::permission::read, requested.segment, false};
  const auto access = go_compat::lower_case(requested.access);
  const bool key = found->what == state::permission_needed::of::key;
  if (access == "write")
    p.level = acl::permission::write;
  else if (key && access == "list")
    p.level = acl::permission::list;
  else if (key && access == write_tree) {
    p.level = acl::permission::write;
    p.tree = true;
  } else if (access != "read")
    return failure{"Invalid access level for " + requested.resource + " resource: " + requested.access};
  return p;
}

authorization_input requested_by(const state::permission_needed& p) {
  authorization_input out;
  for (const auto& r : resource_names)
    if (r.what == p.what)
      out.resource = r.name;
  out.segment = p.name;
  out.access = p.tree                              ? write_tree
               : p.level == acl::permission::write ? "write"
               : p.level == acl::permission::list  ? "list"
                                                   : "read";
  return out;
}

} // namespace belay::http
