#pragma once
// The clients of a simulated cluster: who asks what at which node and when, and the record of all that was asked and
// answered. Checkers (sim/checkers) judge the answers; the nemesis (sim/faults) disturbs the nodes meanwhile.

#include "sim/checkers/reply_checker.hpp"
#include "sim/checkers/session_checker.hpp"
#include "sim/checkers/watch_checker.hpp"
#include "sim/clients/lock_client.hpp"
#include "sim/record/history.hpp"
#include "sim/world/cluster.hpp"

#include <deque>
#include <map>
#include <memory>
#include <set>

namespace belay::sim {

/// Clients are actors: they ask one thing after the other, each at a node of their choice, by the messages that the
/// gateway sends.
class workload {
public:
  workload(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s, reply_checker& replies,
           watch_checker& watches, session_checker& sessions);

  void start();
  /// No new operations of the ordinary kind from now on; watches go on.
  void stop_writing() { writing_ = false; }

  /// One put of a value never written before, at that node, outside of the clients' own pace. @returns its id
  std::uint64_t put(std::size_t node, const std::string& key);
  std::uint64_t read(std::size_t node, const std::string& key, http::consistency mode);
  const operation& find(std::uint64_t id) const { return history_[id - 1]; }
  const std::deque<operation>& history() const { return history_; }
  /// Nobody begins anything but blocking queries before then.
  void keep_quiet(virtual_time until) { quiet_until_ = until; }
  std::vector<std::string> keys() const;
  /// Blocking queries that wait at that node.
  std::vector<std::uint64_t> parked_at(std::size_t node) const;

  void on_answer(std::size_t node, int life, const client_answer& a);
  /// The node holds that blocking query.
  void on_parked(std::size_t node, request_id id);
  void on_node_gone(std::size_t node);

  /// Told of each operation when it begins, and when it has ended: for checkers of whole runs.
  std::function<void(const operation&)> begun, ended;

  /// The first broken rule.
  const std::optional<std::pair<std::string, std::string>>& complaint() const { return complaint_; } ///< checker, text
  std::chrono::nanoseconds longest_write_gap() const;

private:
  /// An archive that a client saves or restores, by the messages that the gateway sends for it.
  struct transfer {
    std::uint64_t serial = 0;
    std::size_t node = 0;
    int life = 0;
    request_id asked;   ///< what it waits for; zero: for an operation
    request_id archive; ///< by which the node knows it
    log_index known;    ///< of a save: what must be in it
    bool restores = false;
    std::string bytes; ///< saved so far, or to be restored
    // of a restore
    std::string id;
    std::size_t given = 0, piece_bytes = 0;
    bool damaged = false;
    bool begun = false; ///< something of it may be in the log
    state::command part;
    bool commits = false; ///< that part
    std::size_t tries = 0;
  };

  struct client_state {
    caf::actor self;
    std::size_t number = 0;
    bool watches = false;
    std::optional<lock_client> locks;
    // of a counter: what it read last
    std::string counted_key;
    log_index counted_at;
    std::uint64_t counted = 0;
    // of a watcher: what it waits for
    state::query watched = state::kv_get{};
    std::uint64_t seen_index = 0;
    std::size_t home = 0; ///< node of its choice
    http::consistency mode = http::consistency::normal;
    std::uint64_t pending = 0;
    std::optional<transfer> moving;
  };
  using address = std::tuple<std::size_t, int, request_id>; ///< node, life, id

  void turn(client_state& c);
  void write_turn(client_state& c, std::uint64_t drawn);
  void watch_turn(client_state& c, std::uint64_t drawn);
  void lock_turn(client_state& c, std::uint64_t drawn);
  void next_turn(client_state& c, virtual_time in);
  void finished(client_state& c, const operation& o);
  caf::actor spawn_client(std::size_t number);

  // workload_snapshots.cpp
  void begin_save(client_state& c, std::size_t node);
  void begin_restore(client_state& c, std::size_t node, std::uint64_t drawn);
  request_id ask_about(client_state& c);
  void unpack_more(client_state& c);
  void propose_part(client_state& c);
  void part_decided(client_state& c, const operation& o);
  void end_transfer(client_state& c, bool tell_node);
  bool for_transfer(std::size_t node, int life, const client_answer& a);
  void transfers_lost(std::size_t node);

  std::string key(std::uint64_t n) const;
  payload fresh_value(std::uint64_t number);
  state::kv_op op(state::kv_verb verb, std::string key);
  std::optional<std::size_t> some_node(std::uint64_t drawn) const;
  std::uint64_t ask(std::size_t client, std::size_t node, std::optional<state::command> write,
                    std::optional<http::read_request> read, std::optional<session_renewal> renewal = {},
                    virtual_time delay = {}); ///< of a lock that is asked for when it is over
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
  session_checker& sessions_;
  known_sessions sessions_asked_for_;
  std::deque<client_state> clients_;
  std::deque<operation> history_; ///< by id
  std::map<address, std::uint64_t> pending_;
  std::deque<std::string> archives_; ///< the last few that were saved
  std::uint64_t transfers_ = 0;
  bool writing_ = true;
  virtual_time quiet_until_{0};
  virtual_time last_write_done_{0}, longest_gap_{0};
  std::optional<std::pair<std::string, std::string>> complaint_;
};

} // namespace belay::sim
