// The table of keys says which of them are reloaded. For each key with an effect: what a reload
// does with a changed value, and what it reports.

#include "actors/node/config/keys.hpp"
#include "actors/node/reloader.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/unit/actors/node/named_certificates.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <sstream>

using namespace belay;
using namespace belay::actors;

namespace {

struct changed_key {
  std::string path, before, after; ///< members of the configuration; both are accepted, and differ in meaning
};

const std::vector<changed_key> changes{
    {"bootstrap", R"("bootstrap":false)", R"("bootstrap":true)"},
    {"bootstrap_expect", R"("bootstrap_expect":3)", R"("bootstrap_expect":5)"},
    {"allow_unauthenticated_servers", "", R"("allow_unauthenticated_servers":true)"},
    {"data_dir", "", R"("data_dir":"/nonexistent/other")"},
    {"leave_on_terminate", "", R"("leave_on_terminate":true)"},
    {"skip_leave_on_interrupt", "", R"("skip_leave_on_interrupt":false)"},
    {"rejoin_after_leave", "", R"("rejoin_after_leave":true)"},
    {"read_replica", "", R"("read_replica":true)"},
    {"non_voting_server", "", R"("non_voting_server":true)"},
    {"autopilot.cleanup_dead_servers", "", R"("autopilot":{"cleanup_dead_servers":false})"},
    {"autopilot.last_contact_threshold", "", R"("autopilot":{"last_contact_threshold":"1s"})"},
    {"autopilot.max_trailing_logs", "", R"("autopilot":{"max_trailing_logs":1})"},
    {"autopilot.min_quorum", "", R"("autopilot":{"min_quorum":3})"},
    {"autopilot.server_stabilization_time", "", R"("autopilot":{"server_stabilization_time":"1s"})"},
    {"node_name", R"("node_name":"a")", R"("node_name":"b")"},
    {"node_id", "", R"("node_id":"11111111-2222-3333-4444-555555555555")"},
    {"node_meta", "", R"("node_meta":{"rack":"1"})"},
    {"datacenter", "", R"("datacenter":"dc2")"},
    {"bind_addr", "", R"("bind_addr":"127.0.0.2","advertise_addr":"127.0.0.1")"},
    {"advertise_addr", "", R"("advertise_addr":"127.0.0.2")"},
    {"client_addr", "", R"("client_addr":"127.0.0.2")"},
    {"start_join", "", R"("start_join":["10.0.0.1"])"},
    {"retry_join", "", R"("retry_join":["10.0.0.1"])"},
    {"log_level", "", R"("log_level":"ERR")"},
    {"log_json", "", R"("log_json":true)"},
    {"log_file", "", R"("log_file":"/nonexistent/log")"},
    {"pid_file", "", R"("pid_file":"/nonexistent/pid")"},
    {"session_ttl_min", "", R"("session_ttl_min":"1s")"},
    {"default_query_time", "", R"("default_query_time":"1s")"},
    {"max_query_time", "", R"("max_query_time":"1s")"},
    {"discovery_max_stale", "", R"("discovery_max_stale":"1s")"},
    {"default_consistency", "", R"("default_consistency":"consistent")"},
    {"raft_snapshot_threshold", "", R"("raft_snapshot_threshold":1)"},
    {"raft_snapshot_interval", "", R"("raft_snapshot_interval":"1s")"},
    {"raft_trailing_logs", "", R"("raft_trailing_logs":1)"},
    {"raft_older_checkpoint_age", "", R"("raft_older_checkpoint_age":"1s")"},
    {"raft_older_checkpoint_log_bytes", "", R"("raft_older_checkpoint_log_bytes":1)"},
    {"disable_http_unprintable_char_filter", "", R"("disable_http_unprintable_char_filter":true)"},
    {"ui", "", R"("ui":true)"},
    {"ui_content_path", "", R"("ui_content_path":"/console/")"},
    {"enable_script_checks", "", R"("enable_script_checks":true)"},
    {"enable_local_script_checks", "", R"("enable_local_script_checks":true)"},
    {"addresses.http", "", R"("addresses":{"http":"127.0.0.2"})"},
    {"addresses.https", R"("ports":{"https":8501})", R"("ports":{"https":8501},"addresses":{"https":"127.0.0.2"})"},
    {"ports.http", "", R"("ports":{"http":1})"},
    {"ports.https", "", R"("ports":{"https":1})"},
    {"ports.server", "", R"("ports":{"server":1})"},
    {"ports.serf_wan", "", R"("ports":{"serf_wan":1})"},
    {"unix_sockets.user", "", R"("unix_sockets":{"user":"a"})"},
    {"unix_sockets.group", "", R"("unix_sockets":{"group":"a"})"},
    {"unix_sockets.mode", "", R"("unix_sockets":{"mode":"0770"})"},
    {"limits.kv_max_value_size", "", R"("limits":{"kv_max_value_size":1})"},
    {"limits.txn_max_req_len", "", R"("limits":{"txn_max_req_len":1})"},
    {"limits.http_max_conns_per_client", "", R"("limits":{"http_max_conns_per_client":1})"},
    {"limits.http_max_bytes_in_flight", "", R"("limits":{"http_max_bytes_in_flight":0})"},
    {"limits.kv_changes_bytes", "", R"("limits":{"kv_changes_bytes":65536})"},
    {"limits.overload_delay", "", R"("limits":{"overload_delay":"1s"})"},
    {"limits.overload_requests", "", R"("limits":{"overload_requests":1})"},
    {"limits.rpc_max_conns_per_client", "", R"("limits":{"rpc_max_conns_per_client":1})"},
    {"limits.rpc_handshake_timeout", "", R"("limits":{"rpc_handshake_timeout":"1s"})"},
    {"limits.https_handshake_timeout", "", R"("limits":{"https_handshake_timeout":"1s"})"},
    {"performance.raft_multiplier", "", R"("performance":{"raft_multiplier":1})"},
    {"performance.rpc_hold_timeout", "", R"("performance":{"rpc_hold_timeout":"1s"})"},
    {"http_config.response_headers", "", R"("http_config":{"response_headers":{"a":"b"}})"},
    {"http_config.block_endpoints", "", R"("http_config":{"block_endpoints":["/v1/kv"]})"},
    {"http_config.allow_write_http_from", "", R"("http_config":{"allow_write_http_from":["10.0.0.0/8"]})"},
    {"http_config.use_cache", "", R"("http_config":{"use_cache":false})"},
    {"http_config.threads", "", R"("http_config":{"threads":2})"},
    {"http_config.allowed_hosts", "", R"("http_config":{"allowed_hosts":["a"]})"},
    {"telemetry.prometheus_retention_time", "", R"("telemetry":{"prometheus_retention_time":"1s"})"},
    {"telemetry.metrics_prefix", "", R"("telemetry":{"metrics_prefix":"a"})"},
    {"telemetry.old_names", "", R"("telemetry":{"old_names":false})"},
    {"acl.enabled", "", R"("acl":{"enabled":true})"},
    {"acl.default_policy", "", R"("acl":{"default_policy":"deny"})"},
    {"acl.enable_key_list_policy", "", R"("acl":{"enable_key_list_policy":true})"},
    {"acl.enable_token_persistence", "", R"("acl":{"enable_token_persistence":true})"},
    {"acl.tokens.master", "", R"("acl":{"tokens":{"master":"a"}})"},
    {"acl.tokens.initial_management", "", R"("acl":{"tokens":{"initial_management":"a"}})"},
    {"acl.tokens.default", "", R"("acl":{"tokens":{"default":"a"}})"},
    {"acl.tokens.agent", "", R"("acl":{"tokens":{"agent":"a"}})"},
    {"acl.tokens.agent_master", "", R"("acl":{"tokens":{"agent_master":"a"}})"},
    {"acl.tokens.agent_recovery", "", R"("acl":{"tokens":{"agent_recovery":"a"}})"},
    {"acl_datacenter", "", R"("acl_datacenter":"dc1")"},
    {"acl_agent_master_token", "", R"("acl_agent_master_token":"a")"},
    {"acl_agent_token", "", R"("acl_agent_token":"a")"},
    {"acl_default_policy", "", R"("acl_default_policy":"deny")"},
    {"acl_enable_key_list_policy", "", R"("acl_enable_key_list_policy":true)"},
    {"acl_master_token", "", R"("acl_master_token":"a")"},
    {"acl_token", "", R"("acl_token":"a")"},
    {"encrypt", "", R"("encrypt":"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=")"},
    {"encrypt_verify_incoming", "", R"("encrypt_verify_incoming":false)"},
    {"encrypt_verify_outgoing", "", R"("encrypt_verify_outgoing":false)"},
    {"verify_incoming", R"("ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem")",
     R"("ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem","verify_incoming":true)"},
    {"verify_incoming_https", R"("ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem")",
     R"("ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem","verify_incoming_https":true)"},
    {"verify_incoming_rpc", R"("ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem")",
     R"("ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem","verify_incoming_rpc":true)"},
    {"verify_outgoing", R"("ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem")",
     R"("ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem","verify_outgoing":true)"},
    {"verify_server_hostname",
     R"("ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem","verify_outgoing":true)",
     R"("ca_file":"FILES/ca.pem","cert_file":"FILES/c.pem","key_file":"FILES/k.pem","verify_outgoing":true,"verify_server_hostname":true)"},
    {"cert_file", R"("cert_file":"FILES/c.pem","key_file":"FILES/k.pem")",
     R"("cert_file":"FILES/c2.pem","key_file":"FILES/k.pem")"},
    {"key_file", R"("cert_file":"FILES/c.pem","key_file":"FILES/k.pem")",
     R"("cert_file":"FILES/c.pem","key_file":"FILES/k2.pem")"},
    {"ca_file", "", R"("ca_file":"FILES/ca.pem")"},
    {"ca_path", "", R"("ca_path":"FILES/cas")"},
    {"tls_cipher_suites", "", R"("tls_cipher_suites":"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")"},
    {"tls_min_version", "", R"("tls_min_version":"tls11")"},
    {"tls_prefer_server_cipher_suites", "", R"("tls_prefer_server_cipher_suites":true)"},
    {"audit.enabled", R"("audit":{"sink":{"s":{"path":"a"}}})",
     R"("audit":{"enabled":true,"sink":{"s":{"path":"a"}}})"},
    {"audit.sink", R"("audit":{"enabled":true,"sink":{"s":{"path":"a"}}})",
     R"("audit":{"enabled":true,"sink":{"s":{"path":"b"}}})"},
    {"check", "", R"("check":{"name":"c","ttl":"5s"})"},
    {"checks", "", R"("checks":[{"name":"c","ttl":"5s"}])"},
    {"service", "", R"("service":{"name":"web"})"},
    {"services", "", R"("services":[{"name":"web"}])"},
    {"check_http_allow", "", R"("check_http_allow":["10.0.0.0/8"])"},
    {"check_output_max_size", "", R"("check_output_max_size":1)"},
    {"check_update_interval", "", R"("check_update_interval":"1s")"},
    {"disable_coordinates", "", R"("disable_coordinates":true)"},
    {"disable_keyring_file", "", R"("disable_keyring_file":true)"},
    {"domain", "", R"("domain":"example")"},
};

/// Cannot be changed here: a server does not start without them, or with another value.
const std::set<std::string_view> fixed{"server",  "auto_encrypt.tls", "auto_encrypt.allow_tls", "auto_config.enabled",
                                       "segment", "segments"};

/// Parses the members, with those that every server needs.
parsed_command_line parsed(const harness::scratch_folder& in, const std::string& members) {
  std::string all = R"({"server":true)";
  for (const auto* each : {R"("bind_addr":"127.0.0.1")", R"("data_dir":"/nonexistent/d")"})
    if (members.find(std::string(each, 10)) == members.npos)
      all += std::string(",") + each;
  auto r = parse_agent_arguments({"-config-file", in.write("c.json", all + (members.empty() ? "" : ",") +
                                                                         certificates().named_in(members) + "}")});
  if (const auto* e = std::get_if<config_error>(&r))
    FAIL(members << ": " << e->text);
  return std::get<parsed_command_line>(std::move(r));
}

class member_list {
public:
  template <class T>
  member_list& operator()(const T& value) {
    if constexpr (requires { value.count(); })
      out_ << value.count();
    else if constexpr (requires { out_ << value; })
      out_ << value;
    else if constexpr (requires { value.first; })
      (*this)(value.first)(value.second);
    else if constexpr (requires { value.has_value(); })
      value.has_value() ? (*this)(*value) : (*this)("none");
    else
      for (const auto& each : value)
        (*this)(each);
    out_ << '|';
    return *this;
  }
  std::string text() const { return out_.str(); }

private:
  std::ostringstream out_;
};

/// Everything in the configuration, in the order of node_config.
std::string reported(const node_config& c) {
  member_list m;
  m(c.dev)(c.data_dir)(c.node_name)(c.node_id)(c.datacenter)(c.node_meta);
  m(c.server)(c.bootstrap)(c.allow_unauthenticated_servers)(c.bootstrap_expect)(c.joins);
  m(c.leave_on_terminate)(c.skip_leave_on_interrupt)(c.rejoin_after_leave)(c.read_replica)(c.autopilot.has_value());
  if (const auto& p = c.autopilot) {
    m(p->cleanup_dead_servers)(p->last_contact_threshold_ns)(p->max_trailing_logs)(p->min_quorum);
    m(p->server_stabilization_ns);
  }
  m(c.bind_addr)(c.advertise_addr)(c.server_port)(c.serf_wan_port)(c.client_addrs)(c.http_port)(c.https_port);
  for (const auto* listeners : {&c.http_listeners, &c.https_listeners})
    for (const auto& l : *listeners)
      m(l.host)(l.port)(l.unix_path)(l.https);
  m(c.unix_sockets.user)(c.unix_sockets.group)(c.unix_sockets.mode);
  const auto& a = c.acl;
  m(a.enabled)(a.allowed_by_default)(a.lists_need_permission)(a.keeps_tokens)(a.master)(a.of_requests)(a.agent);
  m(a.agent_master)(a.replication);
  const auto& t = c.peer_tls;
  m(t.ca_file)(t.ca_path)(t.cert_file)(t.key_file)(t.encrypt)(t.verify_incoming)(t.verify_outgoing);
  m(t.verify_server_hostname)(t.encrypt_verify_incoming)(t.encrypt_verify_outgoing)(t.datacenter)(t.domain);
  m(c.disable_coordinates)(c.disable_keyring_file)(c.rpc_max_conns_per_client)(c.rpc_handshake_timeout);
  const auto& h = c.https;
  m(h.ca_file)(h.ca_path)(h.cert_file)(h.key_file)(h.verify_incoming)(h.tls_min_version)(h.cipher_suites);
  m(h.prefer_server_cipher_suites)(c.https_handshake_timeout);
  m(c.raft_multiplier)(c.rpc_hold_timeout)(c.raft_snapshot_threshold)(c.raft_snapshot_interval)(c.raft_trailing_logs)(
      c.raft_older_checkpoint_age)(c.raft_older_checkpoint_log_bytes);
  m(c.kv_max_value_size)(c.txn_max_req_len)(c.http_max_bytes_in_flight)(c.overload_delay)(c.overload_requests);
  m(c.kv_changes_bytes);
  m(c.http_max_conns_per_client)(c.session_ttl_min)(c.default_query_time)(c.max_query_time)(c.discovery_max_stale);
  m(c.consistent_by_default)(c.response_headers)(c.block_endpoints)(c.allow_write_http_from)(c.allowed_hosts)(
      c.use_cache)(c.http_threads);
  m(c.disable_http_unprintable_char_filter)(c.ui)(c.ui_content_path);
  for (const auto& s : c.services)
    m(s.service.service);
  for (const auto& each : c.checks)
    m(each.name);
  m(c.enable_script_checks)(c.enable_local_script_checks)(c.check_output_max_size)(c.check_update_interval);
  m(c.check_http_allow.has_value());
  m(static_cast<int>(c.log.lowest))(c.log.json)(c.log.to_stdout)(c.log.file);
  m(c.audit.has_value());
  if (c.audit)
    m(c.audit->file.path)(c.audit->enforced);
  m(c.pid_file)(c.prometheus_retention_time)(c.metrics_prefix)(c.old_metric_names);
  return m.text();
}

} // namespace

// A key that is marked but not applied would be ignored silently. One that is applied but not
// marked would be reported as waiting for a restart, although it is in force.
TEST_CASE("a reload applies the keys that are marked as reloadable, and names all others that were changed",
          "[reload]") {
  harness::scratch_folder in;
  for (const auto& row : changes) {
    INFO(row.path);
    const auto before = parsed(in, row.before), after = parsed(in, row.after);
    REQUIRE(reported(before.config) != reported(after.config));
    const auto* key = find_config_key(row.path);
    REQUIRE(key != nullptr);
    CHECK(reported(with_reloaded(before.config, after.config)) ==
          reported(key->reloaded ? after.config : before.config));
    // and back
    CHECK(reported(with_reloaded(after.config, before.config)) ==
          reported(key->reloaded ? before.config : after.config));
    const auto waiting = keys_for_the_next_start(before.settings, after.settings);
    CHECK((std::find(waiting.begin(), waiting.end(), row.path) != waiting.end()) == !key->reloaded);
    CHECK(keys_for_the_next_start(after.settings, after.settings).empty());
  }
}

TEST_CASE("every key with an effect is among those", "[reload]") {
  std::set<std::string_view> looked_at = fixed;
  for (const auto& row : changes)
    CHECK(looked_at.insert(row.path).second);
  for (const auto& key : config_keys()) {
    const bool has_effect = key.effect == config_effect::effective || key.effect == config_effect::refused;
    const bool of_sink = key.path.starts_with("audit.sink.");
    if (has_effect && key.kind != config_kind::section && !of_sink) {
      INFO(key.path);
      CHECK(looked_at.count(key.path) == 1);
    }
  }
}
