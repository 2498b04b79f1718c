#pragma once
// Where connections of peers wait until it is known whose they are: they are accepted here, shake hands, and say hello. Whatever
// strangers do, it costs a bounded number of descriptors, bytes and time; who has not introduced himself in time is sent away.

#include "actors/consensus/peer_introduction.hpp"
#include "actors/live_limit.hpp"
#include "actors/log_brake.hpp"
#include "actors/messages.hpp"
#include "actors/names/peer_sockets.hpp"
#include "actors/time_purse.hpp"

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::actors {

struct lobby_limits {
  live_limit per_address_max{100};   ///< connections from one address, those that left the lobby included; 0: no limit
  std::size_t connections_max = 512; ///< in all, those that left the lobby included
  std::chrono::milliseconds deadline{5000}; ///< from being accepted to the end of the hello
  /// Of the time of the thread that may be spent with handshakes and hellos; once for addresses that are known and once for others.
  double share_of_time = 0.05;
};

/// A connection whose first words were a hello; whether it is a welcome one is for others to say.
struct introduced_peer {
  int fd = -1;                         ///< the receiver's to close
  std::string address;                 ///< host, in figures
  std::optional<tls::channel> channel; ///< none: it speaks without TLS, which is allowed
  wire::hello hello;
  std::string said; ///< behind the hello, deciphered: whole frames or parts of them
};

class peer_lobby {
public:
  /// @param listener a listening socket that does not block; it is not closed here
  /// @param credentials what is demanded of those who come from now on; asked for each connection
  peer_lobby(int listener, lobby_limits limits, std::function<tls::credentials_ptr()> credentials);
  ~peer_lobby();
  peer_lobby(const peer_lobby&) = delete;
  peer_lobby& operator=(const peer_lobby&) = delete;

  /// Accepts, reads and answers as far as that needs no waiting. @returns those who have introduced themselves
  std::vector<introduced_peer> pump(monotonic_time now);
  /// A connection that pump() returned from there is closed.
  void left(const std::string& address);

  /// Whether somebody waits: then pump() again soon.
  bool occupied() const { return !waiting_.empty(); }
  /// Nobody waits, nobody came when it looked last, and nobody is kept out for the moment: whoever comes is seen at the listening socket.
  bool quiet() const { return waiting_.empty() && !came_ && last_pump_ >= closed_until_; }
  std::size_t waiting() const { return waiting_.size(); }
  /// Hosts of members: strangers cannot use up their time.
  void know(std::set<std::string> hosts) { known_ = std::move(hosts); }
  bool knows(const std::string& host) const { return known_.contains(host); }
  /// Asked when a limit is reached and nobody waits who could be sent away.
  /// @param give_way has left() called for somebody who should make room for one from that address, from there only if the flag is
  ///   set; false: nobody should
  void when_full(std::function<bool(const std::string& address, bool from_there)> give_way) {
    give_way_ = std::move(give_way);
  }

private:
  struct guest {
    int fd = -1;
    std::string address;
    monotonic_time since{};
    peer_introduction introduction;
  };
  using guests = std::list<guest>;
  enum class progress : std::uint8_t { waits, introduced, gone };

  void accept_some(monotonic_time now);
  const char* limit_against(const std::string& address);
  progress serve(guest& g, std::vector<introduced_peer>& out);
  void refuse(const guest& g, const std::string& why);
  guests::iterator dismiss(guests::iterator g);
  std::size_t connections() const { return waiting_.size() + inside_count_; }

  int listener_;
  lobby_limits limits_;
  std::function<tls::credentials_ptr()> credentials_;
  std::function<bool(const std::string&, bool)> give_way_ = [](const std::string&, bool) { return false; };
  guests waiting_;                                ///< the newest first
  std::map<std::string, std::size_t> by_address_; ///< all connections, inside or not
  std::size_t inside_count_ = 0;
  std::set<std::string> known_;
  time_purse for_known_, for_strangers_;
  monotonic_time last_pump_{};
  monotonic_time closed_until_{}; ///< no descriptors left: nobody is accepted until then
  log_brake brake_;
  monotonic_time now_{};
  bool came_ = false; ///< somebody, when it looked last
};

} // namespace belay::actors
