#pragma once
// The clients of a simulated cluster: what they request, where and when, and the history of all of
// it. Checkers (sim/checkers) check the responses; the nemesis (sim/faults) disturbs nodes.

#include "sim/checkers/answer_times.hpp"
#include "sim/checkers/claims/wait_checker.hpp"
#include "sim/checkers/reply_checker.hpp"
#include "sim/checkers/session_checker.hpp"
#include "sim/checkers/watch_checker.hpp"
#include "sim/clients/acl_client.hpp"
#include "sim/clients/catalog_client.hpp"
#include "sim/clients/claims_client.hpp"
#include "sim/clients/http_messages.hpp"
#include "sim/clients/lock_client.hpp"
#include "sim/clients/once_client.hpp"
#include "sim/environment/cluster.hpp"
#include "sim/record/history.hpp"

#include <deque>
#include <map>
#include <memory>
#include <set>

namespace belay::sim {

/// Clients are actors. Each sends one HTTP request after the other, to nodes that it chooses.
class workload {
public:
  workload(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s, reply_checker& replies,
           watch_checker& watches, wait_checker& waits, session_checker& sessions, answer_time_checker& times);

  void start();
  /// From now on there are no new operations of the ordinary kind; watches continue.
  void stop_writing();

  /// Puts a new value at that node, besides the clients' own operations. @returns its id
  std::uint64_t put(std::size_t node, const std::string& key);
  std::uint64_t read(std::size_t node, const std::string& key, http::consistency mode);
  /// Renews a session that never existed; only a leader with a lease or a quorum can reject it.
  std::uint64_t renew_unknown(std::size_t node);
  const operation& find(std::uint64_t id) const { return history_[id - 1]; }
  const std::deque<operation>& history() const { return history_; }
  /// Clients begin nothing but blocking queries before `until`.
  void keep_quiet(virtual_time until) { quiet_until_ = until; }
  std::vector<std::string> keys() const;
  /// Blocking queries that wait at that node.
  std::vector<std::uint64_t> parked_at(std::size_t node) const;
  /// Whether some write has no response yet, e.g. an acquire that waits for the end of a lock
  /// delay.
  bool writes_wait() const;

  /// A node's gateway has received a result; the response to the client follows from it.
  void on_notified(std::size_t node, const client_answer& a);
  /// Bytes of a response. @returns false: the client has its response, or has given up
  bool on_bytes(connection_id c, std::string_view bytes, bool last);
  /// The node has parked that blocking query.
  void on_parked(std::size_t node, request_id id);
  void on_node_gone(std::size_t node);

  /// Called with each operation when it begins, and when it has ended: for checkers of whole runs.
  std::function<void(const operation&)> begun, ended;
  /// Called before a client disconnects from an operation without a response.
  std::function<void(const operation&)> left;

  /// The first broken rule.
  const std::optional<std::pair<std::string, std::string>>& complaint() const { return complaint_; } ///< checker, text
  std::chrono::nanoseconds longest_write_gap() const;

private:
  /// An archive that a client saves or restores.
  struct transfer {
    connection_id connection = 0;
    std::size_t node = 0;
    int life = 0;
    log_index known; ///< the highest index known to any client when it began
    bool restores = false;
    std::string bytes; ///< to be restored
    std::size_t given = 0, piece_bytes = 0;
    bool damaged = false;
    std::string answer; ///< as far as received
  };
  /// An operation without a response.
  struct waiting {
    std::string answer; ///< as far as received
    std::optional<write_decision> decided;
  };

  struct client_state {
    caf::actor self;
    std::size_t number = 0;
    bool watches = false;
    std::optional<lock_client> locks;
    std::optional<acl_client> access;
    std::optional<claims_client> claims;
    std::optional<once_client> once;
    // counter: what it read last
    std::string counted_key;
    log_index counted_at;
    std::uint64_t counted = 0;
    // watcher: what it waits for
    state::query watched = state::kv_get{};
    std::uint64_t seen_index = 0;
    std::size_t home = 0; ///< node of its choice
    http::consistency mode = http::consistency::normal;
    std::uint64_t pending = 0;
    std::optional<transfer> moving;
  };

  void step(client_state& c);
  void write_step(client_state& c, std::uint64_t drawn);
  void watch_step(client_state& c, std::uint64_t drawn);
  void lock_step(client_state& c, std::uint64_t drawn);
  void renew_step(client_state& c);
  void access_step(client_state& c, std::uint64_t drawn);
  void claims_step(client_state& c, std::uint64_t drawn);
  void once_step(client_state& c, std::uint64_t drawn);
  /// The token of its next request.
  state::auth_context asker(std::size_t client, const std::optional<state::command>& write);
  virtual_time think_time() const;
  void schedule_step(client_state& c, virtual_time in);
  void finished(client_state& c, const operation& o);
  caf::actor spawn_client(std::size_t number);

  // In workload_snapshots.cpp.
  void begin_save(client_state& c, std::size_t node);
  void begin_restore(client_state& c, std::size_t node, std::uint64_t drawn);
  transfer& begin_transfer(client_state& c, std::size_t node);
  void give_piece(std::size_t client, connection_id connection);
  void end_transfer(client_state& c, bool hang_up);
  client_state* client_of(connection_id connection);
  bool transfer_bytes(client_state& c, std::string_view bytes, bool last);
  void saved(client_state& c, const http_answer& a);
  void restored(client_state& c, const http_answer& a);
  void archive_received(std::size_t node, const actors::archive_unpacked& u);
  void transfers_lost(std::size_t node);

  std::string key(std::uint64_t n) const;
  payload fresh_value(std::uint64_t number);
  state::kv_op op(state::kv_verb verb, std::string key);
  std::optional<std::size_t> some_node(std::uint64_t drawn) const;
  std::uint64_t ask(std::size_t client, std::size_t node, std::optional<state::command> write,
                    std::optional<http::read_request> read, std::optional<session_renewal> renewal = {},
                    virtual_time delay = {}, ///< delay of a lock that is requested when it is over
                    virtual_time leaves_after = {});
  void give_up(std::uint64_t id, const std::string& why);
  void finish(operation& o);
  void complain(const char* checker, const broken& b);

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  swarm swarm_;
  reply_checker& replies_;
  watch_checker& watches_;
  wait_checker& waits_;
  session_checker& sessions_;
  answer_time_checker& times_;
  known_sessions sessions_requested_for_;
  known_access access_;
  std::deque<client_state> clients_;
  catalog_client catalog_;
  std::deque<operation> history_;            ///< by id
  std::map<std::uint64_t, waiting> pending_; ///< by operation, which is also its connection's number
  std::deque<std::string> archives_;         ///< the last few that were saved
  connection_id transfers_ = counted_from(connections_of::archive_transfers);
  bool writing_ = true;
  virtual_time quiet_until_{0};
  virtual_time last_write_done_{0}, longest_gap_{0};
  std::optional<std::pair<std::string, std::string>> complaint_;
};

} // namespace belay::sim
