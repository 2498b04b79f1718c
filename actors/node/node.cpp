#include "actors/node/node.hpp"

#include "actors/agent/asio_probes.hpp"
#include "actors/agent/registration_keeper.hpp"
#include "actors/consensus/peer_link.hpp"
#include "actors/gateway/http_gateway.hpp"
#include "actors/node/acl_files.hpp"
#include "actors/node/boot_clock.hpp"
#include "actors/node/data_directory.hpp"
#include "actors/node/free_memory.hpp"
#include "actors/node/front_loop.hpp"
#include "actors/node/keyring_keeper.hpp"
#include "actors/node/node_composition.hpp"
#include "actors/node/peer_keyring.hpp"
#include "actors/node/recovery.hpp"
#include "actors/node/server_state.hpp"
#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
#include "actors/tls/credential_store.hpp"
#include "protocol/base/host_port.hpp"
#include "storage/lmdb_checkpoint.hpp"
#include "storage/segment_log.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

namespace belay::actors {

namespace {

constexpr std::chrono::seconds drain_limit{5};

result<server_state> open_state(const std::string& data_dir, const identity& who) {
  auto& files = storage::posix_file_system();
  const auto open_log = [&]() -> result<std::shared_ptr<storage::log_store>> {
    auto log = storage::segment_log::open(files, data_dir + "/raft");
    if (!log)
      return log.why();
    return std::shared_ptr<storage::log_store>(std::move(*log));
  };
  const auto open_checkpoints = [&]() -> result<std::shared_ptr<storage::checkpoint_store>> {
    auto checkpoints = storage::lmdb_checkpoint::open(data_dir);
    if (!checkpoints)
      return checkpoints.why();
    return std::shared_ptr<storage::checkpoint_store>(std::move(*checkpoints));
  };
  return open_server_state(data_dir, who, files, open_log, open_checkpoints);
}

std::string registrations_directory(const std::string& data_dir) {
  return data_dir + "/agent";
}

class system_config : public caf::actor_system_config {
public:
  system_config() {
    load<caf::io::middleman>();
    // Measured: sharing wakes an idle system in 7 us and burns nothing; stealing takes up to 115 us (docs/adr/0004).
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{1});
    set("scheduler.max-throughput", std::size_t{100});
    set("middleman.workers", std::size_t{0});
  }
};

/// What performance.raft_multiplier scales: docs/configuration.md. Not Consul's time of 1 s x n: that was made for disks and
/// networks of 2014, and would mean 10 s without writes.
raft::limits limits_for(int raft_multiplier) {
  raft::limits l;
  l.election_ticks = 7 + 3 * raft_multiplier;
  return l;
}

cluster_time wall_clock() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return cluster_time{static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count())};
}

/// Of a peer to be joined, who may be named without a port: then it is Consul's for servers.
std::string with_port(const std::string& address) {
  const auto peer = split_optional_port(address);
  return join_host_port(peer.host, peer.port.value_or("8300"));
}

fsm_settings machine_settings_of(const node_config& config) {
  fsm_settings m;
  m.checkpoint_entries = config.raft_snapshot_threshold;
  m.checkpoint_interval = std::chrono::duration_cast<std::chrono::seconds>(config.raft_snapshot_interval);
  m.acl_enabled = config.acl.enabled;
  m.master_token = config.acl.master;
  m.uuid = random_uuid;
  return m;
}

forward::shedding_rules shedding_of(const node_config& config) {
  return {config.overload_delay, config.overload_requests};
}

raft_peer_settings peer_settings_of(const node_config& config, const identity& who) {
  raft_peer_settings p;
  p.limits = limits_for(config.raft_multiplier);
  p.hold = std::chrono::duration_cast<std::chrono::milliseconds>(config.rpc_hold_timeout);
  p.trailing_entries = config.raft_trailing_logs;
  p.shedding = shedding_of(config);
  p.seed = random_u64();
  for (const auto& address : config.joins)
    p.join.push_back(with_port(address));
  keep_membership_in(p, config.data_dir, who, storage::posix_file_system());
  return p;
}

health_checks_settings agent_settings_of(const node_config& config) {
  health_checks_settings h;
  h.agent.scripts_from_api = config.enable_script_checks;
  h.agent.scripts_from_files = config.enable_script_checks || config.enable_local_script_checks;
  h.agent.registry.output_bytes_max = config.check_output_max_size;
  h.agent.registry.update_interval = config.check_update_interval;
  return h;
}

/// As Consul names them in DebugConfig. Secrets are only said to be there.
std::vector<std::pair<std::string, std::string>> shown_settings_of(const acl_config& acl) {
  const auto hidden = [](const std::string& secret) { return secret.empty() ? "\"\"" : "\"hidden\""; };
  return {{"ACLAgentMasterToken", hidden(acl.agent_master)},
          {"ACLAgentToken", hidden(acl.agent)},
          {"ACLDefaultPolicy", acl.allowed_by_default ? "\"allow\"" : "\"deny\""},
          {"ACLEnableKeyListPolicy", acl.lists_need_permission ? "true" : "false"},
          {"ACLEnableTokenPersistence", acl.keeps_tokens ? "true" : "false"},
          {"ACLMasterToken", hidden(acl.master)},
          {"ACLReplicationToken", hidden(acl.replication)},
          {"ACLToken", hidden(acl.of_requests)},
          {"ACLsEnabled", acl.enabled ? "true" : "false"}};
}

gateway_settings gateway_settings_of(const node_config& config, const identity& who) {
  gateway_settings g;
  g.listen = config.http_listeners;
  g.connections_per_client_max = config.http_max_conns_per_client;
  g.bytes_in_flight_max = config.http_max_bytes_in_flight;
  g.hold = std::chrono::duration_cast<std::chrono::milliseconds>(config.rpc_hold_timeout);
  g.shedding = shedding_of(config);
  g.metrics_prefix = config.metrics_prefix;
  g.uuid = random_uuid;
  g.wall_clock = [] { return std::chrono::system_clock::now(); };

  auto& r = g.routes;
  r.datacenter = config.datacenter;
  r.node_name = config.node_name;
  r.kv_max_value_size = config.kv_max_value_size;
  r.txn_max_req_len = config.txn_max_req_len;
  r.default_query_time = config.default_query_time;
  r.max_query_time = config.max_query_time;
  r.session_ttl_min = config.session_ttl_min;
  r.discovery_max_stale = config.discovery_max_stale;
  r.consistent_by_default = config.consistent_by_default;
  r.pretty_always = config.dev;
  r.unprintable_filter = !config.disable_http_unprintable_char_filter;
  r.block_endpoints = config.block_endpoints;
  r.response_headers.assign(config.response_headers.begin(), config.response_headers.end());
  r.allow_write_http_from = config.allow_write_http_from;
  r.allowed_hosts = config.allowed_hosts;
  r.prometheus = config.prometheus_retention_time.count() > 0;
  r.acl_enabled = config.acl.enabled;
  r.acl_allowed_by_default = config.acl.allowed_by_default;
  r.acl_lists_need_permission = config.acl.lists_need_permission;

  auto& f = g.facts;
  f.node_name = config.node_name;
  f.node_uuid = who.uuid;
  f.datacenter = config.datacenter;
  f.revision = BELAY_VERSION;
  f.address = config.advertise_addr;
  f.server_port = config.server_port;
  f.serf_wan_port = config.serf_wan_port;
  f.bootstrap = config.bootstrap;
  f.bootstrap_expect = config.bootstrap_expect;
  f.acl_enabled = config.acl.enabled;
  f.effective_settings = shown_settings_of(config.acl);
  return g;
}

agent_token_values tokens_of(const acl_config& acl) {
  return {acl.of_requests, acl.agent, acl.agent_master, acl.replication};
}

/// Those of the configuration, and of clients if the disk keeps them.
result<std::shared_ptr<agent_tokens>> open_agent_tokens(const node_config& config) {
  agent_token_values kept;
  if (config.acl.keeps_tokens) {
    auto found = read_agent_tokens(config.data_dir);
    if (!found)
      return found.why();
    kept = std::move(*found);
  }
  return std::make_shared<agent_tokens>(tokens_of(config.acl), std::move(kept));
}

access_files access_files_of(const node_config& config, const std::shared_ptr<const agent_tokens>& tokens) {
  access_files f;
  if (config.acl.keeps_tokens) {
    // One after the other: the last one writes what was set last.
    f.keep_tokens = [tokens, data_dir = config.data_dir, writing = std::make_shared<std::mutex>()] {
      std::lock_guard hold(*writing);
      const auto saved = save_agent_tokens(data_dir, tokens->kept());
      return saved ? std::string() : saved.error();
    };
  }
  f.bootstrap_reset = [data_dir = config.data_dir] { return read_bootstrap_reset(data_dir); };
  f.remove_bootstrap_reset = [data_dir = config.data_dir] { remove_bootstrap_reset(data_dir); };
  return f;
}

/// A node with the real disk, sockets, clocks and threads around it.
class running_node {
public:
  /// `reload` re-reads the configuration, for /v1/agent/reload.
  running_node(const node_config& config, const identity& who, node_disk disk, peer_link_settings links,
               int peer_listener, raft::promise promised, health_checks_start registered, std::function<void()> reload,
               keyring_keeper::operate keyring, std::shared_ptr<agent_tokens> tokens);
  ~running_node() { stop(); }

  /// Opens the doors: timers run, clients and peers are listened to.
  status start();
  void stop();

private:
  system_config caf_config_;
  caf::actor_system system_;
  boost::asio::io_context front_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> front_stays_{front_.get_executor()};
  asio_host front_host_;
  multiplexer_host raft_host_;
  metrics metrics_;
  std::optional<node_composition> actors_;
  http_gateway* gateway_ = nullptr;
  std::thread front_thread_;
  bool stopped_ = false;
};

running_node::running_node(const node_config& config, const identity& who, node_disk disk, peer_link_settings links,
                           int peer_listener, raft::promise promised, health_checks_start registered,
                           std::function<void()> reload, keyring_keeper::operate keyring,
                           std::shared_ptr<agent_tokens> tokens)
    : system_(caf_config_), front_host_(system_, front_), raft_host_(system_) {
  node_plan plan;
  // Without brackets even around an IPv6 address: this text is kept in the configurations of clusters.
  plan.self = {who.id, who.uuid, config.node_name, config.advertise_addr + ":" + std::to_string(config.server_port)};
  plan.datacenter = config.datacenter;
  plan.bootstrap_expect = static_cast<std::uint32_t>(config.bootstrap ? 1 : config.bootstrap_expect);
  plan.admit_newcomers = config.admit_unverified_servers;
  plan.cluster_id = who.cluster_id;
  plan.promised = std::move(promised);
  plan.node_meta = config.node_meta;
  plan.disk = std::move(disk);
  plan.machine = machine_settings_of(config);
  plan.peer = peer_settings_of(config, who);
  plan.agent = agent_settings_of(config);
  plan.registered = std::move(registered);
  plan.probes = std::make_shared<asio_probes>(front_);
  plan.wall_clock = wall_clock;
  plan.clock = std::make_shared<suspension_proof_clock>();
  plan.front = &front_host_;
  plan.consensus = &raft_host_;
  plan.disks_have_threads = true;
  const auto seed = plan.peer.seed;
  plan.spawn_links = [&](const wiring_ptr& wires) {
    links.seed = seed + 1;
    caf::actor_config on_multiplexer{&system_.middleman().backend()};
    return caf::actor_cast<peer_link_actor>(system_.spawn_class<peer_link, caf::no_spawn_options>(
        on_multiplexer, wires, std::move(links), peer_listener, who.id, metrics_));
  };
  plan.spawn_gateway = [&](const wiring_ptr& wires) {
    auto g = gateway_settings_of(config, who);
    g.seed = seed + 2;
    // On the scheduler's thread, which nobody waits for.
    g.give_back_memory = [this](std::size_t bytes) {
      log::debug("node", "memory goes back to the system", {{"bytes", bytes}});
      system_.spawn([bytes] { give_back_memory(bytes); });
    };
    g.tokens = std::move(tokens);
    g.files = access_files_of(config, g.tokens);
    g.files.elsewhere = [this](std::function<void()> work) { system_.spawn(std::move(work)); };
    g.reload = [reload = std::move(reload)] {
      reload();
      return std::string{};
    };
    http_gateway_actor gateway = system_.spawn<http_gateway>(&front_host_, wires, std::move(g), metrics_);
    gateway_ = static_cast<http_gateway*>(caf::actor_cast<caf::abstract_actor*>(gateway));
    return gateway;
  };
  plan.spawn_keeper = [&](const wiring_ptr& wires) {
    return system_.spawn<registration_keeper, caf::detached>(wires, registrations_directory(config.data_dir));
  };
  plan.spawn_keyring = [&](const wiring_ptr& wires) {
    return system_.spawn<keyring_keeper, caf::detached>(wires, std::move(keyring));
  };
  actors_.emplace(system_, std::move(plan), std::make_shared<vitals>(), metrics_);
}

status running_node::start() {
  if (auto s = gateway_->listen(); !s)
    return s;
  for (const auto& address : gateway_->addresses())
    log::info("node", "listening for clients", {{"address", address}});
  front_thread_ = std::thread([this] { front_loop(front_, [this] { return gateway_->last_answer(); }).run(); });
  actors_->begin();
  return done{};
}

void running_node::stop() {
  if (std::exchange(stopped_, true))
    return;
  if (!front_thread_.joinable()) // never started: whoever waits for the loop is ended by running it
    front_thread_ = std::thread([this] { front_.run(); });
  auto drained = gateway_->drained();
  actors_->stop([&] { drained.wait_for(drain_limit); });
  system_.await_all_actors_done();
  actors_.reset();
  front_stays_.reset();
  front_.stop();
  front_thread_.join();
}

/// Opened files are connections and parked queries; the soft limit is often 1,024.
void raise_file_limit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

/// A directory that is gone when the process ends; empty name: none was made.
class temporary_directory {
public:
  explicit temporary_directory(bool wanted) {
    char name[] = "/tmp/belay-dev-XXXXXX";
    if (wanted && mkdtemp(name) != nullptr)
      path_ = name;
  }
  ~temporary_directory() {
    std::error_code ignored;
    if (!path_.empty())
      std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

/// The files that the configuration names, and the keyring of the data directory.
result<tls::credentials_ptr> peer_credentials_of(const node_config& config) {
  auto s = config.peer_tls;
  if (!config.disable_keyring_file) {
    const auto configured = s.encrypt.empty() ? std::string() : s.encrypt.front();
    auto keys = keys_in_force(config.data_dir, configured);
    if (!keys)
      return keys.why();
    if (!configured.empty() && keys->front() != configured)
      log::warn("node", "the keyring of the data directory counts, and not the encrypt of the configuration",
                {{"keyring", keyring_file(config.data_dir)}});
    s.encrypt = std::move(*keys);
  }
  return tls::credentials::load(s);
}

void warn_of_open_port(const node_config& config, const tls::credentials& in_force) {
  if (in_force.accepts_plaintext() && !config.dev)
    log::warn("node", "servers are accepted without credentials: whoever reaches the server port can be one",
              {{"server_port", config.server_port},
               {"advice", "encrypt, or certificates: docs/security.md"},
               {"admit_unverified_servers", config.admit_unverified_servers ? 1 : 0}});
}

int fail(const std::string& why) {
  log::error("node", "cannot start", {{"reason", why}});
  return 1;
}

} // namespace

int run_node(node_config config, std::function<node_config(const node_config&)> reload) {
  // Before any thread exists, so that all of them leave the signals to this one.
  sigset_t signals;
  sigemptyset(&signals);
  for (int s : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, s);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  log_uncaught_exceptions();
  raise_file_limit();

  if (!config.server)
    return fail("client agents (server = false) are not part of this program: set \"server\": true");
  temporary_directory scratch(config.dev && config.data_dir.empty());
  if (!scratch.path().empty())
    config.data_dir = scratch.path();

  auto who = open_data_directory(config.data_dir, config.node_id, config.datacenter);
  if (!who)
    return fail(who.error());
  auto credentials = peer_credentials_of(config);
  if (!credentials)
    return fail(credentials.error());
  warn_of_open_port(config, **credentials);
  config.node_id = who->uuid;
  peer_link_settings links;
  links.credentials = std::make_shared<tls::credential_store>(*credentials);
  links.listen_host = config.bind_addr;
  links.listen_port = config.server_port;
  links.lobby.per_address_max = static_cast<std::size_t>(config.rpc_max_conns_per_client);
  links.lobby.deadline = std::chrono::duration_cast<std::chrono::milliseconds>(config.rpc_handshake_timeout);
  auto listener = listen_for_peers(links);
  if (!listener)
    return fail(listener.error());
  const auto recovered = follow_peers_file(config.data_dir);
  if (!recovered)
    return fail(recovered.error());
  if (*recovered) {
    log::warn("node",
              "raft/peers.json was followed: this server is a cluster of its own now, and former members are refused");
    who = read_identity(config.data_dir);
    if (!who)
      return fail(who.error());
  }
  auto state = open_state(config.data_dir, *who);
  if (!state)
    return fail(state.error());
  auto tokens = open_agent_tokens(config);
  if (!tokens)
    return fail(tokens.error());
  auto kept = open_registrations(registrations_directory(config.data_dir));
  if (!kept)
    return fail(kept.error());
  log::info("node", "state restored",
            {{"checkpoint", state->disk.restored.snapshot.index.value},
             {"log_entries", state->disk.restored.entries.size()},
             {"term", state->disk.restored.hard.term.value},
             {"keys", state->disk.machine->key_count()}});

  std::mutex reloading; // a signal and requests may ask at once
  const auto reload_now = [&, keeps_tokens = config.acl.keeps_tokens, in_force = links.credentials] {
    std::lock_guard hold(reloading);
    config = reload(config);
    (*tokens)->configure(tokens_of(config.acl), keeps_tokens);
    auto next = peer_credentials_of(config);
    if (!next) {
      log::error("node", "credentials for peers not reloaded; the old ones stay in force", {{"reason", next.error()}});
      return;
    }
    if (!in_force->now()->accepts_plaintext())
      warn_of_open_port(config, **next);
    in_force->replace(*next);
  };
  const auto operate_keys = [&, in_force = links.credentials](const forward::keyring_operation& op) {
    std::lock_guard hold(reloading);
    return operate_keyring_of(config.disable_keyring_file ? std::string() : config.data_dir, *in_force, op);
  };
  running_node node(config, *who, std::move(state->disk), links, *listener, std::move(state->promised),
                    {config.services, config.checks, std::move(*kept)}, reload_now, operate_keys, *tokens);
  if (auto s = node.start(); !s)
    return fail(s.error());
  // Scripts that start Consul wait for this line.
  std::fputs("==> Belay agent running!\n", stdout);
  std::fflush(stdout);
  log::info("node", "serving",
            {{"node", config.node_name}, {"id", config.node_id}, {"server_port", config.server_port}});
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal != SIGHUP) {
      log::info("node", "stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
      break;
    }
    reload_now();
  }
  node.stop();
  return 1;
}

} // namespace belay::actors
