#pragma once
// Connections to the other nodes, on CAF's multiplexer. Each node dials every other one: it sends on the connection it
// has dialled and listens on those it has accepted. So within the life of a connection frames arrive in the order in
// which they were sent, and a new connection is seen as one by both sides (docs/adr/0002).

#include "actors/consensus/multiplexer_host.hpp"
#include "actors/consensus/peer_lobby.hpp"
#include "actors/consensus/peer_queue.hpp"
#include "actors/interfaces.hpp"
#include "actors/log_brake.hpp"
#include "actors/names/name_lookups.hpp"
#include "actors/surroundings.hpp"
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
  std::chrono::milliseconds silence_limit{
      3000}; ///< unacknowledged data for so long ends a connection (TCP_USER_TIMEOUT)
  /// A peer that has not even said its hello, which is due every second, for so long is lost: a machine without power
  /// closes nothing.
  std::chrono::milliseconds hello_limit{10'000};
  std::size_t unsent_bytes_max = 32u << 20; ///< to one peer; frames beyond are dropped, as by a bad network
  lobby_limits lobby;
  /// Connections of servers that are no members and have no credentials; each is dialled back.
  std::size_t strangers_max = 64;
  /// A frame of a server that is no member of this one's cluster and has no credentials; and unfinished ones of all of these.
  std::size_t stranger_frame_max = 64u << 10;
  std::size_t stranger_bytes_max = 64u << 20;
  /// What is read a second of such a server.
  std::size_t stranger_bytes_per_second = 1u << 20;
  std::shared_ptr<tls::credential_store> credentials = std::make_shared<tls::credential_store>();
  /// Takes over a connection of a client agent. Null: they are refused
  std::function<void(introduced_peer)> client_agent;
  name_lookups::lookup look_up = name_lookups::system_lookup();
  multiplexer_host* host = nullptr; ///< the one on which it lives; it is there for longer
};

/// Opens the listening socket for peers.
/// @returns the descriptor, or a failure that says what to do (address in use, not this host's).
result<int> listen_for_peers(const peer_link_settings& s);

/// Sends frames to whom it can and drops the others: Raft and protocol/forward expect loss. Never blocks: it connects
/// without waiting.
class peer_link : public caf::io::broker {
public:
  /// `listener` from listen_for_peers; it is closed when this stops.
  peer_link(caf::actor_config& config, wiring_ptr wires, peer_link_settings settings, int listener, node_id self,
            metrics& m);
  ~peer_link() override;

  caf::behavior make_behavior() override;

  multiplexer_host* host() const { return settings_.host; }

private:
  enum class dial_state : std::uint8_t { idle, connecting, shaking_hands, up };

  struct outgoing {
    explicit outgoing(std::string where, std::size_t unsent_max) : address(std::move(where)), queue(unsent_max) {}

    std::string address;
    dial_state state = dial_state::idle;
    int fd = -1; ///< of the connection, or of the attempt; CAF's as soon as it is up
    caf::io::connection_handle handle;
    std::optional<tls::channel> channel; ///< none: without TLS
    monotonic_time next_event{};         ///< idle: dial again; connecting, shaking hands: give up
    monotonic_time up_since{};
    int failures = 0;
    std::string complaint;    ///< told last, until a connection lasts
    node_id peer;             ///< whoever introduced itself with this address; zero: nobody yet
    std::string name;         ///< of `peer`, as it said last
    bool loss_untold = false; ///< the log does not say yet that a connection was lost: it does with what comes next
    std::size_t unsent = 0;   ///< handed to CAF
    peer_queue queue;         ///< not handed to anybody yet
    std::string fresh;        ///< bytes about to be handed over; empty between calls
    bool awaited = false;     ///< raft_peer wants to know how dialling goes
    bool named = false;       ///< by dial_peers; else it is a stranger's, and goes with him
    bool confirmed = false;   ///< `peer` has said that it is here since this connection is up
  };
  struct incoming {
    wire::frame_decoder decoder;
    node_id peer;
    std::string name;             ///< as it said last
    std::uint64_t cluster_id = 0; ///< as it said last
    monotonic_time since{};
    std::string from;                    ///< host, in figures
    std::optional<tls::channel> channel; ///< none: without TLS
    std::size_t read_max = 0;            ///< bytes at once
    std::size_t credit = 0;              ///< bytes that may be read of a stranger until the next second
    bool halted = false;
    std::chrono::nanoseconds silent{0}; ///< of ticks, not time: while this node stood still nobody could be heard
  };
  using incoming_map = std::map<caf::io::connection_handle, incoming>;

  // peer_link.cpp
  void on_tick();
  void sleep_until_due();
  /// Something has to be done that may wait for 20 ms, and no longer.
  void tick_soon();
  void on_data(const caf::io::new_data_msg& msg);
  bool take_frames(caf::io::connection_handle handle, incoming& in, std::string_view bytes,
                   std::optional<wire::frame> first = std::nullopt);
  void admit(introduced_peer p);
  void pass_on_client_agent(introduced_peer p);
  bool take_for_own(const introduced_peer& p);
  std::string objection_to(const introduced_peer& p);
  bool has_place_for(const introduced_peer& p);
  bool one_gives_way_to(const std::string& host, bool from_there);
  void drop_earlier_connections(node_id peer);
  void drop_silent_connections(std::chrono::nanoseconds passed);
  void refill_strangers();
  std::size_t frame_limit(const incoming& in) const;
  bool is_unproved(const incoming& in) const;
  bool is_stranger(const incoming& in) const;
  bool strangers_are_too_many(const incoming& in) const;
  void on_hello(incoming& in, const wire::hello& h, bool first);
  void leave(caf::io::connection_handle handle);
  void hang_up(caf::io::connection_handle handle);
  void on_closed(caf::io::connection_handle handle);
  void on_accepted_closed(incoming_map::iterator it);
  void on_dial_peers(const dial_peers& d);
  void dial_at_once(const std::string& address);
  void forget_stranger(node_id peer);
  void vacate(const std::string& address, node_id peer);
  bool lives_rather_at(const std::string& host, const std::string& other, node_id member) const;
  bool is_heard(node_id peer) const;
  bool may_tell_of(const incoming& in, const std::string& what);
  void complain(const std::string& address, const std::string& why, const char* event);

  // peer_link_dialling.cpp
  outgoing& towards(const std::string& address);
  bool is_reached_otherwise(const outgoing& o, const socket_endpoint& meant) const;
  void dial(outgoing& o);
  void finish_dial(outgoing& o);
  void shake_hands(outgoing& o);
  void dialled(outgoing& o);
  void dial_failed(outgoing& o, const std::string& why, bool may_pass = false);
  void tell_dialled(outgoing& o, std::string error);
  void cannot_reach(outgoing& o, const std::string& why);
  void back_off(outgoing& o);
  void on_answer(outgoing& o, std::string_view bytes);
  void lost(outgoing& o);
  void disconnect(outgoing& o);
  void send_to_peers(send_frames& frames);
  void write_hello(outgoing& o);
  void transmit(outgoing& o);

  wiring_ptr wires_;
  peer_link_settings settings_;
  int listener_;
  node_id self_;
  metrics& metrics_;
  seeded_random random_;
  peer_lobby lobby_;
  name_lookups names_;
  log_brake brake_, brake_of_known_; ///< of lines about strangers; about known hosts and those whom we are to dial
  wire::hello hello_;
  std::vector<introduced_peer> early_agents_; ///< client agents that came before it was known what this server is
  monotonic_time next_hello_{};
  wake_ups wake_ups_{wake_ups::begun::by_others};
  bool ticking_ = false; ///< a tick is on its way
  bool stopping_ = false;
  std::chrono::nanoseconds sleep_{0}; ///< how long it was to last until this tick at most
  monotonic_time ticked_at_{};
  std::map<std::string, outgoing> outgoing_; ///< by address
  std::unordered_map<node_id, std::string> address_of_;
  /// Of the configuration, with the hosts at which it has named them, the first one first; empty: of none yet.
  std::map<node_id, std::vector<std::string>> members_;
  incoming_map incoming_;
  std::vector<caf::io::connection_handle> leaving_; ///< closed with the next tick
};

} // namespace belay::actors
