// A configuration for Consul 1.8 starts a server here, or is rejected with the reason. The test has
// all keys and flags of docs/contract/14, and those of Consul's test harness
// (sdk/testutil/server.go).

#include "actors/node/config/json.hpp"
#include "actors/node/config/keys.hpp"
#include "actors/node/config/node_config.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/unit/actors/node/named_certificates.hpp"

#include <catch2/catch.hpp>

#include <variant>

using namespace belay;
using namespace belay::actors;
using harness::scratch_folder;

namespace {

std::string start_with(const std::vector<std::string>& args) {
  const auto r = parse_agent_arguments(args);
  const auto* e = std::get_if<config_error>(&r);
  return e == nullptr ? "accepted" : e->text;
}

/// The start of a server with `more` in a file of that format.
std::string start_of_file(const scratch_folder& in, const std::string& more) {
  return start_with(
      {"-config-file",
       in.write("c.json", R"({"server":true,"data_dir":"/nonexistent/d","bind_addr":"127.0.0.1",)" + more + "}")});
}

} // namespace

TEST_CASE("the configuration of Consul's test harness is accepted") {
  scratch_folder f;
  const named_certificates certificates;
  const auto file = f.write(
      "config.json", certificates.named_in(R"({"node_name":"node-2c3f","node_id":"2c3f6a60-1b5c-4f0e-9f2e-3c8c0d5f1a11",
    "performance":{"raft_multiplier":1},"bootstrap":true,"server":true,"data_dir":"/nonexistent/data","segments":null,
    "disable_update_check":true,"log_level":"debug","bind_addr":"127.0.0.1","addresses":{},
    "ports":{"dns":21001,"http":21002,"https":21003,"serf_lan":21004,"serf_wan":21005,"server":21006,"grpc":21007,
      "proxy_min_port":21008,"proxy_max_port":21009},
    "acl":{"enabled":true,"tokens":{"master":"root","agent_master":"am","default":"d","agent":"a","replication":"r"},"policy_ttl":"30s","token_ttl":"30s",
      "down_policy":"extend-cache","default_policy":"allow","enable_key_list_policy":true},
    "acl_master_token":"root","acl_default_policy":"allow","primary_datacenter":"dc1","raft_protocol":3,
    "encrypt":"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=","ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem",
    "verify_incoming":true,"verify_incoming_rpc":true,"verify_incoming_https":true,"verify_outgoing":true,"enable_script_checks":true,
    "connect":{"enabled":true,"ca_config":{"cluster_id":"11111111-2222-3333-4444-555555555555"}},"enable_debug":true,
    "skip_leave_on_interrupt":true,"check_update_interval":"0s"})"));
  CHECK(start_with({"-config-file", file}) == "accepted");
  const auto parsed = std::get<parsed_command_line>(parse_agent_arguments({"-config-file", file}));
  CHECK(parsed.config.http_port == 21002);
  CHECK(parsed.config.server_port == 21006);
  CHECK(parsed.config.bootstrap);
  CHECK(parsed.config.peer_tls.verify_incoming);
  CHECK(parsed.config.peer_tls.cert_file == certificates.at("c.pem"));
  CHECK(parsed.config.peer_tls.encrypt.size() == 1);
}

// docs/contract/14, section 2.
TEST_CASE("all keys that matter of Consul 1.8 are accepted with their defaults") {
  scratch_folder f;
  CHECK(start_of_file(f, R"("bootstrap_expect":1,"node_name":"n","datacenter":"dc1",
    "client_addr":"127.0.0.1","addresses":{"http":"127.0.0.1","https":"127.0.0.1"},
    "ports":{"http":8500,"https":-1,"dns":8600,"grpc":-1,"server":8300,"serf_lan":8301,"serf_wan":8302},
    "retry_join":["127.0.0.1"],"leave_on_terminate":false,"skip_leave_on_interrupt":true,"reconnect_timeout":"72h","session_ttl_min":"10s",
    "limits":{"kv_max_value_size":524288,"txn_max_req_len":524288,"http_max_conns_per_client":200,"rpc_rate":-1,"rpc_max_burst":1000,
      "rpc_max_conns_per_client":100,"rpc_handshake_timeout":"5s","https_handshake_timeout":"5s"},
    "performance":{"raft_multiplier":5,"leave_drain_time":"5s","rpc_hold_timeout":"7s"},
    "raft_snapshot_threshold":16384,"raft_snapshot_interval":"30s","raft_trailing_logs":10240,
    "acl":{"enabled":false,"default_policy":"allow","down_policy":"extend-cache","enable_key_list_policy":false,"enable_token_persistence":false,
      "policy_ttl":"30s","token_ttl":"30s","tokens":{"master":"","default":"","agent":"","agent_master":"","replication":""}},
    "autopilot":{"cleanup_dead_servers":true,"last_contact_threshold":"200ms","max_trailing_logs":250,"server_stabilization_time":"10s",
      "min_quorum":0},
    "http_config":{"response_headers":{},"block_endpoints":[],"allow_write_http_from":[],"use_cache":true,"threads":2},
    "cert_file":"","key_file":"","ca_file":"","ca_path":"","verify_incoming":false,"verify_incoming_https":false,"verify_incoming_rpc":false,
    "verify_outgoing":false,"verify_server_hostname":false,"tls_min_version":"tls12",
    "telemetry":{"disable_hostname":false,"prometheus_retention_time":"0s","metrics_prefix":"consul"},
    "disable_update_check":false,"enable_script_checks":false,"disable_remote_exec":true,"disable_http_unprintable_char_filter":false,
    "discovery_max_stale":"0s","check_update_interval":"5m","log_level":"INFO")") == "accepted");
}

TEST_CASE("every key that a drop-in server must accept is accepted, as HCL too") {
  scratch_folder f;
  struct row {
    const char *json, *hcl;
  };
  const row rows[] = {
      {R"("connect":{"enabled":true,"ca_provider":"consul","ca_config":{"leaf_cert_ttl":"72h"}})",
       "connect { enabled = true ca_provider = \"consul\" ca_config { leaf_cert_ttl = \"72h\" } }"},
      {R"("enable_debug":true)", "enable_debug = true"},
      {R"("dns_config":{"allow_stale":true,"service_ttl":{"*":"5s"}})",
       "dns_config { allow_stale = true service_ttl { \"*\" = \"5s\" } }"},
      {R"("enable_central_service_config":true)", "enable_central_service_config = true"},
      {R"("ui":true)", "ui = true"},
      {R"("primary_datacenter":"dc1")", "primary_datacenter = \"dc1\""},
      {R"("acl_agent_master_token":"a")", "acl_agent_master_token = \"a\""},
      {R"("acl_agent_token":"a")", "acl_agent_token = \"a\""},
      {R"("acl_default_policy":"allow")", "acl_default_policy = \"allow\""},
      {R"("acl_down_policy":"deny")", "acl_down_policy = \"deny\""},
      {R"("acl_enable_key_list_policy":true)", "acl_enable_key_list_policy = true"},
      {R"("acl_enforce_version_8":true)", "acl_enforce_version_8 = true"},
      {R"("acl_master_token":"a")", "acl_master_token = \"a\""},
      {R"("acl_replication_token":"a")", "acl_replication_token = \"a\""},
      {R"("acl_token":"a")", "acl_token = \"a\""},
      {R"("acl_ttl":"5s")", "acl_ttl = \"5s\""},
      {R"("enable_acl_replication":true)", "enable_acl_replication = true"},
      {R"("translate_wan_addrs":true)", "translate_wan_addrs = true"},
      {R"("gossip_lan":{"gossip_nodes":3,"probe_interval":"1s"})",
       "gossip_lan { gossip_nodes = 3 probe_interval = \"1s\" }"},
      {R"("gossip_wan":{"suspicion_mult":6})", "gossip_wan { suspicion_mult = 6 }"},
      {R"("ports":{"grpc":8502,"dns":8600})", "ports { grpc = 8502 dns = 8600 }"},
      {R"("cache":{"entry_fetch_max_burst":2,"entry_fetch_rate":0.5})",
       "cache { entry_fetch_max_burst = 2 entry_fetch_rate = 0.5 }"},
      {R"("acl_disabled_ttl":"1s","acl":{"disabled_ttl":"1s"})",
       "acl_disabled_ttl = \"1s\" acl { disabled_ttl = \"1s\" }"},
      {R"("check_reap_interval":"1s","ae_interval":"1s")", "check_reap_interval = \"1s\" ae_interval = \"1s\""},
      {R"("check_deregister_interval_min":"1s","sync_coordinate_interval_min":"1s","sync_coordinate_rate_target":0.1)",
       "check_deregister_interval_min = \"1s\""},
      {R"("segment_limit":3,"segment_name_limit":4,"segment":"","segments":[])", "segment_limit = 3 segments = []"},
      {R"("consul":{"coordinate":{"update_period":"10ms","update_batch_size":1},"server":{"health_interval":"1s"}})",
       "consul = { coordinate = { update_period = \"10ms\" } raft { election_timeout = \"1s\" } }"},
      {R"("version":"1.8.7","version_prerelease":"dev","revision":"1")", "version = \"1.8.7\" revision = \"1\""},
      {R"("snapshot_agent":{"snapshot":{"interval":"1h"}})", "snapshot_agent { snapshot { interval = \"1h\" } }"},
      {R"("snapshot_agent":{})", "snapshot_agent {}"},
      {R"("retry_max":-1)", "retry_max = -1"},
      {R"("raft_snapshot_threshold":0,"raft_snapshot_interval":"0s","raft_trailing_logs":0)",
       "raft_snapshot_threshold = 0"},
      {R"("limits":{"rpc_handshake_timeout":"0s","https_handshake_timeout":"0s"})",
       "limits { rpc_handshake_timeout = \"0s\" https_handshake_timeout = \"-1s\" }"},
      {R"("auto_config":{"enabled":false,"server_addresses":["a"],"authorization":{"enabled":false}})",
       "auto_config { enabled = false }"},
  };
  for (const auto& r : rows) {
    INFO(r.json);
    CHECK(start_of_file(f, r.json) == "accepted");
    CHECK(start_with({"-server", "-data-dir", "/nonexistent/d", "-bind", "127.0.0.1", "-hcl", r.hcl}) == "accepted");
  }
}

// A misspelt key must not drop a setting silently, however deeply it is nested.
TEST_CASE("unknown keys inside sections without effect are refused as Consul refuses them") {
  scratch_folder f;
  struct row {
    const char *json, *path;
  };
  const row rows[] = {
      {R"("connect":{"bogus":1})", "connect.bogus"},
      {R"("dns_config":{"bogus":1})", "dns_config.bogus"},
      {R"("dns_config":{"soa":{"bogus":1}})", "dns_config.soa.bogus"},
      {R"("gossip_lan":{"bogus":1})", "gossip_lan.bogus"},
      {R"("gossip_wan":{"bogus":1})", "gossip_wan.bogus"},
      {R"("cache":{"bogus":1})", "cache.bogus"},
      {R"("auto_config":{"bogus":1})", "auto_config.bogus"},
      {R"("auto_encrypt":{"bogus":1})", "auto_encrypt.bogus"},
  };
  for (const auto& r : rows) {
    INFO(r.json);
    CHECK(start_of_file(f, r.json).find(std::string("\t* invalid config key ") + r.path + " (") != std::string::npos);
  }
}

TEST_CASE("keys of later releases are unknown") {
  scratch_folder f;
  for (const char* key : {"tls", "ui_config", "request_limits"}) {
    const auto reported = start_of_file(f, std::string("\"") + key + "\":{}");
    CHECK(reported.find(std::string(": 1 error occurred:\n\t* invalid config key ") + key + " (") != reported.npos);
  }
  const auto reported = start_of_file(f, R"("ports":{"grpc_tls":8503})");
  CHECK(reported.find("invalid config key ports.grpc_tls (") != reported.npos);
}

// docs/contract/14, section 1.
TEST_CASE("all flags that matter are accepted, with one dash or two, with = or a blank") {
  const std::pair<const char*, const char*> flags[] = {
      {"bootstrap-expect", "3"},
      {"node", "n"},
      {"node-id", "2c3f6a60-1b5c-4f0e-9f2e-3c8c0d5f1a11"},
      {"node-meta", "k:v"},
      {"datacenter", "dc1"},
      {"bind", "127.0.0.1"},
      {"advertise", "127.0.0.1"},
      {"client", "127.0.0.1 ::1"},
      {"http-port", "1"},
      {"https-port", "-1"},
      {"dns-port", "1"},
      {"grpc-port", "1"},
      {"server-port", "1"},
      {"serf-lan-port", "1"},
      {"serf-wan-port", "1"},
      {"join", "a"},
      {"retry-join", "a:1"},
      {"retry-interval", "1s"},
      {"retry-max", "1"},
      {"log-level", "warn"},
      {"log-file", "/nonexistent/l"},
      {"pid-file", "/nonexistent/p"},
      {"encrypt", "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s="},
      {"raft-protocol", "3"},
      {"default-query-time", "1s"},
      {"max-query-time", "2s"},
      {"data-dir", "/nonexistent/e"},
      {"hcl", "ui = true"},
      {"config-format", "hcl"},
  };
  const std::vector<std::string> always = {"-server", "-data-dir=/nonexistent/d", "-bind=127.0.0.1"};
  for (const auto& [name, value] : flags)
    for (const std::string dashes : {"-", "--"}) {
      INFO(name);
      auto joined = always, apart = always;
      joined.push_back(dashes + name + "=" + value);
      apart.insert(apart.end(), {dashes + name, value});
      CHECK(start_with(joined) == "accepted");
      CHECK(start_with(apart) == "accepted");
    }
  for (const char* name : {"-ui", "-rejoin", "-log-json", "-syslog", "-bootstrap", "-ui=false", "-server=true"}) {
    INFO(name);
    auto args = always;
    args.push_back(name);
    CHECK(start_with(args) == "accepted");
  }
}

// Every key of the table can be written, and is rejected with a value of a wrong type.
TEST_CASE("every key of the table takes its type and no other") {
  scratch_folder f;
  const auto at = [](std::string_view path, const std::string& value) {
    std::string text = value;
    for (auto rest = path; !rest.empty();) {
      const auto dot = rest.rfind('.');
      text = "{\"" + std::string(rest.substr(dot + 1)) + "\":" + text + "}"; // npos + 1 is 0
      rest = dot == rest.npos ? std::string_view{} : rest.substr(0, dot);
    }
    return text;
  };
  for (const auto& key : config_keys()) {
    if (key.path.find("1.9") != key.path.npos) // a name that contains a dot
      continue;
    INFO(key.path);
    std::string right, wrong;
    switch (key.kind) {
    case config_kind::boolean:
      right = "false", wrong = "\"x\"";
      break;
    case config_kind::integer:
      right = "1", wrong = "\"1\"";
      break;
    case config_kind::text:
      right = "\"\"", wrong = "1";
      break;
    case config_kind::duration:
      right = "\"1s\"", wrong = "1";
      break;
    case config_kind::list:
      right = "[\"x\"]", wrong = "[1]";
      break;
    case config_kind::text_map:
      right = "{\"a\":\"b\"}", wrong = "{\"a\":1}";
      break;
    case config_kind::section:
      right = "{}", wrong = "1";
      break;
    case config_kind::definitions:
      right = "[]", wrong = "1";
      break;
    case config_kind::opaque:
      right = "{\"anything\":[1]}";
      break;
    }
    config_problems none, some;
    config_text text;
    text.values = std::get<config_text>(parse_config_json(at(key.path, right))).values;
    (void)check_config_source("f", text, none);
    CHECK(none.none());
    if (wrong.empty())
      continue;
    text.values = std::get<config_text>(parse_config_json(at(key.path, wrong))).values;
    (void)check_config_source("f", text, some);
    REQUIRE(some.list().size() == 1);
    CHECK(some.list()[0].is == config_problem::kind::wrong_type);
  }
}
