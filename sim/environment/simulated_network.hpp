#pragma once
// The network between simulated nodes. Frames travel as the bytes that peer_link would send. Faults
// break connections, and delay, lose, duplicate and reorder what Raft must tolerate.

#include "actors/interfaces.hpp"
#include "sim/environment/schedule.hpp"

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace belay::sim {

/// Drawn once per run; all zero: a perfect network.
struct network_faults {
  virtual_time latency{std::chrono::microseconds(100)};
  std::uint32_t lost_per_million = 0;       ///< Raft messages; other frames are lost with their connection only
  std::uint32_t duplicated_per_million = 0; ///< Raft messages
  std::uint32_t delayed_per_million = 0;    ///< by up to latencies_late_max; later frames on the connection wait, too
  std::uint32_t reordered_per_million = 0;  ///< Raft messages that later frames overtake
  virtual_time redial{std::chrono::milliseconds(30)};
  /// A connection that receives nothing for this long is closed.
  virtual_time silence{std::chrono::seconds(1)};

  static constexpr int latencies_late_max = 200;
};

class simulated_network {
public:
  simulated_network(schedule& time, tape& choices, event_trace& trace) : time_(time), tape_(choices), trace_(trace) {}

  network_faults faults;

  /// The result of a connection attempt.
  struct admission {
    bool in = true;
    bool encrypted = false; ///< and authenticated by credentials
  };
  /// Decides about each direction of a new connection, which needs both. Null: all, without TLS.
  std::function<admission(std::size_t dialler, std::size_t accepter, const wire::hello& hello)> let_in;

  /// Sends the node's hello: it connects to all nodes in reach, or notifies them of the change.
  void announce(std::size_t node, node_id id, actors::raft_peer_actor peer, const wire::hello& hello);
  void send(std::size_t from, const actors::send_frames& frames);
  /// Its process has ended. The others notice at once or, if `power`, after the silence.
  void gone(std::size_t node, bool power);

  /// Nothing gets through in that direction. Connections break if that outlasts the silence.
  void cut(std::size_t from, std::size_t to);
  void mend(std::size_t from, std::size_t to);
  /// Each frame in that direction takes that much longer from now on; zero: no longer than usual.
  void slow_down(std::size_t from, std::size_t to, virtual_time extra) { slowed_[{from, to}] = extra; }
  void forget_slowness() { slowed_.clear(); }
  bool is_cut(std::size_t from, std::size_t to) const;
  /// Whether both ends have a connection with each other.
  bool connected(std::size_t a, std::size_t b) const { return up_.contains(ordered(a, b)); }
  bool is_slowed(std::size_t from, std::size_t to) const;
  /// When the last frame now in flight between these nodes arrives; zero: there never was one.
  virtual_time last_arrival_among(const std::set<std::size_t>& nodes) const;
  /// Both ends see the connection break, and make a new one.
  void reset(std::size_t a, std::size_t b);

private:
  struct end_point {
    node_id id;
    actors::raft_peer_actor peer;
    wire::hello hello;
  };
  struct direction {
    std::uint64_t epoch = 0; ///< epoch of the connection
    virtual_time last_arrival{0};
    bool encrypted = false;
    wire::frame_decoder decoder;
    std::vector<std::string> held; ///< sent while cut; arrives if the cut is mended soon
  };
  using pair = std::pair<std::size_t, std::size_t>;

  static pair ordered(std::size_t a, std::size_t b) { return std::minmax(a, b); }
  void dial(std::size_t a, std::size_t b);
  bool may_connect(std::size_t a, std::size_t b, std::map<pair, bool>& encrypted);
  void connect(std::size_t a, std::size_t b);
  void disconnect(std::size_t a, std::size_t b);
  void forget(std::size_t node, node_id id, std::size_t other, std::uint64_t epoch);
  void write(std::size_t from, std::size_t to, const wire::frame& f);
  void travel(std::size_t from, std::size_t to, std::string bytes, virtual_time delay, bool in_order);
  void arrive(std::size_t from, std::size_t to, const std::string& bytes);
  void notify(std::size_t node, node_id peer, bool up, bool encrypted = false);
  bool is_encrypted(std::size_t from, std::size_t to) const;
  bool speaks_to(std::size_t node, node_id peer) const;

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  std::map<std::size_t, end_point> ends_;
  std::map<std::size_t, node_id> last_ids_; ///< the last id that each node sent with
  std::map<pair, direction> directions_;
  std::map<pair, std::uint64_t> up_; ///< connected pairs, with the epoch
  std::set<pair> refused_;           ///< that will be tried again
  std::map<pair, virtual_time> cut_; ///< directions, with the time since which they are cut
  std::map<pair, virtual_time> slowed_;
  std::uint64_t epochs_ = 0;
};

} // namespace belay::sim
