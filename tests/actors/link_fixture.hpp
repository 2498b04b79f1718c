#pragma once
// Peer links on real sockets of this machine: brokers in one actor system, and unverified peers
// made by hand. Each broker has a raft_peer that records what it receives.

#include "actors/consensus/peer_link.hpp"

#include "actors/telemetry/log.hpp"
#include "sim/environment/stub_of.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace belay::link_test {

using namespace belay::actors;

// Nothing here takes a hundredth of it, but a busy machine may stop a process for seconds.
inline constexpr std::chrono::seconds timeout{60};

/// Polls until `what` holds. @returns false: it did not within `timeout`
inline bool soon(const std::function<bool()>& what) {
  for (const auto until = std::chrono::steady_clock::now() + timeout; std::chrono::steady_clock::now() < until;) {
    if (what())
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return what();
}

inline std::uint16_t port_of(int fd) {
  sockaddr_in a{};
  socklen_t length = sizeof a;
  REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&a), &length) == 0);
  return ntohs(a.sin_port);
}

inline std::string local(std::uint16_t port) {
  return "127.0.0.1:" + std::to_string(port);
}

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

inline wire::hello hello_of(node_id id, const std::string& address) {
  wire::hello h;
  h.self.id = id;
  h.self.uuid = "00000000-0000-4000-8000-000000000000";
  h.self.name = "n" + to_string(id);
  h.self.address = address;
  h.datacenter = "dc1";
  h.bootstrap_expect = 3;
  return h;
}

inline std::string bytes_of(const wire::frame& f) {
  std::string out;
  wire::encode_frame(f, out);
  return out;
}

/// A TCP connection made by hand.
class unverified_peer {
public:
  /// @param from an address of 127.0.0.0/8
  explicit unverified_peer(std::uint16_t port, const char* from = "127.0.0.1")
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{timeout.count(), 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    auto here = loopback(0);
    REQUIRE(::inet_pton(AF_INET, from, &here.sin_addr) == 1);
    REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
    const auto to = loopback(port);
    REQUIRE(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  }
  ~unverified_peer() { hang_up(); }
  unverified_peer(const unverified_peer&) = delete;

  void send_bytes(const std::string& bytes) { ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void hang_up() {
    if (fd_ >= 0)
      ::close(std::exchange(fd_, -1));
  }
  /// Whether the other side closes the connection; bytes that it sends before are ignored.
  bool is_closed() {
    char byte[512];
    for (;;) {
      const auto n = ::recv(fd_, byte, sizeof byte, 0);
      if (n <= 0)
        return n == 0 || errno == ECONNRESET;
    }
  }

  /// Whether it is not closed yet, without waiting.
  bool is_open() {
    char byte;
    const auto n = ::recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
  }

private:
  int fd_;
};

/// A listening socket to which a link may dial back.
class home {
public:
  /// @param host an address of 127.0.0.0/8
  explicit home(const std::string& host = "127.0.0.1")
      : host_(host), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    auto any = loopback(0);
    REQUIRE(::inet_pton(AF_INET, host.c_str(), &any.sin_addr) == 1);
    REQUIRE(::bind(fd_, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0);
    REQUIRE(::listen(fd_, 16) == 0);
  }
  ~home() {
    ::close(visitor_);
    ::close(fd_);
  }
  std::string address() const { return host_ + ":" + std::to_string(port_of(fd_)); }
  bool was_visited() {
    if (visitor_ < 0)
      visitor_ = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return visitor_ >= 0;
  }
  void close_visitor() {
    ::close(std::exchange(visitor_, -1));
    decoder_ = {};
  }
  /// The numbers that the visitor has sent since the last call (link_end::send_numbers).
  std::vector<std::uint64_t> numbers() {
    std::vector<wire::frame> frames;
    std::string bytes(4096, '\0');
    for (ssize_t n = 1; n > 0;) {
      n = ::recv(visitor_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n > 0)
        REQUIRE(decoder_.feed(std::string_view(bytes).substr(0, static_cast<std::size_t>(n)), frames).ok());
    }
    std::vector<std::uint64_t> found;
    for (const auto& f : frames)
      if (const auto* number = std::get_if<wire::read_index>(&f))
        found.push_back(number->id);
    return found;
  }
  bool visitor_left() {
    char bytes[4096];
    for (;;) {
      const auto n = ::recv(visitor_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (n <= 0)
        return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    }
  }

private:
  std::string host_;
  int fd_;
  int visitor_ = -1;
  wire::frame_decoder decoder_;
};

/// A listening socket whose queue is full: connections to it get no response.
class black_hole {
public:
  black_hole() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto any = loopback(0);
    REQUIRE(::bind(fd_, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0);
    REQUIRE(::listen(fd_, 0) == 0);
    port_ = port_of(fd_);
    // Fills the queue: connects until a connection is not accepted.
    for (int i = 0; i < 64 && !full_; ++i) {
      const int c = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      clients_.push_back(c);
      const auto to = loopback(port_);
      ::connect(c, reinterpret_cast<const sockaddr*>(&to), sizeof to);
      pollfd p{c, POLLOUT, 0};
      full_ = ::poll(&p, 1, 300) == 0;
    }
  }
  ~black_hole() {
    for (int c : clients_)
      ::close(c);
    ::close(fd_);
  }
  std::string address() const { return local(port_); }
  bool full() const { return full_; }

private:
  int fd_;
  std::uint16_t port_ = 0;
  bool full_ = false;
  std::vector<int> clients_;
};

struct system_config : caf::actor_system_config {
  system_config() {
    load<caf::io::middleman>();
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{1});
    set("middleman.workers", std::size_t{0});
  }
};

/// What raft_peer received.
struct received {
  std::mutex mutex;
  std::vector<std::pair<node_id, wire::frame>> frames; ///< without hellos
  std::vector<std::pair<node_id, wire::hello>> hellos;
  std::vector<node_id> connected, lost;
  std::map<node_id, bool> still_reachable;   ///< for lost peers: the last value received
  std::map<node_id, bool> proven, encrypted; ///< the last values received
};

/// The system outlives the ends, and waits for their actors.
class link_fixture {
public:
  link_fixture() : system_(config_) {
    log::settings quiet;
    quiet.to_stdout = false;
    log::configure(quiet);
  }
  ~link_fixture() { system_.await_all_actors_done(); }

  caf::actor_system& system() { return system_; }
  multiplexer_host& host() { return host_; }

private:
  system_config config_;
  caf::actor_system system_;
  multiplexer_host host_{system_};
};

/// A peer link with a raft_peer that records what it receives.
class link_end {
public:
  /// When the kernel shows a connection to the link.
  enum class accepts { at_once, with_first_bytes };

  link_end(link_fixture& f, node_id id, std::uint16_t port = 0, peer_link_settings settings = {}, bool announced = true,
           accepts when = accepts::at_once)
      : system_(f.system()), id_(id) {
    auto& system = f.system();
    settings.host = &f.host();
    settings.listen_host = "127.0.0.1";
    settings.listen_port = port;
    auto listener = listen_for_peers(settings);
    REQUIRE(listener.ok());
    port_ = port_of(*listener);
    if (when == accepts::with_first_bytes) {
      const int seconds = static_cast<int>(timeout.count());
      REQUIRE(::setsockopt(*listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds) == 0);
    }
    node_actors_->raft_peer = sim::stub_of<raft_peer_actor>(
        system,
        [h = received_](const frames_received& f) {
          std::lock_guard lock(h->mutex);
          h->proven[f.from] = f.proven;
          for (const auto& frame : f.list)
            if (const auto* hello = std::get_if<wire::hello>(&frame))
              h->hellos.emplace_back(f.from, *hello);
            else
              h->frames.emplace_back(f.from, frame);
        },
        [h = received_](const peer_lost& p) {
          std::lock_guard lock(h->mutex);
          h->lost.push_back(p.peer);
          h->still_reachable[p.peer] = p.reachable;
        },
        [h = received_](const peer_connected& p) {
          std::lock_guard lock(h->mutex);
          h->connected.push_back(p.peer);
          h->encrypted[p.peer] = p.encrypted;
        });
    caf::actor_config on_multiplexer{&system.middleman().backend()};
    node_actors_->peer_link = caf::actor_cast<peer_link_actor>(system.spawn_class<peer_link, caf::no_spawn_options>(
        on_multiplexer, node_actors_, settings, *listener, id_, numbers_));
    if (announced)
      post(announce{hello_of(id_, address())});
    post(tick_atom::value);
  }
  ~link_end() { stop(); }

  /// Returns when both actors have ended: until then they read the handles on their own threads.
  void stop() {
    if (!node_actors_->peer_link)
      return;
    post(stop_atom::value);
    caf::anon_send(node_actors_->raft_peer, stop_atom::value);
    caf::scoped_actor self{system_};
    self->wait_for(caf::actor_cast<caf::actor>(node_actors_->peer_link),
                   caf::actor_cast<caf::actor>(node_actors_->raft_peer));
    *node_actors_ = {};
  }

  template <class Message>
  void post(const Message& m) {
    caf::anon_send(node_actors_->peer_link, m);
  }
  void dial(std::vector<std::string> addresses) { post(dial_peers{std::move(addresses), {}}); }
  /// Dials like a server that knows its cluster.
  void dial_members(std::vector<std::string> addresses, const std::vector<node_id>& members) {
    dial_peers d{std::move(addresses), {}};
    for (auto id : members)
      d.members[id];
    post(d);
  }
  void dial_members(const std::map<node_id, std::string>& members) {
    dial_peers d{{}, members};
    for (const auto& [id, where] : members)
      if (id != id_)
        d.addresses.push_back(where);
    post(d);
  }
  /// Sends requests numbered from `first`.
  void send_numbers(node_id to, std::uint64_t first, std::size_t count) {
    send_frames f;
    for (std::size_t i = 0; i < count; ++i)
      f.list.emplace_back(to, wire::read_index{first + i, false});
    post(f);
  }
  /// The numbers received from that peer, in order.
  std::vector<std::uint64_t> numbers_from(node_id peer) {
    std::lock_guard lock(received_->mutex);
    std::vector<std::uint64_t> found;
    for (const auto& [from, f] : received_->frames)
      if (const auto* number = std::get_if<wire::read_index>(&f); number != nullptr && from == peer)
        found.push_back(number->id);
    return found;
  }
  /// The data of all log entries received from that peer, joined.
  std::string entry_bytes_from(node_id peer) {
    std::lock_guard lock(received_->mutex);
    std::string all;
    for (const auto& [from, f] : received_->frames)
      if (const auto* m = std::get_if<raft::message>(&f); m != nullptr && from == peer)
        if (const auto* append = std::get_if<raft::append_entries>(&m->body))
          for (const auto& e : append->entries)
            all += *e.data;
    return all;
  }
  /// How many keyring messages that peer has sent.
  std::size_t keyring_calls_from(node_id peer) {
    std::lock_guard lock(received_->mutex);
    return static_cast<std::size_t>(
        std::count_if(received_->frames.begin(), received_->frames.end(), [&](const auto& f) {
          return f.first == peer && std::holds_alternative<wire::keyring_call>(f.second);
        }));
  }
  bool is_proven(node_id peer) {
    std::lock_guard lock(received_->mutex);
    return received_->proven[peer];
  }
  bool is_encrypted(node_id peer) {
    std::lock_guard lock(received_->mutex);
    return received_->encrypted[peer];
  }
  std::size_t times_connected(node_id peer) {
    std::lock_guard lock(received_->mutex);
    return static_cast<std::size_t>(std::count(received_->connected.begin(), received_->connected.end(), peer));
  }
  std::size_t times_lost(node_id peer) {
    std::lock_guard lock(received_->mutex);
    return static_cast<std::size_t>(std::count(received_->lost.begin(), received_->lost.end(), peer));
  }
  bool is_still_reachable(node_id peer) {
    std::lock_guard lock(received_->mutex);
    return received_->still_reachable[peer];
  }
  std::size_t hellos_from(node_id peer) {
    std::lock_guard lock(received_->mutex);
    return static_cast<std::size_t>(std::count_if(received_->hellos.begin(), received_->hellos.end(),
                                                  [&](const auto& h) { return h.first == peer; }));
  }
  std::uint16_t port() const { return port_; }
  std::string address() const { return local(port_); }
  node_id id() const { return id_; }

private:
  caf::actor_system& system_;
  node_id id_;
  std::uint16_t port_ = 0;
  metrics numbers_;
  std::shared_ptr<received> received_ = std::make_shared<received>();
  node_actors_ptr node_actors_ = std::make_shared<node_actors>();
};

inline std::vector<std::uint64_t> counted(std::uint64_t first, std::size_t n) {
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < n; ++i)
    all.push_back(first + i);
  return all;
}

} // namespace belay::link_test
