// `belay catalog datacenters|nodes|services`.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/table.hpp"
#include "protocol/go_compat/url.hpp"

#include <algorithm>
#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t short_id = 8; // characters of a node's ID in the short list

bool no_words(const options& o, terminal t) {
  if (o.words().empty())
    return true;
  error(t, "Too many arguments (expected 0, got " + std::to_string(o.words().size()) + ")");
  return false;
}

std::string lines_text(const options&, const json::value& list) {
  std::string out;
  for (const auto& one : elements(&list))
    out += text_of(&one) + "\n";
  return out;
}

int list_datacenters(const options& o, terminal t) {
  if (!no_words(o, t))
    return 1;
  return show(o, t, "/v1/catalog/datacenters", o.query(), "Error listing datacenters: ", lines_text);
}

std::string nodes_text(const options& o, const json::value& nodes) {
  const bool detailed = o.on("detailed");
  std::vector<std::vector<std::string>> rows;
  for (const auto& n : elements(&nodes)) {
    auto id = member_text(n, "ID");
    if (!detailed)
      id.resize(std::min(id.size(), short_id));
    rows.push_back({member_text(n, "Node"), id, member_text(n, "Address"), member_text(n, "Datacenter")});
    if (detailed) {
      rows.back().push_back(joined(pairs_of(member(n, "TaggedAddresses")), ", "));
      // A row of a service has the metadata of the service and of its node.
      const auto* meta = member(n, o.given("service") ? "NodeMeta" : "Meta");
      rows.back().push_back(joined(pairs_of(meta), ", "));
    }
  }
  if (rows.empty())
    return {};
  rows.insert(rows.begin(), {"Node", "ID", "Address", "DC"});
  if (detailed)
    rows[0].insert(rows[0].end(), {"TaggedAddresses", "Meta"});
  return table(rows);
}

api_query with_node_meta(const options& o) {
  auto query = o.query();
  for (const auto& pair : o.values("node-meta"))
    query.add("node-meta", pair.find('=') == pair.npos
                               ? pair
                               : pair.substr(0, pair.find('=')) + ":" + pair.substr(pair.find('=') + 1));
  return query;
}

int list_nodes(const options& o, terminal t) {
  if (!no_words(o, t))
    return 1;
  const auto client = o.client(t);
  auto query = with_node_meta(o);
  if (o.given("near"))
    query.add("near", o.value("near"));
  if (o.given("filter"))
    query.add("filter", o.value("filter"));
  const auto service = o.value("service");
  const auto answer = value_of(
      client.get_json(service.empty() ? "/v1/catalog/nodes" : "/v1/catalog/service/" + go_compat::escape_path(service),
                      query),
      t, "Error listing nodes: ");
  if (o.json()) {
    t.out << pretty(answer);
  } else if (elements(&answer).empty()) {
    t.err << "No nodes match the given query - try expanding your search.\n";
  } else {
    t.out << nodes_text(o, answer);
  }
  return 0;
}

/// The name and tags of each service, on a node or on all nodes.
std::vector<std::vector<std::string>> service_rows(const json::value& answer, bool of_node) {
  std::vector<std::vector<std::string>> rows;
  const auto* services = of_node ? member(answer, "Services") : &answer;
  if (services == nullptr || !services->is_object())
    return rows;
  for (const auto& one : services->get_object()) {
    std::vector<std::string> tags;
    for (const auto& tag : elements(of_node ? member(one.value(), "Tags") : &one.value()))
      tags.push_back(text_of(&tag));
    std::sort(tags.begin(), tags.end());
    rows.push_back({of_node ? member_text(one.value(), "Service") : std::string(one.key()), joined(tags, ",")});
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

int list_services(const options& o, terminal t) {
  if (!no_words(o, t))
    return 1;
  const auto client = o.client(t);
  const auto node = o.value("node");
  const auto answer = value_of(
      client.get_json(node.empty() ? "/v1/catalog/services" : "/v1/catalog/node/" + go_compat::escape_path(node),
                      with_node_meta(o)),
      t, "Error listing services: ");
  if (o.json()) {
    t.out << pretty(answer);
    return 0;
  }
  auto rows = service_rows(answer, !node.empty());
  if (rows.empty()) {
    t.err << "No services match the given query - try expanding your search.\n";
    return 0;
  }
  if (o.on("tags")) {
    t.out << table(rows, 6);
    return 0;
  }
  rows.erase(std::unique(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a[0] == b[0]; }),
             rows.end());
  for (const auto& row : rows)
    t.out << row[0] << "\n";
  return 0;
}

} // namespace

std::vector<command> catalog_commands() {
  using enum flag_kind;
  constexpr flag node_meta = {"node-meta", list, "<key=value>", "only nodes with this metadata"};
  return {
      {.name = "catalog datacenters",
       .help = "List the known datacenters",
       .examples = {{"catalog datacenters", "Print one name a line"},
                    {"catalog datacenters -format=json", "Print a JSON list of names"}},
       .run = list_datacenters},
      {.name = "catalog nodes",
       .help = "List the nodes in the catalog",
       .flags = {{"detailed", toggle, "", "show full IDs, all addresses and metadata"},
                 {"filter", text, "<expression>", "only nodes that match this filter expression of the API"},
                 {"near", text, "<node>", "node to sort by distance from, nearest first"},
                 node_meta,
                 {"service", text, "<name>", "only nodes with this service"}},
       .examples = {{"catalog nodes", "List all nodes"},
                    {"catalog nodes -service=web -detailed", "List the nodes with the service web, with all fields"}},
       .run = list_nodes},
      {.name = "catalog services",
       .help = "List the services in the catalog",
       .flags = {{"node", text, "<node>", "only services of the node with this name or ID"},
                 node_meta,
                 {"tags", toggle, "", "also show the tags"}},
       .examples = {{"catalog services -tags", "List all services with their tags"},
                    {"catalog services -node=n1", "List the services of one node"}},
       .run = list_services},
  };
}

} // namespace belay::cli
