#include "cli/commands/acl/acl_rows.hpp"

#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/json/parse.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

std::string hex_of_hash(const json::value& row) {
  const auto bytes = go_compat::decode_base64(member_text(row, "Hash"));
  std::string out;
  for (const unsigned char c : bytes ? *bytes : std::string()) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += digits[c >> 4];
    out += digits[c & 15];
  }
  return out;
}

/// A time as Go prints it: `2026-11-23 18:04:54.377847397 +0000 UTC`.
std::string time_text(std::string text) {
  if (text.size() < 20 || text[10] != 'T' || !text.ends_with('Z'))
    return text;
  text[10] = ' ';
  text.pop_back();
  return text + " +0000 UTC";
}

/// The lists that roles and tokens have, with `indent` before each line.
std::string links_text(const json::value& row, const std::string& indent) {
  std::string out;
  const auto add = [&](std::string_view name, std::string_view title, auto line) {
    const auto& list = elements(member(row, name));
    if (list.empty())
      return;
    out += indent + std::string(title) + ":\n";
    for (const auto& one : list)
      out += indent + "   " + line(one) + "\n";
  };
  const auto link = [](const json::value& v) { return member_text(v, "ID") + " - " + member_text(v, "Name"); };
  add("Policies", "Policies", link);
  add("Roles", "Roles", link);
  add("ServiceIdentities", "Service Identities", [](const json::value& v) {
    std::vector<std::string> datacenters;
    for (const auto& dc : elements(member(v, "Datacenters")))
      datacenters.push_back(text_of(&dc));
    return member_text(v, "ServiceName") +
           " (Datacenters: " + (datacenters.empty() ? "all" : joined(datacenters, ", ")) + ")";
  });
  add("NodeIdentities", "Node Identities", [](const json::value& v) {
    return member_text(v, "NodeName") + " (Datacenter: " + member_text(v, "Datacenter") + ")";
  });
  return out;
}

/// A line `title: value`, where the value begins at column `width`.
std::string titled(std::string_view title, const std::string& value, std::size_t width) {
  std::string out(title);
  out += ":";
  out.append(out.size() < width ? width - out.size() : 1, ' ');
  return out + value + "\n";
}

std::string meta_lines(const json::value& row, const std::string& indent, std::size_t width) {
  return indent + titled("Hash", hex_of_hash(row), width) + //
         indent + titled("Create Index", member_text(row, "CreateIndex"), width) + indent +
         titled("Modify Index", member_text(row, "ModifyIndex"), width);
}

std::string datacenters_text(const json::value& policy) {
  std::vector<std::string> out;
  for (const auto& dc : elements(member(policy, "Datacenters")))
    out.push_back(text_of(&dc));
  return joined(out, ", ");
}

constexpr std::size_t row_width = 14, token_width = 18;

struct words_of_kind {
  std::string_view list, one, name, id_member;
};
words_of_kind words_of(acl_kind kind) {
  switch (kind) {
  case acl_kind::policy:
    return {"/v1/acl/policies", "/v1/acl/policy", "policy", "ID"};
  case acl_kind::role:
    return {"/v1/acl/roles", "/v1/acl/role", "role", "ID"};
  case acl_kind::token:
    break;
  }
  return {"/v1/acl/tokens", "/v1/acl/token", "token", "AccessorID"};
}

json::array& list_in(json::object& row, std::string_view name) {
  auto& v = row[name];
  if (!v.is_array())
    v = json::array();
  return v.get_array();
}

/// Adds `one` unless an element of `list` has the same text under `name`.
void add_once(json::array& list, json::object one, std::string_view name) {
  for (const auto& there : list)
    if (member_text(there, name) == member_text(json::value(one), name))
      return;
  list.push_back(std::move(one));
}

} // namespace

std::string policy_text(const json::value& p, bool meta) {
  return titled("ID", member_text(p, "ID"), row_width) + titled("Name", member_text(p, "Name"), row_width) +
         titled("Description", member_text(p, "Description"), row_width) +
         titled("Datacenters", datacenters_text(p), row_width) + (meta ? meta_lines(p, "", row_width) : "") +
         "Rules:\n" + member_text(p, "Rules") + "\n";
}

std::string policy_list_text(const options& o, const json::value& policies) {
  std::string out;
  const std::string indent = "   ";
  for (const auto& p : elements(&policies))
    out += member_text(p, "Name") + ":\n" + indent + titled("ID", member_text(p, "ID"), row_width) + indent +
           titled("Description", member_text(p, "Description"), row_width) + indent +
           titled("Datacenters", datacenters_text(p), row_width) +
           (o.on("meta") ? meta_lines(p, indent, row_width) : "") + "\n";
  return out;
}

std::string role_text(const json::value& r, bool meta) {
  return titled("ID", member_text(r, "ID"), row_width) + titled("Name", member_text(r, "Name"), row_width) +
         titled("Description", member_text(r, "Description"), row_width) + (meta ? meta_lines(r, "", row_width) : "") +
         links_text(r, "") + "\n";
}

std::string role_list_text(const options& o, const json::value& roles) {
  std::string out;
  const std::string indent = "   ";
  for (const auto& r : elements(&roles))
    out += member_text(r, "Name") + ":\n" + indent + titled("ID", member_text(r, "ID"), row_width) + indent +
           titled("Description", member_text(r, "Description"), row_width) +
           (o.on("meta") ? meta_lines(r, indent, row_width) : "") + links_text(r, indent) + "\n";
  return out;
}

std::string token_text(const json::value& k, bool meta, bool listed) {
  auto out = titled("AccessorID", member_text(k, "AccessorID"), token_width);
  if (!listed)
    out += titled("SecretID", member_text(k, "SecretID"), token_width);
  out += titled("Description", member_text(k, "Description"), token_width) +
         titled("Local", member_is_true(k, "Local") ? "true" : "false", token_width);
  if (const auto method = member_text(k, "AuthMethod"); !method.empty())
    out += titled("Auth Method", method, token_width);
  out += titled("Create Time", time_text(member_text(k, "CreateTime")), token_width);
  if (const auto end = member_text(k, "ExpirationTime"); !end.empty())
    out += titled("Expiration Time", time_text(end), token_width);
  if (listed)
    out += titled("Legacy", "false", token_width);
  if (meta)
    out += meta_lines(k, "", token_width);
  return out + links_text(k, "") + "\n";
}

std::string token_list_text(const options& o, const json::value& tokens) {
  std::string out;
  for (const auto& k : elements(&tokens))
    out += token_text(k, o.on("meta"), true);
  return out;
}

bool no_links(const options& o) {
  for (const auto* name : {"policy-id", "policy-name", "role-id", "role-name", "service-identity", "node-identity"})
    if (o.given(name))
      return false;
  return true;
}

status add_links(const options& o, const api_client& client, json::object& row) {
  for (const auto& [kind, member_name, name_flag, id_flag] :
       {std::tuple(acl_kind::policy, "Policies", "policy-name", "policy-id"),
        std::tuple(acl_kind::role, "Roles", "role-name", "role-id")}) {
    for (const auto& name : o.values(name_flag))
      add_once(list_in(row, member_name), {{"Name", name}}, "Name");
    for (const auto& beginning : o.values(id_flag)) {
      const auto id = id_of(o, client, kind, beginning);
      if (!id)
        return failure{"Error resolving " + std::string(words_of(kind).name) + " ID " + beginning + ": " + id.error()};
      add_once(list_in(row, member_name), {{"ID", *id}}, "ID");
    }
  }
  for (const auto& text : o.values("service-identity")) {
    const auto colon = text.find(':');
    if (colon == 0 || text.empty() || (colon != text.npos && text.find(':', colon + 1) != text.npos))
      return failure{"Malformed -service-identity argument: \"" + text + "\""};
    json::object identity{{"ServiceName", text.substr(0, colon)}};
    if (colon != text.npos) {
      json::array datacenters;
      for (std::size_t at = colon + 1; at <= text.size();) {
        const auto comma = std::min(text.find(',', at), text.size());
        datacenters.emplace_back(text.substr(at, comma - at));
        at = comma + 1;
      }
      identity.emplace("Datacenters", std::move(datacenters));
    }
    add_once(list_in(row, "ServiceIdentities"), std::move(identity), "ServiceName");
  }
  for (const auto& text : o.values("node-identity")) {
    const auto colon = text.find(':');
    if (colon == text.npos || text.find(':', colon + 1) != text.npos)
      return failure{"Malformed -node-identity argument: \"" + text + "\""};
    add_once(list_in(row, "NodeIdentities"),
             {{"NodeName", text.substr(0, colon)}, {"Datacenter", text.substr(colon + 1)}}, "NodeName");
  }
  return done{};
}

result<std::string> id_of(const options& o, const api_client& client, acl_kind kind, const std::string& beginning) {
  constexpr std::size_t whole = 36;
  if (beginning.size() == whole)
    return beginning;
  if (kind == acl_kind::policy && beginning == "global-management")
    return std::string("00000000-0000-0000-0000-000000000001");
  if (kind == acl_kind::token && beginning == "anonymous")
    return std::string("00000000-0000-0000-0000-000000000002");
  const auto words = words_of(kind);
  const auto all = client.get_json(std::string(words.list), o.query());
  if (!all)
    return all.reason();
  std::string found;
  for (const auto& row : elements(&*all)) {
    const auto id = member_text(row, words.id_member);
    if (!id.starts_with(beginning))
      continue;
    if (!found.empty())
      return failure{"Partial " + std::string(words.name) + " ID is not unique: " + beginning};
    found = id;
  }
  if (found.empty())
    return failure{"No such " + std::string(words.name) + " ID with prefix: " + beginning};
  return found;
}

result<std::string> id_named(const options& o, const api_client& client, acl_kind kind, const std::string& name) {
  const auto words = words_of(kind);
  const auto all = client.get_json(std::string(words.list), o.query());
  if (!all)
    return all.reason();
  for (const auto& row : elements(&*all))
    if (member_text(row, "Name") == name)
      return member_text(row, words.id_member);
  return failure{"No such " + std::string(words.name) + " with name " + name};
}

int write_row(const options& o, terminal t, const api_client& client, const std::string& path, const json::object& row,
              const std::string& failed, std::string (*text)(const json::value&, bool)) {
  const auto answer = answer_of(client.ask("PUT", path, o.write_query(), compact(row)), t, failed);
  boost::system::error_code ec;
  const auto written = json::parse(answer.body, ec);
  if (ec)
    return error(t, failed + "the response is not JSON: " + ec.message());
  t.out << (o.json() ? pretty(written) : text(written, o.on("meta")));
  return 0;
}

} // namespace belay::cli
