#include "actors/node/node.hpp"

#include "actors/agent/asio_probes.hpp"
#include "actors/agent/registration_keeper.hpp"
#include "actors/audit/audit_log.hpp"
#include "actors/consensus/peer_link.hpp"
#include "actors/gateway/http_gateway.hpp"
#include "actors/node/boot_clock.hpp"
#include "actors/node/certificate_reports.hpp"
#include "actors/node/client_agent.hpp"
#include "actors/node/disk/acl_files.hpp"
#include "actors/node/disk/data_directory.hpp"
#include "actors/node/disk/data_directory_watch.hpp"
#include "actors/node/disk/recovery.hpp"
#include "actors/node/disk/server_state.hpp"
#include "actors/node/free_memory.hpp"
#include "actors/node/http_thread.hpp"
#include "actors/node/keyring_keeper.hpp"
#include "actors/node/node_composition.hpp"
#include "actors/node/node_settings.hpp"
#include "actors/node/process.hpp"
#include "actors/node/signalled_requests.hpp"
#include "actors/service/service_reports.hpp"
#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
#include "actors/tls/credential_store.hpp"
#include "protocol/base/host_port.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "storage/log/segment_log.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <optional>

namespace belay::actors {

namespace {

// Requests wait 7 s for a leader, and a transfer takes less than 2 s. The limit is longer than both
// together.
constexpr std::chrono::seconds leave_limit{30};
// As many as the log usually has: it is removed when a copy of the checkpoint has been made
// (raft_older_checkpoint_log_bytes), and is written again into the same files.
constexpr std::size_t free_segments_max = 8;
constexpr auto interrupted = "a signal arrived while this server was leaving";

result<server_state> open_state(const node_config& config, const identity& who) {
  const auto& data_dir = config.data_dir;
  auto& files = storage::posix_file_system();
  const auto open_log = [&]() -> result<std::shared_ptr<storage::log_store>> {
    storage::segment_log_options options;
    options.newest = storage::segment_version::sectors;
    options.free_segments_max = free_segments_max;
    auto log = storage::segment_log::open(files, data_dir + "/raft", options);
    if (!log)
      return log.reason();
    return std::shared_ptr<storage::log_store>(std::move(*log));
  };
  const auto open_checkpoints = [&]() -> result<std::shared_ptr<storage::checkpoint_store>> {
    auto checkpoints = storage::lmdb_checkpoint::open(data_dir);
    if (!checkpoints)
      return checkpoints.reason();
    return std::shared_ptr<storage::checkpoint_store>(std::move(*checkpoints));
  };
  return open_server_state(data_dir, who, files, open_log, open_checkpoints, config.raft_trailing_logs);
}

/// Whether this server has left its cluster, and was not configured since to join one.
result<bool> stays_out_of_cluster(const node_config& config) {
  const auto left = has_left(config.data_dir);
  if (!left || !*left)
    return left;
  if (config.rejoin_after_leave || !config.joins.empty()) {
    if (auto s = note_left(config.data_dir, false); !s)
      return s.reason();
    return false;
  }
  log::warn("node", "this server has left the cluster and will not contact its members",
            {{"advice", "use PUT /v1/agent/join, retry_join or rejoin_after_leave"}});
  return true;
}

/// What only this server acknowledged meanwhile is lost with its files; continuing would lose
/// more. It ends at once, because an orderly stop could write into the wrong directory.
[[noreturn]] void end_without_data_directory(const std::string& why) {
  log::error("node", "data directory deleted or replaced while the server ran: stopping at once",
             {{"reason", why},
              {"advice",
               "other servers have the data: start this one with an empty data directory. The only server: restore "
               "a backup (docs/operate/disaster-recovery.md). Never put an older copy of the directory in its place"}});
  std::fflush(nullptr);
  std::_Exit(data_directory_gone);
}

/// Number of HTTP threads by default.
/// On a machine with two cores a second one makes puts of some clients slower:
/// Raft and the log need a core, too (docs/internals/adr/0024-reads-beside-the-tables.md).
std::size_t http_threads_of(const node_config& config) {
  constexpr std::size_t usual_max = 4;
  if (config.http_threads > 0)
    return static_cast<std::size_t>(config.http_threads);
  cpu_set_t cores;
  const std::size_t count = ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
  const auto fit =
      config.http_max_bytes_in_flight == 0 ? usual_max : config.http_max_bytes_in_flight / config.bytes_in_flight_least;
  return std::clamp<std::size_t>(count / 2, 1, std::min<std::size_t>(usual_max, fit));
}

class running_node {
public:
  /// `reload` is gateway_settings::reload.
  /// @param https null: no HTTPS
  running_node(const node_config& config, const identity& who, node_disk disk, peer_link_settings links,
               int peer_listener, bool stays_out, std::shared_ptr<tls::https_credential_store> https,
               raft::promise promised, health_checks_start registered, live_limit http_connections,
               gateway_settings::order reload, gateway_settings::order leave, keyring_keeper::operate keyring,
               std::shared_ptr<agent_tokens> tokens, std::optional<rotated_file> audit);
  ~running_node() { stop(); }

  /// Starts timers, and listens for clients and peers.
  status start();
  void stop();
  /// Blocks on the agent, so do not call it on the thread of an actor.
  status change_definitions(agent::configured_definitions now) {
    return apply_definitions(actors_->handles(), std::move(now));
  }
  /// Any thread.
  void serve_client_agent(identified_peer p);
  std::shared_ptr<const vitals> numbers() const { return numbers_; }
  /// Leaves the cluster. Blocks, too; SIGINT and SIGTERM (blocked) end it with a failure.
  status leave();
  void show_certificates(std::vector<metrics::certificate> all) { metrics_.certificates(std::move(all)); }

private:
  /// Called on the first HTTP thread. @returns whether another one serves this connection
  bool share_connection(const accepted_connection& c);

  system_config caf_config_;
  caf::actor_system system_;
  /// The first one also has the tables, and accepts connections.
  std::vector<std::unique_ptr<http_thread>> http_threads_;
  multiplexer_host raft_host_;
  metrics metrics_;
  std::shared_ptr<vitals> numbers_ = std::make_shared<vitals>();
  std::optional<node_composition> actors_;
  std::size_t next_http_thread_ = 0; ///< gets the next connection; on the first one's thread
  std::optional<memory_housekeeping> memory_;
  bool stopped_ = false;
};

running_node::running_node(const node_config& config, const identity& who, node_disk disk, peer_link_settings links,
                           int peer_listener, bool stays_out, std::shared_ptr<tls::https_credential_store> https,
                           raft::promise promised, health_checks_start registered, live_limit http_connections,
                           gateway_settings::order reload, gateway_settings::order leave,
                           keyring_keeper::operate keyring, std::shared_ptr<agent_tokens> tokens,
                           std::optional<rotated_file> audit)
    : system_(caf_config_), raft_host_(system_) {
  for (std::size_t i = http_threads_of(config); i > 0; --i)
    http_threads_.push_back(std::make_unique<http_thread>(system_));
  node_plan plan;
  plan.self = member_of(config, who);
  plan.datacenter = config.datacenter;
  plan.bootstrap_expect = static_cast<std::uint32_t>(config.bootstrap ? 1 : config.bootstrap_expect);
  plan.admit_newcomers = config.allow_unauthenticated_servers;
  plan.cluster_id = who.cluster_id;
  plan.promised = std::move(promised);
  plan.node_meta = config.node_meta;
  plan.disk = std::move(disk);
  plan.older_checkpoint.log_bytes = config.raft_older_checkpoint_log_bytes;
  plan.older_checkpoint.age = config.raft_older_checkpoint_age;
  plan.machine = machine_settings_of(config);
  plan.peer = peer_settings_of(config, who);
  plan.peer.stays_out = stays_out;
  plan.agent = agent_settings_of(config);
  plan.registered = std::move(registered);
  plan.probes = std::make_shared<asio_probes>(http_threads_.front()->loop(), networks_of_http_checks(config));
  plan.wall_clock = wall_clock;
  plan.clock = std::make_shared<suspension_proof_clock>();
  plan.http_host = &http_threads_.front()->host();
  plan.gateways = numbers_->http_threads = http_threads_.size();
  if (http_threads_.size() > 1)
    plan.machine.shared = std::make_shared<shared_tables>(http_threads_.size(), *numbers_);
  plan.consensus = &raft_host_;
  plan.disks_have_threads = true;
  const auto seed = plan.peer.seed;
  plan.spawn_links = [&](const node_actors_ptr& node_actors) {
    links.seed = seed + 1;
    links.host = &raft_host_;
    caf::actor_config on_multiplexer{&system_.middleman().backend()};
    return caf::actor_cast<peer_link_actor>(system_.spawn_class<peer_link, caf::no_spawn_options>(
        on_multiplexer, node_actors, std::move(links), peer_listener, who.id, metrics_));
  };
  const auto admission = std::make_shared<client_admission>(connections_allowed(), http_connections);
  const auto cached = std::make_shared<cache_history>();
  std::uint16_t number = 0;
  plan.spawn_gateway = [&, tables = plan.machine.shared](const node_actors_ptr& node_actors) {
    auto g = gateway_settings_of(config, who);
    g.number = number;
    g.seed = seed + 2 + 1000 * number;
    g.bytes_in_flight_max /= http_threads_.size();
    g.shedding.load_min = std::max<std::size_t>(1, g.shedding.load_min / http_threads_.size());
    g.admission = admission;
    g.cached = cached;
    g.https = https;
    g.numbers = numbers_;
    g.tokens = tokens;
    g.files = access_files_of(config, g.tokens);
    g.files.elsewhere = [this](std::function<void()> work) { system_.spawn(std::move(work)); };
    g.reload = reload;
    g.leave = leave;
    if (number > 0)
      g.read_here = [tables, number](const http::read_request& r, monotonic_time now) {
        return tables->read(number, r, now);
      };
    else if (http_threads_.size() > 1)
      g.share_connections = [this](const accepted_connection& c) { return share_connection(c); };
    return http_threads_[number++]->spawn(system_, node_actors, std::move(g), metrics_);
  };
  plan.spawn_keeper = [&](const node_actors_ptr& node_actors) {
    return system_.spawn<registration_keeper, caf::detached>(node_actors, registrations_directory(config.data_dir));
  };
  plan.spawn_keyring = [&](const node_actors_ptr& node_actors) {
    return system_.spawn<keyring_keeper, caf::detached>(node_actors, std::move(keyring));
  };
  if (audit)
    plan.spawn_audit = [&](const node_actors_ptr& node_actors) {
      return system_.spawn<audit_log, caf::detached>(node_actors, std::move(*audit), wall_ns);
    };
  actors_.emplace(system_, std::move(plan), numbers_, metrics_);
}

status running_node::start() {
  auto& first = http_threads_.front()->gateway();
  if (auto s = first.listen(); !s)
    return s;
  for (const auto& address : first.addresses())
    log::info("node", "listening for clients", {{"address", address}});
  memory_.emplace(http_threads_.front()->loop(), system_);
  for (const auto& f : http_threads_) {
    if (f != http_threads_.front())
      f->gateway().start();
    f->start();
  }
  if (http_threads_.size() > 1)
    log::info("node", "clients distributed over several threads", {{"threads", http_threads_.size()}});
  actors_->begin();
  return done{};
}

/// Round-robin: each thread has equally many connections, apart from those that ended since.
bool running_node::share_connection(const accepted_connection& c) {
  const auto to = std::exchange(next_http_thread_, (next_http_thread_ + 1) % http_threads_.size());
  if (to == 0)
    return false;
  http_threads_[to]->gateway().serve(c);
  return true;
}

namespace {

/// Without a certificate the channel proves nothing.
bool is_authenticated(const identified_peer& p) {
  return p.channel && (p.channel->peer().by_key || !p.channel->peer().name.empty());
}

} // namespace

void running_node::serve_client_agent(identified_peer p) {
  const auto& self = p.hello.self;
  // Any thread, so not round-robin: by the ID of the agent.
  const auto& to = http_threads_[std::hash<std::string>()(self.uuid) % http_threads_.size()];
  to->gateway().serve({p.fd,
                       {self.name, self.uuid, split_host_port(self.address).host, is_authenticated(p)},
                       std::move(p.address),
                       std::move(p.channel),
                       std::move(p.after_hello)});
}

status running_node::leave() {
  auto done = std::make_shared<std::promise<status>>();
  auto answer = done->get_future();
  caf::anon_send(actors_->handles().health_checks, leave_cluster{[done](status s) { done->set_value(std::move(s)); }});
  sigset_t impatient;
  sigemptyset(&impatient);
  sigaddset(&impatient, SIGINT);
  sigaddset(&impatient, SIGTERM);
  const auto until = std::chrono::steady_clock::now() + leave_limit;
  while (answer.wait_for(std::chrono::seconds{0}) != std::future_status::ready) {
    if (std::chrono::steady_clock::now() >= until)
      return failure{"no result within 30 s; this server may have left"};
    const timespec pause{0, 20'000'000};
    if (sigtimedwait(&impatient, nullptr, &pause) > 0)
      return failure{interrupted};
  }
  return answer.get();
}

void running_node::stop() {
  if (std::exchange(stopped_, true))
    return;
  std::vector<std::future<void>> drained;
  for (const auto& f : http_threads_) {
    f->run_to_the_end();
    drained.push_back(f->gateway().drained());
  }
  actors_->stop([&] {
    const auto until = std::chrono::steady_clock::now() + drain_limit;
    for (const auto& each : drained)
      each.wait_until(until);
  });
  system_.await_all_actors_done();
  actors_.reset();
  for (const auto& f : http_threads_)
    f->stop();
}

} // namespace

/// Opens everything that may be missing or invalid, and ends with the reason if something is: data
/// directory, credentials, the peer port, log and checkpoint, files of the agent. Then it starts
/// the node and waits for signals, until one of them ends the server. HTTP requests to reload and
/// to leave arrive as signals, too.
int run_node(parsed_command_line begun, config_reader read_again) {
  if (!begun.config.server)
    return run_client_agent(std::move(begun), std::move(read_again));
  auto& config = begun.config;
  const auto signals = blocked_signals(); // before any thread exists
  service_reporter service(service_reports::from_environment());
  log_uncaught_exceptions();
  raise_file_limit();

  temporary_directory scratch(config.dev && config.data_dir.empty());
  if (!scratch.path().empty())
    config.data_dir = scratch.path();

  auto who = open_data_directory(config.data_dir, config.node_id, config.datacenter);
  if (!who)
    return cannot_start(who.error());
  auto credentials = peer_credentials_of(config);
  if (!credentials)
    return cannot_start(credentials.error());
  auto https_credentials = https_credentials_of(config, nullptr);
  if (!https_credentials)
    return cannot_start(https_credentials.error());
  const auto https =
      *https_credentials != nullptr ? std::make_shared<tls::https_credential_store>(*https_credentials) : nullptr;
  warn_of_open_port(config, **credentials);
  config.node_id = who->uuid;
  running_node* running = nullptr;
  peer_link_settings links;
  links.credentials = std::make_shared<tls::credential_store>(*credentials);
  links.client_agent = [&](identified_peer p) { running->serve_client_agent(std::move(p)); };
  links.listen_host = config.bind_addr;
  links.listen_port = config.server_port;
  links.pending.per_address_max = live_limit(static_cast<std::size_t>(config.rpc_max_conns_per_client));
  links.pending.deadline = std::chrono::duration_cast<std::chrono::milliseconds>(config.rpc_handshake_timeout);
  auto listener = listen_for_peers(links);
  if (!listener)
    return cannot_start(listener.error());
  const auto recovered = follow_peers_file(config.data_dir);
  if (!recovered)
    return cannot_start(recovered.error());
  if (*recovered) {
    log::warn("node",
              "raft/peers.json applied: this server is now a one-server cluster, and rejects its former members");
    who = read_identity(config.data_dir);
    if (!who)
      return cannot_start(who.error());
  }
  auto state = open_state(config, *who);
  if (!state)
    return cannot_start(state.error());
  const data_directory_watch data(config.data_dir);
  const auto stays_out = stays_out_of_cluster(config);
  if (!stays_out)
    return cannot_start(stays_out.error());
  auto tokens = open_agent_tokens(config);
  if (!tokens)
    return cannot_start(tokens.error());
  auto kept = open_registrations(registrations_directory(config.data_dir));
  if (!kept)
    return cannot_start(kept.error());
  std::optional<rotated_file> audit;
  if (config.audit) {
    auto file = rotated_file::open(config.audit->file, wall_ns());
    if (!file)
      return cannot_start("audit log: " + file.error());
    log::info("node", "audit log enabled", {{"file", file->name()}, {"enforced", config.audit->enforced ? 1 : 0}});
    audit.emplace(std::move(*file));
  }
  log::info("node", "state read",
            {{"checkpoint", state->disk.restored.snapshot.index.value},
             {"log_up_to", state->disk.restored.entries.empty() ? state->disk.restored.snapshot.index.value
                                                                : state->disk.restored.entries.back().index.value},
             {"term", state->disk.restored.hard.term.value},
             {"keys", state->disk.machine->key_count()}});

  const live_limit http_connections(static_cast<std::size_t>(config.http_max_conns_per_client));
  const auto definitions_changed = [&](const node_config& next) {
    return running->change_definitions(
        {next.services, next.checks, catalog_row_of(member_of(next, *who), next.datacenter, next.node_meta).meta});
  };
  reloader reloads(begun, std::move(read_again),
                   {links.credentials, https, http_connections, links.pending.per_address_max,
                    [&](const acl_config& acl) { (*tokens)->configure(tokens_of(acl), config.acl.keeps_tokens); },
                    definitions_changed});
  signalled_requests reload_requested(SIGHUP, "Agent was shutdown before reload could be completed"); // Consul's text
  signalled_requests leave_requested(SIGUSR1, "agent is shutting down");
  running_node node(
      config, *who, std::move(state->disk), links, *listener, *stays_out, https, std::move(state->promised),
      {config.services, config.checks, std::move(*kept)}, http_connections,
      [&](signalled_requests::then then) { reload_requested.add(std::move(then)); },
      [&](signalled_requests::then then) { leave_requested.add(std::move(then)); },
      [&](const forward::keyring_operation& op) { return reloads.operate_keyring(op); }, *tokens, std::move(audit));
  running = &node;
  if (auto s = node.start(); !s)
    return cannot_start(s.error());
  // Scripts that start Consul wait for this line.
  std::fputs("==> Belay agent running!\n", stdout);
  std::fflush(stdout);
  log::info("node", "serving",
            {{"node", config.node_name}, {"id", config.node_id}, {"server_port", config.server_port}});
  const auto leaves = [&] {
    const auto s = node.leave();
    if (!s)
      log::error("node", "this server did not leave its cluster", {{"reason", s.error()}});
    else if (auto noted = note_left(config.data_dir, true); !noted)
      log::error("node", "departure of this server not stored; it will contact its members at the next start",
                 {{"reason", noted.error()}});
    return s;
  };
  service.ready(node.numbers());
  certificate_reports certificates(links.credentials, https);
  constexpr std::chrono::seconds data_looked_at_every{1};
  auto look_at_certificates = boot_clock::now();
  auto look_at_data = look_at_certificates;
  bool left = false;
  for (bool serves = true; serves;) {
    if (const auto now = boot_clock::now(); now >= look_at_certificates) {
      node.show_certificates(certificates.look(wall_ns() / 1'000'000'000));
      look_at_certificates = now + certificate_reports::interval;
    }
    const int signal = wait_for_signal(signals);
    if (const auto now = boot_clock::now(); now >= look_at_data) {
      if (const auto s = data.look(); !s)
        end_without_data_directory(s.error());
      look_at_data = now + data_looked_at_every;
    }
    if (signal < 0)
      continue;
    look_at_certificates = {}; // a reload may have changed them
    if (signal == SIGHUP) {
      const auto waiting = reload_requested.take();
      service.reloading();
      const auto s = reloads.reload();
      service.reloaded(s.ok());
      for (const auto& then : waiting)
        then(s ? std::string() : s.error());
    } else if (signal == SIGUSR1) {
      const auto waiting = leave_requested.take();
      if (waiting.empty()) // another process's signal, or a request whose leave failed
        continue;
      const auto s = leaves();
      for (const auto& then : waiting)
        then(s ? std::string() : s.error());
      left = s.ok();
      serves = !left && (s.ok() || s.error() != interrupted);
    } else {
      log::info("node", "stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
      service.stopping();
      left = (signal == SIGINT ? !config.skip_leave_on_interrupt : config.leave_on_terminate) && leaves();
      serves = false;
    }
  }
  service.stopping();
  if (left)
    log::info("node", "this server has left its cluster and stops");
  reload_requested.close();
  leave_requested.close();
  node.stop();
  return left ? 0 : 1;
}

} // namespace belay::actors
