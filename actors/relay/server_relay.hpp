#pragma once
// A client agent's way to the servers: which of them it asks, over which connections, and whether they know that it lives. It keeps to
// one server as long as that one answers, and tells it every second that this agent is there.

#include "actors/names/name_lookups.hpp"
#include "actors/relay/server_connection.hpp"
#include "actors/relay/server_pulses.hpp"
#include "actors/tls/credential_store.hpp"
#include "protocol/base/random.hpp"
#include "protocol/wire/frame_codec.hpp"

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
  wire::hello introduction;            ///< of this agent
  std::string secret_of_node{};        ///< proves that the node is its own (agent_secret.hpp); empty: it proves nothing
  std::vector<std::string> servers;    ///< host:port, to begin with; always tried
  std::vector<std::string> remembered; ///< and these, until the servers name others
  std::shared_ptr<tls::credential_store> credentials = std::make_shared<tls::credential_store>();
  std::chrono::milliseconds hold{7000}; ///< a request waits so long for a server that can be reached
  std::size_t connections_max = 4096;   ///< requests beyond that wait for one
  std::size_t waiting_max = 4096;       ///< and these beyond that are refused
  std::uint64_t seed = 1;
  name_lookups::lookup look_up = name_lookups::system_lookup();
  /// Told of each change: whether the servers answer and have a leader.
  std::function<void(bool)> cluster_answers;
  /// Told of the servers that are asked from now on, when these are others than before: host:port.
  std::function<void(const std::vector<std::string>&)> servers_changed;
};

class server_relay final : public request_relay {
public:
  /// @param loop outlives it
  server_relay(relay_loop& loop, server_relay_settings settings);
  ~server_relay() override;

  void start();
  /// Tells the servers that this agent leaves, if it does; then, or when nobody answers in time, `then` is called. Nobody is told that it is
  /// there from now on.
  void stop(bool leaves, std::function<void()> then);

  std::unique_ptr<relayed_call> begin(relayed_request r, answer_listener& listener) override;
  void later(std::function<void()> what) override;
  /// Asks that server, too, from now on, if it can be reached. @param then is told why not, as Go would say it, or why the servers do not
  ///   take this agent; empty: they know that it is there
  void join(const std::string& address, std::function<void(std::string)> then);
  bool cluster_answers() const { return answers_ == true; }

private:
  class call;
  class question;

  struct server {
    std::string address; ///< host:port
    monotonic_time not_before{};
    bool named = false; ///< in the configuration: never forgotten
  };

  struct link {
    std::shared_ptr<server_connection> connection;
    call* carries = nullptr; ///< null: none
    bool dialling = true;
    monotonic_time since; ///< it was dialled, or had its last request
  };

  void tick_later();
  void tick();
  void serve_waiting();
  void dial();
  std::optional<std::size_t> reachable_server(monotonic_time now) const;
  link* find(const server_connection& c);
  void connection_ready(server_connection& c);
  void connection_closed(server_connection& c, const std::string& why);
  void forget(call& c);
  void give_up_late(monotonic_time now);
  /// To another server than the one that is asked now.
  bool is_elsewhere(const link& l) const;
  void close_idle(monotonic_time now);
  /// What servers that stand still were asked fails, or is asked again elsewhere.
  void leave_standing(monotonic_time now);
  void server_failed(const std::string& address, const std::string& why);
  /// If that one is asked now, the next one is from here on. Nothing happens if there is no other.
  void leave(const std::string& address, const std::string& why);
  void beat(monotonic_time now);
  header_list proof_of_node() const;
  void beaten(int status, const std::string& what);
  void complain(monotonic_time now);
  void wait_until_heard(std::function<void(std::string)> then);
  void tell_joined(const std::string& why);
  void give_up_joins(monotonic_time now);
  bool knows(const std::string& address) const;
  void say_servers();
  void ask_for_servers();
  void take_servers(const std::string& json);
  void say(bool answers);

  relay_loop& loop_;
  server_relay_settings settings_;
  seeded_random random_;
  name_lookups names_;
  relay_loop::timer timer_, leave_timer_;
  std::string introduction_;

  std::vector<server> servers_;
  std::size_t preferred_ = 0;
  std::list<link> links_;
  server_pulses pulses_;
  std::list<std::shared_ptr<server_connection>> joining_;
  std::string last_failure_;
  std::deque<call*> waiting_;

  std::unique_ptr<question> beat_, listing_, leaving_;
  monotonic_time next_beat_{}, beat_due_{}, next_listing_{}, next_rebalance_{};
  monotonic_time heard_at_{}, next_complaint_{}; ///< the servers heard this agent, or it began
  std::string beat_failure_;
  bool refused_ = false; ///< by the leader, who would have to know it
  struct joined {
    std::function<void(std::string)> then;
    monotonic_time deadline;
  };
  std::vector<joined> joined_; ///< wait until the servers have heard this agent
  std::optional<bool> answers_;
  bool stopping_ = false;
  std::shared_ptr<const char> alive_ = std::make_shared<const char>(); ///< for what is called later
};

} // namespace belay::actors
