#pragma once
// Holds connections of peers until they are identified: accepts, does handshakes, reads hellos.
// Unverified peers use a bounded number of descriptors, bytes and time; slow ones are dropped.

#include "actors/consensus/peer_handshake.hpp"
#include "actors/live_limit.hpp"
#include "actors/log_rate_limiter.hpp"
#include "actors/messages.hpp"
#include "actors/names/peer_sockets.hpp"
#include "actors/time_budget.hpp"

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::actors {

struct pending_limits {
  live_limit per_address_max{100};          ///< connections from one address, including identified peers; 0: no limit
  std::size_t connections_max = 512;        ///< in all, including identified peers
  std::chrono::milliseconds deadline{5000}; ///< from accept to the end of the hello
  /// Share of the thread's time for handshakes and hellos; one each for known and other addresses.
  double share_of_time = 0.05;
};

/// A connection that began with a hello. The receiver decides whether to accept it.
struct identified_peer {
  int fd = -1;                         ///< the receiver has to close it
  std::string address;                 ///< host, as a numeric address
  std::optional<tls::channel> channel; ///< none: no TLS, which is allowed
  wire::hello hello;
  std::string after_hello; ///< bytes after the hello, decrypted: whole frames or parts of them
};

class pending_connections {
public:
  /// @param listener a non-blocking listening socket; it is not closed here
  /// @param credentials requirements for new peers; called for each connection
  pending_connections(int listener, pending_limits limits, std::function<tls::credentials_ptr()> credentials);
  ~pending_connections();
  pending_connections(const pending_connections&) = delete;
  pending_connections& operator=(const pending_connections&) = delete;

  /// Accepts, reads and answers without waiting. @returns the peers that have identified themselves
  std::vector<identified_peer> pump(monotonic_time now);
  /// Call it when a connection that pump() returned is closed.
  void left(const std::string& address);

  /// Whether any connection is pending: then call pump() again soon.
  bool occupied() const { return !waiting_.empty(); }
  /// Whether no connection is pending or arrived at the last pump(), and accepting is not paused.
  bool quiet() const { return waiting_.empty() && !arrived_ && last_pump_ >= closed_until_; }
  std::size_t waiting() const { return waiting_.size(); }
  /// Sets the hosts of members: unverified peers cannot use up their share of time.
  void set_known_hosts(std::set<std::string> hosts) { known_ = std::move(hosts); }
  bool is_known(const std::string& host) const { return known_.contains(host); }
  /// Sets the function to call at a limit when no pending connection can be closed.
  /// @param close_one has left() called for one connection, to free a slot for one from that
  /// address. If the flag is set, only one from the same address may be chosen. false: none is
  /// closed
  void when_full(std::function<bool(const std::string& address, bool from_there)> close_one) {
    close_one_ = std::move(close_one);
  }

private:
  struct connection {
    int fd = -1;
    std::string address;
    monotonic_time since{};
    peer_handshake handshake;
  };
  using connection_list = std::list<connection>;
  enum class progress : std::uint8_t { waits, identified, gone };

  void accept_some(monotonic_time now);
  const char* limit_against(const std::string& address);
  progress serve(connection& g, std::vector<identified_peer>& out);
  void refuse(const connection& g, const std::string& why);
  connection_list::iterator drop(connection_list::iterator g);
  std::size_t connections() const { return waiting_.size() + identified_count_; }

  int listener_;
  pending_limits limits_;
  std::function<tls::credentials_ptr()> credentials_;
  std::function<bool(const std::string&, bool)> close_one_ = [](const std::string&, bool) { return false; };
  connection_list waiting_;                       ///< the newest first
  std::map<std::string, std::size_t> by_address_; ///< all connections, pending or identified
  std::size_t identified_count_ = 0;
  std::set<std::string> known_;
  time_budget for_known_, for_unverified_;
  monotonic_time last_pump_{};
  monotonic_time closed_until_{}; ///< no descriptors left: no connection is accepted until then
  log_rate_limiter log_limit_;
  monotonic_time now_{};
  bool arrived_ = false; ///< a connection arrived at the last pump()
};

} // namespace belay::actors
