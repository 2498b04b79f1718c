#pragma once
// Connections to the other nodes, on CAF's multiplexer. Each node dials every other one: it sends on the connection it
// has dialled and listens on those it has accepted. So within the life of a connection frames arrive in the order in
// which they were sent, and a new connection is seen as one by both sides (docs/adr/0002).

#include "actors/interfaces.hpp"
#include "actors/telemetry/metrics.hpp"

#include <caf/io/broker.hpp>

#include <map>
#include <string>
#include <unordered_map>

namespace belay::actors {

struct peer_link_settings {
  std::string listen_host;
  std::uint16_t listen_port = 0;
  std::uint64_t seed = 1;
  std::chrono::milliseconds dial_deadline{1000};
  std::chrono::milliseconds silence_limit{
      3000}; ///< unacknowledged data for so long ends a connection (TCP_USER_TIMEOUT)
  /// A peer that has not even said its hello, which is due every second, for so long is lost: a machine without power
  /// closes nothing.
  std::chrono::milliseconds hello_limit{10'000};
  std::size_t unsent_bytes_max = 32u << 20; ///< to one peer; frames beyond are dropped, as by a bad network
};

/// Opens the listening socket for peers.
/// @returns the descriptor, or a failure that says what to do (address in use, not this host's).
result<int> listen_for_peers(const peer_link_settings& s);

/// Sends frames to whom it can and drops the others: Raft and protocol/forward expect loss. Never blocks: it connects
/// without waiting.
class peer_link : public caf::io::broker {
public:
  /// `listener` from listen_for_peers.
  peer_link(caf::actor_config& config, wiring_ptr wires, peer_link_settings settings, int listener, node_id self,
            metrics& m);

  caf::behavior make_behavior() override;

private:
  enum class dial_state : std::uint8_t { idle, connecting, up };

  struct outgoing {
    std::string address;
    dial_state state = dial_state::idle;
    int fd = -1; ///< of the connection, or of the attempt; CAF's as soon as it is up
    caf::io::connection_handle handle;
    monotonic_time next_event{}; ///< idle: dial again; connecting: give up
    int failures = 0;
    node_id peer;           ///< whoever introduced itself with this address; zero: nobody yet
    std::size_t unsent = 0; ///< handed to CAF
    std::string fresh;      ///< frames not handed to anybody yet; empty between calls
    bool wanted = true;     ///< named by dial_peers, or met
  };
  struct incoming {
    wire::frame_decoder decoder;
    node_id peer;
    std::size_t read_max = 0; ///< bytes at once
    int silent_ticks = 0;     ///< not time: while this node stood still nobody could be heard
  };

  void on_tick();
  void dial(outgoing& o);
  void finish_dial(outgoing& o);
  void dialled(outgoing& o);
  void dial_failed(outgoing& o, const char* why);
  void disconnect(outgoing& o);
  void on_data(const caf::io::new_data_msg& msg);
  void drop_earlier_connections(node_id peer);
  void drop_silent_connections();
  void on_hello(incoming& in, const wire::hello& h);
  void hang_up(caf::io::connection_handle handle);
  void on_closed(caf::io::connection_handle handle);
  void send_to_peers(send_frames& frames);
  void write_hello(outgoing& o);
  void transmit(outgoing& o);

  wiring_ptr wires_;
  peer_link_settings settings_;
  int listener_;
  node_id self_;
  metrics& metrics_;
  seeded_random random_;
  wire::hello hello_;
  monotonic_time next_hello_{};
  bool ticking_ = false; ///< a tick is on its way
  bool stopping_ = false;
  std::map<std::string, outgoing> outgoing_; ///< by address
  std::unordered_map<node_id, std::string> address_of_;
  std::map<caf::io::connection_handle, incoming> incoming_;
};

} // namespace belay::actors
