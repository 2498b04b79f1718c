// `belay acl role create|delete|list|read|update`.

#include "cli/commands/acl/acl_rows.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/go_compat/url.hpp"

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

int create_role(const options& o, terminal t) {
  if (o.value("name").empty())
    return o.wrong_usage(t, "Missing require '-name' flag");
  if (no_links(o))
    return error(t, "Cannot create a role without specifying -policy-name, -policy-id, -service-identity, or "
                    "-node-identity at least once");
  const auto client = o.client(t);
  json::object r{{"Name", o.value("name")}, {"Description", o.value("description")}};
  if (const auto s = add_links(o, client, r); !s)
    return error(t, s.error());
  return write_row(o, t, client, "/v1/acl/role", r, "Failed to create new role: ", role_text);
}

int update_role(const options& o, terminal t) {
  if (o.value("id").empty())
    return error(t, "Cannot update a role without specifying the -id parameter");
  const auto client = o.client(t);
  const auto id = value_of(id_of(o, client, acl_kind::role, o.value("id")), t, "Error determining role ID: ");
  const auto now = client.get_json("/v1/acl/role/" + id, o.query());
  if (!now || !now->is_object())
    return error(t, "Error when retrieving current role: " + (now ? "it is not a JSON object" : now.error()));
  json::object r = now->get_object();
  if (o.on("no-merge")) {
    r = {{"ID", id}, {"Name", member_text(*now, "Name")}, {"Description", ""}};
    if (o.value("name").empty())
      return error(t, "Cannot update a role without specifying the -name parameter");
  }
  if (!o.value("name").empty())
    r["Name"] = o.value("name");
  if (o.given("description"))
    r["Description"] = o.value("description");
  if (const auto s = add_links(o, client, r); !s)
    return error(t, s.error());
  return write_row(o, t, client, "/v1/acl/role/" + id, r, "Error updating role \"" + id + "\": ", role_text);
}

int read_role(const options& o, terminal t) {
  const auto name = o.value("name");
  if (o.value("id").empty() && name.empty())
    return error(t, "Must specify either the -id or -name parameters");
  const auto client = o.client(t);
  auto path = "/v1/acl/role/name/" + go_compat::escape_path(name);
  auto what = "name \"" + name + "\"";
  if (!o.value("id").empty()) {
    const auto id = value_of(id_of(o, client, acl_kind::role, o.value("id")), t, "Error determining role ID: ");
    path = "/v1/acl/role/" + id;
    what = "ID \"" + id + "\"";
  }
  const auto answer = client.ask("GET", path, o.query());
  if (answer && (answer->status == 404 || (answer->found() && answer->body.starts_with("null"))))
    return error(t, "Role not found with " + what);
  const auto r = value_of(client.get_json(path, o.query()), t, "Error reading role " + what + ": ");
  t.out << (o.json() ? pretty(r) : role_text(r, o.on("meta")));
  return 0;
}

int list_roles(const options& o, terminal t) {
  return show(o, t, "/v1/acl/roles", o.query(), "Failed to retrieve the role list: ", role_list_text);
}

int remove_role(const options& o, terminal t) {
  if (o.value("id").empty() && o.value("name").empty())
    return error(t, "Must specify the -id or -name parameters");
  const auto client = o.client(t);
  const auto id = value_of(o.value("id").empty() ? id_named(o, client, acl_kind::role, o.value("name"))
                                                 : id_of(o, client, acl_kind::role, o.value("id")),
                           t, "Error determining role ID: ");
  answer_of(client.ask("DELETE", "/v1/acl/role/" + id, o.write_query()), t, "Error deleting role \"" + id + "\": ");
  return succeed(o, t, "Role \"" + id + "\" deleted successfully", {{"ID", id}});
}

} // namespace

std::vector<command> acl_role_commands() {
  using enum flag_kind;
  constexpr flag id = {"id", text, "<id>", "ID of the role, or a prefix of the ID"};
  constexpr flag name = {"name", text, "<name>", "name of the role"};
  constexpr flag meta = {"meta", toggle, "", "also show hash and indexes"};
  constexpr flag description = {"description", text, "<text>", "description for humans"};
  constexpr flag node_identity = {"node-identity", list, "<node:dc>", "node identity to attach"};
  constexpr flag policy_id = {"policy-id", list, "<id>", "attach the policy with this ID, or prefix of an ID"};
  constexpr flag policy_name = {"policy-name", list, "<name>", "attach the policy with this name"};
  constexpr flag service_identity = {"service-identity", list, "<name[:dc,...]>", "service identity to attach"};
  return {
      {.name = "acl role create",
       .help = "Create a role",
       .flags = {description,
                 meta,
                 {"name", text, "<name>", "name of the role; required"},
                 node_identity,
                 policy_id,
                 policy_name,
                 service_identity},
       .examples = {{"acl role create -name=app -policy-name=app", "Attach one policy"},
                    {"acl role create -name=web -service-identity=web:dc1,dc2",
                     "Attach the identity of the service web"}},
       .run = create_role},
      {.name = "acl role delete",
       .help = "Delete a role",
       .flags = {id, name},
       .examples = {{"acl role delete -name=app", "Select by name"},
                    {"acl role delete -id=53f0e4", "Select by a prefix of the ID"}},
       .run = remove_role},
      {.name = "acl role list",
       .help = "List roles",
       .flags = {meta},
       .examples = {{"acl role list", "Print all roles with their policies and identities"},
                    {"acl role list -format=json", "Print it as JSON"}},
       .run = list_roles},
      {.name = "acl role read",
       .help = "Show a role",
       .flags = {id, meta, name},
       .examples = {{"acl role read -name=app", "Select by name"},
                    {"acl role read -id=53f0e4", "Select by a prefix of the ID"}},
       .run = read_role},
      {.name = "acl role update",
       .help = "Update a role",
       .text =
           "Policies and identities that are given are added to those of the role; with -no-merge they replace them.",
       .flags = {description,
                 id,
                 meta,
                 name,
                 {"no-merge", toggle, "", "remove the policies and identities that are not given"},
                 node_identity,
                 policy_id,
                 policy_name,
                 service_identity},
       .examples = {{"acl role update -id=53f0e4 -policy-name=more", "Add a policy"},
                    {"acl role update -id=53f0e4 -name=app -policy-name=app -no-merge", "Keep only this policy"}},
       .run = update_role},
  };
}

} // namespace belay::cli
