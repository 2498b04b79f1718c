// Requests to /v1/coordinate, and `?near` (docs/contract/17), with texts of a Consul 1.8.7.

#include "protocol/http/discovery/coordinate_json.hpp"
#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;

namespace {

constexpr auto zeros = R"({"Node":"n1","Coord":{"Vec":[0,0,0,0,0,0,0,0],"Error":1.5,"Adjustment":0,"Height":0.00001}})";

coordinates::row_ptr some_row() {
  coordinates::row r{"n1", "s", {}, 7};
  r.at.vec = {0.5, -1e-7, 0, 0, 0, 0, 0, 1e21};
  r.at.adjustment = -0.000025;
  return std::make_shared<const coordinates::row>(r);
}

} // namespace

TEST_CASE("reads of coordinates") {
  CHECK(std::holds_alternative<state::coordinate_nodes>(read_requested("GET", "/v1/coordinate/nodes").query));
  const auto r = read_requested("GET", "/v1/coordinate/node/a%2Fb?segment=x&stale&index=3");
  const auto& q = std::get<state::coordinate_node>(r.query);
  CHECK(q.node == "a/b");
  CHECK(q.segment == "x");
  CHECK(r.mode == consistency::stale);
  CHECK(r.min_index == 3);
  CHECK(std::get<state::coordinate_nodes>(read_requested("GET", "/v1/coordinate/nodes?segment=").query).segment == "");
  CHECK(refusal_to("GET", "/v1/coordinate/nodes?index=x").body == "Invalid index");
  const auto elsewhere = refusal_to("GET", "/v1/coordinate/nodes?dc=other");
  CHECK(elsewhere.status == 500);
  CHECK(elsewhere.body == "No path to datacenter");
  CHECK(header(elsewhere, "X-Consul-Index") == "1");
  CHECK(refusal_to("GET", "/v1/coordinate/update").status == 405);
  const auto all = ask("GET", "/v1/coordinate/datacenters");
  CHECK(std::get<local_request>(all.action).kind == local_kind::coordinate_datacenters);
}

TEST_CASE("a client's update of a coordinate") {
  const auto p = ask("PUT", "/v1/coordinate/update?ns=x",
                     R"({"Datacenter":"dc1","node":"far","Segment":"s","Token":"t",
                         "coord":{"vec":[1,2.5,-3e-5,0,0,0,0,8],"Error":0.5,"Adjustment":-1,"Height":2}})");
  const auto& r = std::get<local_request>(p.action);
  CHECK(r.kind == local_kind::coordinate_update);
  CHECK(p.needs == access::coordinate_write);
  CHECK(r.coordinate.node == "far");
  CHECK(r.coordinate.segment == "s");
  CHECK(r.coordinate.at == coordinates::coordinate{{1, 2.5, -3e-5, 0, 0, 0, 0, 8}, 0.5, -1, 2});
}

TEST_CASE("coordinates that cannot be parsed, or are invalid") {
  struct row {
    std::string body;
    int status;
    std::string text;
  };
  const std::string decode = "Request decode failed: ", number = "json: cannot unmarshal ";
  for (const auto& t : {
           row{"", 400, decode + "EOF"},
           row{R"({"Node":"n1")", 400, decode + "unexpected EOF"},
           row{R"({"Node":"n1","Foo":3})", 400, decode + "json: unknown field \"Foo\""},
           row{R"({"Node":3})", 400,
               decode + number + "number into Go struct field CoordinateUpdateRequest.Node of type string"},
           row{R"({"Node":"n","Coord":{"Foo":1}})", 400, decode + "json: unknown field \"Foo\""},
           row{R"({"Node":"n","Coord":3})", 400,
               decode + number +
                   "number into Go struct field CoordinateUpdateRequest.Coord of type coordinate.Coordinate"},
           row{R"({"Node":"n","Coord":{"Vec":3}})", 400,
               decode + number + "number into Go struct field Coordinate.Coord.Vec of type []float64"},
           row{R"({"Node":"n","Coord":{"Vec":[0,"x"]}})", 400,
               decode + number + "string into Go struct field Coordinate.Coord.Vec of type float64"},
           row{R"({"Node":"n","Coord":{"Error":"x"}})", 400,
               decode + number + "string into Go struct field Coordinate.Coord.Error of type float64"},
           row{R"({"Node":"n","Coord":{"Vec":[1,2]}})", 500, "incompatible coordinate"},
           row{R"({"Node":"n"})", 500, "invalid coordinate"},
           row{R"({"Node":"n","Coord":null})", 500, "invalid coordinate"},
           row{R"({"Datacenter":"other","Node":"n","Coord":{"Vec":[0]}})", 500, "No path to datacenter"},
           row{R"({"Node":")" + std::string(300, 'n') + R"(","Coord":{"Vec":[0,0,0,0,0,0,0,0]}})", 400,
               "Node is longer than 256 bytes"},
           row{R"({"Node":"n","Segment":")" + std::string(65, 's') + R"(","Coord":{"Vec":[0,0,0,0,0,0,0,0]}})", 400,
               "Segment is longer than 64 bytes"},
       }) {
    const auto r = refusal_to("PUT", "/v1/coordinate/update", t.body);
    CHECK(r.status == t.status);
    CHECK(r.body == t.text);
  }
  CHECK(refusal_to("PUT", "/v1/coordinate/update", R"({"Coord":{"Vec":[1e400]}})").status == 400);
  CHECK(refusal_to("PUT", "/v1/coordinate/update?dc=other", zeros).body == "No path to datacenter");
}

TEST_CASE("with disable_coordinates all requests get 401, except those with wrong methods") {
  auto s = usual_settings();
  s.coordinates_disabled = true;
  for (const auto* path : {"/v1/coordinate/nodes", "/v1/coordinate/node/n", "/v1/coordinate/datacenters"}) {
    const auto r = refusal_to("GET", path, {}, {}, s);
    CHECK(r.status == 401);
    CHECK(r.body == "Coordinate support disabled");
  }
  CHECK(refusal_to("PUT", "/v1/coordinate/update", "{", {}, s).status == 401);
  CHECK(refusal_to("DELETE", "/v1/coordinate/update", {}, {}, s).status == 405);
}

TEST_CASE("?near reaches the reads that sort") {
  for (const std::string path : {"/v1/catalog/nodes", "/v1/catalog/service/web", "/v1/health/service/web",
                                 "/v1/health/checks/web", "/v1/health/state/any", "/v1/health/connect/web"}) {
    CHECK(read_requested("GET", path).query.near.empty());
    CHECK(read_requested("GET", path + "?near=x").query.near == "x");
    CHECK(read_requested("GET", path + "?near=_agent").query.near == "n1");
  }
  CHECK(read_requested("GET", "/v1/health/node/n?near=x").query.near.empty());
  const client_agent on_host{"host-7", "", ""};
  raw_request r{"GET", "/v1/catalog/nodes?near=_agent", {}, {}, "127.0.0.1", 1, &on_host};
  const auto p = parse(r, usual_settings(), [] { return fresh_uuid; });
  CHECK(std::get<read_request>(p.action).query.near == "host-7");
}

TEST_CASE("answers about coordinates, as Go writes them") {
  const read_request all{state::coordinate_nodes{}}, one{state::coordinate_node{"n1", {}}};
  const auto shown = R"({"Node":"n1","Segment":"s","Coord":{"Vec":[0.5,-1e-7,0,0,0,0,0,1e+21],"Error":1.5,)"
                     R"("Adjustment":-0.000025,"Height":0.00001}})";
  for (const auto& q : {all, one}) {
    const auto r = render_read(q, {log_index{9}, state::coordinate_rows{{some_row()}}}, {}, {});
    CHECK(r.status == 200);
    CHECK(r.body == "[" + std::string(shown) + "]");
    CHECK(header(r, "X-Consul-Index") == "9");
    CHECK(header(r, "X-Consul-Knownleader") == "true");
    CHECK(header(r, "X-Consul-Effective-Consistency") == "(none)");
  }
  CHECK(render_read(all, {log_index{9}, state::coordinate_rows{}}, {}, {}).body == "[]");
  const auto none = render_read(one, {log_index{9}, state::coordinate_rows{}}, {}, {});
  CHECK(none.status == 404);
  CHECK(none.body.empty());
  CHECK(none.headers.empty());
  const auto denied = render_read(one, {log_index{9}, state::refusal{"Permission denied"}}, {}, {});
  CHECK(denied.status == 403);
  CHECK(header(denied, "X-Consul-Index") == "1");
  CHECK(header(denied, "X-Consul-Knownleader") == "false");
  CHECK(coordinates_of_datacenters("dc1", {*some_row()}) ==
        R"([{"Datacenter":"dc1","AreaID":"wan","Coordinates":[)" + std::string(shown) + "]}]");
  CHECK(coordinates_of_datacenters("dc1", {}) == R"([{"Datacenter":"dc1","AreaID":"wan","Coordinates":[]}])");
}
