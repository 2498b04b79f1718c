// /v1/coordinate/ (docs/contract/17): positions of nodes in the network.

#include "protocol/go_compat/json_input.hpp"
#include "protocol/http/discovery/catalog_input.hpp"
#include "protocol/http/discovery/discovery.hpp"
#include "protocol/http/routes.hpp"

#include <algorithm>

namespace belay::http {

namespace {

using boost::json::value;

refused refuse_if_disabled(const request_context& c) {
  if (!c.settings.coordinates_disabled)
    return std::nullopt;
  return error_response(401, "Coordinate support disabled");
}

std::optional<std::string> segment_of(const request_context& c) {
  return c.query.has("segment") ? std::optional(std::string(c.query.get("segment"))) : std::nullopt;
}

struct coordinate_input {
  std::string datacenter;
  coordinates::row row;
  std::vector<double> vec; ///< vector of any length
  bool given = false;      ///< there is a coordinate
};

void decode_coordinate(go_compat::json_decoder& d, const value& v, coordinate_input& out) {
  constexpr std::string_view owner = "Coordinate";
  auto& c = out.row.at;
  out.given = !v.is_null();
  c = {{}, 0, 0, 0};
  d.object(v, "struct field CoordinateUpdateRequest.Coord of type coordinate.Coordinate",
           [&](const std::string& name, const value& each) {
             if (name == "vec")
               d.reals(each, {owner, "Coord.Vec"}, out.vec);
             else if (name == "error")
               d.real(each, {owner, "Coord.Error"}, c.error);
             else if (name == "adjustment")
               d.real(each, {owner, "Coord.Adjustment"}, c.adjustment);
             else if (name == "height")
               d.real(each, {owner, "Coord.Height"}, c.height);
             else
               return false;
             return true;
           });
}

void decode_update(go_compat::json_decoder& d, const value& v, coordinate_input& out) {
  constexpr std::string_view owner = "CoordinateUpdateRequest";
  std::string ignored; // the token of the request itself is used
  d.object(v, "value of type structs.CoordinateUpdateRequest", [&](const std::string& name, const value& each) {
    if (name == "datacenter")
      d.text(each, {owner, "Datacenter"}, out.datacenter);
    else if (name == "node")
      d.text(each, {owner, "Node"}, out.row.node);
    else if (name == "segment")
      d.text(each, {owner, "Segment"}, out.row.segment);
    else if (name == "coord")
      decode_coordinate(d, each, out);
    else if (name == "token")
      d.text(each, {owner, "Token"}, ignored);
    else
      return false;
    return true;
  });
}

/// Rejects what Consul's servers reject, and names too long to store.
refused refuse_row(const coordinate_input& in) {
  if (!in.given) // a server of Consul 1.8 does not respond at all to that
    return error_response(500, "invalid coordinate");
  if (in.vec.size() != coordinates::dimensions)
    return error_response(500, "incompatible coordinate");
  if (in.row.node.size() > coordinates::name_bytes_max)
    return error_response(400, "Node is longer than " + std::to_string(coordinates::name_bytes_max) + " bytes");
  if (in.row.segment.size() > coordinates::segment_bytes_max)
    return error_response(400, "Segment is longer than " + std::to_string(coordinates::segment_bytes_max) + " bytes");
  return std::nullopt;
}

} // namespace

action coordinate_datacenters_route(request_context& c) {
  if (auto no = refuse_if_disabled(c))
    return std::move(*no);
  return local_request{.kind = local_kind::coordinate_datacenters};
}

action coordinate_nodes_route(request_context& c) {
  if (auto no = refuse_if_disabled(c))
    return std::move(*no);
  discovery_read r;
  if (auto no = read_discovery(c, {.namespaces_refused = false}, r))
    return std::move(*no);
  return make_read(state::coordinate_nodes{segment_of(c)}, r.options);
}

action coordinate_node_route(request_context& c) {
  if (auto no = refuse_if_disabled(c))
    return std::move(*no);
  discovery_read r;
  if (auto no = read_discovery(c, {.namespaces_refused = false}, r))
    return std::move(*no);
  return make_read(state::coordinate_node{std::string(c.argument), segment_of(c)}, r.options);
}

/// Stored by this server and sent to the others; not in the log (docs/internals/adr/0015-coordinates.md).
action coordinate_update_route(request_context& c) {
  if (auto no = refuse_if_disabled(c))
    return std::move(*no);
  auto json = go_compat::read_json(c.request.body);
  if (!json)
    return decode_failure(json.error());
  go_compat::json_decoder d(c.request.body);
  coordinate_input in;
  decode_update(d, *json, in);
  if (!d.ok())
    return decode_failure(d.error());
  if (auto no = refuse_datacenter(c))
    return std::move(*no);
  if (!in.datacenter.empty() && in.datacenter != c.settings.datacenter)
    return no_path_to_datacenter();
  if (auto no = refuse_row(in))
    return std::move(*no);
  std::copy(in.vec.begin(), in.vec.end(), in.row.at.vec.begin());
  return local_request{.kind = local_kind::coordinate_update, .coordinate = std::move(in.row)};
}

} // namespace belay::http
