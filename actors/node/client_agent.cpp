#include "actors/node/client_agent.hpp"

#include "actors/agent/asio_probes.hpp"
#include "actors/agent/registration_keeper.hpp"
#include "actors/audit/audit_log.hpp"
#include "actors/node/agent_composition.hpp"
#include "actors/node/boot_clock.hpp"
#include "actors/node/certificate_reports.hpp"
#include "actors/node/disk/acl_files.hpp"
#include "actors/node/disk/agent_secret.hpp"
#include "actors/node/disk/data_directory.hpp"
#include "actors/node/disk/known_servers.hpp"
#include "actors/node/free_memory.hpp"
#include "actors/node/http_thread.hpp"
#include "actors/node/node_composition.hpp"
#include "actors/node/node_settings.hpp"
#include "actors/node/process.hpp"
#include "actors/node/signalled_requests.hpp"
#include "actors/relay/asio_relay_loop.hpp"
#include "actors/relay/node_proof.hpp"
#include "actors/service/service_reports.hpp"
#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/agent/client_agents.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>

#include <csignal>
#include <cstdio>
#include <future>

namespace belay::actors {

namespace {

constexpr std::chrono::seconds departure_limit{10};

server_relay_settings relay_settings_of(const node_config& config) {
  server_relay_settings s;
  for (const auto& address : config.joins)
    s.servers.push_back(with_port(address));
  s.queue_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(config.rpc_hold_timeout);
  return s;
}

/// Parts of a client agent.
struct parts {
  std::string secret_of_node;
  std::shared_ptr<tls::credential_store> credentials;
  std::shared_ptr<tls::https_credential_store> https; ///< null: no HTTPS
  live_limit http_connections{0};
  std::shared_ptr<agent_tokens> tokens;
  std::vector<std::pair<std::string, std::string>> registrations; ///< stored by the last process
  std::vector<std::string> remembered;                            ///< servers that the last process knew
  std::shared_ptr<known_servers_keeper> servers;
  std::optional<rotated_file> audit;
  gateway_settings::order reload, leave;
};

class running_client_agent {
public:
  running_client_agent(const node_config& config, const identity& who, parts p);
  ~running_client_agent() { stop(); }

  status start();
  void stop();
  /// Both block, so do not call them on the thread of an actor.
  status change_definitions(agent::configured_definitions now) {
    return apply_definitions(actors_->handles(), std::move(now));
  }
  void leave();
  std::shared_ptr<const vitals> numbers() const { return numbers_; }
  void show_certificates(std::vector<metrics::certificate> all) { metrics_.certificates(std::move(all)); }

private:
  system_config caf_config_;
  caf::actor_system system_;
  http_thread http_thread_{system_};
  metrics metrics_;
  std::shared_ptr<vitals> numbers_ = std::make_shared<vitals>();
  asio_relay_loop relay_loop_{http_thread_.loop()};
  std::optional<agent_composition> actors_;
  std::optional<memory_housekeeping> memory_;
  bool stopped_ = false;
};

/// Fills the plan of the agent's actors: settings from the configuration, callbacks to the files of
/// the data directory, and functions that spawn the actors with threads of their own.
running_client_agent::running_client_agent(const node_config& config, const identity& who, parts p)
    : system_(caf_config_) {
  const auto seed = random_u64();
  agent_plan plan;
  plan.self = member_of(config, who);
  plan.datacenter = config.datacenter;
  plan.node_meta = with_proof(config.node_meta, p.secret_of_node);
  plan.loop = &relay_loop_;
  plan.http_host = &http_thread_.host();
  plan.clock = std::make_shared<suspension_proof_clock>();
  plan.numbers = numbers_;
  plan.relay = relay_settings_of(config);
  plan.relay.credentials = p.credentials;
  plan.relay.secret_of_node = p.secret_of_node;
  plan.relay.seed = seed;
  plan.relay.remembered = std::move(p.remembered);
  plan.relay.accepted_by_server = p.http_connections;
  plan.relay.servers_changed = [this, keeper = p.servers](const std::vector<std::string>& servers) {
    keeper->take(servers);
    system_.spawn([keeper] {
      if (auto s = keeper->write(); !s)
        log::error("node", "list of known servers not stored", {{"reason", s.error()}});
    });
  };
  plan.secrets = [tokens = p.tokens] {
    const auto& t = tokens->now();
    return agent_secrets{t.agent.empty() ? t.of_requests : t.agent, t.of_requests.empty() ? t.agent : t.of_requests};
  };
  if (p.audit)
    plan.spawn_audit = [this, &p](const node_actors_ptr& node_actors) -> audit_log_actor {
      return system_.spawn<audit_log, caf::detached>(node_actors, std::move(*p.audit), wall_ns);
    };

  auto g = gateway_settings_of(config, who);
  g.seed = seed + 2;
  g.numbers = numbers_;
  g.routes.client_agent = true;
  g.facts.server = false;
  g.connections_per_client_max = p.http_connections;
  g.https = std::move(p.https);
  g.tokens = p.tokens;
  g.files = access_files_of(config, g.tokens);
  g.files.elsewhere = [this](std::function<void()> work) { system_.spawn(std::move(work)); };
  g.reload = std::move(p.reload);
  g.leave = std::move(p.leave);
  plan.spawn_gateway = [this, &g](const node_actors_ptr& node_actors, request_relay& relay) {
    g.relay = &relay;
    return http_thread_.spawn(system_, node_actors, std::move(g), metrics_);
  };
  plan.spawn_keeper = [this, &config](const node_actors_ptr& node_actors) -> registration_keeper_actor {
    return system_.spawn<registration_keeper, caf::detached>(node_actors, registrations_directory(config.data_dir));
  };

  plan.agent = agent_settings_of(config);
  plan.agent.queue_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(config.rpc_hold_timeout);
  plan.agent.wall_clock = wall_clock;
  plan.agent.agent.registry.seed = seed + 3;
  plan.registered = {config.services, config.checks, std::move(p.registrations)};
  plan.probes = std::make_shared<asio_probes>(http_thread_.loop(), networks_of_http_checks(config));
  actors_.emplace(system_, std::move(plan));
}

status running_client_agent::start() {
  if (auto s = http_thread_.gateway().listen(); !s)
    return s;
  for (const auto& address : http_thread_.gateway().addresses())
    log::info("node", "listening for clients", {{"address", address}});
  actors_->begin();
  memory_.emplace(http_thread_.loop(), system_);
  http_thread_.start();
  return done{};
}

void running_client_agent::leave() {
  auto done = std::make_shared<std::promise<void>>();
  auto left = done->get_future();
  boost::asio::post(http_thread_.loop(), [this, done] { actors_->leave([done] { done->set_value(); }); });
  left.wait_for(departure_limit);
}

void running_client_agent::stop() {
  if (std::exchange(stopped_, true))
    return;
  http_thread_.run_to_the_end();
  auto drained = http_thread_.gateway().drained();
  actors_->stop([&] { drained.wait_for(drain_limit); });
  system_.await_all_actors_done();
  actors_->release();
  std::promise<void> closed; // its sockets belong to the loop's thread
  boost::asio::post(http_thread_.loop(), [&] {
    actors_->disconnect();
    closed.set_value();
  });
  closed.get_future().wait();
  http_thread_.stop();
}

/// Servers that the last process knew, unless it left them for good. @returns a failure if unknown
result<std::vector<std::string>> remembered_servers(const node_config& config) {
  const auto left = has_left(config.data_dir);
  if (!left)
    return left.reason();
  const bool left_for_good = *left && !config.rejoin_after_leave;
  if (left_for_good && config.joins.empty()) {
    log::warn("node", "this agent has left the cluster and will not contact its servers",
              {{"advice", "use PUT /v1/agent/join, retry_join or rejoin_after_leave"}});
    return std::vector<std::string>();
  }
  if (auto s = note_left(config.data_dir, false); !s)
    return s.reason();
  if (left_for_good)
    return std::vector<std::string>();
  auto servers = load_known_servers(config.data_dir);
  if (!servers)
    log::error("node", "list of known servers ignored: it cannot be read", {{"reason", servers.error()}});
  else if (servers->empty() && config.joins.empty())
    log::warn("node", "this client agent has no servers", {{"advice", "set retry_join, or use PUT /v1/agent/join"}});
  return servers ? std::move(*servers) : std::vector<std::string>();
}

} // namespace

/// Proceeds like run_node(), without log, checkpoint and peer port: opens the files of the data
/// directory, starts the agent, and waits for signals.
int run_client_agent(parsed_command_line begun, config_reader read_again) {
  auto& config = begun.config;
  const auto signals = blocked_signals(); // before any thread exists
  service_reporter service(service_reports::from_environment());
  log_uncaught_exceptions();
  raise_file_limit();

  auto who = open_data_directory(config.data_dir, config.node_id, config.datacenter);
  if (!who)
    return cannot_start(who.error());
  config.node_id = who->uuid;
  auto secret = open_agent_secret(config.data_dir);
  if (!secret)
    return cannot_start(secret.error());
  auto credentials = peer_credentials_of(config);
  if (!credentials)
    return cannot_start(credentials.error());
  auto https_credentials = https_credentials_of(config, nullptr);
  if (!https_credentials)
    return cannot_start(https_credentials.error());
  auto tokens = open_agent_tokens(config);
  if (!tokens)
    return cannot_start(tokens.error());
  auto kept = open_registrations(registrations_directory(config.data_dir));
  if (!kept)
    return cannot_start(kept.error());
  parts p;
  p.secret_of_node = *secret;
  p.credentials = std::make_shared<tls::credential_store>(*credentials);
  if (*https_credentials != nullptr)
    p.https = std::make_shared<tls::https_credential_store>(*https_credentials);
  p.http_connections = live_limit(static_cast<std::size_t>(config.http_max_conns_per_client));
  p.tokens = *tokens;
  p.registrations = std::move(*kept);
  if (config.audit) {
    auto file = rotated_file::open(config.audit->file, wall_ns());
    if (!file)
      return cannot_start("audit log: " + file.error());
    p.audit.emplace(std::move(*file));
  }
  auto remembered = remembered_servers(config);
  if (!remembered)
    return cannot_start(remembered.error());
  p.remembered = std::move(*remembered);
  p.servers = std::make_shared<known_servers_keeper>(config.data_dir);
  certificate_reports certificates(p.credentials, p.https);

  running_client_agent* running = nullptr;
  const auto definitions_changed = [&](const node_config& next) {
    return running->change_definitions(
        {next.services, next.checks,
         catalog_row_of(member_of(next, *who), next.datacenter, with_proof(next.node_meta, *secret)).meta});
  };
  reloader reloads(begun, std::move(read_again),
                   {p.credentials, p.https, p.http_connections, live_limit{0},
                    [&](const acl_config& acl) { (*tokens)->configure(tokens_of(acl), config.acl.keeps_tokens); },
                    definitions_changed});
  signalled_requests reload_requested(SIGHUP, "Agent was shutdown before reload could be completed"); // Consul's text
  signalled_requests leave_requested(SIGUSR1, "agent is shutting down");
  p.reload = [&](signalled_requests::then then) { reload_requested.add(std::move(then)); };
  p.leave = [&](signalled_requests::then then) { leave_requested.add(std::move(then)); };
  running_client_agent node(config, *who, std::move(p));
  running = &node;
  if (auto s = node.start(); !s)
    return cannot_start(s.error());
  // Scripts that start Consul wait for this line.
  std::fputs("==> Belay agent running!\n", stdout);
  std::fflush(stdout);
  log::info("node", "serving as a client agent", {{"node", config.node_name}, {"id", config.node_id}});

  service.ready(node.numbers());
  bool left = false;
  auto look_at_certificates = boot_clock::now();
  for (bool serves = true; serves;) {
    if (const auto now = boot_clock::now(); now >= look_at_certificates) {
      node.show_certificates(certificates.look(wall_ns() / 1'000'000'000));
      look_at_certificates = now + certificate_reports::interval;
    }
    const int signal = wait_for_signal(signals);
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
      continue;
    }
    const auto waiting = signal == SIGUSR1 ? leave_requested.take() : std::vector<signalled_requests::then>();
    if (signal == SIGUSR1 && waiting.empty()) // another process's signal
      continue;
    left = signal == SIGUSR1 || (signal == SIGINT ? !config.skip_leave_on_interrupt : config.leave_on_terminate);
    log::info("node", left ? "leaving" : "stopping",
              {{"why", signal == SIGUSR1  ? "a client"
                       : signal == SIGINT ? "SIGINT"
                                          : "SIGTERM"}});
    service.stopping();
    if (left) {
      node.leave();
      if (auto noted = note_left(config.data_dir, true); !noted)
        log::error("node", "departure of this agent not stored; it will contact its servers at the next start",
                   {{"reason", noted.error()}});
    }
    for (const auto& then : waiting)
      then({});
    serves = false;
  }
  reload_requested.close();
  leave_requested.close();
  node.stop();
  return left ? 0 : 1;
}

} // namespace belay::actors
