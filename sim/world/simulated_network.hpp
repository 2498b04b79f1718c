#pragma once
// The wires between simulated nodes. Frames travel as the bytes that peer_link would send, on connections that are made,
// break and are made again; a fault may delay, lose, duplicate and reorder what Raft itself must be able to miss.

#include "actors/interfaces.hpp"
#include "sim/world/schedule.hpp"

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace belay::sim {

/// Drawn once per run; all zero: a perfect network.
struct network_faults {
  virtual_time latency{std::chrono::microseconds(100)};
  std::uint32_t lost_per_million = 0;       ///< of Raft messages; all other frames are lost with their connection only
  std::uint32_t duplicated_per_million = 0; ///< of Raft messages
  std::uint32_t delayed_per_million = 0;    ///< by up to latencies_late_max; what follows on the connection waits, too
  std::uint32_t reordered_per_million = 0;  ///< of Raft messages: overtaken by what follows
  virtual_time redial{std::chrono::milliseconds(30)};
  /// A connection whose peer cannot be heard so long is given up.
  virtual_time silence{std::chrono::seconds(1)};

  static constexpr int latencies_late_max = 200;
};

class simulated_network {
public:
  simulated_network(schedule& time, tape& choices, event_trace& trace) : time_(time), tape_(choices), trace_(trace) {}

  network_faults faults;

  /// What becomes of a connection that is asked for.
  struct admission {
    bool in = true;
    bool encrypted = false; ///< and by credentials
  };
  /// Asked of both directions of each new connection: without one there is none. Null: everybody is let in, in the clear.
  std::function<admission(std::size_t dialler, std::size_t accepter, const wire::hello& hello)> let_in;

  /// The node says hello: connections with everybody it can reach are made or kept, and told of the news.
  void announce(std::size_t node, node_id id, actors::raft_peer_actor peer, const wire::hello& hello);
  void send(std::size_t from, const actors::send_frames& frames);
  /// Its process is gone. The others notice at once, or (`power`: nothing said goodbye) after the silence.
  void gone(std::size_t node, bool power);

  /// Nothing gets through in that direction. Without a heal before the silence is over, the connection breaks.
  void cut(std::size_t from, std::size_t to);
  void mend(std::size_t from, std::size_t to);
  /// From now on each frame in that direction takes so much longer; zero: no longer than others.
  void slow_down(std::size_t from, std::size_t to, virtual_time extra) { slowed_[{from, to}] = extra; }
  void forget_slowness() { slowed_.clear(); }
  bool is_cut(std::size_t from, std::size_t to) const;
  /// Both ends have a connection with each other.
  bool connected(std::size_t a, std::size_t b) const { return up_.contains(ordered(a, b)); }
  bool is_slowed(std::size_t from, std::size_t to) const;
  /// When the last frame arrives that is under way between these nodes now; zero: none ever was.
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
    std::uint64_t epoch = 0; ///< of the connection
    virtual_time last_arrival{0};
    bool encrypted = false;
    wire::frame_decoder decoder;
    std::vector<std::string> held; ///< sent while cut: arrives after a quick heal
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
  void tell(std::size_t node, node_id peer, bool up, bool encrypted = false);
  bool is_encrypted(std::size_t from, std::size_t to) const;
  bool speaks_to(std::size_t node, node_id peer) const;

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  std::map<std::size_t, end_point> ends_;
  std::map<std::size_t, node_id> last_ids_; ///< who spoke from there last
  std::map<pair, direction> directions_;
  std::map<pair, std::uint64_t> up_; ///< connected pairs, with the epoch
  std::set<pair> refused_;           ///< that will be tried again
  std::map<pair, virtual_time> cut_; ///< directions, since when
  std::map<pair, virtual_time> slowed_;
  std::uint64_t epochs_ = 0;
};

} // namespace belay::sim
