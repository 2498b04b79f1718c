// Servers that authenticate each other (docs/operate/security.md), with processes and `belay tls`.

#include "tests/cluster/cluster_fixture.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace belay::harness;

namespace {

namespace json = boost::json;

const char* const one_key = "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=";
const char* const another_key = "QUJDREVGR0hJSktMTU5PUA==";
const char* const third_key = "rnLX6VWbVvLE7DqKDhpQFi2CjAXyhwAE7zG+DdxIuLg=";

/// Runs `belay WORDS` in that folder.
void belay_in(const std::filesystem::path& folder, const std::string& words) {
  std::filesystem::create_directories(folder);
  const auto line = "cd " + folder.string() + " && " BELAY_BINARY_DIR "/belay " + words + " > made.txt 2>&1";
  REQUIRE(std::system(line.c_str()) == 0);
}

/// Creates a CA, and settings that require its certificates.
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

/// Adds the log level that these tests need.
json::object telling(json::object config) {
  config["log_level"] = "warn";
  return config;
}

std::string log_of(const server_node& n) {
  std::ifstream in(n.log_file());
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t peers_known_to(server_node& n) {
  boost::system::error_code ec;
  const auto peers = json::parse(n.get("/v1/status/peers").body, ec);
  return ec || !peers.is_array() ? 0 : peers.get_array().size();
}

http_reply keyring(server_node& n, const char* method, const std::string& key = {}) {
  const std::string body = key.empty() ? "" : R"({"Key":")" + key + "\"}";
  return exchange(n.http_port(), {method, "/v1/operator/keyring", {}, body}, milliseconds{10000});
}

/// Runs `belay keyring` as an operator would.
void belay_keyring(server_node& n, const std::filesystem::path& folder, const std::string& options) {
  belay_in(folder, "keyring -http-addr=127.0.0.1:" + std::to_string(n.http_port()) + " " + options);
}

std::string term_of(server_node& n) {
  const auto self = json::parse(n.get("/v1/agent/self").body);
  return std::string(self.at("Stats").at("raft").at("term").as_string());
}

/// Checks that a fourth server with the settings `its` is rejected, and that both sides log the
/// reason.
void check_refused(server_cluster& cluster, const std::filesystem::path& folder, json::object its,
                   const std::string& members_text, const std::string& own_text) {
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
    return log_of(outsider).find(own_text) != std::string::npos &&
           log_of(cluster.node(0)).find(members_text) != std::string::npos;
  }));
  INFO(log_of(outsider));
  CHECK(log_of(outsider).find(own_text) != std::string::npos);
  CHECK(log_of(cluster.node(0)).find(members_text) != std::string::npos);
  CHECK(peers_known_to(cluster.node(0)) == 3);
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
                "connection to the server port rejected", "not signed by");
}

TEST_CASE("three servers with a key, a fourth with another one, a fifth with none", "[security]") {
  scratch_folder folder;
  auto cluster = ready_cluster(3, telling({{"encrypt", one_key}}));
  CHECK(cluster->node(0).put("/v1/kv/a", "x").body.starts_with("true"));
  CHECK(cluster->wait_equal() == "");
  check_refused(*cluster, folder.path() / "another", {{"encrypt", another_key}}, "peer has another encrypt key",
                "peer rejected this server: it does not accept this server's encrypt key");
  check_refused(*cluster, folder.path() / "none", {}, "peer does not use TLS, which this server requires",
                "it requires TLS");
}

// From then on servers accept any peer at the port, so a warning at the start is not enough.
TEST_CASE("a reload that opens the port to servers without credentials is warned of", "[security]") {
  auto cluster = ready_cluster(1, telling({{"encrypt", one_key}}));
  auto& node = cluster->node(0);
  const auto warned = [&] {
    return log_of(node).find("servers are accepted without credentials") != std::string::npos;
  };
  CHECK_FALSE(warned());
  cluster->configure(telling({{"encrypt", one_key}, {"encrypt_verify_incoming", false}}));
  node.process().signal(SIGHUP);
  CHECK(eventually(milliseconds{20000}, warned));
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

TEST_CASE("a key is replaced on all servers, through the API and then by the program, under writes", "[security]") {
  scratch_folder folder;
  auto cluster = ready_cluster(3, {{"encrypt", one_key}, {"log_level", "debug"}});
  auto& any = cluster->node(1);
  const auto term = term_of(any);
  const auto breaks = [&] {
    std::size_t n = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto text = log_of(cluster->node(i));
      for (const std::string_view line : {"connection to peer lost", "connection closed by peer"})
        for (auto at = text.find(line); at != text.npos; at = text.find(line, at + 1))
          ++n;
    }
    return n;
  };
  const auto breaks_before = breaks();
  workload load(http_ports(*cluster), 6);
  REQUIRE(load.wait_for_more(50));

  CHECK(keyring(any, "POST", another_key).status == 200);
  const auto primary = keyring(any, "DELETE", one_key);
  CHECK(primary.status == 500);
  CHECK(primary.body.find("3/3 nodes reported failure") != std::string::npos);
  CHECK(primary.body.find("Removing the primary key is not allowed") != std::string::npos);
  CHECK(keyring(any, "PUT", another_key).status == 200);
  CHECK(keyring(any, "DELETE", one_key).status == 200);
  REQUIRE(load.wait_for_more(50));
  const auto listed = keyring(cluster->node(2), "GET").body;
  CHECK(listed.find(std::string("\"Keys\":{\"") + another_key + "\":3}") != std::string::npos);

  belay_keyring(any, folder.path(), std::string("-install=") + third_key);
  belay_keyring(any, folder.path(), std::string("-use=") + third_key);
  belay_keyring(any, folder.path(), std::string("-remove=") + another_key);
  belay_keyring(any, folder.path(), std::string("-list | grep -q '") + third_key + " \\[3/3\\]'");
  REQUIRE(load.wait_for_more(50));

  // No interruption: there was no election, and no new connection.
  CHECK(term_of(any) == term);
  CHECK(breaks() == breaks_before);
  // The configuration still has the first key; the keyring stored by servers takes precedence.
  cluster->node(0).kill_hard();
  const auto missing = keyring(any, "POST", one_key);
  CHECK(missing.status == 500);
  CHECK(missing.body.find("2/3 nodes reported success") != std::string::npos);
  CHECK(keyring(any, "DELETE", one_key).status == 500);
  cluster->node(0).start();
  cluster->wait_ready();
  check_refused(*cluster, folder.path() / "late", {{"encrypt", one_key}}, "peer has another encrypt key",
                "peer rejected this server: it does not accept this server's encrypt key");
  check_nothing_lost(*cluster, load);
}
