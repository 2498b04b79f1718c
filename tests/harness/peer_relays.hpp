#pragma once
// Links between servers that can be cut: each server advertises a TCP relay before its own port.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <thread>
#include <vector>

namespace belay::harness {

/// A server that is behind a relay.
struct relayed_server {
  /// The port on 127.0.0.1 where it listens; the relay listens on the same port of another loopback
  /// address.
  std::uint16_t port = 0;
  std::string configuration; ///< a path in its command line, which identifies its process
};

/// One relay for each server, one thread for all. Data on a cut link is not read, and its new
/// connections wait, unnoticed, as in a network that loses all packets. Data arrives if the link is
/// healed before the ends give up. /proc identifies servers; other clients are never cut off.
class peer_relays {
public:
  static constexpr std::size_t servers_max = 8;

  /// @throws std::runtime_error if a port is taken
  explicit peer_relays(std::vector<relayed_server> servers);
  ~peer_relays();
  peer_relays(const peer_relays&) = delete;
  peer_relays& operator=(const peer_relays&) = delete;

  /// The address at which the others reach server i, without and with its port.
  static std::string host(std::size_t i) { return "127.0.0." + std::to_string(first_host + i); }
  std::string address(std::size_t i) const { return host(i) + ':' + std::to_string(servers_[i].port); }

  /// What `from` sends after this returns does not arrive at `to`.
  void cut(std::size_t from, std::size_t to);
  /// Cuts both directions between the server and all others.
  void isolate(std::size_t i);
  void heal();

  /// Connections that were made through the relays.
  std::size_t connections() const { return connections_; }

private:
  static constexpr std::size_t first_host = 11;
  class connection;

  void run();
  void accept_at(std::size_t to);
  bool is_cut(std::size_t from, std::size_t to) const;
  void wake() const;
  /// Waits until the thread uses the current links.
  void settle();
  /// The server that has that end of a connection to the relay of `to`; servers_max: none of them.
  std::size_t owner_of(const sockaddr_in& source, std::size_t to) const;

  std::vector<relayed_server> servers_;
  std::vector<int> listeners_;
  int wake_ = -1;
  std::array<std::array<std::atomic<bool>, servers_max>, servers_max> cut_{};
  std::atomic<std::size_t> connections_{0};
  std::atomic<std::uint64_t> changes_{0}, changes_seen_{0};
  std::atomic<bool> ending_{false};
  std::vector<std::unique_ptr<connection>> made_;
  std::thread thread_;
};

} // namespace belay::harness
