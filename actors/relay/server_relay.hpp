#pragma once
// A client agent's connection to the servers: which server gets its requests, over which
// connections. It uses one server while that one responds, and sends it a heartbeat every second.
//
// The agent's own requests have connections and queues of their own (relay_lane). Otherwise clients
// whose requests wait would use all connections that a server accepts from one address, the
// heartbeat would not reach it, and the node would lose its sessions and locks.

#include "actors/live_limit.hpp"
#include "actors/names/name_lookups.hpp"
#include "actors/relay/server_connection.hpp"
#include "actors/relay/server_heartbeats.hpp"
#include "actors/tls/credential_store.hpp"
#include "protocol/base/random.hpp"
#include "protocol/wire/frame_codec.hpp"

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::actors {

struct server_relay_settings {
  wire::hello hello;                   ///< this agent's hello
  std::string secret_of_node{};        ///< proves the ownership of its node (agent_secret.hpp); empty: no proof
  std::vector<std::string> servers;    ///< host:port, as configured; always tried
  std::vector<std::string> remembered; ///< also tried, until the servers return others
  std::shared_ptr<tls::credential_store> credentials = std::make_shared<tls::credential_store>();
  std::chrono::milliseconds queue_timeout{7000}; ///< how long a request waits for a reachable server
  /// Default of limits.http_max_conns_per_client.
  static constexpr std::size_t accepted_by_default = 200;
  /// That limit of this agent. The servers are assumed to accept as many connections from one
  /// address, and at least the default; they close further ones. 0: no limit.
  live_limit accepted_by_server{accepted_by_default};
  std::size_t waiting_max = 4096; ///< of clients' requests; further ones are rejected
  std::uint64_t seed = 1;
  name_lookups::lookup look_up = name_lookups::system_lookup();
  /// Called on each change: whether the servers respond and have a leader.
  std::function<void(bool)> cluster_answers;
  /// Called when the set of servers in use changes: host:port.
  std::function<void(const std::vector<std::string>&)> servers_changed;
};

class server_relay final : public request_relay {
public:
  /// @param loop must outlive this object
  server_relay(relay_loop& loop, server_relay_settings settings);
  ~server_relay() override;

  void start();
  /// Sends no further heartbeats. If `leaves`, notifies the servers that this agent leaves, and
  /// calls `then` on their answer or after a timeout; otherwise calls it at once.
  void stop(bool leaves, std::function<void()> then);

  std::unique_ptr<relayed_call> begin(relayed_request r, answer_listener& listener) override;
  void later(std::function<void()> what) override;
  /// Adds a server, if it can be reached.
  /// @param then gets Go's text for a failed connection, or why the servers reject this agent
  /// empty: they know this agent
  void join(const std::string& address, std::function<void(std::string)> then);
  bool cluster_answers() const { return answers_ == true; }

private:
  class call;
  class question;

  struct server {
    std::string address; ///< host:port
    monotonic_time not_before{};
    bool named = false; ///< in the configuration: never removed
  };

  struct link {
    std::shared_ptr<server_connection> connection;
    call* carries = nullptr; ///< null: none
    bool dialling = true;
    monotonic_time since; ///< time of dialling, or of its last request
    relay_lane lane = relay_lane::clients;
  };

  void tick_later();
  void tick();
  void serve_waiting();
  void dial(relay_lane lane);
  std::deque<call*>& queue_of(relay_lane lane) { return waiting_[static_cast<std::size_t>(lane)]; }
  /// Number of connections that the lane may have.
  std::size_t links_max(relay_lane lane) const;
  /// Whether one more request that may wait would leave too few connections to the others.
  bool too_many_wait();
  void carry_next(link& l);
  std::optional<std::size_t> reachable_server(monotonic_time now) const;
  link* find(const server_connection& c);
  void connection_ready(server_connection& c);
  void connection_closed(server_connection& c, const std::string& why);
  void forget(call& c);
  void give_up_late(monotonic_time now);
  /// Whether the link leads to another server than the current one.
  bool is_elsewhere(const link& l) const;
  void close_idle(monotonic_time now);
  /// Fails or retries the requests to servers that do not respond.
  void leave_standing(monotonic_time now);
  void server_failed(const std::string& address, const std::string& why);
  /// If that one is in use, switches to the next one. No effect if there is no other.
  void leave(const std::string& address, const std::string& why);
  void beat(monotonic_time now);
  header_list proof_of_node() const;
  void beaten(int status, const std::string& what);
  void complain(monotonic_time now);
  std::string why_not_reached() const;
  void wait_until_received(std::function<void(std::string)> then);
  void respond_to_joins(const std::string& why);
  void give_up_joins(monotonic_time now);
  bool lists(const std::string& address) const;
  void report_servers();
  void ask_for_servers();
  void take_servers(const std::string& json);
  void report_answers(bool answers);

  relay_loop& loop_;
  server_relay_settings settings_;
  seeded_random random_;
  name_lookups names_;
  relay_loop::timer timer_, leave_timer_;
  std::string hello_;

  std::vector<server> servers_;
  std::size_t preferred_ = 0;
  std::list<link> links_;
  server_heartbeats heartbeats_;
  std::list<std::shared_ptr<server_connection>> joining_;
  std::string last_failure_;
  std::array<std::deque<call*>, 3> waiting_; ///< for a connection, by relay_lane

  std::unique_ptr<question> beat_, listing_, leaving_;
  monotonic_time next_beat_{}, beat_due_{}, next_listing_{}, next_rebalance_{};
  monotonic_time contact_at_{}, next_complaint_{}; ///< last successful heartbeat, or the start
  std::string beat_failure_;
  bool refused_ = false; ///< by the leader, as an unknown agent
  struct joined {
    std::function<void(std::string)> then;
    monotonic_time deadline;
  };
  std::vector<joined> joined_; ///< waiting until the servers have received a heartbeat
  std::optional<bool> answers_;
  bool stopping_ = false;
  std::shared_ptr<const char> alive_ = std::make_shared<const char>(); ///< for callbacks that run later
};

} // namespace belay::actors
