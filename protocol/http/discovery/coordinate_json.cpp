#include "protocol/http/discovery/coordinate_json.hpp"

#include "protocol/go_compat/json_output.hpp"

namespace belay::http {

namespace {

void append_member(std::string& out, std::string_view name, double value) {
  go_compat::append_json_name(out, name);
  go_compat::append_float(out, value);
}

} // namespace

void append_coordinate(std::string& out, const coordinates::coordinate& c) {
  out += "{\"Vec\":";
  char lead = '[';
  for (const auto x : c.vec) {
    out += lead;
    lead = ',';
    go_compat::append_float(out, x);
  }
  out += ']';
  append_member(out, "Error", c.error);
  append_member(out, "Adjustment", c.adjustment);
  append_member(out, "Height", c.height);
  out += '}';
}

void append_coordinate_row(std::string& out, const coordinates::row& r) {
  out += '{';
  go_compat::append_json_member(out, "Node", r.node);
  go_compat::append_json_member(out, "Segment", r.segment);
  go_compat::append_json_name(out, "Coord");
  append_coordinate(out, r.at);
  out += '}';
}

std::string coordinates_of_datacenters(std::string_view datacenter, const std::vector<coordinates::row>& servers) {
  std::string out = "[{";
  go_compat::append_json_member(out, "Datacenter", datacenter);
  go_compat::append_json_member(out, "AreaID", "wan");
  go_compat::append_json_name(out, "Coordinates");
  out += '[';
  for (std::size_t i = 0; i < servers.size(); ++i) {
    out += i == 0 ? "" : ",";
    append_coordinate_row(out, servers[i]);
  }
  return out += "]}]";
}

} // namespace belay::http
