// `belay members` and `belay info`: what a node reports about the cluster and about itself.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/table.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/go_compat/regular_expression.hpp"

#include <algorithm>
#include <map>
#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

std::string tag_of(const json::value& member_row, std::string_view name) {
  const auto* tags = member(member_row, "Tags");
  return tags ? member_text(*tags, name) : std::string();
}

std::string status_word(const std::string& number) {
  static const std::map<std::string, std::string> words = {
      {"0", "none"}, {"1", "alive"}, {"2", "leaving"}, {"3", "left"}, {"4", "failed"}};
  auto it = words.find(number);
  return it == words.end() ? "unknown" : it->second;
}

std::vector<std::string> member_row(const json::value& m, bool detailed) {
  const auto address = join_host_port(member_text(m, "Addr"), member_text(m, "Port"));
  const auto status = status_word(member_text(m, "Status"));
  const bool server = tag_of(m, "role") == "consul";
  auto segment = tag_of(m, "segment");
  if (segment.empty())
    segment = server ? "<all>" : "<default>";
  if (detailed) {
    const auto* tags = member(m, "Tags");
    auto shown = tags != nullptr && tags->is_object() ? tags->get_object() : json::object();
    shown["segment"] = segment;
    const json::value all = std::move(shown);
    return {member_text(m, "Name"), address, status, joined(pairs_of(&all), ",")};
  }
  auto build = tag_of(m, "build");
  build.resize(std::min(build.size(), build.find(':')));
  return {member_text(m, "Name"), address,         status, server ? "server" : "client", build,
          tag_of(m, "vsn"),       tag_of(m, "dc"), segment};
}

int members(const options& o, terminal t) {
  const auto client = o.client(t);
  const auto wanted = value_of(go_compat::regular_expression::compile(o.value("status", ".*")), t,
                               "Failed to compile status regexp: error parsing regexp: ");
  auto query = o.query();
  if (o.on("wan"))
    query.add("wan", "1");
  if (o.given("segment"))
    query.add("segment", o.value("segment"));
  auto list = value_of(client.get_json("/v1/agent/members", query), t, "Error retrieving members: ");
  if (!list.is_array())
    return error(t, "Error retrieving members: the response is not a list");
  json::array shown;
  std::vector<std::vector<std::string>> rows;
  const bool detailed = o.on("detailed");
  for (const auto& m : list.get_array())
    if (wanted.matches(status_word(member_text(m, "Status")))) {
      shown.push_back(m);
      rows.push_back(member_row(m, detailed));
    }
  if (o.json()) {
    t.out << pretty(shown);
  } else if (!rows.empty()) {
    std::sort(rows.begin(), rows.end());
    rows.insert(rows.begin(), detailed ? std::vector<std::string>{"Node", "Address", "Status", "Tags"}
                                       : std::vector<std::string>{"Node", "Address", "Status", "Type", "Build",
                                                                  "Protocol", "DC", "Segment"});
    t.out << table(rows);
  }
  return rows.empty() ? 2 : 0; // as in Consul: no member has that status
}

int info(const options& o, terminal t) {
  const auto client = o.client(t);
  auto self = value_of(client.get_json("/v1/agent/self", o.query()), t, "Error querying agent: ");
  const auto* stats = member(self, "Stats");
  if (!stats || !stats->is_object())
    return error(t, "Agent response did not contain 'Stats' key");
  if (o.json()) {
    t.out << pretty(*stats);
    return 0;
  }
  std::map<std::string, std::vector<std::string>> sorted;
  for (const auto& part : stats->get_object())
    if (part.value().is_object())
      for (const auto& one : part.value().get_object())
        sorted[std::string(part.key())].push_back(std::string(one.key()) + " = " + text_of(&one.value()));
  for (auto& [name, lines] : sorted) {
    std::sort(lines.begin(), lines.end());
    t.out << name << ":\n";
    for (const auto& line : lines)
      t.out << "\t" << line << "\n";
  }
  return 0;
}

} // namespace

std::vector<command> cluster_commands() {
  using enum flag_kind;
  return {
      {.name = "info",
       .help = "Show runtime information of a node",
       .asks = reach::agent,
       .examples = {{"info", "Print Raft's state, indexes and counters, in groups"},
                    {"info -http-addr=10.0.0.2:8500 -format=json", "Print that of another node, as JSON"}},
       .run = info},
      {.name = "members",
       .help = "List the nodes of the cluster",
       .text = "Exits with 2 if no node has the status of -status.",
       .asks = reach::agent,
       .flags = {{"detailed", toggle, "", "show all tags"},
                 {"segment", text, "<name>", "accepted without effect: Belay has no network segments"},
                 {"status", text, "<regexp>", "only nodes whose status matches: alive, leaving, left, failed"},
                 {"wan", toggle, "", "servers of all datacenters"}},
       .examples = {{"members", "Print names, addresses and states"},
                    {"members -status=failed", "List the failed nodes; the exit code is 2 if there are none"}},
       .run = members},
  };
}

} // namespace belay::cli
