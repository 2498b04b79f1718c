// The program as an operator uses it: `validate`, a configuration written for Consul under Consul's
// name, and a configuration that is changed while a server runs.

#include "tests/cluster/cluster_fixture.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

using namespace belay::harness;

namespace {

namespace json = boost::json;

struct ended_program {
  int code = -1;
  std::string output;
};

ended_program run_program(const scratch_folder& in, const std::vector<std::string>& words) {
  const auto log = in.path() / "program.out";
  std::filesystem::remove(log);
  child_process program(words, log.string());
  const auto end = program.wait(milliseconds{20000});
  REQUIRE(end);
  std::ifstream out(log);
  return {end->code, {std::istreambuf_iterator<char>(out), {}}};
}

std::set<std::string> names_at(server_node& node, const char* target) {
  std::set<std::string> out;
  const auto found = json::parse(node.get(target).body);
  for (const auto& member : found.as_object())
    out.insert(std::string(member.key()));
  return out;
}

} // namespace

TEST_CASE("validate reports what a start reports", "[reload]") {
  scratch_folder folder;
  const std::string belay = BELAY_BINARY_DIR "/belay";
  const auto good = folder.write("good.json", R"({"server":true,"data_dir":"/nonexistent/d","bind_addr":"127.0.0.1"})");
  const auto valid = run_program(folder, {belay, "validate", good});
  CHECK(valid.code == 0);
  CHECK(valid.output == "Configuration is valid!\n");
  const auto bad = folder.write("bad.hcl", "server = true\nbogus = 1\nsession_ttl_min = \"x\"\n");
  const auto invalid = run_program(folder, {belay, "validate", bad});
  const auto refused = run_program(folder, {belay, "agent", "-config-file", bad});
  CHECK(invalid.code == 1);
  CHECK(refused.code == 1);
  CHECK(invalid.output.starts_with("Config validation failed: 3 errors occurred:\n"));
  CHECK(invalid.output.find("invalid config key bogus (" + bad + ":2:1)") != std::string::npos);
  CHECK(invalid.output.find("data_dir cannot be empty") != std::string::npos);
  CHECK(invalid.output.find("(" + bad + ":3:1)") != std::string::npos);
  CHECK("==> " + invalid.output.substr(std::string("Config validation failed: ").size()) == refused.output);
}

// Consul's test harness finds `consul` in PATH, and writes such a file (sdk/testutil/server.go).
TEST_CASE("under the name of consul a configuration of its test harness starts a server", "[reload]") {
  raise_file_limit();
  scratch_folder folder;
  const auto consul = folder.path() / "consul";
  std::filesystem::create_symlink(BELAY_BINARY_DIR "/belay", consul);
  std::filesystem::create_directory(folder.path() / "node");
  server_node node({consul.string() + " agent -config-file {config}"}, "node-2c3f", folder.path() / "node");
  const auto other = [&](int n) { return json::value(static_cast<int>(node.http_port()) + n); };
  node.configure({
      {"node_id", "2c3f6a60-1b5c-4f0e-9f2e-3c8c0d5f1a11"},
      {"bootstrap", true},
      {"segments", nullptr},
      {"disable_update_check", true},
      {"log_level", "debug"},
      {"addresses", json::object{}},
      {"ports", {{"dns", other(1)}, {"grpc", other(2)}, {"serf_wan", other(3)}, {"https", other(4)}}},
      {"acl", {{"enabled", true}, {"tokens", {{"master", "root"}}}, {"default_policy", "deny"}}},
      {"acl_master_token", "root"},
      {"encrypt", "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s="},
      {"enable_script_checks", true},
      {"connect", {{"enabled", true}, {"ca_config", {{"cluster_id", "11111111-2222-3333-4444-555555555555"}}}}},
      {"enable_debug", true},
      {"skip_leave_on_interrupt", true},
  });
  node.start();
  const auto serves =
      eventually(milliseconds{30000}, [&] { return node.put("/v1/kv/a?token=root", "1").body.starts_with("true"); });
  INFO(file_tail(node.log_file(), 3000));
  REQUIRE(serves);
  CHECK(node.get("/v1/agent/self?token=root").body.find("2c3f6a60-1b5c-4f0e-9f2e-3c8c0d5f1a11") != std::string::npos);
  CHECK(node.get("/v1/kv/a").status == 403);
  CHECK(run_program(folder, {consul.string(), "version"}).output.starts_with("Consul v1.8.7\n"));
  node.process().signal(SIGINT); // as the harness stops it
  const auto end = node.process().wait(milliseconds{20000});
  REQUIRE(end);
  CHECK(end->signal == 0);
}

TEST_CASE("a reload changes definitions, by HTTP and by SIGHUP, and a broken file changes nothing", "[reload]") {
  const json::object web = {{"name", "web"}, {"port", 80}, {"check", {{"ttl", "10m"}, {"status", "passing"}}}};
  const json::array first = {json::value(web), json::value({{"name", "old"}})};
  auto cluster = ready_cluster(1, {{"log_level", "INFO"}, {"services", first}});
  auto& node = cluster->node(0);
  using names = std::set<std::string>;
  const auto services = [&] { return names_at(node, "/v1/agent/services"); };
  const auto log = [&] { return file_tail(node.log_file(), 1 << 20); };
  REQUIRE(node.put("/v1/agent/service/register", R"({"Name":"mine"})").status == 200);
  CHECK(services() == names{"mine", "old", "web"});

  auto moved = web;
  moved["port"] = 81;
  cluster->configure(
      {{"services", json::array{json::value(moved), json::value({{"name", "new"}})}}, {"session_ttl_min", "17s"}});
  auto reply = node.put("/v1/agent/reload", "");
  INFO(reply.body << file_tail(node.log_file(), 3000));
  CHECK(reply.status == 200);
  CHECK(reply.body.empty());
  CHECK(services() == names{"mine", "new", "web"});
  CHECK(node.get("/v1/agent/services").body.find("\"Port\":81") != std::string::npos);
  CHECK(node.get("/v1/agent/health/service/id/web").status == 200); // its check passes as before
  CHECK(eventually(milliseconds{20000}, [&] {
    const auto known = names_at(node, "/v1/catalog/services");
    return known.contains("new") && !known.contains("old");
  }));
  CHECK(log().find("changed setting takes effect at the next start key=session_ttl_min") != std::string::npos);

  const auto file = node.log_file().parent_path() / "config.json";
  std::ofstream(file) << "{\"bogus\": 1, \"log_level\": \"loud\"}";
  reply = node.put("/v1/agent/reload", "");
  CHECK(reply.status == 500);
  CHECK(reply.body.find("invalid config key bogus (" + file.string() + ":1:2)") != std::string::npos);
  CHECK(reply.body.find("Invalid log level: loud") != std::string::npos);
  CHECK(services() == names{"mine", "new", "web"});
  CHECK(log().find("node: configuration not reloaded; nothing changed") != std::string::npos);

  cluster->configure();
  node.process().signal(SIGHUP);
  CHECK(eventually(milliseconds{20000}, [&] { return services() == names{"mine", "old", "web"}; }));
  CHECK(node.running());
}
