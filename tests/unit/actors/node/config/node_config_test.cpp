// How a node reads its flags and files: Consul's texts in rejections, because tools compare them.

#include "actors/node/config/checks.hpp"
#include "actors/node/config/keys.hpp"
#include "actors/node/config/node_config.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/unit/actors/node/named_certificates.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace belay;
using namespace belay::actors;
using namespace std::chrono_literals;

namespace {

using harness::scratch_folder;

std::string text_of(const std::variant<parsed_command_line, config_error>& r) {
  auto* e = std::get_if<config_error>(&r);
  return e ? e->text : "(accepted)";
}

parsed_command_line accepted(const std::vector<std::string>& args) {
  auto r = parse_agent_arguments(args);
  INFO(text_of(r));
  REQUIRE(std::holds_alternative<parsed_command_line>(r));
  return std::get<parsed_command_line>(r);
}

config_error refused(const std::vector<std::string>& args) {
  auto r = parse_agent_arguments(args);
  REQUIRE(std::holds_alternative<config_error>(r));
  return std::get<config_error>(r);
}

/// Arguments of a server whose configuration file also contains `more`; FILES in it is replaced by the
/// folder of certificates().
std::vector<std::string> file_with(const scratch_folder& in, const std::string& more) {
  return {"-config-file", in.write("c.json", R"({"server":true,"data_dir":"/nonexistent/d","bind_addr":"127.0.0.1")" +
                                                 (more.empty() ? "" : "," + certificates().named_in(more)) + "}")};
}

bool mentions(const std::vector<std::string>& lines, const std::string& text) {
  for (const auto& l : lines)
    if (l.find(text) != l.npos)
      return true;
  return false;
}

/// Members of a configuration with a value for each path, all in the same section.
std::string members_with(const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string section, out;
  for (const auto& [path, value] : values) {
    const auto dot = path.find('.');
    section = path.substr(0, dot == path.npos ? 0 : dot);
    out += (out.empty() ? "\"" : ",\"") + std::string(path.substr(dot == path.npos ? 0 : dot + 1)) + "\":" + value;
  }
  return section.empty() ? out : "\"" + section + "\":{" + out + "}";
}

} // namespace

TEST_CASE("a renamed key is accepted by its old name, which is reported once") {
  scratch_folder f;
  std::size_t rows = 0;
  for (const auto& row : renamed_names) {
    if (row.kind != name_kind::config_key)
      continue;
    INFO(row.old_name);
    ++rows;
    const auto* key = find_config_key(row.name);
    REQUIRE(key != nullptr);
    CHECK(find_config_key(row.old_name) == nullptr);
    const std::string value = key->kind == config_kind::boolean ? "true" : "2";
    const std::string other = key->kind == config_kind::boolean ? "false" : "3";
    const auto now = accepted(file_with(f, members_with({{row.name, value}})));
    CHECK(now.old_names.empty());
    for (const auto& text :
         {members_with({{row.old_name, value}}), members_with({{row.old_name, value}, {row.name, value}}),
          members_with({{row.name, value}, {row.old_name, value}})}) {
      INFO(text);
      const auto old = accepted(file_with(f, text));
      CHECK(old.settings == now.settings);
      CHECK(old.old_names == std::vector<const renamed_name*>{&row});
    }
    for (const auto& text : {members_with({{row.old_name, value}, {row.name, other}}),
                             members_with({{row.name, value}, {row.old_name, other}})}) {
      INFO(text);
      CHECK(refused(file_with(f, text))
                .text.find(std::string(row.name) + " and its old name " + std::string(row.old_name) +
                           " have different values: remove the old name (") == 0);
    }
  }
  CHECK(rows > 0);
  // A later source overrides an earlier one, whichever names they use.
  const auto both = accepted({"-config-file", f.write("1.json", R"({"http_config":{"fronts":2}})"), "-config-file",
                              f.write("2.json", R"({"http_config":{"threads":3}})"), "-config-file",
                              f.write("3.json", R"({"http_config":{"FRONTS":4}})"), "-server",
                              "-data-dir=/nonexistent/d", "-bind=127.0.0.1"});
  CHECK(both.config.http_threads == 4);
  CHECK(both.old_names.size() == 1);
}

TEST_CASE("defaults are Consul's") {
  auto c = accepted({"-server", "-data-dir=/nonexistent/d", "-bind", "127.0.0.1"}).config;
  CHECK(c.datacenter == "dc1");
  CHECK(c.node_name == host_name());
  CHECK(c.server_port == 8300);
  CHECK(c.http_port == 8500);
  CHECK(c.http_listeners == std::vector<listen_address>{{"127.0.0.1", 8500, ""}});
  CHECK(c.advertise_addr == "127.0.0.1");
  CHECK(c.raft_multiplier == 5);
  CHECK(c.session_ttl_min == 10s);
  CHECK(c.default_query_time == 300s);
  CHECK(c.max_query_time == 600s);
  CHECK(c.rpc_hold_timeout == 7s);
  CHECK(c.kv_max_value_size == 524288);
  CHECK(c.http_max_conns_per_client == 200);
  CHECK(c.raft_snapshot_threshold == 0);
  CHECK(c.raft_trailing_logs == 10240);
  CHECK_FALSE(c.bootstrap);
  CHECK(c.log.lowest == belay::log::level::info);
}

TEST_CASE("every effective key reaches its field") {
  scratch_folder f;
  auto p =
      accepted(file_with(f, R"("bootstrap_expect":3,"node_name":"n1","node_id":"B31A9000-0000-4000-8000-000000000001",
    "datacenter":"DC2","advertise_addr":"127.0.0.2","client_addr":"127.0.0.1 ::1","ports":{"http":18500,"server":18300,"serf_wan":-1},
    "start_join":["a:1"],"retry_join":["b:2","c"],"log_level":"err","log_json":true,"log_file":"/x/l","pid_file":"/x/p",
    "limits":{"overload_delay":"2s","overload_requests":77,"kv_max_value_size":1000,"txn_max_req_len":2000,"http_max_conns_per_client":7,"kv_changes_bytes":70000,"http_max_bytes_in_flight":100000000},
    "performance":{"raft_multiplier":1,"rpc_hold_timeout":"3s"},
    "raft_snapshot_threshold":5,"raft_snapshot_interval":"6s","raft_trailing_logs":7,"session_ttl_min":"1s","default_query_time":"1m","max_query_time":"2m",
    "http_config":{"response_headers":{"X-A":"b"},"block_endpoints":["/v1/event"],"allow_write_http_from":["10.0.0.0/8"],"allowed_hosts":["belay.test"]},
    "disable_http_unprintable_char_filter":true,"allow_unauthenticated_servers":true,"telemetry":{"prometheus_retention_time":"24h","metrics_prefix":"b","old_names":false},
    "node_meta":{"k":"v"},"enable_script_checks":true,"discovery_max_stale":"5s","default_consistency":"consistent")"));
  const auto& c = p.config;
  CHECK(c.bootstrap_expect == 3);
  CHECK(c.node_name == "n1");
  CHECK(c.node_id == "b31a9000-0000-4000-8000-000000000001");
  CHECK(c.datacenter == "dc2");
  CHECK(c.advertise_addr == "127.0.0.2");
  CHECK(c.http_listeners == std::vector<listen_address>{{"127.0.0.1", 18500, ""}, {"::1", 18500, ""}});
  CHECK(c.server_port == 18300);
  CHECK(c.serf_wan_port == 0);
  CHECK(c.joins == std::vector<std::string>{"a:1", "b:2", "c"});
  CHECK(c.log.lowest == belay::log::level::error);
  CHECK(c.log.json);
  CHECK(c.log.file == "/x/l");
  CHECK(c.pid_file == "/x/p");
  CHECK(c.kv_max_value_size == 1000);
  CHECK(c.txn_max_req_len == 2000);
  CHECK(c.http_max_conns_per_client == 7);
  CHECK(c.http_max_bytes_in_flight == 100'000'000);
  CHECK(c.kv_changes_bytes == 70'000);
  CHECK(c.overload_delay == 2s);
  CHECK(c.overload_requests == 77);
  CHECK(c.raft_multiplier == 1);
  CHECK(c.rpc_hold_timeout == 3s);
  CHECK(c.raft_snapshot_threshold == 5);
  CHECK(c.raft_snapshot_interval == 6s);
  CHECK(c.raft_trailing_logs == 7);
  CHECK(c.session_ttl_min == 1s);
  CHECK(c.default_query_time == 60s);
  CHECK(c.max_query_time == 120s);
  CHECK(c.response_headers.at("X-A") == "b");
  CHECK(c.block_endpoints == std::vector<std::string>{"/v1/event"});
  CHECK(c.allow_write_http_from == std::vector<std::string>{"10.0.0.0/8"});
  CHECK(c.allowed_hosts == std::vector<std::string>{"belay.test"});
  CHECK(c.disable_http_unprintable_char_filter);
  CHECK(c.allow_unauthenticated_servers);
  CHECK(c.prometheus_retention_time == 24h);
  CHECK(c.metrics_prefix == "b");
  CHECK_FALSE(c.old_metric_names);
  CHECK(c.node_meta.at("k") == "v");
  CHECK(c.enable_script_checks);
  CHECK(c.discovery_max_stale == 5s);
  CHECK(c.consistent_by_default);
  CHECK(p.warnings.empty());
}

TEST_CASE("host names are checked where HTTP listens only on loopback, or where they are listed") {
  scratch_folder f;
  const auto hosts = [&](const char* text) { return accepted(file_with(f, text)).config.allowed_hosts; };
  const std::optional<std::vector<std::string>> any, none = std::vector<std::string>{};
  CHECK(hosts(R"("bootstrap":true)") == none);
  CHECK(hosts(R"("bootstrap":true,"client_addr":"127.0.0.1 ::1 unix:///x")") == none);
  CHECK(hosts(R"("bootstrap":true,"client_addr":"0.0.0.0")") == any);
  CHECK(hosts(R"("bootstrap":true,"client_addr":"127.0.0.1 127.0.0.2 10.0.0.1")") == any);
  CHECK(hosts(R"("bootstrap":true,"addresses":{"http":"10.0.0.1"})") == any);
  CHECK(hosts(R"("bootstrap":true,"client_addr":"0.0.0.0","http_config":{"allowed_hosts":[]})") == none);
  CHECK(hosts(R"("bootstrap":true,"http_config":{"allowed_hosts":["a","*"]})") == any);
}

TEST_CASE("-dev is one server in memory on the loopback") {
  auto c = accepted({"-dev"}).config;
  CHECK(c.dev);
  CHECK(c.ui);
  CHECK(c.ui_content_path == "/ui/");
  for (const auto* given : {"console/v1", "/console/v1", "//console/v1//"})
    CHECK(accepted({"-dev", std::string("-ui-content-path=") + given}).config.ui_content_path == "/console/v1/");
  CHECK(accepted({"-dev", "-ui-content-path="}).config.ui_content_path == "/ui/");
  CHECK_FALSE(accepted({"-dev", "-ui=false"}).config.ui);
  CHECK(c.server);
  CHECK(c.bootstrap);
  CHECK(c.data_dir.empty());
  CHECK(c.bind_addr == "127.0.0.1");
  CHECK(c.raft_multiplier == 1);
  CHECK(c.log.lowest == belay::log::level::debug);
  CHECK(accepted({"-dev", "-log-level=warn"}).config.log.lowest == belay::log::level::warn);
}

TEST_CASE("a flag beats a file, a later file an earlier one, and lists are appended") {
  scratch_folder f;
  f.write("1.json", R"({"server":true,"node_name":"one","retry_join":["b"],"ports":{"http":1000,"server":2000}})");
  f.write("2.json", R"({"node_name":"two","retry_join":["c"],"ports":{"http":1001},"node_meta":{"x":"2"}})");
  f.write("notes.txt", "not a configuration");
  auto p = accepted({"-config-dir", f.path(), "-data-dir", "/nonexistent/d", "-bind=127.0.0.1", "-retry-join=a",
                     "--server-port=2001", "-hcl", R"({"datacenter":"dc9"})"});
  CHECK(p.config.node_name == "two");
  CHECK(p.config.joins == std::vector<std::string>{"a", "b", "c"});
  CHECK(p.config.http_port == 1001);
  CHECK(p.config.server_port == 2001);
  CHECK(p.config.datacenter == "dc9");
  CHECK(mentions(p.warnings, "skipping file " + f / "notes.txt"));
}

// Reading a pipe without a writer would block the start forever.
TEST_CASE("only regular files of a folder are read, and links to them", "[B26]") {
  scratch_folder f, elsewhere;
  f.write("1.json", R"({"server":true,"data_dir":"/nonexistent/d","bind_addr":"127.0.0.1"})");
  elsewhere.write("real.json", R"({"node_name":"linked"})");
  REQUIRE(::mkfifo((f / "2.json").c_str(), 0600) == 0);
  REQUIRE(::mkfifo((f / "3.hcl").c_str(), 0600) == 0);
  REQUIRE(::symlink("/dev/zero", (f / "4.json").c_str()) == 0);
  REQUIRE(::symlink((elsewhere / "real.json").c_str(), (f / "5.json").c_str()) == 0);
  REQUIRE(::symlink((f / "2.json").c_str(), (f / "6.json").c_str()) == 0);
  const auto p = accepted({"-config-dir", f.path()});
  CHECK(p.config.node_name == "linked");
  for (const auto* name : {"2.json", "3.hcl", "4.json", "6.json"})
    CHECK(mentions(p.warnings, "skipping " + f / name + ", it is not a regular file"));
  REQUIRE(::symlink("/nonexistent/x", (f / "7.json").c_str()) == 0);
  CHECK(refused({"-config-dir", f.path()}).text.find("7.json") != std::string::npos);
}

TEST_CASE("unknown keys are refused by name, wherever they are") {
  scratch_folder f;
  auto args = file_with(f, R"("bogus_key":1)");
  CHECK(refused(args).text == "failed to parse " + args[1] + ": 1 error occurred:\n\t* invalid config key bogus_key (" +
                                  args[1] + ":1:68)\n\n");
  CHECK(refused(args).exit_code == 1);
  CHECK(refused(file_with(f, R"("ports":{"grpc_tls":1},"ui_config":{})")).text ==
        "failed to parse " + args[1] + ": 2 errors occurred:\n\t* invalid config key ports.grpc_tls (" + args[1] +
            ":1:77)\n\t* invalid config key ui_config (" + args[1] + ":1:91)\n\n");
}

TEST_CASE("complaints about configurations") {
  scratch_folder f;
  struct row {
    const char* more;
    const char* complaint;
  };
  const row rows[] = {
      {R"("session_ttl_min":"abc")", R"(session_ttl_min: invalid duration: "abc": time: invalid duration "abc")"},
      {R"("session_ttl_min":"10")", R"(session_ttl_min: invalid duration: "10": time: missing unit in duration "10")"},
      {R"("performance":{"raft_multiplier":11})", "performance.raft_multiplier cannot be 11. Must be between 1 and 10"},
      {R"("performance":{"raft_multiplier":0})", "performance.raft_multiplier cannot be 0. Must be between 1 and 10"},
      {R"("bootstrap":true,"server":false)", "'bootstrap = true' requires 'server = true'"},
      {R"("bootstrap":true,"bootstrap_expect":3)",
       "'bootstrap_expect > 0' and 'bootstrap = true' are mutually exclusive"},
      {R"("bootstrap_expect":3,"read_replica":true)",
       "'bootstrap_expect > 0' and 'read_replica = true' are mutually exclusive"},
      {R"("bootstrap":true,"non_voting_server":true)",
       "'bootstrap = true' and 'non_voting_server = true' are mutually exclusive"},
      {R"("bootstrap_expect":-1)", "bootstrap_expect cannot be -1. Must be greater than or equal to zero"},
      {R"("data_dir":"")", "data_dir cannot be empty"},
      {R"("ui_content_path":"/a b/")", "ui-content-path can only contain alphanumeric, -, _, or /. received: /a b/"},
      {R"("ui_content_path":"/v1/")", "ui-content-path cannot have 'v[0-9]'. received: /v1/"},
      {R"("ui_content_path":"//")", "ui-content-path cannot be // alone"},
      {R"("data_dir":"/dev/null")", "data_dir \"/dev/null\" is not a directory"},
      {R"("default_consistency":"stale")",
       "default_consistency cannot be \"stale\": it must be \"default\" or \"consistent\""},
      {R"("log_level":"loud")", "Invalid log level: loud. Valid log levels are: [TRACE DEBUG INFO WARN ERR]"},
      {R"("retry_interval":"soon")", R"(retry_interval: invalid duration: "soon": time: invalid duration "soon")"},
      {R"("reconnect_timeout":"soon")",
       R"(reconnect_timeout: invalid duration: "soon": time: invalid duration "soon")"},
      {R"("gossip_wan":{"probe_timeout":"x"})",
       R"(gossip_wan.probe_timeout: invalid duration: "x": time: invalid duration "x")"},
      {R"("dns_config":{"service_ttl":{"*":"x"}})",
       R"(dns_config.service_ttl["*"]: invalid duration: "x": time: invalid duration "x")"},
      {R"("addresses":{"dns":"unix:///x"})", "DNS address cannot be a unix socket"},
      {R"("node_meta":{"consul-x":"1"})",
       "node_meta invalid: Couldn't load metadata pair ('consul-x', '1'): Key prefix 'consul-' is reserved for "
       "internal use"},
      {R"("node_meta":{"a b":"1"})",
       "node_meta invalid: Couldn't load metadata pair ('a b', '1'): Key contains invalid characters"},
      {R"("node_meta":{"":"1"})", "node_meta invalid: Couldn't load metadata pair ('', '1'): Key cannot be blank"},
      {R"("segment":"a")", "segment: Belay does not support network segments, and does not start with this setting. "
                           "Remove it to run without the feature"},
      {R"("segments":[{"name":"a"}])", "segments: Belay does not support network segments, and does not start with "
                                       "this setting. Remove it to run without the feature"},
      {R"("limits":{"kv_max_value_size":100000000})",
       "limits.kv_max_value_size must be a whole number from 1 to 16777216"},
      {R"("client_addr":"{{ GetPublicIP }}")",
       "client_addr: the address template {{ GetPublicIP }} is not supported: write the address, {{ GetPrivateIP }} or "
       "{{ GetInterfaceIP \"eth0\" }}"},
      {R"("advertise_addr":"{{ GetInterfaceIP \"none\" }}")",
       "advertise_addr: {{ GetInterfaceIP \"none\" }}: this machine has no such address"},
      {R"("check":{"name":"a","docker_container_id":"x","args":["a"],"interval":"1s"})",
       "check \"a\": Invalid check: Docker checks are not supported by this server; a script check that calls 'docker "
       "exec' does the same"},
      {R"("ports":{"serf_lan":70000})", "ports.serf_lan must be a whole number from -2147483647 to 65535"},
      {R"("ports":{"server":-1})", "ports.server must be a valid port from 1 to 65535"},
      {R"("ports":{"http":70000})", "ports.http must be a whole number from -2147483647 to 65535"},
      {R"("datacenter":"d c")", "datacenter cannot be \"d c\". Please use only [a-z0-9-_]."},
      {R"("client_addr":"localhost")", "client_addr: invalid ip address: localhost"},
      {R"("advertise_addr":"0.0.0.0")", "Advertise address cannot be 0.0.0.0, :: or [::]"},
      {R"("node_id":"7")", "node_id: \"7\" is not a UUID"},
      {R"("http_config":{"allow_write_http_from":["ten"]})",
       "http_config.allow_write_http_from: invalid CIDR address: ten"},
      {R"("check_http_allow":["10.0.0.1"])", "check_http_allow: invalid CIDR address: 10.0.0.1"},
      {R"("limits":{"http_max_bytes_in_flight":1000})",
       "limits.http_max_bytes_in_flight must be 0 or at least 67108864"},
      {R"("http_config":{"threads":9})",
       "http_config.threads: this number requires limits.http_max_bytes_in_flight of at least 603979776, or 0"},
      {R"("http_config":{"threads":17})", "http_config.threads must be a whole number from 1 to 16"},
      {R"("http_config":{"allowed_hosts":["http://a"]})",
       "http_config.allowed_hosts: not a host name, \".\" and a domain, or \"*\": http://a"},
      {R"("retry_join":["provider=aws tag=x"])", "retry_join: finding servers through a cloud provider is not "
                                                 "supported; write their addresses or host names: provider=aws tag=x"},
  };
  for (const auto& r : rows) {
    INFO(r.more);
    const auto args = file_with(f, r.more);
    auto e = refused(args);
    INFO(e.text);
    CHECK(e.text.starts_with(r.complaint + (" (" + args[1]) + ":1:"));
    CHECK(e.exit_code == 1);
  }
}

TEST_CASE("files that cannot be read or parsed") {
  scratch_folder f;
  CHECK(refused({"-config-file", "/nonexistent/c.json"}).text ==
        "config: Open failed on /nonexistent/c.json. open /nonexistent/c.json: no such file or directory");
  struct row {
    const char* text;
    const char* complaint;
    const char* location;
  };
  const row rows[] = {
      {"{bad", "invalid character 'b' looking for beginning of object key string", "1:2"},
      {"{\"a\" 1}", "invalid character '1' after object key", "1:6"},
      {"{\"node_name\":\"a\"}\n {\"node_name\":\"b\"}", "invalid character '{' after top-level value", "2:2"},
      {"{} x", "invalid character 'x' after top-level value", "1:4"},
      {"{\"server\":true \"a\":1}", "invalid character '\"' after object key:value pair", "1:16"},
      {"{\"a\":[1 2]}", "invalid character '2' after array element", "1:9"},
      {"{\"a\":tru}", "invalid character '}' in literal true (expecting 'e')", "1:9"},
      {"{\"a\":", "unexpected end of JSON input", "1:6"},
      {" \n ", "unexpected end of JSON input", "2:2"},
      {"nope", "invalid character 'o' in literal null (expecting 'u')", "1:2"},
      {"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}", "1:1"},
      {"{\"a\":\"\n\"}", "invalid character '\\n' in string literal", "1:7"},
      {"{\"a\":01}", "invalid character '1' after object key:value pair", "1:7"},
      {"{\"bootstrap_expect\":\"3\"}",
       "1 error(s) decoding:\n\n* 'bootstrap_expect' expected type 'int', got unconvertible type 'string'", "1:2"},
      {"{\"ports\":3}", "1 error(s) decoding:\n\n* 'ports' expected a map, got 'float64'", "1:2"},
  };
  for (const auto& r : rows) {
    INFO(r.text);
    auto path = f.write("c.json", r.text);
    CHECK(refused({"-data-dir=/nonexistent/d", "-bind=127.0.0.1", "-config-file=" + path}).text ==
          "failed to parse " + path + ": " + r.complaint + " (" + path + ":" + r.location + ")");
  }
  // As in Consul 1.8.7: an empty file sets nothing, and one of blanks is malformed.
  for (const auto& [name, text] : {std::pair("c.hcl", "server = true"), std::pair("empty.json", ""),
                                   std::pair("null.json", "null"), std::pair("empty.hcl", "")})
    CHECK(refused({"-config-file", f.write(name, text)}).text == "data_dir cannot be empty");
  auto hcl = f.write("c.hcl", "server = true");
  hcl = f.write("c.hcl", "server = true\nbogus = 1");
  CHECK(refused({"-data-dir=/nonexistent/d", "-bind=127.0.0.1", "-config-file", hcl}).text ==
        "failed to parse " + hcl + ": 1 error occurred:\n\t* invalid config key bogus (" + hcl + ":2:1)\n\n");
  hcl = f.write("c.hcl", "ports {");
  CHECK(refused({"-config-file", hcl}).text ==
        "failed to parse " + hcl + ": At 1:9: object expected closing RBRACE got: EOF");
  CHECK(refused({"-dev", "-hcl", "ports {"}).text.starts_with("failed to parse -hcl: At 1:"));
}

TEST_CASE("wrong flags") {
  struct row {
    std::vector<std::string> args;
    const char* complaint;
  };
  const row rows[] = {
      {{"-bogusflag"}, "flag provided but not defined: -bogusflag"},
      {{"--bogusflag=1"}, "flag provided but not defined: -bogusflag"},
      {{"-node"}, "flag needs an argument: -node"},
      {{"-http-port", "x"}, R"(invalid value "x" for flag -http-port: strconv.ParseInt: parsing "x": invalid syntax)"},
      {{"-server=x"}, R"(invalid boolean value "x" for -server: strconv.ParseBool: parsing "x": invalid syntax)"},
  };
  for (const auto& r : rows) {
    auto e = refused(r.args);
    CHECK(e.text == r.complaint);
    CHECK(e.wrong_usage);
    CHECK(e.exit_code == 1);
  }
  CHECK(refused({"-dev", "word", "more"}).text == "config: Unknown extra arguments: [word more]");
  CHECK(refused({"-h"}).exit_code == 0);
  CHECK(refused({"-h"}).text.empty());
}

// A configuration that enables protection must not run unprotected: its author would not notice.
TEST_CASE("protection that this build lacks stops the start") {
  scratch_folder f;
  for (auto more : {R"("auto_encrypt":{"allow_tls":true})", R"("auto_config":{"enabled":true})"}) {
    INFO(more);
    auto e = refused(file_with(f, more));
    CHECK(e.text.find("Belay does not") != std::string::npos);
  }
  for (
      auto more :
      {R"("encrypt":"")", R"("ports":{"https":-1},"cert_file":"FILES/c.pem","key_file":"FILES/k.pem")",
       R"("verify_incoming":false)",
       R"("verify_incoming_https":true,"ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem")"}) {
    INFO(more);
    accepted(file_with(f, more));
  }
}

TEST_CASE("a read replica, by Consul's older and newer name") {
  scratch_folder f;
  CHECK_FALSE(accepted(file_with(f, "")).config.read_replica);
  CHECK(accepted(file_with(f, R"("read_replica":true)")).config.read_replica);
  CHECK(accepted(file_with(f, R"("non_voting_server":true)")).config.read_replica);
  for (const auto* flag : {"-read-replica", "-non-voting-server"}) {
    auto args = file_with(f, "");
    args.push_back(flag);
    CHECK(accepted(args).config.read_replica);
  }
  CHECK(accepted(file_with(f, R"("read_replica":true)")).warnings.empty());
}

TEST_CASE("autopilot: what the leader writes if there are no settings") {
  scratch_folder f;
  CHECK_FALSE(accepted(file_with(f, "")).config.autopilot);
  const auto a = accepted(file_with(f, R"("autopilot":{"cleanup_dead_servers":false,"last_contact_threshold":"1s",
    "max_trailing_logs":9,"min_quorum":3,"server_stabilization_time":"250ms"})"))
                     .config.autopilot;
  REQUIRE(a);
  CHECK_FALSE(a->cleanup_dead_servers);
  CHECK(a->last_contact_threshold_ns == 1'000'000'000);
  CHECK(a->max_trailing_logs == 9);
  CHECK(a->min_quorum == 3);
  CHECK(a->server_stabilization_ns == 250'000'000);
  CHECK(accepted(file_with(f, R"("autopilot":{"min_quorum":1})")).config.autopilot->cleanup_dead_servers);
}

// Consul also rejects a flag that requires certificates where there are none.
TEST_CASE("peer security: decoded and rejected values") {
  scratch_folder f;
  const auto open = accepted(file_with(f, R"("bind_addr":"127.0.0.1")")).config;
  CHECK(open.peer_tls.encrypt.empty());
  CHECK(open.peer_tls.domain == "consul");
  CHECK(open.rpc_max_conns_per_client == 100);
  CHECK(open.rpc_handshake_timeout == std::chrono::seconds(5));
  const auto locked =
      accepted(file_with(f, R"("datacenter":"East","domain":"belay.","encrypt":"QUJDREVGR0hJSktMTU5PUA==",
    "encrypt_verify_incoming":false,"encrypt_verify_outgoing":false,"disable_keyring_file":true,"ca_file":"FILES/ca.pem","ca_path":"FILES/cas","cert_file":"FILES/c.pem","key_file":"FILES/k.pem",
    "verify_incoming_rpc":true,"verify_outgoing":true,"verify_server_hostname":true,
    "limits":{"rpc_max_conns_per_client":7,"rpc_handshake_timeout":"2s"})"))
          .config;
  const auto& t = locked.peer_tls;
  CHECK(t.encrypt == std::vector<std::string>{"QUJDREVGR0hJSktMTU5PUA=="});
  CHECK_FALSE(t.encrypt_verify_incoming);
  CHECK_FALSE(t.encrypt_verify_outgoing);
  CHECK(t.verify_incoming);
  CHECK(t.verify_outgoing);
  CHECK(t.verify_server_hostname);
  CHECK(t.ca_file + t.ca_path + t.cert_file + t.key_file ==
        certificates().named_in("FILES/ca.pemFILES/casFILES/c.pemFILES/k.pem"));
  CHECK(t.datacenter + "." + t.domain == "east.belay");
  CHECK(locked.disable_keyring_file);
  CHECK(locked.rpc_max_conns_per_client == 7);
  CHECK(locked.rpc_handshake_timeout == std::chrono::seconds(2));
  CHECK(refused(file_with(f, R"("verify_incoming":true)"))
            .text.find("VerifyIncoming set, and no CA certificate provided!") != std::string::npos);
  CHECK(refused(file_with(f, R"("verify_incoming_rpc":true,"ca_file":"FILES/ca.pem")"))
            .text.find("VerifyIncoming set, and no Cert/Key pair provided!") != std::string::npos);
  CHECK(refused(file_with(f, R"("verify_outgoing":true)"))
            .text.find("VerifyOutgoing set, and no CA certificate provided!") != std::string::npos);
  CHECK(refused(file_with(f, R"("encrypt":"QUJD")"))
            .text.find("encrypt has invalid key: key size must be 16, 24 or 32 bytes") != std::string::npos);
  // Consul's 0 means no limit.
  const auto patient =
      accepted(file_with(f, R"("limits":{"rpc_handshake_timeout":"0s","https_handshake_timeout":"-1s"})")).config;
  CHECK(patient.rpc_handshake_timeout == std::chrono::hours(24));
  CHECK(patient.https_handshake_timeout == std::chrono::hours(24));
}

TEST_CASE("https: decoded values, warnings and errors") {
  scratch_folder f;
  const auto off = accepted(file_with(f, R"("cert_file":"FILES/c.pem","key_file":"FILES/k.pem")")).config;
  CHECK(off.https_port == -1);
  CHECK(off.https_listeners.empty());
  CHECK(off.https_handshake_timeout == std::chrono::seconds(5));
  const auto p = accepted(file_with(
      f, R"("ports":{"https":8501},"client_addr":"127.0.0.1 ::1","ca_file":"FILES/ca.pem","ca_path":"FILES/cas",
    "cert_file":"FILES/c.pem","key_file":"FILES/k.pem","verify_incoming_https":true,"tls_prefer_server_cipher_suites":true,
    "tls_cipher_suites":"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "limits":{"https_handshake_timeout":"2s"},"unix_sockets":{"user":"belay","group":"7","mode":"0770"})"));
  CHECK(p.warnings.empty());
  const auto& c = p.config;
  CHECK(c.https_listeners == std::vector<listen_address>{{"127.0.0.1", 8501, "", true}, {"::1", 8501, "", true}});
  CHECK(c.https.ca_file + c.https.ca_path + c.https.cert_file + c.https.key_file ==
        certificates().named_in("FILES/ca.pemFILES/casFILES/c.pemFILES/k.pem"));
  CHECK(c.https.verify_incoming);
  CHECK_FALSE(c.peer_tls.verify_incoming);
  CHECK(c.https.tls_min_version == "tls12");
  CHECK(c.https.cipher_suites.size() == 2);
  CHECK(c.https.prefer_server_cipher_suites);
  CHECK(c.https_handshake_timeout == std::chrono::seconds(2));
  CHECK(c.unix_sockets == unix_socket_rights{"belay", "7", "0770"});
  const auto other =
      accepted(file_with(f, R"("addresses":{"https":"unix:///tmp/b.sock 0.0.0.0"},"ports":{"https":1})"));
  CHECK(other.config.https_listeners ==
        std::vector<listen_address>{{"", 0, "/tmp/b.sock", true}, {"0.0.0.0", 1, "", true}});
  CHECK_FALSE(other.config.allowed_hosts); // other hosts can reach it directly
  REQUIRE(other.warnings.size() == 1);
  CHECK(other.warnings[0].starts_with("ports.https is set without cert_file and key_file"));
  CHECK(accepted(file_with(f, R"("tls_min_version":"tls11")")).warnings.at(0) ==
        "tls_min_version = tls11: versions below TLS 1.2 are not supported");
  struct row {
    const char *more, *complaint;
  };
  const row rows[] = {
      {R"("tls_min_version":"tls9")",
       "TLSMinVersion: value tls9 not supported, please specify one of [tls10,tls11,tls12] ("},
      {R"("tls_cipher_suites":"A,B")", R"(tls_cipher_suites: invalid tls cipher suites: unsupported cipher "A" ()"},
      {R"("verify_incoming_https":true,"cert_file":"FILES/c.pem","key_file":"FILES/k.pem")",
       "VerifyIncoming set, and no CA certificate provided! ("},
      {R"("verify_incoming_https":true,"ca_file":"FILES/ca.pem")",
       "VerifyIncoming set, and no Cert/Key pair provided! ("},
  };
  for (const auto& r : rows)
    CHECK(refused(file_with(f, r.more)).text.starts_with(r.complaint));
}

TEST_CASE("keys of Consul without effect are accepted and named in one line") {
  scratch_folder f;
  auto p = accepted(file_with(
      f,
      R"("connect":{"enabled":true,"ca_config":{"x":1}},"enable_debug":true,"dns_config":{"node_ttl":"1s","soa":{"retry":1}},"enable_central_service_config":true,
      "primary_datacenter":"dc1","acl_down_policy":"deny","acl_enforce_version_8":true,"translate_wan_addrs":true,"gossip_lan":{"gossip_nodes":1},"gossip_wan":{},
      "autopilot":{"cleanup_dead_servers":true,"min_quorum":0},"disable_update_check":true,"disable_remote_exec":true,"reconnect_timeout":"72h",
      "check_update_interval":"5m","tls_min_version":"tls12","ca_file":"","ports":{"dns":-1,"grpc":8502,"serf_lan":18301},"limits":{"rpc_rate":-1},
      "retry_interval":"1s","retry_max":4,"snapshot_agent":{"log":{}},"ae_interval":"1m","performance":{"leave_drain_time":"2s"},
      "telemetry":{"disable_hostname":false})"));
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0] == "settings without effect in this build: acl_down_policy, ae_interval, "
                         "connect.ca_config, connect.enabled, dns_config.node_ttl, dns_config.soa.retry, enable_debug, "
                         "gossip_lan.gossip_nodes, performance.leave_drain_time, ports.grpc, "
                         "primary_datacenter, reconnect_timeout, retry_interval, retry_max, snapshot_agent, "
                         "telemetry.disable_hostname, translate_wan_addrs");
}

TEST_CASE("keys without effect that request the present behaviour are not mentioned") {
  scratch_folder f;
  CHECK(accepted(file_with(f, R"("retry_max":0,"leave_on_terminate":false,"skip_leave_on_interrupt":true,
      "telemetry":{"disable_hostname":true},"ports":{"serf_lan":8301})"))
            .warnings.empty());
}

TEST_CASE("when a server leaves its cluster, and whether it returns") {
  scratch_folder f;
  const auto usual = accepted(file_with(f, R"("ui":false)")).config;
  CHECK_FALSE(usual.leave_on_terminate);
  CHECK(usual.skip_leave_on_interrupt);
  CHECK_FALSE(usual.rejoin_after_leave);
  const auto p =
      accepted(file_with(f, R"("leave_on_terminate":true,"skip_leave_on_interrupt":false,"rejoin_after_leave":true)"));
  CHECK(p.config.leave_on_terminate);
  CHECK_FALSE(p.config.skip_leave_on_interrupt);
  CHECK(p.config.rejoin_after_leave);
  CHECK(p.warnings.empty());
}

TEST_CASE("without server it is a client agent, which leaves when it ends") {
  const auto c = accepted({"-data-dir=/nonexistent/d", "-bind=127.0.0.1"}).config;
  CHECK_FALSE(c.server);
  CHECK(c.leave_on_terminate);
  CHECK_FALSE(c.skip_leave_on_interrupt);
}

TEST_CASE("listening on Unix sockets and on several addresses") {
  scratch_folder f;
  auto c = accepted(file_with(f, R"("addresses":{"http":"unix:///tmp/b.sock [::1]"},"ports":{"http":5})")).config;
  CHECK(c.http_listeners == std::vector<listen_address>{{"", 0, "/tmp/b.sock"}, {"::1", 5, ""}});
  CHECK(accepted(file_with(f, R"("ports":{"http":-1})")).config.http_listeners.empty());
}

// Servers on other machines that get 127.0.0.1 would dial themselves, without any error.
TEST_CASE("the address advertised to peers when all are bound") {
  const auto chosen = [](const std::vector<std::string>& of, bool single = false) {
    return choose_own_address(of, single).value().address;
  };
  CHECK(chosen({"10.1.2.3", "8.8.8.8", "2001:db8::1"}) == "10.1.2.3");
  CHECK(chosen({"fe80::1", "172.31.0.1", "172.31.0.1"}) == "172.31.0.1");
  CHECK(chosen({}) == "127.0.0.1");
  for (const auto* counted : {"10.0.0.1", "100.64.0.1", "100.127.255.1", "169.254.1.1", "172.16.0.1", "192.0.0.1",
                              "192.0.2.2", "192.168.0.1"})
    CHECK(chosen({"8.8.8.8", counted}) == counted);
  const std::string advice = ". Please configure one with 'bind' and/or 'advertise'.";
  CHECK(choose_own_address({"10.1.2.3", "192.168.0.1"}, true).error() ==
        "Multiple private IPv4 addresses found" + advice);
  for (const auto* other : {"9.0.0.1", "100.128.0.1", "172.32.0.1", "192.0.1.1", "192.0.3.1", "2001:4860::8"}) {
    CHECK(choose_own_address({other, "fe80::1"}, false).error() ==
          "No private IPv4 address found among " + std::string(other) + ", fe80::1" + advice);
    const auto single = choose_own_address({other}, true).value();
    CHECK(single.address == "127.0.0.1");
    CHECK(single.warning.find("No private IPv4 address found among " + std::string(other)) == 0);
  }
}

TEST_CASE("validate reads files like an agent") {
  scratch_folder f;
  auto good = f.write("a.json", R"({"server":true,"data_dir":"/nonexistent/d","bind_addr":"127.0.0.1"})");
  CHECK(text_of(parse_config_files({good})) == "(accepted)");
  CHECK(text_of(parse_config_files({f.write("b.json", "{}")})) == "data_dir cannot be empty");
  CHECK(text_of(parse_config_files({f.write("c.hcl", "server = true\nbogus = 1")})).find("c.hcl:2:1") !=
        std::string::npos);
}

TEST_CASE("services and checks of all files count, one or a list of them") {
  scratch_folder in;
  auto args = file_with(in, R"("service":{"name":"web","port":80,"check":{"ttl":"10s"}},"check_update_interval":"1m")");
  args.push_back("-config-file");
  args.push_back(in.write("more.json", R"({"service":{"name":"db","enable_tag_override":true},
    "services":[{"id":"a1","name":"api","checks":[{"http":"http://127.0.0.1:1/","interval":"5s","tls_skip_verify":true}]}],
    "check":{"name":"disk","args":["/bin/true"],"interval":"30s","deregister_critical_service_after":"90m"},
    "enable_local_script_checks":true,"check_output_max_size":100})"));
  const auto p = accepted(args);
  CHECK(p.warnings.empty());
  const auto& c = p.config;
  REQUIRE(c.services.size() == 3);
  CHECK(c.services[0].service.service == "web");
  CHECK(c.services[0].checks.at(0).ttl_ns == std::chrono::nanoseconds(10s).count());
  CHECK(c.services[1].service.enable_tag_override);
  CHECK(c.services[2].service.id == "a1");
  CHECK(c.services[2].checks.at(0).tls_skip_verify);
  REQUIRE(c.checks.size() == 1);
  CHECK(c.checks[0].id == "disk");
  CHECK(c.checks[0].deregister_after_ns == std::chrono::nanoseconds(90min).count());
  CHECK(c.enable_local_script_checks);
  CHECK_FALSE(c.enable_script_checks);
  CHECK(c.check_output_max_size == 100);
  CHECK(c.check_update_interval == 1min);
}

TEST_CASE("an invalid service or check is rejected at the start, not left out") {
  scratch_folder in;
  struct row {
    const char *more, *complaint;
  };
  const row rows[] = {
      {R"("service":{"port":80})", "service \"\": Missing service name"},
      {R"("services":[{"name":"web","prot":80}])", "service \"web\": json: unknown field \"prot\""},
      {R"("check":{"name":"c"})", "check \"c\": TTL must be > 0 for TTL checks"},
      {R"("checks":[{"name":"c","args":["/bin/true"],"interval":"1s"}])",
       "check \"c\": Scripts are disabled on this agent; to enable, configure 'enable_script_checks' or "
       "'enable_local_script_checks' to true"},
      {R"("service":{"name":"web","check":{"args":["/bin/true"],"interval":"1s"}})",
       "service \"web\": Scripts are disabled on this agent"},
  };
  for (const auto& r : rows) {
    INFO(r.more);
    const auto e = refused(file_with(in, r.more));
    INFO(e.text);
    CHECK(e.text.starts_with(r.complaint));
    CHECK(e.text.find("c.json:1:") != std::string::npos);
  }
}

// An operator who migrates from Consul needs all errors at once, with their locations.
TEST_CASE("all errors are reported at once, each with its position") {
  scratch_folder in;
  const auto a = in.write("a.json", R"({"server": true,
  "bogus_key": 1, "ports": {"http": "x"},
  "session_ttl_min": "abc",
  "retry_join": ["one", "provider=aws"]
})");
  const auto b = in.write("b.hcl", "performance { raft_multiplier = 11 }\nservice { nome = \"web\" prot = 1 }\n"
                                   "retry_join = [\"two\",\n  \"provider=gce\"]\n");
  const auto c = in.write("c.json", "{\"server\": tru}");
  const auto reported =
      refused({"-config-dir", in.path(), "-config-file", in / "none.json", "-log-level", "loud"}).text;
  CHECK(reported ==
        "11 errors occurred:"
        "\n\t* failed to parse " +
            a + ": invalid config key bogus_key (" + a +
            ":2:3)"
            "\n\t* failed to parse " +
            a + ": 'ports.http' expected type 'int', got unconvertible type 'string' (" + a +
            ":2:29)"
            "\n\t* failed to parse " +
            c + ": invalid character '}' in literal true (expecting 'e') (" + c +
            ":1:15)"
            "\n\t* config: Open failed on " +
            in / "none.json" + ". open " + in / "none.json" +
            ": no such file or directory\n"
            "\t* retry_join: finding servers through a cloud provider is not supported; write their addresses "
            "or host names: provider=aws (" +
            a +
            ":4:25)\n"
            "\t* retry_join: finding servers through a cloud provider is not supported; write their addresses "
            "or host names: provider=gce (" +
            b +
            ":4:3)"
            "\n\t* performance.raft_multiplier cannot be 11. Must be between 1 and 10 (" +
            b +
            ":1:15)"
            "\n\t* session_ttl_min: invalid duration: \"abc\": time: invalid duration \"abc\" (" +
            a +
            ":3:3)"
            "\n\t* Invalid log level: loud. Valid log levels are: [TRACE DEBUG INFO WARN ERR] (-log-level)"
            "\n\t* service \"\": json: unknown field \"nome\" (" +
            b +
            ":2:1)"
            "\n\t* service \"\": json: unknown field \"prot\" (" +
            b +
            ":2:1)"
            "\n\n");
}

TEST_CASE("contradictions are reported at the key to blame, and only if the whole configuration is known") {
  scratch_folder in;
  const auto file = in.write("c.json", "{\"bind_addr\":\"127.0.0.1\",\n\"bootstrap\": true, \"bootstrap_expect\": 3,\n"
                                       "\"verify_incoming_rpc\": true, \"verify_outgoing\": true}");
  CHECK(refused({"-config-file", file}).text ==
        "8 errors occurred:"
        "\n\t* data_dir cannot be empty"
        "\n\t* 'bootstrap_expect > 0' and 'bootstrap = true' are mutually exclusive (" +
            file +
            ":2:20)"
            "\n\t* 'bootstrap = true' requires 'server = true' (" +
            file +
            ":2:1)"
            "\n\t* 'bootstrap_expect > 0' requires 'server = true' (" +
            file +
            ":2:20)"
            "\n\t* VerifyOutgoing set, and no CA certificate provided! (" +
            file +
            ":3:30)"
            "\n\t* VerifyIncoming set, and no CA certificate provided! (" +
            file +
            ":3:1)"
            "\n\t* VerifyIncoming set, and no Cert/Key pair provided! (" +
            file +
            ":3:1)\n"
            "\t* VerifyOutgoing set, and no Cert/Key pair provided! Peers require a certificate: set cert_file and "
            "key_file (" +
            file +
            ":3:30)"
            "\n\n");
  // The missing data_dir may be in the file that cannot be parsed.
  const auto broken = in.write("d.json", "{\"data_dir\" 1}");
  CHECK(refused({"-config-file", file, "-config-file", broken}).text ==
        "failed to parse " + broken + ": invalid character '1' after object key (" + broken + ":1:13)");
}

// An unknown key must not hide another error, or its author needs one start for each.
TEST_CASE("an unknown key hides no other error; a value of a wrong type hides only those that depend on it") {
  scratch_folder in;
  const std::string text = "encrypt = \"abc\"\nverify_outgoing = true\ntls_min_version = \"tls99\"\n"
                           "tls_cipher_suites = \"RC4\"\n";
  const auto reported = [&](const std::string& more) {
    return refused({"-server", "-data-dir=/nonexistent/d", "-bind=127.0.0.1", "-config-file",
                    in.write("c.hcl", text + more)})
        .text;
  };
  const auto location = [&](const char* at) { return " (" + in / "c.hcl" + at + ")"; };
  const std::vector<std::string> always = {
      "encrypt has invalid key: illegal base64 data at input byte 3" + location(":1:1"),
      "TLSMinVersion: value tls99 not supported, please specify one of [tls10,tls11,tls12]" + location(":3:1"),
      "tls_cipher_suites: invalid tls cipher suites: unsupported cipher \"RC4\"" + location(":4:1")};
  const auto lacks_ca = "VerifyOutgoing set, and no CA certificate provided!" + location(":2:1");
  const auto lacks_pair = "VerifyOutgoing set, and no Cert/Key pair provided!";
  struct row {
    const char *more, *begins;
    bool lacks_ca, lacks_pair;
  };
  const row rows[] = {
      {"", "5 errors occurred:", true, true},
      {"bogus = 1", "6 errors occurred:", true, true},
      {"ca_file = 1", "5 errors occurred:", false, true},
      {"ports { http = \"x\" }", "6 errors occurred:", true, true},
  };
  for (const auto& r : rows) {
    INFO(r.more);
    const auto text = reported(r.more);
    INFO(text);
    CHECK(text.starts_with(r.begins));
    for (const auto& each : always)
      CHECK(text.find("\t* " + each + "\n") != text.npos);
    CHECK((text.find(lacks_ca) != text.npos) == r.lacks_ca);
    CHECK((text.find(lacks_pair) != text.npos) == r.lacks_pair);
  }
  // The file that cannot be parsed may name the certificates.
  in.write("d.hcl", "ca_file");
  const auto half = refused({"-data-dir=/nonexistent/d", "-bind=127.0.0.1", "-config-dir", in.path()}).text;
  INFO(half);
  for (const auto& each : always)
    CHECK(half.find(each.substr(0, each.find(" ("))) != half.npos);
  CHECK(half.find("VerifyOutgoing") == half.npos);
}

// `belay validate` reports everything that the start would reject, with its location.
TEST_CASE("files of certificates are opened, and their errors have a position") {
  scratch_folder in;
  const auto& files = certificates();
  const auto not_pem = in.write("not.pem", "nothing");
  struct row {
    std::string ca, folder, cert, key;
    std::vector<std::string> complaints;
  };
  const auto there = [&](const char* name) { return files.at(name); };
  const row rows[] = {
      {there("ca.pem"), there("cas"), there("c.pem"), there("k.pem"), {}},
      {there("ca.pem"), there("cas"), there("c.pem"), not_pem, {"key_file: " + not_pem + " has no private key in PEM"}},
      {"/nonexistent/ca",
       "/nonexistent/cas",
       "/nonexistent/c",
       "/nonexistent/k",
       {"ca_file: open /nonexistent/ca: no such file or directory (" + in / "c.hcl:1:1)",
        "ca_path: open /nonexistent/cas: no such file or directory (" + in / "c.hcl:2:1)",
        "cert_file: open /nonexistent/c: no such file or directory (" + in / "c.hcl:3:1)"}},
      {there("cas"),
       there("cas"),
       there("cas"),
       there("k.pem"),
       {"ca_file: read " + there("cas") + ": is a directory (" + in / "c.hcl:1:1)",
        "cert_file: read " + there("cas") + ": is a directory (" + in / "c.hcl:3:1)"}},
      {not_pem,
       there("cas"),
       there("c.pem"),
       there("ca.pem"),
       {"ca_file: " + not_pem + " has no certificate in PEM (" + in / "c.hcl:1:1)",
        "key_file: " + there("ca.pem") + " has no private key in PEM"}},
  };
  for (const auto& r : rows) {
    const auto file = in.write("c.hcl", "ca_file = \"" + r.ca + "\"\nca_path = \"" + r.folder + "\"\ncert_file = \"" +
                                            r.cert + "\"\nkey_file = \"" + r.key + "\"\n");
    const std::vector<std::string> args = {"-server", "-data-dir=/nonexistent/d", "-bind=127.0.0.1", "-config-file",
                                           file};
    if (r.complaints.empty()) {
      accepted(args);
      continue;
    }
    const auto text = refused(args).text;
    INFO(text);
    for (const auto& each : r.complaints)
      CHECK(text.find(each) != text.npos);
    CHECK((r.complaints.size() == 1) == !text.starts_with(std::to_string(r.complaints.size()) + " errors"));
  }
}

// If two listeners have one address, the second would fail at the start.
TEST_CASE("listeners on a used address are reported, in Consul's words where there are some") {
  scratch_folder in;
  struct row {
    const char *more, *text;
  };
  const row rows[] = {
      {R"("ports":{"https":8500})", "HTTPS address 127.0.0.1:8500 already configured for HTTP ("},
      {R"("ports":{"http":8300})", "RPC Advertise address 127.0.0.1:8300 already configured for HTTP ("},
      {R"("ports":{"https":8300})", "RPC Advertise address 127.0.0.1:8300 already configured for HTTPS ("},
      {R"("ports":{"server":8500})", "RPC Advertise address 127.0.0.1:8500 already configured for HTTP ("},
      {R"("client_addr":"127.0.0.1 127.0.0.1")", "HTTP address 127.0.0.1:8500 already configured for HTTP ("},
      {R"("client_addr":"::1 [::1]")", "HTTP address [::1]:8500 already configured for HTTP ("},
      {R"("addresses":{"http":"unix:///a","https":"unix:///a"},"ports":{"https":1})",
       "HTTPS address /a already configured for HTTP ("},
      // The kernel rejects these; Consul finds out at its start.
      {R"("addresses":{"http":"0.0.0.0"},"ports":{"https":8500})",
       "HTTPS address 127.0.0.1:8500 already configured for HTTP ("},
      {R"("bind_addr":"0.0.0.0","advertise_addr":"10.0.0.1","ports":{"http":8300})",
       "RPC address 0.0.0.0:8300 already configured for HTTP ("},
  };
  for (const auto& r : rows) {
    INFO(r.more);
    const auto args = file_with(in, r.more);
    const auto text = refused(args).text;
    INFO(text);
    CHECK(text.starts_with(r.text + args[1] + ":1:"));
  }
  for (const auto* more :
       {R"("ports":{"http":-1,"https":-1})", R"("addresses":{"http":"127.0.0.2"},"ports":{"https":8500})",
        R"("client_addr":"0.0.0.0 ::")", R"("bind_addr":"0.0.0.0","advertise_addr":"10.0.0.1")",
        R"("ports":{"dns":8500,"serf_lan":8500})"}) {
    INFO(more);
    accepted(file_with(in, more));
  }
  // Only the error itself, not what follows if the default is used instead.
  CHECK(refused(file_with(in, R"("ports":{"http":70000,"https":8500})")).text.starts_with("ports.http must be"));
}

TEST_CASE("metadata of the node: as many and as long as Consul takes") {
  scratch_folder in;
  const auto pairs = [](int n) {
    std::string text;
    for (int i = 0; i < n; ++i)
      text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":\"v\"";
    return "\"node_meta\":{" + text + "}";
  };
  const auto pair = [](std::size_t key, std::size_t value) {
    return "\"node_meta\":{\"" + std::string(key, 'k') + "\":\"" + std::string(value, 'v') + "\"}";
  };
  accepted(file_with(in, pairs(64)));
  accepted(file_with(in, pair(128, 512)));
  const auto contains = [&](const std::string& more, const std::string& text) {
    return refused(file_with(in, more)).text.find(text) != std::string::npos;
  };
  CHECK(contains(pairs(65), "node_meta invalid: Node metadata cannot contain more than 64 key/value pairs ("));
  CHECK(contains(pair(129, 1), "Key is too long (limit: 128 characters) ("));
  CHECK(contains(pair(1, 513), "Value is too long (limit: 512 characters) ("));
  CHECK(contains(R"("node_meta":{"a b":"1","consul-c":"1"})", "2 errors occurred:"));
}

TEST_CASE("0 means the default of the checkpoint settings, as in Consul") {
  scratch_folder in;
  const auto c = accepted(file_with(in, R"("raft_snapshot_threshold":0,"raft_snapshot_interval":"0s",
    "raft_trailing_logs":0)"))
                     .config;
  CHECK(c.raft_snapshot_threshold == 0);
  CHECK(c.raft_snapshot_interval == 30s);
  CHECK(c.raft_trailing_logs == 10240);
}

TEST_CASE("the position is that of the source in force") {
  scratch_folder in;
  const auto first = in.write("1.json", "{\"session_ttl_min\":\"a\",\"retry_join\":[\"x\"],\"datacenter\":\"d d\"}");
  const auto second = in.write("2.hcl", "\n  session_ttl_min = \"b\"\n");
  const auto reported = refused({"-dev", "-config-file", first, "-config-file", second, "-retry-join", "provider=a",
                                 "-datacenter", "e e", "-hcl", "max_query_time = \"c\""})
                            .text;
  INFO(reported);
  CHECK(reported.find("duration \"b\" (" + second + ":2:3)") != reported.npos);
  CHECK(reported.find("provider=a (-retry-join)") != reported.npos);
  CHECK(reported.find("datacenter cannot be \"e e\". Please use only [a-z0-9-_]. (-datacenter)") != reported.npos);
  CHECK(reported.find("duration \"c\" (-hcl:1:1)") != reported.npos);
  CHECK(reported.starts_with("4 errors occurred:"));
}

TEST_CASE("the audit log: decoded values") {
  scratch_folder f;
  const auto audit_of = [&](const std::string& sink, bool enabled = true) {
    return accepted(file_with(f, R"("audit":{"enabled":)" + std::string(enabled ? "true" : "false") +
                                     R"(,"sink":{"My sink":{)" + sink + "}}}"))
        .config.audit;
  };
  const auto all =
      audit_of(R"("type":"file","format":"json","path":"/x/audit.json","delivery_guarantee":"enforced","mode":"0640",
    "rotate_bytes":25165824,"rotate_duration":"24h","rotate_max_files":15)");
  REQUIRE(all);
  CHECK(all->enforced);
  CHECK(all->file.path == "/x/audit.json");
  CHECK(all->file.mode == 0640);
  CHECK(all->file.rotate_bytes == 25165824);
  CHECK(all->file.rotate_after == 24h);
  CHECK(all->file.files_max == 15);
  const auto least = audit_of(R"("path":"a")");
  REQUIRE(least);
  CHECK_FALSE(least->enforced);
  CHECK(least->file.mode == 0600);
  CHECK_FALSE(least->file.rotates());
  CHECK_FALSE(audit_of(R"("path":"a")", false));
  // As in Consul's documentation.
  const auto hcl = f.write("a.hcl", R"(audit {
  enabled = true
  sink "My sink" {
    type = "file"
    format = "json"
    path = "/tmp/audit.json"
    delivery_guarantee = "best-effort"
    rotate_duration = "24h"
    rotate_max_files = 15
    rotate_bytes = 25165824
  }
})");
  const auto with_hcl = accepted({"-server", "-data-dir=/nonexistent/d", "-bind", "127.0.0.1", "-config-file", hcl});
  REQUIRE(with_hcl.config.audit);
  CHECK(with_hcl.config.audit->file.files_max == 15);
  CHECK(mentions(with_hcl.warnings, "audit.enabled without acl.enabled"));
}

TEST_CASE("the audit log: errors") {
  scratch_folder f;
  struct row {
    std::string audit, text;
  };
  const std::vector<row> rows{
      {R"({"enabled":true})",
       R"(audit.enabled: requires a sink: audit { sink "NAME" { type = "file", format = "json", path = "..." } })"},
      {R"({"sink":{"a":{"path":"x"},"b":{"path":"y"}}})", "audit.sink: there are 2 sinks; only one is supported"},
      {R"({"sink":{"a":{}}})", "audit.sink.a.path: must name the file"},
      {R"({"sink":{"a":{"path":""}}})", "audit.sink.a.path: must name the file"},
      {R"({"sink":{"a":{"path":"x","type":"socket"}}})", R"(audit.sink.a.type: cannot be "socket": it must be "file")"},
      {R"({"sink":{"a":{"path":"x","format":"text"}}})", R"(audit.sink.a.format: cannot be "text": it must be "json")"},
      {R"({"sink":{"a":{"path":"x","delivery_guarantee":"sure"}}})",
       R"(audit.sink.a.delivery_guarantee: cannot be "sure": it must be "best-effort" or "enforced")"},
      {R"({"sink":{"a":{"path":"x","mode":"6 0"}}})",
       R"(audit.sink.a.mode: must be the permissions of a file in octal digits, such as "0600")"},
      {R"({"sink":{"a":{"path":"x","mode":"0400"}}})",
       R"(audit.sink.a.mode: "0400": the server itself must be able to read and write its files ("0600"))"},
      {R"({"sink":{"a":{"path":"x","rotate_bytes":-1}}})",
       "audit.sink.a.rotate_bytes must be a whole number from 0 to 9223372036854775807"},
      {R"({"sink":{"a":{"path":"x","rotate_duration":"1y"}}})",
       R"(audit.sink.a.rotate_duration: invalid duration: "1y": time: unknown unit "y" in duration "1y")"},
      {R"({"sink":{"a":{"path":"x","rotate_duration":"-1s"}}})", "audit.sink.a.rotate_duration: must not be negative"},
      {R"({"sink":{"a":{"path":"x","rotate_max_files":3}}})",
       "audit.sink.a.rotate_max_files: requires rotate_bytes or rotate_duration"},
  };
  for (const auto& r : rows) {
    INFO(r.audit);
    CHECK(refused(file_with(f, R"("audit":)" + r.audit)).text.starts_with(r.text + " ("));
  }
  const std::vector<row> mistyped{
      {R"({"sinks":{}})", "invalid config key audit.sinks"},
      {R"({"sink":7})", "'audit.sink' expected a map, got 'float64'"},
      {R"({"sink":{"a":7}})", "'audit.sink.a' expected a map, got 'float64'"},
      {R"({"sink":{"a":{"path":7}}})", "'audit.sink.a.path' expected type 'string', got unconvertible type 'float64'"},
      {R"({"sink":{"a":{"path":"x","mode":600}}})",
       "'audit.sink.a.mode' expected type 'string', got unconvertible type 'float64'"},
      {R"({"sink":{"a.b":{"path":"x","filter":[]}}})", "invalid config key audit.sink.a.b.filter"},
  };
  for (const auto& r : mistyped) {
    INFO(r.audit);
    const auto text = refused(file_with(f, R"("audit":)" + r.audit)).text;
    CHECK(text.starts_with("failed to parse "));
    CHECK(text.find("* " + r.text + " (") != text.npos);
  }
}

TEST_CASE("the audit log: all errors are reported at their position, whatever the name of the sink") {
  scratch_folder f;
  const auto hcl = f.write("a.hcl", R"(audit {
  enabled = true
  sink "My.File sink" {
    Type = "socket"
    path = "/tmp/audit.json"
      rotate_duration = "abc"
    rotate_bytes = -7
  }
})");
  const auto reported =
      refused({"-server", "-data-dir=/nonexistent/d", "-bind", "127.0.0.1", "-config-file", hcl}).text;
  INFO(reported);
  const std::string where = "* audit.sink.My.File sink.";
  CHECK(reported.find(where + "type: cannot be \"socket\": it must be \"file\" (" + hcl + ":4:5)\n") != reported.npos);
  CHECK(reported.find(where + "rotate_duration: invalid duration: \"abc\": time: invalid duration \"abc\" (" + hcl +
                      ":6:7)\n") != reported.npos);
  CHECK(reported.find(where + "rotate_bytes must be a whole number from 0 to 9223372036854775807 (" + hcl + ":7:5)") !=
        reported.npos);
  CHECK(reported.starts_with("3 errors occurred:"));
}

TEST_CASE("the audit log: a later file changes keys of the present sink") {
  scratch_folder f;
  const auto first =
      f.write("a.json", R"({"audit":{"enabled":true,"sink":{"My.sink":{"path":"a","rotate_bytes":7}}}})");
  const auto later = f.write("b.json", R"({"audit":{"sink":{"My.sink":{"PATH":"b"}}}})");
  const auto c = accepted(
      {"-server", "-data-dir=/nonexistent/d", "-bind", "127.0.0.1", "-config-file", first, "-config-file", later});
  REQUIRE(c.config.audit);
  CHECK(c.config.audit->file.path == "b");
  CHECK(c.config.audit->file.rotate_bytes == 7);
}

TEST_CASE("ACLs: the section, its predecessors, and errors") {
  scratch_folder f;
  const auto acl = [&](const char* text) { return accepted(file_with(f, text)).config.acl; };
  const auto off = acl(R"("acl":{"enabled":false,"default_policy":"deny"})");
  CHECK_FALSE(off.enabled);
  CHECK_FALSE(off.allowed_by_default);
  const auto on = acl(
      R"("acl":{"enabled":true,"default_policy":"deny","down_policy":"async-cache","enable_key_list_policy":true,
      "enable_token_persistence":true,"policy_ttl":"1s","token_ttl":"1s",
      "tokens":{"master":"m","default":"d","agent":"a","agent_master":"am","replication":"r"}})");
  CHECK(on.enabled);
  CHECK_FALSE(on.allowed_by_default);
  CHECK(on.lists_need_permission);
  CHECK(on.keeps_tokens);
  CHECK(on.master == "m");
  CHECK(on.of_requests == "d");
  CHECK(on.agent == "a");
  CHECK(on.agent_master == "am");
  CHECK(on.replication == "r");
  const auto old = acl(
      R"("acl_datacenter":"dc1","acl_default_policy":"deny","acl_down_policy":"deny","acl_master_token":"m","acl_token":"d",
      "acl_agent_token":"a","acl_agent_master_token":"am","acl_replication_token":"r","acl_ttl":"1s",
      "acl_enforce_version_8":true,"acl_enable_key_list_policy":true)");
  CHECK(old.enabled);
  CHECK_FALSE(old.allowed_by_default);
  CHECK(old.lists_need_permission);
  CHECK(old.master == "m");
  CHECK(old.of_requests == "d");
  CHECK(old.agent == "a");
  CHECK(old.agent_master == "am");
  CHECK(old.replication == "r");
  // The section takes precedence.
  CHECK_FALSE(acl(R"("acl_datacenter":"dc1","acl":{"enabled":false})").enabled);
  CHECK(acl(R"("acl_master_token":"x","acl":{"tokens":{"master":"m"}})").master == "m");
  CHECK(acl(R"("acl":{"tokens":{"initial_management":"m"}})").master == "m");
  CHECK_FALSE(acl(R"("acl_datacenter":"")").enabled);

  CHECK(
      refused(file_with(f, R"("acl":{"default_policy":"maybe"})")).text.find("Unsupported default ACL policy: maybe") !=
      std::string::npos);
  CHECK(refused(file_with(f, R"("acl_default_policy":"")")).text.find("Unsupported default ACL policy: ") !=
        std::string::npos);
  CHECK(refused(file_with(f, R"("acl":{"down_policy":"never"})")).text.find("Unsupported down ACL policy: never") !=
        std::string::npos);
  CHECK(refused(file_with(f, R"("acl":{"tokens":{"master":"anonymous"}})")).text.find("no token can be") !=
        std::string::npos);
  for (const std::string member : {"master", "default", "agent", "agent_master", "replication"})
    for (const auto& secret : {std::string("a\\r\\nb"), std::string("a b"), std::string(256, 'x')})
      CHECK(refused(file_with(f, R"("acl":{"tokens":{")" + member + R"(":")" + secret + R"("}})"))
                .text.find("a token has 1 to 255 bytes") != std::string::npos);
  for (const std::string defined :
       {R"("service":{"name":"web","token":"a b"})", R"("service":{"name":"web","check":{"ttl":"1s","token":"a b"}})",
        R"("check":{"name":"c","ttl":"1s","token":"a b"})"})
    CHECK(refused(file_with(f, defined)).text.find("Invalid Token") != std::string::npos);
  CHECK(refused(file_with(f, R"("acl":{"token_ttl":"soon"})")).text.find("acl.token_ttl") != std::string::npos);
}
