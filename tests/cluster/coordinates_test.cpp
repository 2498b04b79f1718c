// Coordinates with real servers: `belay rtt` estimates round-trip times, `?near` sorts by them.

#include "tests/cluster/cluster_fixture.hpp"

#include <boost/json/parse.hpp>

using namespace belay::harness;
namespace json = boost::json;

namespace {

std::vector<std::string> nodes_at(server_cluster& cluster, std::size_t i, const std::string& target) {
  const auto reply = cluster.node(i).get(target);
  std::vector<std::string> out;
  if (!reply.ok())
    return out;
  const auto rows = json::parse(reply.body);
  for (const auto& row : rows.as_array())
    out.emplace_back(row.at("Node").as_string());
  return out;
}

} // namespace

TEST_CASE("belay rtt prints how far servers are from each other, and ?near sorts by it", "[.long][coordinates]") {
  auto cluster = ready_cluster(3);
  if (cluster->command().is_reference())
    return;
  for (std::size_t i = 0; i < 3; ++i)
    REQUIRE(eventually(milliseconds{60000}, [&] { return nodes_at(*cluster, i, "/v1/coordinate/nodes").size() == 3; }));

  scratch_folder folder;
  const std::string belay = environment("BELAY_BINARY", BELAY_BINARY_DIR "/belay");
  const auto output = folder / "rtt";
  child_process rtt({belay, "rtt", "-http-addr=127.0.0.1:" + std::to_string(cluster->node(0).http_port()),
                     cluster->node(1).name(), cluster->node(2).name()},
                    output);
  const auto end = rtt.wait(milliseconds{20000});
  REQUIRE(end);
  CHECK(end->code == 0);
  const auto text = file_text(output);
  INFO(text);
  CHECK(text.find("Estimated " + cluster->node(1).name() + " <-> " + cluster->node(2).name() + " rtt: ") == 0);
  const auto at = text.find("rtt: ");
  const auto ms = std::stod(text.substr(at + 5));
  CHECK(ms > 0);
  CHECK(ms < 1000); // on one machine

  const auto self = json::parse(cluster->node(0).get("/v1/agent/self").body);
  CHECK(self.at("Coord").at("Error").to_number<double>() < 1.5); // it has measured

  const auto register_node = [&](const std::string& name, const std::string& x) {
    CHECK(cluster->node(0).put("/v1/catalog/register", R"({"Node":")" + name + R"(","Address":"10.9.9.9"})").ok());
    CHECK(cluster->node(1)
              .put("/v1/coordinate/update", R"({"Node":")" + name + R"(","Coord":{"Vec":[)" + x + ",0,0,0,0,0,0,0]}}")
              .ok());
  };
  register_node("a-far", "5");
  register_node("z-near", "4");
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(eventually(milliseconds{30000}, [&] { return nodes_at(*cluster, i, "/v1/coordinate/nodes").size() == 5; }));
    const auto sorted = nodes_at(*cluster, i, "/v1/catalog/nodes?near=_agent");
    REQUIRE(sorted.size() == 5);
    CHECK(sorted[3] == "z-near");
    CHECK(sorted[4] == "a-far");
    CHECK(nodes_at(*cluster, i, "/v1/catalog/nodes?near=a-far").front() == "a-far");
  }
}
