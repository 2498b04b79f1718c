#pragma once
// Connections to the other nodes, on CAF's multiplexer. Each node dials every other one: it sends
// on connections that it dialled and receives on those it accepted. So within one connection frames
// arrive in the order they were sent, and both sides see a new connection as one (docs/internals/adr/0002).

#include "actors/actor_context.hpp"
#include "actors/consensus/multiplexer_host.hpp"
#include "actors/consensus/peer_queue.hpp"
#include "actors/consensus/pending_connections.hpp"
#include "actors/interfaces.hpp"
#include "actors/log_rate_limiter.hpp"
#include "actors/names/name_lookups.hpp"
#include "actors/telemetry/metrics.hpp"
#include "actors/tls/credential_store.hpp"

#include <caf/io/broker.hpp>

#include <map>
#include <set>
#include <string>
#include <unordered_map>

namespace belay::actors {

struct peer_link_settings {
  std::string listen_host;
  std::uint16_t listen_port = 0;
  std::uint64_t seed = 1;
  std::chrono::milliseconds dial_deadline{1000};
  /// Unacknowledged data for this long ends a connection (TCP_USER_TIMEOUT).
  std::chrono::milliseconds silence_limit{3000};
  /// A peer is lost if it has sent nothing for this long; its hello is due every second. A machine
  /// without power closes no connections.
  std::chrono::milliseconds hello_limit{10'000};
  std::size_t unsent_bytes_max = 32u << 20; ///< to one peer; further frames are dropped, as by a bad network
  pending_limits pending;
  /// Connections of servers that are not members and have no credentials; each is dialled back.
  std::size_t unverified_max = 64;
  /// Limits for unverified servers (no members, no credentials): bytes of one frame, and of all
  /// unfinished ones.
  std::size_t unverified_frame_max = 64u << 10;
  std::size_t unverified_bytes_max = 64u << 20;
  /// Bytes read per second from such a server.
  std::size_t unverified_bytes_per_second = 1u << 20;
  std::shared_ptr<tls::credential_store> credentials = std::make_shared<tls::credential_store>();
  /// Takes over the connection of a client agent. Null: client agents are rejected.
  std::function<void(identified_peer)> client_agent;
  name_lookups::lookup look_up = name_lookups::system_lookup();
  multiplexer_host* host = nullptr; ///< the host of this actor; it outlives the actor
};

/// Opens the listening socket for peers.
/// @returns the descriptor, or a failure that says what to do (address in use, not this host's).
result<int> listen_for_peers(const peer_link_settings& s);

/// Sends frames to connected peers and drops the others: Raft and protocol/forward expect
/// loss. Never blocks: it connects asynchronously.
class peer_link : public caf::io::broker {
public:
  /// `listener` comes from listen_for_peers; it is closed when this actor stops.
  peer_link(caf::actor_config& config, node_actors_ptr node_actors, peer_link_settings settings, int listener,
            node_id self, metrics& m);
  ~peer_link() override;

  caf::behavior make_behavior() override;

  multiplexer_host* host() const { return settings_.host; }

private:
  enum class dial_state : std::uint8_t { idle, connecting, shaking_hands, up };

  struct outgoing {
    explicit outgoing(std::string where, std::size_t unsent_max) : address(std::move(where)), queue(unsent_max) {}

    std::string address;
    dial_state state = dial_state::idle;
    int fd = -1; ///< socket of the connection or the attempt; owned by CAF once up
    caf::io::connection_handle handle;
    std::optional<tls::channel> channel; ///< none: without TLS
    monotonic_time next_event{};         ///< idle: dial again; connecting, shaking hands: give up
    monotonic_time up_since{};
    int failures = 0;
    std::string complaint;      ///< logged last, until a connection lasts
    node_id peer;               ///< the server that announced this address; zero: none yet
    std::string name;           ///< name of `peer`, as announced last
    bool loss_unlogged = false; ///< the loss of a connection is not logged yet; the next line about it reports it
    std::size_t unsent = 0;     ///< passed to CAF
    peer_queue queue;           ///< not passed to CAF yet
    std::string fresh;          ///< bytes to pass to CAF; empty between calls
    bool awaited = false;       ///< raft_peer waits for the result of dialling
    bool named = false;         ///< by dial_peers; otherwise an unverified peer's, dropped with it
    bool confirmed = false;     ///< `peer` has announced this address since this connection is up
  };
  struct incoming {
    wire::frame_decoder decoder;
    node_id peer;
    std::string name;             ///< as announced last
    std::uint64_t cluster_id = 0; ///< as announced last
    monotonic_time since{};
    std::string from;                    ///< host, as a numeric address
    std::optional<tls::channel> channel; ///< none: without TLS
    std::size_t read_max = 0;            ///< bytes per read
    std::size_t credit = 0;              ///< bytes that may be read from an unverified peer in this second
    bool halted = false;
    std::chrono::nanoseconds silent{0}; ///< in ticks, not time: a paused node receives nothing
  };
  using incoming_map = std::map<caf::io::connection_handle, incoming>;

  // peer_link.cpp
  void on_tick();
  void sleep_until_due();
  /// Schedules a tick for work that may wait 20 ms, and no longer.
  void tick_soon();
  void on_data(const caf::io::new_data_msg& msg);
  bool take_frames(caf::io::connection_handle handle, incoming& in, std::string_view bytes,
                   std::optional<wire::frame> first = std::nullopt);
  void admit(identified_peer p);
  void pass_on_client_agent(identified_peer p);
  bool take_for_own(const identified_peer& p);
  std::string objection_to(const identified_peer& p);
  bool has_slot_for(const identified_peer& p);
  bool one_gives_way_to(const std::string& host, bool from_there);
  void drop_earlier_connections(node_id peer);
  void drop_silent_connections(std::chrono::nanoseconds passed);
  void refill_unverified();
  std::size_t frame_limit(const incoming& in) const;
  bool is_unproved(const incoming& in) const;
  bool is_unverified(const incoming& in) const;
  bool unverified_are_too_many(const incoming& in) const;
  void on_hello(incoming& in, const wire::hello& h, bool first);
  void leave(caf::io::connection_handle handle);
  void hang_up(caf::io::connection_handle handle);
  void on_closed(caf::io::connection_handle handle);
  void on_accepted_closed(incoming_map::iterator it);
  void on_dial_peers(const dial_peers& d);
  void dial_at_once(const std::string& address);
  void forget_unverified(node_id peer);
  void vacate(const std::string& address, node_id peer);
  bool lives_rather_at(const std::string& host, const std::string& other, node_id member) const;
  bool is_reachable(node_id peer) const;
  bool may_log_about(const incoming& in, const std::string& what);
  void complain(const std::string& address, const std::string& why, const char* event);

  // peer_link_dialling.cpp
  outgoing& towards(const std::string& address);
  bool is_reached_otherwise(const outgoing& o, const socket_endpoint& meant) const;
  void dial(outgoing& o);
  void finish_dial(outgoing& o);
  void shake_hands(outgoing& o);
  void dialled(outgoing& o);
  void dial_failed(outgoing& o, const std::string& why, bool may_pass = false);
  void notify_dialled(outgoing& o, std::string error);
  void cannot_reach(outgoing& o, const std::string& why);
  void back_off(outgoing& o);
  void on_answer(outgoing& o, std::string_view bytes);
  void lost(outgoing& o);
  void disconnect(outgoing& o);
  void send_to_peers(send_frames& frames);
  void write_hello(outgoing& o);
  void transmit(outgoing& o);

  node_actors_ptr node_actors_;
  peer_link_settings settings_;
  int listener_;
  node_id self_;
  metrics& metrics_;
  seeded_random random_;
  pending_connections pending_;
  name_lookups names_;
  /// Limits log lines: the first one those about unverified peers, the second one those about known
  /// hosts and peers to dial.
  log_rate_limiter log_limit_, log_limit_of_known_;
  wire::hello hello_;
  std::vector<identified_peer> early_agents_; ///< client agents that connected before this server knew its own role
  monotonic_time next_hello_{};
  wake_ups wake_ups_{wake_ups::begun::by_others};
  bool ticking_ = false; ///< a tick is scheduled
  bool stopping_ = false;
  std::chrono::nanoseconds sleep_{0}; ///< longest time that may pass until this tick
  monotonic_time ticked_at_{};
  std::map<std::string, outgoing> outgoing_; ///< by address
  std::unordered_map<node_id, std::string> address_of_;
  /// Members of the configuration with all hosts it named for them, first to last; empty: none yet.
  std::map<node_id, std::vector<std::string>> members_;
  incoming_map incoming_;
  std::vector<caf::io::connection_handle> leaving_; ///< closed at the next tick
};

} // namespace belay::actors
