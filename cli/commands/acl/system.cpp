// `belay acl bootstrap|set-agent-token|translate-rules`.

#include "cli/commands/acl/acl_rows.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/acl/legacy_rules.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/json/parse.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

int acl_bootstrap(const options& o, terminal t) {
  const auto client = o.client(t);
  const auto answer =
      answer_of(client.ask("PUT", "/v1/acl/bootstrap", o.write_query()), t, "Failed ACL bootstrapping: ");
  boost::system::error_code ec;
  const auto token = json::parse(answer.body, ec);
  if (ec)
    return error(t, "Failed ACL bootstrapping: the response is not JSON: " + ec.message());
  t.out << (o.json() ? pretty(token) : token_text(token, false, false));
  return 0;
}

int set_agent_token(const options& o, terminal t) {
  const auto& words = o.words();
  if (words.size() != 2)
    return error(t, words.empty() ? "Error! Missing TYPE and TOKEN arguments"
                    : words.size() == 1
                        ? "Error! Missing TOKEN argument"
                        : "Error! Too many arguments (expected 2, got " + std::to_string(words.size()) + ")");
  const auto& kind = words[0];
  if (kind != "default" && kind != "agent" && kind != "master" && kind != "replication")
    return error(t, "Unknown token type");
  const auto client = o.client(t);
  answer_of(client.ask("PUT", "/v1/agent/token/" + (kind == "master" ? "agent_master" : kind), o.write_query(),
                       compact(json::object{{"Token", words[1]}})),
            t, "Failed to set ACL token \"" + kind + "\": ");
  return succeed(o, t, "ACL token \"" + kind + "\" set successfully", {{"Type", kind}});
}

int translate_rules(const options& o, terminal t) {
  if (o.words().size() != 1)
    return error(t, o.words().empty()
                        ? "Error! Missing TRANSLATE argument"
                        : "Error! Too many arguments (expected 1, got " + std::to_string(o.words().size()) + ")");
  const auto given = value_of(value_given(o.words()[0], t.in), t, "Error! ");
  const auto print = [&](std::string rules) {
    if (!rules.ends_with('\n'))
      rules += '\n';
    t.out << (o.json() ? pretty(json::object{{"Rules", rules}}) : rules);
    return 0;
  };
  if (!o.on("token-accessor") && !o.on("token-secret")) {
    auto translated = acl::translate_legacy(std::string_view(given));
    return translated ? print(std::move(*translated)) : error(t, "Error translating rules: " + translated.error());
  }
  const auto client = o.client(t);
  auto answer = result<api_answer>(failure{});
  if (o.on("token-accessor")) {
    const auto id = value_of(id_of(o, client, acl_kind::token, given), t, "");
    answer = client.ask("GET", "/v1/acl/rules/translate/" + go_compat::escape_path(id), o.query());
  } else {
    auto target = client.target();
    target.token = given;
    const auto self =
        value_of(api_client(target).get_json("/v1/acl/token/self", o.query()), t, "Error reading token: ");
    answer = client.ask("GET", "/v1/acl/rules/translate/" + member_text(self, "AccessorID"), o.query());
  }
  if (const auto complaint = complaint_about(answer); !complaint.empty())
    return error(t, "Error translating rules: " + complaint);
  return print(answer->body);
}

} // namespace

std::vector<command> acl_system_commands() {
  using enum flag_kind;
  return {
      {.name = "acl bootstrap",
       .help = "Create the first management token",
       .text = "Works once. docs/reference/permissions.md explains how to permit it again.",
       .examples = {{"acl bootstrap", "Print the token: keep its SecretID"},
                    {"acl bootstrap -format=json", "Print it as JSON"}},
       .run = acl_bootstrap},
      {.name = "acl set-agent-token",
       .help = "Set a token that a node uses for its own requests",
       .operands = "default|agent|master|replication TOKEN",
       .text = "default: for requests without a token. agent: for the node's own requests. master: for the node's\n"
               "own API, even without a leader. replication: accepted for compatibility with Consul, without effect.",
       .examples = {{"acl set-agent-token default 63ab0f0d-3f7a-1f55-677c-489112b58f39",
                     "Set the token for requests without one"},
                    {"acl set-agent-token agent 63ab0f0d-3f7a-1f55-677c-489112b58f39",
                     "Set the token for the node's own requests"}},
       .run = set_agent_token},
      {.name = "acl translate-rules",
       .help = "Translate ACL rules from the syntax before Consul 1.4",
       .operands = "RULES | @FILE | -",
       .flags = {{"token-accessor", toggle, "", "take the rules of the token with this accessor ID"},
                 {"token-secret", toggle, "", "take the rules of the token with this secret"}},
       .examples = {{"acl translate-rules 'key \"\" { policy = \"write\" }'", "Print key_prefix instead of key"},
                    {"acl translate-rules @old.hcl", "Translate the rules in a file"}},
       .run = translate_rules},
  };
}

} // namespace belay::cli
