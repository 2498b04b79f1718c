#include "actors/node/node.hpp"

#include "actors/agent/asio_probes.hpp"
#include "actors/agent/health_checks.hpp"
#include "actors/agent/registration_keeper.hpp"
#include "actors/consensus/log_writer.hpp"
#include "actors/consensus/peer_link.hpp"
#include "actors/consensus/raft_peer.hpp"
#include "actors/gateway/http_gateway.hpp"
#include "actors/node/data_directory.hpp"
#include "actors/node/front_loop.hpp"
#include "actors/tables/checkpointer.hpp"
#include "actors/tables/fsm.hpp"
#include "actors/tables/lock_delay_tracker.hpp"
#include "actors/tables/session_reaper.hpp"
#include "actors/tables/watch_registry.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/agent/member_catalog.hpp"
#include "protocol/base/host_port.hpp"
#include "storage/lmdb_checkpoint.hpp"
#include "storage/segment_log.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

namespace belay::actors {

namespace {

constexpr std::chrono::seconds drain_limit{5};

/// What was found on the disk, and the stores to go on with.
struct opened_disk {
  std::shared_ptr<storage::log_store> log;
  std::shared_ptr<storage::checkpoint_store> checkpoints;
  std::shared_ptr<state::machine> machine;
  raft::restored_state restored;
};

/// Log and checkpoint must meet: entries without a gap behind the checkpoint. (A log that ends before it, or disagrees with it, is what an
/// installed snapshot leaves behind if the node stops right then: the core drops such a log, docs/pitfalls.md R13.)
result<raft::restored_state> fit_together(storage::loaded_log found,
                                          const std::optional<storage::checkpoint_info>& checkpoint) {
  raft::restored_state r;
  r.hard = found.hard;
  if (checkpoint)
    r.snapshot = checkpoint->meta;
  if (!found.entries.empty() && found.entries.front().index > r.snapshot.index.next())
    return failure{
        "the Raft log begins at index " + to_string(found.entries.front().index) + " but the checkpoint ends at " +
        to_string(r.snapshot.index) +
        ": entries are missing. Remove the data directory to rejoin as a new server; the others have the data"};
  r.entries = std::move(found.entries);
  return r;
}

result<opened_disk> open_disk(const std::string& data_dir) {
  opened_disk d;
  auto log = storage::segment_log::open(storage::posix_file_system(), data_dir + "/raft");
  if (!log)
    return log.why();
  d.log = std::move(*log);
  auto checkpoints = storage::lmdb_checkpoint::open(data_dir);
  if (!checkpoints)
    return checkpoints.why();
  d.checkpoints = std::move(*checkpoints);

  auto loaded = d.log->load();
  if (!loaded)
    return loaded.why();
  auto info = d.checkpoints->info();
  if (!info)
    return info.why();
  if (*info) {
    auto machine = load_machine(*d.checkpoints, **info);
    if (!machine)
      return failure{machine.error() +
                     ". Remove the data directory to rejoin as a new server; the others have the data"};
    d.machine = std::move(*machine);
  } else {
    d.machine = std::make_shared<state::machine>();
  }
  auto restored = fit_together(std::move(*loaded), *info);
  if (!restored)
    return restored.why();
  d.restored = std::move(*restored);
  return d;
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

/// All actors of the node, spawned in the order in which they depend on each other, and stopped in the order of the data's way.
class running_node {
public:
  /// `reload` re-reads the configuration, for /v1/agent/reload.
  running_node(const node_config& config, const identity& who, opened_disk disk, int peer_listener,
               health_checks_start agent, std::function<void()> reload);
  ~running_node() { stop(); }

  /// Opens the doors: timers run, clients and peers are listened to.
  status start();
  void stop();

private:
  void spawn_gateway(const node_config& config, const identity& who, std::uint64_t seed, std::function<void()> reload);
  void spawn_agent(const node_config& config, const identity& who, std::uint64_t seed, health_checks_start start);

  system_config caf_config_;
  caf::actor_system system_;
  boost::asio::io_context front_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> front_stays_{front_.get_executor()};
  asio_host front_host_;
  multiplexer_host raft_host_;
  metrics metrics_;
  std::shared_ptr<vitals> vitals_ = std::make_shared<vitals>();
  wiring_ptr wires_ = std::make_shared<wiring>();
  http_gateway* gateway_ = nullptr;
  std::thread front_thread_;
  bool stopped_ = false;
};

running_node::running_node(const node_config& config, const identity& who, opened_disk disk, int peer_listener,
                           health_checks_start agent, std::function<void()> reload)
    : system_(caf_config_), front_host_(system_, front_), raft_host_(system_) {
  // Without brackets even around an IPv6 address: this text is kept in the configurations of clusters.
  const raft::member self{who.id, who.uuid, config.node_name,
                          config.advertise_addr + ":" + std::to_string(config.server_port)};
  const auto seed = random_u64();
  const auto applied = disk.restored.snapshot;

  wires_->log = system_.spawn<log_writer, caf::detached>(wires_, disk.log, metrics_);
  wires_->checkpoints = system_.spawn<checkpointer, caf::detached>(wires_, disk.checkpoints, applied.index, metrics_);
  wires_->watches = system_.spawn<watch_registry>(&front_host_, wires_, metrics_);

  std::vector<state::session_ptr> sessions;
  disk.machine->for_each_session([&](const state::session_ptr& s) { sessions.push_back(s); });
  wires_->reaper = system_.spawn<session_reaper>(&front_host_, wires_, std::move(sessions));
  wires_->delays = system_.spawn<lock_delay_tracker>(&front_host_, wires_);

  fsm_settings machine_settings;
  machine_settings.checkpoint_entries = config.raft_snapshot_threshold;
  machine_settings.checkpoint_interval =
      std::chrono::duration_cast<std::chrono::seconds>(config.raft_snapshot_interval);
  machine_settings.wall_clock = wall_clock;
  wires_->fsm = system_.spawn<fsm>(&front_host_, wires_, machine_settings, disk.machine, applied, vitals_, metrics_);

  raft_peer_settings peer_settings;
  peer_settings.limits = limits_for(config.raft_multiplier);
  peer_settings.hold = std::chrono::duration_cast<std::chrono::milliseconds>(config.rpc_hold_timeout);
  peer_settings.trailing_entries = config.raft_trailing_logs;
  peer_settings.seed = seed;
  for (const auto& address : config.joins)
    peer_settings.join.push_back(with_port(address));
  peer_settings.wall_clock = wall_clock;
  peer_settings.joined = [dir = config.data_dir, who](std::uint64_t cluster_id) {
    auto now = who;
    now.cluster_id = cluster_id;
    if (auto s = save_identity(dir, now); !s)
      log::error("node", "identity could not be saved", {{"error", s.error()}});
    else
      log::info("node", "data directory belongs to a cluster now", {{"cluster", cluster_id}});
  };
  const auto expect = static_cast<std::uint32_t>(config.bootstrap ? 1 : config.bootstrap_expect);
  raft::formation formation(self, config.datacenter, expect, who.cluster_id);
  wires_->raft_peer = system_.spawn<raft_peer>(&raft_host_, wires_, std::move(peer_settings), self,
                                               std::move(formation), std::move(disk.restored), vitals_, metrics_);

  peer_link_settings link_settings;
  link_settings.seed = seed + 1;
  caf::actor_config on_multiplexer{&system_.middleman().backend()};
  wires_->links = caf::actor_cast<peer_link_actor>(system_.spawn_class<peer_link, caf::no_spawn_options>(
      on_multiplexer, wires_, link_settings, peer_listener, who.id, metrics_));
  spawn_gateway(config, who, seed + 2, std::move(reload));
  spawn_agent(config, who, seed + 3, std::move(agent));
}

void running_node::spawn_agent(const node_config& config, const identity& who, std::uint64_t seed,
                               health_checks_start start) {
  health_checks_settings h;
  h.number = static_cast<std::uint16_t>(wires_->gateways.size());
  h.hold = std::chrono::duration_cast<std::chrono::milliseconds>(config.rpc_hold_timeout);
  h.numbers = vitals_;
  h.wall_clock = [] { return std::chrono::system_clock::now(); };
  h.agent.scripts_from_api = config.enable_script_checks;
  h.agent.scripts_from_files = config.enable_script_checks || config.enable_local_script_checks;
  auto& r = h.agent.registry;
  r.output_bytes_max = config.check_output_max_size;
  r.update_interval = config.check_update_interval;
  r.seed = seed;
  // As the leader registers its members, with what only the node itself knows.
  r.node = agent::node_of({who.uuid, config.node_name, config.advertise_addr, 0, {}}, config.datacenter);
  auto meta = config.node_meta;
  meta.merge(*r.node.meta);
  r.node.meta = std::move(meta);
  wires_->keeper = system_.spawn<registration_keeper, caf::detached>(wires_, registrations_directory(config.data_dir));
  wires_->health = system_.spawn<health_checks>(&front_host_, wires_, std::move(h), std::move(start),
                                                std::make_shared<asio_probes>(front_));
  wires_->gateways.push_back(wires_->health);
}

void running_node::spawn_gateway(const node_config& config, const identity& who, std::uint64_t seed,
                                 std::function<void()> reload) {
  gateway_settings g;
  g.listen = config.http_listeners;
  g.connections_per_client_max = config.http_max_conns_per_client;
  g.hold = std::chrono::duration_cast<std::chrono::milliseconds>(config.rpc_hold_timeout);
  g.metrics_prefix = config.metrics_prefix;
  g.seed = seed;
  g.uuid = random_uuid;
  g.reload = [reload = std::move(reload)] {
    reload();
    return std::string{};
  };
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
  r.pretty_always = config.dev;
  r.unprintable_filter = !config.disable_http_unprintable_char_filter;
  r.block_endpoints = config.block_endpoints;
  r.response_headers.assign(config.response_headers.begin(), config.response_headers.end());
  r.allow_write_http_from = config.allow_write_http_from;
  r.prometheus = config.prometheus_retention_time.count() > 0;

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

  auto gateway = system_.spawn<http_gateway>(&front_host_, wires_, std::move(g), metrics_);
  gateway_ = static_cast<http_gateway*>(caf::actor_cast<caf::abstract_actor*>(gateway));
  wires_->gateways.push_back(std::move(gateway));
}

status running_node::start() {
  if (auto s = gateway_->listen(); !s)
    return s;
  for (const auto& address : gateway_->addresses())
    log::info("node", "listening for clients", {{"address", address}});
  front_thread_ = std::thread([this] { front_loop(front_, [this] { return gateway_->last_answer(); }).run(); });
  const auto begin = [](const auto& actor) { caf::anon_send(actor, tick_atom::value); };
  begin(wires_->links);
  begin(wires_->watches);
  begin(wires_->reaper);
  begin(wires_->fsm);
  begin(wires_->raft_peer);
  begin(wires_->health);
  return done{};
}

void running_node::stop() {
  if (std::exchange(stopped_, true))
    return;
  if (!front_thread_.joinable()) // never started: whoever waits for the loop is ended by running it
    front_thread_ = std::thread([this] { front_.run(); });
  // Requests in flight are answered while everybody is still there; then nothing new enters, and each actor ends what it began.
  auto drained = gateway_->drained();
  caf::anon_send(wires_->gateways.front(), stop_atom::value);
  drained.wait_for(drain_limit);
  const auto end = [](const auto& actor) { caf::anon_send(actor, stop_atom::value); };
  end(wires_->health);
  end(wires_->keeper);
  end(wires_->raft_peer);
  end(wires_->links);
  end(wires_->fsm);
  end(wires_->watches);
  end(wires_->reaper);
  end(wires_->delays);
  end(wires_->log);
  end(wires_->checkpoints);
  *wires_ = {};
  system_.await_all_actors_done();
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
  raise_file_limit();

  if (!config.server)
    return fail("client agents (server = false) are not part of this program: set \"server\": true");
  temporary_directory scratch(config.dev && config.data_dir.empty());
  if (!scratch.path().empty())
    config.data_dir = scratch.path();

  auto who = open_data_directory(config.data_dir, config.node_id, config.datacenter);
  if (!who)
    return fail(who.error());
  config.node_id = who->uuid;
  peer_link_settings links;
  links.listen_host = config.bind_addr;
  links.listen_port = config.server_port;
  auto listener = listen_for_peers(links);
  if (!listener)
    return fail(listener.error());
  auto disk = open_disk(config.data_dir);
  if (!disk)
    return fail(disk.error());
  auto kept = open_registrations(registrations_directory(config.data_dir));
  if (!kept)
    return fail(kept.error());
  log::info("node", "state restored",
            {{"checkpoint", disk->restored.snapshot.index.value},
             {"log_entries", disk->restored.entries.size()},
             {"term", disk->restored.hard.term.value},
             {"keys", disk->machine->key_count()}});

  std::mutex reloading; // a signal and a request may ask at once
  const auto reload_now = [&] {
    std::lock_guard hold(reloading);
    config = reload(config);
  };
  running_node node(config, *who, std::move(*disk), *listener, {config.services, config.checks, std::move(*kept)},
                    reload_now);
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
