// Servers that start at once, late, or beside a live cluster: never two clusters, always one
// leader. BELAY_CLUSTER_STARTS: tries of each way (1; tools/nightly: 30); half with `encrypt`.

#include "tests/cluster/cluster_fixture.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

using namespace belay::harness;

namespace {

namespace json = boost::json;

std::size_t starts() {
  return number_from_environment("BELAY_CLUSTER_STARTS", 1);
}

/// Whether the servers of that round authenticate each other.
bool with_credentials(std::size_t round) {
  return round % 2 == 1;
}

json::object credentials(std::size_t round) {
  return with_credentials(round) ? json::object{{"encrypt", "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s="}}
                                 : json::object{};
}

/// Servers with `bootstrap_expect` 3 that all know all addresses, and those that are added.
class starting_servers {
public:
  explicit starting_servers(std::size_t count, std::size_t round, json::array others = {}) {
    raise_file_limit();
    const auto command = server_command::from_environment(BELAY_BINARY_DIR);
    for (std::size_t i = 0; i < count; ++i) {
      const auto name = "start-" + std::to_string(i + 1);
      std::filesystem::create_directories(folder_.path() / name);
      nodes_.push_back(std::make_unique<server_node>(command, name, folder_.path() / name));
    }
    json::array join = std::move(others);
    for (const auto& node : nodes_)
      join.push_back(json::value(node->join_address()));
    auto config = credentials(round);
    config["bootstrap_expect"] = 3;
    config["retry_interval"] = "1s";
    config["retry_join"] = join;
    for (auto& node : nodes_)
      node->configure(config);
  }
  ~starting_servers() {
    for (auto& node : nodes_)
      node->kill_hard();
  }
  starting_servers(const starting_servers&) = delete;
  starting_servers& operator=(const starting_servers&) = delete;

  std::size_t size() const { return nodes_.size(); }
  server_node& operator[](std::size_t i) { return *nodes_[i]; }
  /// The set of leaders that the servers name; servers that name none are ignored.
  std::set<std::string> leaders() {
    std::set<std::string> out;
    for (auto& node : nodes_)
      if (auto named = node->get("/v1/status/leader", milliseconds{1000}); named.ok() && named.body.size() > 3)
        out.insert(named.body);
    return out;
  }
  std::size_t with_a_leader() {
    std::size_t out = 0;
    for (auto& node : nodes_) {
      auto named = node->get("/v1/status/leader", milliseconds{1000});
      out += named.ok() && named.body.size() > 3;
    }
    return out;
  }
  std::string logs() {
    std::string out;
    for (auto& node : nodes_)
      out += "\n--- " + node->name() + "\n" + file_tail(node->log_file(), 1500);
    return out;
  }

private:
  scratch_folder folder_;
  std::vector<std::unique_ptr<server_node>> nodes_;
};

/// Soon and for a while there is one leader that `expected` servers follow; it accepts writes.
void check_one_cluster(starting_servers& servers, std::size_t expected) {
  const auto formed = eventually(milliseconds{30000},
                                 [&] { return servers.with_a_leader() >= expected && servers.leaders().size() == 1; });
  INFO(servers.logs());
  REQUIRE(formed);
  std::this_thread::sleep_for(milliseconds{1500});
  CHECK(servers.leaders().size() == 1);
  CHECK(servers.with_a_leader() >= expected);
  std::size_t written = 0;
  for (std::size_t i = 0; i < servers.size(); ++i)
    written += servers[i].put("/v1/kv/from/" + std::to_string(i), "x").body.starts_with("true");
  CHECK(written >= expected);
}

} // namespace

TEST_CASE("three servers, the middle one late", "[starts]") {
  for (std::size_t round = 0; round < starts(); ++round) {
    INFO("start " << round);
    starting_servers servers(3, round);
    servers[0].start();
    servers[2].start();
    std::this_thread::sleep_for(milliseconds{500 + 700 * (round % 5)});
    CHECK(servers.leaders().empty());
    servers[1].start();
    check_one_cluster(servers, 3);
  }
}

// Without credentials an existing cluster admits no server: at least the three belong to it.
TEST_CASE("more servers than the bootstrap_expect of 3", "[starts]") {
  for (std::size_t round = 0; round < starts(); ++round)
    for (const std::size_t count : {4, 5}) {
      INFO("start " << round << " of " << count);
      starting_servers servers(count, round);
      std::vector<std::size_t> order(count);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(round)));
      for (const auto i : order)
        servers[i].start();
      check_one_cluster(servers, with_credentials(round) ? count : 3);
    }
}

TEST_CASE("three new servers beside a running cluster", "[starts]") {
  for (std::size_t round = 0; round < starts(); ++round) {
    INFO("start " << round);
    auto cluster = ready_cluster(3, credentials(round));
    const auto leader = cluster->node(0).get("/v1/status/leader").body;
    json::array living;
    for (std::size_t i = 0; i < cluster->size(); ++i)
      living.push_back(json::value(cluster->node(i).join_address()));
    starting_servers spares(3, round, living);
    for (std::size_t i = 0; i < spares.size(); ++i)
      spares[i].start();
    for (std::size_t i = 0; i < spares.size(); ++i)
      REQUIRE(eventually(milliseconds{20000}, [&] { return spares[i].get("/v1/status/leader").error.empty(); }));
    const std::size_t members = with_credentials(round) ? 6 : 3;
    const auto known = [&] { return json::parse(cluster->node(0).get("/v1/status/peers").body).as_array().size(); };
    CHECK(eventually(milliseconds{20000}, [&] { return known() == members; }));
    std::this_thread::sleep_for(milliseconds{2500});
    INFO(spares.logs());
    for (const auto& named : spares.leaders())
      CHECK(named == leader);
    CHECK(cluster->node(0).get("/v1/status/leader").body == leader);
    CHECK(known() == members);
    CHECK(cluster->node(0).put("/v1/kv/goes/on", "x").body.starts_with("true"));
  }
}
