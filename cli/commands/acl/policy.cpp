// `belay acl policy create|delete|list|read|update`.

#include "cli/commands/acl/acl_rows.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"

#include <boost/json/array.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

/// The policy that -id or -name selects.
struct wanted_policy {
  wanted_policy(const options& o, terminal t) : client(checked(o, t).client(t)) {
    const auto given = o.value("id");
    id = value_of(given.empty() ? id_named(o, client, acl_kind::policy, o.value("name"))
                                : id_of(o, client, acl_kind::policy, given),
                  t, "Error determining policy ID: ");
  }

  api_client client;
  std::string id;

private:
  static const options& checked(const options& o, terminal t) {
    if (o.value("id").empty() && o.value("name").empty())
      throw command_ended{error(t, "Must specify either the -id or -name parameters")};
    return o;
  }
};

json::array datacenters(const options& o) {
  json::array out;
  for (const auto& dc : o.values("valid-datacenter"))
    out.emplace_back(dc);
  return out;
}

/// The rules: the value of -rules, or the contents of the file that it names.
std::string rules(const options& o, terminal t) {
  return value_of(value_given(o.value("rules"), t.in), t, "Error loading rules: ");
}

int create_policy(const options& o, terminal t) {
  if (o.value("name").empty())
    return o.wrong_usage(t, "Missing require '-name' flag");
  const auto text = rules(o, t);
  const auto client = o.client(t);
  json::object p{{"Name", o.value("name")}, {"Description", o.value("description")}, {"Rules", text}};
  if (o.given("valid-datacenter"))
    p.emplace("Datacenters", datacenters(o));
  return write_row(o, t, client, "/v1/acl/policy", p, "Failed to create new policy: ", policy_text);
}

int update_policy(const options& o, terminal t) {
  const auto& [client, id] = wanted_policy(o, t);
  const auto text = rules(o, t);
  json::object p{{"ID", id}};
  if (!o.on("no-merge")) {
    const auto now = client.get_json("/v1/acl/policy/" + id, o.query());
    if (!now || !now->is_object())
      return error(t, "Error when retrieving current policy: " + (now ? "it is not a JSON object" : now.error()));
    p = now->get_object();
  } else {
    for (const auto* name : {"Name", "Description", "Rules"})
      p.emplace(name, "");
  }
  if (o.given("name") && (o.given("id") || o.on("no-merge")))
    p["Name"] = o.value("name");
  if (o.given("description"))
    p["Description"] = o.value("description");
  if (o.given("rules"))
    p["Rules"] = text;
  if (o.given("valid-datacenter"))
    p["Datacenters"] = datacenters(o);
  return write_row(o, t, client, "/v1/acl/policy/" + id, p, "Error updating policy \"" + id + "\": ", policy_text);
}

int read_policy(const options& o, terminal t) {
  const auto& [client, id] = wanted_policy(o, t);
  const auto p =
      value_of(client.get_json("/v1/acl/policy/" + id, o.query()), t, "Error reading policy \"" + id + "\": ");
  t.out << (o.json() ? pretty(p) : policy_text(p, o.on("meta")));
  return 0;
}

int list_policies(const options& o, terminal t) {
  return show(o, t, "/v1/acl/policies", o.query(), "Failed to retrieve the policy list: ", policy_list_text);
}

int remove_policy(const options& o, terminal t) {
  const auto& [client, id] = wanted_policy(o, t);
  answer_of(client.ask("DELETE", "/v1/acl/policy/" + id, o.write_query()), t, "Error deleting policy \"" + id + "\": ");
  return succeed(o, t, "Policy \"" + id + "\" deleted successfully", {{"ID", id}});
}

} // namespace

std::vector<command> acl_policy_commands() {
  using enum flag_kind;
  constexpr flag id = {"id", text, "<id>", "ID of the policy, or a prefix of the ID"};
  constexpr flag name = {"name", text, "<name>", "name of the policy"};
  constexpr flag meta = {"meta", toggle, "", "also show hash and indexes"};
  constexpr flag description = {"description", text, "<text>", "description for humans"};
  constexpr flag rules_flag = {"rules", text, "<rules>", "rules of the policy, @FILE, or - for the standard input"};
  constexpr flag datacenter = {"valid-datacenter", list, "<name>", "datacenter in which the policy is valid"};
  return {
      {.name = "acl policy create",
       .help = "Create a policy",
       .flags = {description, meta, {"name", text, "<name>", "name of the policy; required"}, rules_flag, datacenter},
       .examples = {{"acl policy create -name=app -rules='key_prefix \"app/\" { policy = \"write\" }'",
                     "Give the rules as text"},
                    {"acl policy create -name=app -rules=@app.hcl", "Read the rules from a file"}},
       .run = create_policy},
      {.name = "acl policy delete",
       .help = "Delete a policy",
       .flags = {id, name},
       .examples = {{"acl policy delete -name=app", "Select by name"},
                    {"acl policy delete -id=8d2c95", "Select by a prefix of the ID"}},
       .run = remove_policy},
      {.name = "acl policy list",
       .help = "List policies",
       .flags = {meta},
       .examples = {{"acl policy list", "Print names and IDs"}, {"acl policy list -format=json", "Print it as JSON"}},
       .run = list_policies},
      {.name = "acl policy read",
       .help = "Show a policy with its rules",
       .flags = {id, meta, name},
       .examples = {{"acl policy read -name=app", "Select by name"},
                    {"acl policy read -id=8d2c95 -meta", "Select by a prefix of the ID"}},
       .run = read_policy},
      {.name = "acl policy update",
       .help = "Update a policy",
       .text = "Fields that are not given keep their values; with -no-merge they become empty.",
       .flags = {description,
                 id,
                 meta,
                 {"name", text, "<name>", "name of the policy; with -id: the new name"},
                 {"no-merge", toggle, "", "clear the fields that are not given"},
                 rules_flag,
                 datacenter},
       .examples = {{"acl policy update -name=app -rules=@app.hcl", "Replace the rules"},
                    {"acl policy update -id=8d2c95 -name=better", "Rename the policy"}},
       .run = update_policy},
  };
}

} // namespace belay::cli
