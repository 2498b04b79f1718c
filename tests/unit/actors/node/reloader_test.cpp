// What a running node applies of a reloaded configuration: nothing if there is an error.

#include "actors/node/signalled_requests.hpp"
#include "tests/unit/actors/node/reloading_node.hpp"

#include <catch2/catch.hpp>

#include <csignal>

using namespace belay;
using namespace belay::actors;

namespace {

const char* const peer_key_setting =
    R"(,"encrypt":"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=","disable_keyring_file":true)";

} // namespace

TEST_CASE("a reload applies definitions, metadata, limits, credentials and the log level", "[reload]") {
  reloading_node n("");
  CHECK(n.credentials->now()->keys().empty());
  n.write(
      R"(,"log_level":"ERR","limits":{"http_max_conns_per_client":7,"rpc_max_conns_per_client":8},"node_meta":{"rack":"1"},
    "acl":{"tokens":{"default":"d"}},"service":{"name":"web"},"check":{"name":"c","ttl":"5s"})" +
      std::string(peer_key_setting));
  CHECK(n.reload() == "reloaded");
  REQUIRE(n.defined);
  CHECK(n.defined->services.size() == 1);
  CHECK(n.defined->checks.size() == 1);
  CHECK(n.defined->node_meta.at("rack") == "1");
  CHECK(n.default_token == "d");
  CHECK(n.http.now() == 7);
  CHECK(n.peers.now() == 8);
  CHECK(n.credentials->now()->keys().size() == 1);
  CHECK_FALSE(log::enabled(log::level::info));
  CHECK(n.logged().find("next start") == std::string::npos);
}

// A line that names a key shows what a reload did not apply. Values may be secrets.
TEST_CASE("settings that cannot change while a node runs are named, until they are as before", "[reload]") {
  reloading_node n(R"(,"datacenter":"dc1","bootstrap":true)");
  n.write(
      R"(,"datacenter":"dc2","session_ttl_min":"77s","ports":{"http":1234},"limits":{"kv_max_value_size":99},"connect":{"enabled":true})");
  CHECK(n.reload() == "reloaded");
  const auto reported = n.logged();
  for (const char* name : {"bootstrap", "datacenter", "session_ttl_min", "ports.http", "limits.kv_max_value_size"}) {
    INFO(name);
    CHECK(reported.find(std::string("changed setting takes effect at the next start key=") + name + "\n") !=
          reported.npos);
  }
  CHECK(reported.find("77s") == reported.npos);
  CHECK(reported.find("key=connect") == reported.npos); // it has no effect at a start, either
  CHECK(n.defined->datacenter == "dc1");
  CHECK(n.credentials->now()->server_name() == "server.dc1.consul");
  n.write(R"(,"datacenter":"dc1","bootstrap":true)");
  CHECK(n.reload() == "reloaded");
  CHECK(n.logged().substr(reported.size()).find("next start") == std::string::npos);
}

TEST_CASE("nothing of a configuration with an error is applied", "[reload]") {
  const auto good = R"(,"log_level":"ERR","limits":{"http_max_conns_per_client":7,"rpc_max_conns_per_client":8})" +
                    std::string(peer_key_setting);
  reloading_node n("");
  SECTION("a key that is unknown") {
    n.write(good + ",\"bogus\":1");
    CHECK(n.reload().find("invalid config key bogus (") != std::string::npos);
    CHECK_FALSE(n.defined);
  }
  SECTION("a certificate that is not there") {
    n.write(good + R"(,"ca_file":"/nonexistent/ca.pem")");
    CHECK(n.reload().find("/nonexistent/ca.pem") != std::string::npos);
    CHECK_FALSE(n.defined);
  }
  SECTION("definitions that the agent refuses") {
    n.definitions_fail = "check \"c\": ServiceID \"x\" does not exist";
    n.write(good);
    CHECK(n.reload() == n.definitions_fail);
  }
  SECTION("a log that cannot be written") {
    n.folder.write("c.json", R"({"server":true,"bind_addr":"127.0.0.1","data_dir":")" + n.folder.path().string() +
                                 R"(","log_file":"/nonexistent/folder/log")" + good + "}");
    CHECK(n.reload().find("/nonexistent/folder/log") != std::string::npos);
    CHECK_FALSE(n.defined);
  }
  CHECK(n.http.now() == 200);
  CHECK(n.peers.now() == 100);
  CHECK(n.credentials->now()->keys().empty());
  CHECK(log::enabled(log::level::info));
  CHECK(n.logged().find("node: configuration not reloaded; nothing changed reason=") != std::string::npos);
}

TEST_CASE("a request for a reload wakes the thread that waits for signals, and is answered once", "[reload]") {
  sigset_t signals, before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGHUP);
  REQUIRE(pthread_sigmask(SIG_BLOCK, &signals, &before) == 0);
  signalled_requests requested(SIGHUP, "too late");
  std::vector<std::string> answers;
  const auto note = [&](std::string error) { answers.push_back(error.empty() ? "done" : std::move(error)); };
  requested.add(note);
  requested.add(note);
  int signal = 0;
  REQUIRE(sigwait(&signals, &signal) == 0);
  CHECK(signal == SIGHUP);
  for (const auto& then : requested.take())
    then({});
  CHECK(answers == std::vector<std::string>{"done", "done"});
  CHECK(requested.take().empty());
  requested.add(note);
  REQUIRE(sigwait(&signals, &signal) == 0);
  requested.close();
  requested.add(note);
  REQUIRE(answers.size() == 4);
  CHECK(answers[2] == "too late");
  CHECK(answers[3] == answers[2]);
  REQUIRE(pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
}

// A request with a token is forwarded to the other servers with its secret.
TEST_CASE("an open server port is logged, and with ACLs that tokens are not encrypted there") {
  const auto reported = [](const node_config& config) {
    log::tap lines(log::level::warn, false, 1 << 16);
    warn_of_open_port(config, **tls::credentials::load(config.peer_tls));
    const auto all = lines.take();
    return std::pair{all.find("servers are accepted without credentials") != std::string::npos,
                     all.find("tokens of clients are not encrypted") != std::string::npos};
  };
  node_config config;
  CHECK(reported(config) == std::pair{true, false});
  config.acl.enabled = true;
  CHECK(reported(config) == std::pair{true, true});
  config.peer_tls.encrypt = {"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s="};
  config.peer_tls.encrypt_verify_incoming = true;
  CHECK(reported(config) == std::pair{false, false});
}
