// Servers that prove to each other who they are: docs/security.md, with real processes and the files that `belay tls` makes.

#include "tests/cluster/cluster_fixture.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace belay::harness;

namespace {

namespace json = boost::json;

const char* const one_key = "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=";
const char* const another_key = "QUJDREVGR0hJSktMTU5PUA==";

/// Runs `belay WORDS` in that folder.
void belay_in(const std::filesystem::path& folder, const std::string& words) {
  std::filesystem::create_directories(folder);
  const auto line = "cd " + folder.string() + " && " BELAY_BINARY_DIR "/belay " + words + " > made.txt 2>&1";
  REQUIRE(std::system(line.c_str()) == 0);
}

/// A CA of its own, and the settings that demand certificates of it.
json::object certificates_in(const std::filesystem::path& folder) {
  belay_in(folder, "tls ca create");
  belay_in(folder, "tls cert create -server");
  const auto path = [&](const char* name) { return json::value((folder / name).string()); };
  return {{"ca_file", path("consul-agent-ca.pem")},
          {"cert_file", path("dc1-server-consul-0.pem")},
          {"key_file", path("dc1-server-consul-0-key.pem")},
          {"verify_incoming", true},
          {"verify_outgoing", true},
          {"verify_server_hostname", true}};
}

/// With the lines that these tests look for.
json::object telling(json::object config) {
  config["log_level"] = "warn";
  return config;
}

std::string log_of(const server_node& n) {
  std::ifstream in(n.log_file());
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t servers_known_to(server_node& n) {
  boost::system::error_code ec;
  const auto peers = json::parse(n.get("/v1/status/peers").body, ec);
  return ec || !peers.is_array() ? 0 : peers.get_array().size();
}

/// A fourth server with `its` settings is not taken in, and both sides say why.
void check_refused(server_cluster& cluster, const std::filesystem::path& folder, json::object its,
                   const std::string& they_say, const std::string& it_says) {
  std::filesystem::create_directories(folder);
  server_node outsider(cluster.command(), "outsider", folder);
  json::array join;
  for (std::size_t i = 0; i < cluster.size(); ++i)
    join.push_back(json::value(cluster.node(i).join_address()));
  its["retry_join"] = join;
  its["server"] = true;
  outsider.configure(telling(its));
  outsider.start();
  CHECK(eventually(milliseconds{20000}, [&] {
    return log_of(outsider).find(it_says) != std::string::npos &&
           log_of(cluster.node(0)).find(they_say) != std::string::npos;
  }));
  INFO(log_of(outsider));
  CHECK(log_of(outsider).find(it_says) != std::string::npos);
  CHECK(log_of(cluster.node(0)).find(they_say) != std::string::npos);
  CHECK(servers_known_to(cluster.node(0)) == 3);
  CHECK(cluster.node(0).put("/v1/kv/goes/on", "x").body.starts_with("true"));
  outsider.kill_hard();
}

} // namespace

TEST_CASE("three servers with certificates, and a fourth of another CA", "[security]") {
  scratch_folder folder;
  auto cluster = ready_cluster(3, telling(certificates_in(folder.path() / "ours")));
  CHECK(cluster->node(0).put("/v1/kv/a", "x").body.starts_with("true"));
  CHECK(cluster->wait_equal() == "");
  check_refused(*cluster, folder.path() / "node", certificates_in(folder.path() / "theirs"),
                "a connection to the server port was refused", "not signed by");
}

TEST_CASE("three servers with a key, a fourth with another one, a fifth with none", "[security]") {
  scratch_folder folder;
  auto cluster = ready_cluster(3, telling({{"encrypt", one_key}}));
  CHECK(cluster->node(0).put("/v1/kv/a", "x").body.starts_with("true"));
  CHECK(cluster->wait_equal() == "");
  check_refused(*cluster, folder.path() / "another", {{"encrypt", another_key}}, "peer has another encrypt key",
                "peer refused us: it does not accept our encrypt key");
  check_refused(*cluster, folder.path() / "none", {}, "peer speaks without TLS, which this server demands",
                "it demands TLS");
}

TEST_CASE("from open to a key and on to certificates, one server after another, under writes", "[security]") {
  scratch_folder folder;
  auto certificates = certificates_in(folder.path() / "ours");
  for (const auto* flag : {"verify_incoming", "verify_outgoing", "verify_server_hostname"})
    certificates[flag] = false;
  auto cluster = ready_cluster(3);
  workload load(http_ports(*cluster), 6);
  REQUIRE(load.wait_for_more(50));
  json::object now;
  const json::object steps[] = {
      {{"encrypt", one_key}, {"encrypt_verify_incoming", false}, {"encrypt_verify_outgoing", false}},
      {{"encrypt_verify_outgoing", true}},
      {{"encrypt_verify_incoming", true}},
      certificates,
      {{"verify_server_hostname", true}},
      {{"verify_incoming", true}, {"encrypt", ""}},
  };
  for (const auto& step : steps) {
    for (const auto& [key, value] : step)
      now[key] = value;
    INFO(json::serialize(now));
    cluster->configure(now);
    for (std::size_t i = 0; i < cluster->size(); ++i) {
      cluster->node(i).stop();
      cluster->node(i).start();
      cluster->wait_ready();
      REQUIRE(load.wait_for_more(20));
    }
  }
  check_nothing_lost(*cluster, load);
}
