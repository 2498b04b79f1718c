// `belay rtt`: estimates round-trip times by Vivaldi coordinates, where servers have them.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

/// A coordinate as in Serf, in seconds.
struct coordinate {
  std::vector<double> vec;
  double adjustment = 0, height = 0;
};

double number_of(const json::value* v) {
  boost::system::error_code ec;
  return v != nullptr && v->is_number() ? v->to_number<double>(ec) : 0;
}

std::optional<coordinate> coordinate_in(const json::value& row) {
  const auto* c = member(row, "Coord");
  if (c == nullptr || !c->is_object())
    return std::nullopt;
  coordinate out;
  for (const auto& x : elements(member(*c, "Vec")))
    out.vec.push_back(number_of(&x));
  out.adjustment = number_of(member(*c, "Adjustment"));
  out.height = number_of(member(*c, "Height"));
  return out;
}

/// Serf's Coordinate.DistanceTo.
/// @pre both coordinates have the same number of dimensions
double seconds_between(const coordinate& a, const coordinate& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.vec.size(); ++i)
    sum += (a.vec[i] - b.vec[i]) * (a.vec[i] - b.vec[i]);
  const double raw = std::sqrt(sum) + a.height + b.height;
  const double adjusted = raw + a.adjustment + b.adjustment;
  return adjusted > 0 ? adjusted : raw;
}

/// The coordinate of a node among rows with `Node` and `Coord`.
std::optional<coordinate> find_node(const json::array& rows, const std::string& node) {
  for (const auto& row : rows)
    if (member_text(row, "Node") == node)
      return coordinate_in(row);
  return std::nullopt;
}

/// The coordinate of `NODE.DATACENTER` among the servers of all datacenters.
std::optional<coordinate> find_server(const json::value& areas, const std::string& name) {
  const auto dot = name.rfind('.');
  for (const auto& area : elements(&areas))
    if (member_text(area, "Datacenter") == name.substr(dot + 1))
      if (auto found = find_node(elements(member(area, "Coordinates")), name.substr(0, dot)))
        return found;
  return std::nullopt;
}

int rtt(const options& o, terminal t) {
  auto nodes = o.words();
  if (nodes.empty() || nodes.size() > 2)
    return o.wrong_usage(t, "One or two node names must be specified");
  const bool wan = o.on("wan");
  const auto client = o.client(t);
  if (nodes.size() == 1) {
    const auto self = client.get_json("/v1/agent/self", {});
    const auto* config = self ? member(*self, "Config") : nullptr;
    if (config == nullptr)
      return error(t, "Unable to look up agent info: " + (self ? std::string("no Config") : self.error()));
    nodes.push_back(member_text(*config, "NodeName") + (wan ? "." + member_text(*config, "Datacenter") : ""));
  }
  if (wan)
    for (const auto& node : nodes)
      if (node.find('.') == node.npos)
        return error(t, "Node names must be specified as <node name>.<datacenter> with -wan");
  const auto rows = value_of(client.get_json(wan ? "/v1/coordinate/datacenters" : "/v1/coordinate/nodes", {}), t,
                             "Error getting coordinates: ");
  std::vector<coordinate> found;
  for (const auto& node : nodes) {
    auto c = wan ? find_server(rows, node) : find_node(elements(&rows), node);
    if (!c)
      return error(t, "Could not find a coordinate for node \"" + node + "\"");
    found.push_back(std::move(*c));
  }
  if (found[0].vec.size() != found[1].vec.size())
    return error(t, "The coordinates of the nodes have different dimensions");
  const double ms = seconds_between(found[0], found[1]) * 1000;
  if (o.json()) {
    t.out << pretty(
        json::object{{"Nodes", json::array{json::string(nodes[0]), json::string(nodes[1])}}, {"Milliseconds", ms}});
    return 0;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.3f ms", ms);
  t.out << "Estimated " << nodes[0] << " <-> " << nodes[1] << " rtt: " << text << " (using " << (wan ? "WAN" : "LAN")
        << " coordinates)\n";
  return 0;
}

} // namespace

std::vector<command> rtt_commands() {
  using enum flag_kind;
  return {{.name = "rtt",
           .help = "Estimate the round-trip time between two nodes",
           .operands = "NODE [NODE]",
           .text = "Uses the coordinates that servers keep. The default second node is the one at -http-addr.",
           .asks = reach::agent,
           .flags = {{"wan", toggle, "", "servers in datacenters, as NODE.DATACENTER"}},
           .examples = {{"rtt n1 n2", "Estimate it between two nodes"},
                        {"rtt -wan n1.dc1 n1.dc2", "Estimate it between two datacenters"}},
           .run = rtt}};
}

} // namespace belay::cli
