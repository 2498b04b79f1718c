// Credentials of servers change at run time (docs/operate/security.md): reloaded with SIGHUP, one server
// after another, under writes. The longest gap in writes may be as long as that of a failover.

#include "tests/cluster/cluster_fixture.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>

using namespace belay::harness;

namespace {

namespace json = boost::json;
using std::chrono::steady_clock;

const char* const old_key = "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=";
const char* const new_key = "QUJDREVGR0hJSktMTU5PUA==";

void run_in(const std::filesystem::path& folder, const std::string& line) {
  std::filesystem::create_directories(folder);
  INFO(line);
  REQUIRE(std::system(("cd " + folder.string() + " && " + line + " > made.txt 2>&1").c_str()) == 0);
}

void write_keyrings(server_cluster& cluster, const json::array& keys) {
  for (std::size_t i = 0; i < cluster.size(); ++i)
    std::ofstream(cluster.node(i).data_folder() / "serf/local.keyring") << json::serialize(keys);
}

/// Longest time in seconds without an acknowledged write, until writes succeed after `what`.
double gap_of(workload& load, const std::function<void()>& what) {
  const auto from = steady_clock::now();
  what();
  REQUIRE(load.wait_for_more(50));
  return load.longest_gap(from, steady_clock::now());
}

/// Kills the leader and restarts it: new connections then use the new credentials.
double gap_of_election(server_cluster& cluster, workload& load) {
  const auto leader = cluster.wait_leader();
  const auto gap = gap_of(load, [&] {
    cluster.node(leader).kill_hard();
    cluster.wait_leader();
  });
  cluster.node(leader).start();
  cluster.wait_ready();
  return gap;
}

} // namespace

TEST_CASE("from open to a key, to another one, to certificates and renewed ones by SIGHUP, under writes",
          "[security]") {
  scratch_folder folder;
  const auto certificates = folder.path() / "certificates";
  const std::string belay = BELAY_BINARY_DIR "/belay";
  run_in(certificates, belay + " tls ca create && " + belay + " tls cert create -server");
  const auto path = [&](const char* name) { return json::value((certificates / name).string()); };

  auto cluster = ready_cluster(3);
  workload load(http_ports(*cluster), 6);
  REQUIRE(load.wait_for_more(50));
  const auto election = std::max(gap_of_election(*cluster, load), gap_of_election(*cluster, load));

  json::object now;
  const auto settings = [&](json::object step) {
    return [&, step] {
      for (const auto& [key, value] : step)
        now[key] = value;
      cluster->configure(now);
    };
  };
  const auto keys = [&](json::array list) { return [&, list] { write_keyrings(*cluster, list); }; };
  struct {
    const char* what;
    std::function<void()> change;
  } const steps[] = {
      {"the key is known",
       settings({{"encrypt", old_key}, {"encrypt_verify_incoming", false}, {"encrypt_verify_outgoing", false}})},
      {"it is used", settings({{"encrypt_verify_outgoing", true}})},
      {"it is demanded", settings({{"encrypt_verify_incoming", true}})},
      {"another key is known", keys({old_key, new_key})},
      {"it is used", keys({new_key, old_key})},
      {"the old one does not do any more", keys({new_key})},
      {"certificates are known", settings({{"ca_file", path("consul-agent-ca.pem")},
                                           {"cert_file", path("dc1-server-consul-0.pem")},
                                           {"key_file", path("dc1-server-consul-0-key.pem")}})},
      {"they are used", settings({{"verify_server_hostname", true}})},
      {"they are demanded", settings({{"verify_incoming", true}})},
      {"they are renewed",
       [&] {
         run_in(certificates, belay +
                                  " tls cert create -server && mv dc1-server-consul-1.pem dc1-server-consul-0.pem && "
                                  "mv dc1-server-consul-1-key.pem dc1-server-consul-0-key.pem");
       }},
  };
  for (const auto& step : steps) {
    INFO(step.what << "; election " << election << " s" << cluster->logs());
    step.change();
    for (std::size_t i = 0; i < cluster->size(); ++i) {
      const auto gap = gap_of(load, [&] { cluster->node(i).process().signal(SIGHUP); });
      CHECK(gap <= election);
    }
    CHECK(gap_of_election(*cluster, load) <= 3 * election);
  }
  check_nothing_lost(*cluster, load);
}
