// `belay acl token clone|create|delete|list|read|update`.

#include "cli/commands/acl/acl_rows.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/go_compat/duration.hpp"

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

std::string one_token_text(const json::value& k, bool meta) {
  return token_text(k, meta, false);
}

int create_token(const options& o, terminal t) {
  if (no_links(o))
    return error(t, "Cannot create a token without specifying -policy-name, -policy-id, -role-name, -role-id, "
                    "-service-identity, or -node-identity at least once");
  const auto client = o.client(t);
  json::object k{{"Description", o.value("description")}, {"Local", o.on("local")}};
  for (const auto& [flag_name, name] : {std::pair("accessor", "AccessorID"), {"secret", "SecretID"}})
    if (o.given(flag_name))
      k.emplace(name, o.value(flag_name));
  if (const auto ttl = o.duration("expires-ttl", {}); ttl.count() > 0)
    k.emplace("ExpirationTTL", go_compat::format_duration(ttl));
  if (const auto s = add_links(o, client, k); !s)
    return error(t, s.error());
  return write_row(o, t, client, "/v1/acl/token", k, "Failed to create new token: ", one_token_text);
}

int update_token(const options& o, terminal t) {
  if (o.value("id").empty())
    return error(t, "Cannot update a token without specifying the -id parameter");
  const auto client = o.client(t);
  const auto id = value_of(id_of(o, client, acl_kind::token, o.value("id")), t, "Error determining token ID: ");
  const auto now = client.get_json("/v1/acl/token/" + id, o.query());
  if (!now || !now->is_object())
    return error(t, "Error when retrieving current token: " + (now ? "it is not a JSON object" : now.error()));
  json::object k = now->get_object();
  if (!o.value("description").empty())
    k["Description"] = o.value("description");
  for (const auto& [flag_name, name] : {std::pair("merge-policies", "Policies"),
                                        {"merge-roles", "Roles"},
                                        {"merge-service-identities", "ServiceIdentities"},
                                        {"merge-node-identities", "NodeIdentities"}})
    if (!o.on(flag_name))
      k.erase(name);
  if (const auto s = add_links(o, client, k); !s)
    return error(t, s.error());
  return write_row(o, t, client, "/v1/acl/token/" + id, k, "Failed to update token " + id + ": ", one_token_text);
}

int clone_token(const options& o, terminal t) {
  if (o.value("id").empty())
    return error(t, "Cannot update a token without specifying the -id parameter");
  const auto client = o.client(t);
  const auto id = value_of(id_of(o, client, acl_kind::token, o.value("id")), t, "Error determining token ID: ");
  return write_row(o, t, client, "/v1/acl/token/" + id + "/clone", {{"Description", o.value("description")}},
                   "Error cloning token: ", one_token_text);
}

int read_token(const options& o, terminal t) {
  if (!o.on("self") && o.value("id").empty())
    return error(t, "Must specify the -id parameter");
  const auto client = o.client(t);
  std::string what = "self";
  if (!o.on("self")) {
    const auto id = value_of(id_of(o, client, acl_kind::token, o.value("id")), t, "Error determining token ID: ");
    what = id;
  }
  const auto k = value_of(client.get_json("/v1/acl/token/" + what, o.query()), t,
                          "Error reading token" + (o.on("self") ? std::string() : " \"" + what + "\"") + ": ");
  t.out << (o.json() ? pretty(k) : one_token_text(k, o.on("meta")));
  return 0;
}

int list_tokens(const options& o, terminal t) {
  return show(o, t, "/v1/acl/tokens", o.query(), "Failed to retrieve the token list: ", token_list_text);
}

int remove_token(const options& o, terminal t) {
  if (o.value("id").empty())
    return error(t, "Must specify the -id parameter");
  const auto client = o.client(t);
  const auto id = value_of(id_of(o, client, acl_kind::token, o.value("id")), t, "Error determining token ID: ");
  answer_of(client.ask("DELETE", "/v1/acl/token/" + id, o.write_query()), t, "Error deleting token \"" + id + "\": ");
  return succeed(o, t, "Token \"" + id + "\" deleted successfully", {{"AccessorID", id}});
}

} // namespace

std::vector<command> acl_token_commands() {
  using enum flag_kind;
  constexpr flag id = {"id", text, "<id>", "accessor ID of the token, or a prefix of it"};
  constexpr flag meta = {"meta", toggle, "", "also show hash and indexes"};
  constexpr flag description = {"description", text, "<text>", "description for humans"};
  constexpr flag node_identity = {"node-identity", list, "<node:dc>", "node identity to attach"};
  constexpr flag policy_id = {"policy-id", list, "<id>", "attach the policy with this ID, or prefix of an ID"};
  constexpr flag policy_name = {"policy-name", list, "<name>", "attach the policy with this name"};
  constexpr flag role_id = {"role-id", list, "<id>", "attach the role with this ID, or prefix of an ID"};
  constexpr flag role_name = {"role-name", list, "<name>", "attach the role with this name"};
  constexpr flag service_identity = {"service-identity", list, "<name[:dc,...]>", "service identity to attach"};
  return {
      {.name = "acl token clone",
       .help = "Create a token with the permissions of an existing one",
       .flags = {description, id, meta},
       .examples = {{"acl token clone -id=c97a6e -description='for the new host'",
                     "Create a token with its own secret"},
                    {"acl token clone -id=c97a6e -format=json", "Print it as JSON"}},
       .run = clone_token},
      {.name = "acl token create",
       .help = "Create a token",
       .flags = {{"accessor", text, "<uuid>", "accessor ID (default: a new one)"},
                 description,
                 {"expires-ttl", duration, "<duration>", "expires after this time"},
                 {"local", toggle, "", "valid only in this datacenter"},
                 meta,
                 node_identity,
                 policy_id,
                 policy_name,
                 role_id,
                 role_name,
                 {"secret", text, "<uuid>", "secret (default: a new one)"},
                 service_identity},
       .examples = {{"acl token create -policy-name=app -description='app on host-1'", "Attach one policy"},
                    {"acl token create -role-name=web -expires-ttl=24h",
                     "Attach a role; the token expires after a day"}},
       .run = create_token},
      {.name = "acl token delete",
       .help = "Delete a token",
       .flags = {id},
       .examples = {{"acl token delete -id=c97a6e", "Select by a prefix of the accessor ID"},
                    {"acl token delete -id=c97a6e00-2140-0a6a-dcc9-c3fffb8c98d9", "Select by the full accessor ID"}},
       .run = remove_token},
      {.name = "acl token list",
       .help = "List tokens, without their secrets",
       .flags = {meta},
       .examples = {{"acl token list", "Print all tokens with their policies and roles"},
                    {"acl token list -format=json", "Print it as JSON"}},
       .run = list_tokens},
      {.name = "acl token read",
       .help = "Show a token",
       .flags = {id, meta, {"self", toggle, "", "the token that this command uses"}},
       .examples = {{"acl token read -id=c97a6e", "Select by a prefix of the accessor ID"},
                    {"acl token read -self -token-file=secret", "Show the permissions of the token in a file"}},
       .run = read_token},
      {.name = "acl token update",
       .help = "Update a token",
       .text =
           "Policies, roles and identities are replaced by those given, or removed, except with the -merge options.",
       .flags = {description,
                 id,
                 {"merge-node-identities", toggle, "", "keep the node identities of the token"},
                 {"merge-policies", toggle, "", "keep the policies of the token"},
                 {"merge-roles", toggle, "", "keep the roles of the token"},
                 {"merge-service-identities", toggle, "", "keep the service identities of the token"},
                 meta,
                 node_identity,
                 policy_id,
                 policy_name,
                 role_id,
                 role_name,
                 service_identity},
       .examples = {{"acl token update -id=c97a6e -policy-name=more -merge-policies", "Add a policy"},
                    {"acl token update -id=c97a6e -role-name=app", "Keep only this role"}},
       .run = update_token},
  };
}

} // namespace belay::cli
