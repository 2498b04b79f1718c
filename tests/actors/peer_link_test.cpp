// Peer links on real sockets of this machine: two brokers in one actor system, and strangers that connect by hand.

#include "actors/consensus/peer_link.hpp"

#include "actors/telemetry/log.hpp"
#include "sim/world/stub_of.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/send.hpp>

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <mutex>
#include <thread>

using namespace belay;
using namespace belay::actors;

namespace {

/// Polls until `what` holds. @returns false after twenty seconds
bool soon(const std::function<bool()>& what) {
  for (int i = 0; i < 4000; ++i) {
    if (what())
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return what();
}

std::uint16_t port_of(int fd) {
  sockaddr_in a{};
  socklen_t length = sizeof a;
  REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&a), &length) == 0);
  return ntohs(a.sin_port);
}

std::string local(std::uint16_t port) {
  return "127.0.0.1:" + std::to_string(port);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

wire::hello hello_of(node_id id, const std::string& address) {
  wire::hello h;
  h.self.id = id;
  h.self.uuid = "00000000-0000-4000-8000-000000000000";
  h.self.name = "n" + to_string(id);
  h.self.address = address;
  h.datacenter = "dc1";
  h.bootstrap_expect = 3;
  return h;
}

std::string bytes_of(const wire::frame& f) {
  std::string out;
  wire::encode_frame(f, out);
  return out;
}

/// A TCP connection made by hand.
class stranger {
public:
  explicit stranger(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{20, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const auto to = loopback(port);
    REQUIRE(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  }
  ~stranger() { ::close(fd_); }
  stranger(const stranger&) = delete;

  void say(const std::string& bytes) { ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  /// The other side closes; nothing it might have said before counts.
  bool is_closed() {
    char byte[512];
    for (;;) {
      const auto n = ::recv(fd_, byte, sizeof byte, 0);
      if (n <= 0)
        return n == 0 || errno == ECONNRESET;
    }
  }

private:
  int fd_;
};

/// A listening socket whose queue is full: whoever connects gets no answer.
class black_hole {
public:
  black_hole() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto any = loopback(0);
    REQUIRE(::bind(fd_, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0);
    REQUIRE(::listen(fd_, 0) == 0);
    port_ = port_of(fd_);
    // Until one of them is not answered any more.
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

/// What raft_peer was told.
struct heard {
  std::mutex mutex;
  std::vector<std::pair<node_id, wire::frame>> frames; ///< without hellos
  std::vector<std::pair<node_id, wire::hello>> hellos;
  std::vector<node_id> connected, lost;
};

/// A peer link with a raft_peer that notes what it hears.
class link_end {
public:
  link_end(caf::actor_system& system, node_id id, std::uint16_t port = 0, peer_link_settings settings = {})
      : system_(system), id_(id) {
    settings.listen_host = "127.0.0.1";
    settings.listen_port = port;
    auto listener = listen_for_peers(settings);
    REQUIRE(listener.ok());
    port_ = port_of(*listener);
    wires_->raft_peer = sim::stub_of<raft_peer_actor>(
        system,
        [h = heard_](const frames_received& f) {
          std::lock_guard lock(h->mutex);
          for (const auto& frame : f.list)
            if (const auto* hello = std::get_if<wire::hello>(&frame))
              h->hellos.emplace_back(f.from, *hello);
            else
              h->frames.emplace_back(f.from, frame);
        },
        [h = heard_](const peer_lost& p) {
          std::lock_guard lock(h->mutex);
          h->lost.push_back(p.peer);
        },
        [h = heard_](const peer_connected& p) {
          std::lock_guard lock(h->mutex);
          h->connected.push_back(p.peer);
        });
    caf::actor_config on_multiplexer{&system.middleman().backend()};
    wires_->links = caf::actor_cast<peer_link_actor>(system.spawn_class<peer_link, caf::no_spawn_options>(
        on_multiplexer, wires_, settings, *listener, id_, numbers_));
    tell(announce{hello_of(id_, address())});
    tell(tick_atom::value);
  }
  ~link_end() { stop(); }

  void stop() {
    if (!wires_->links)
      return;
    tell(stop_atom::value);
    caf::anon_send(wires_->raft_peer, stop_atom::value);
    *wires_ = {};
  }

  template <class Message>
  void tell(const Message& m) {
    caf::anon_send(wires_->links, m);
  }
  void dial(std::vector<std::string> addresses) { tell(dial_peers{std::move(addresses)}); }
  /// Questions numbered from `first`.
  void send_numbers(node_id to, std::uint64_t first, std::size_t count) {
    send_frames f;
    for (std::size_t i = 0; i < count; ++i)
      f.list.emplace_back(to, wire::read_index{first + i, false});
    tell(f);
  }
  /// The numbers heard from that peer, in order.
  std::vector<std::uint64_t> numbers_from(node_id peer) {
    std::lock_guard lock(heard_->mutex);
    std::vector<std::uint64_t> found;
    for (const auto& [from, f] : heard_->frames)
      if (const auto* number = std::get_if<wire::read_index>(&f); number != nullptr && from == peer)
        found.push_back(number->id);
    return found;
  }
  /// The data of all log entries heard from that peer, joined.
  std::string entry_bytes_from(node_id peer) {
    std::lock_guard lock(heard_->mutex);
    std::string all;
    for (const auto& [from, f] : heard_->frames)
      if (const auto* m = std::get_if<raft::message>(&f); m != nullptr && from == peer)
        if (const auto* append = std::get_if<raft::append_entries>(&m->body))
          for (const auto& e : append->entries)
            all += *e.data;
    return all;
  }
  std::size_t times_connected(node_id peer) {
    std::lock_guard lock(heard_->mutex);
    return static_cast<std::size_t>(std::count(heard_->connected.begin(), heard_->connected.end(), peer));
  }
  std::size_t times_lost(node_id peer) {
    std::lock_guard lock(heard_->mutex);
    return static_cast<std::size_t>(std::count(heard_->lost.begin(), heard_->lost.end(), peer));
  }
  std::size_t hellos_from(node_id peer) {
    std::lock_guard lock(heard_->mutex);
    return static_cast<std::size_t>(
        std::count_if(heard_->hellos.begin(), heard_->hellos.end(), [&](const auto& h) { return h.first == peer; }));
  }
  std::uint16_t port() const { return port_; }
  std::string address() const { return local(port_); }
  node_id id() const { return id_; }

private:
  caf::actor_system& system_;
  node_id id_;
  std::uint16_t port_ = 0;
  metrics numbers_;
  std::shared_ptr<heard> heard_ = std::make_shared<heard>();
  wiring_ptr wires_ = std::make_shared<wiring>();
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

private:
  system_config config_;
  caf::actor_system system_;
};

std::vector<std::uint64_t> counted(std::uint64_t first, std::size_t n) {
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < n; ++i)
    all.push_back(first + i);
  return all;
}

} // namespace

TEST_CASE("frames arrive in order, both ways", "[actors][peer_link]") {
  // Only one of them knows the other's address; the other one learns it from the introduction and dials back.
  link_fixture f;
  link_end a(f.system(), node_id{1});
  link_end b(f.system(), node_id{2});
  a.dial({b.address()});
  REQUIRE(soon([&] { return a.times_connected(b.id()) > 0 && b.times_connected(a.id()) > 0; }));
  for (std::uint64_t i = 0; i < 50; ++i) {
    a.send_numbers(b.id(), i * 100, 100);
    b.send_numbers(a.id(), i * 10, 10);
  }
  REQUIRE(soon([&] { return b.numbers_from(a.id()).size() >= 5000 && a.numbers_from(b.id()).size() >= 500; }));
  CHECK(b.numbers_from(a.id()) == counted(0, 5000));
  CHECK(a.numbers_from(b.id()) == counted(0, 500));
  CHECK(a.times_lost(b.id()) == 0);
}

TEST_CASE("large frames arrive whole", "[actors][peer_link]") {
  link_fixture f;
  link_end a(f.system(), node_id{1});
  link_end b(f.system(), node_id{2});
  a.dial({b.address()});
  REQUIRE(soon([&] { return a.times_connected(b.id()) > 0; }));
  std::string big;
  // More than what one read takes, and more than a socket's buffers hold.
  raft::entry e;
  e.index = log_index{1};
  e.term = term_id{1};
  e.kind = raft::entry_kind::command;
  for (std::uint32_t i = 0; i < 2'000'000; ++i)
    byte_writer(big).u32(i);
  e.data = make_payload(big);
  raft::append_entries append;
  append.entries.push_back(e);
  send_frames s;
  s.list.emplace_back(b.id(), wire::read_index{1, false});
  s.list.emplace_back(b.id(), raft::message{a.id(), b.id(), term_id{1}, append});
  s.list.emplace_back(b.id(), wire::read_index{2, false});
  a.tell(s);
  REQUIRE(soon([&] { return b.numbers_from(a.id()).size() == 2; }));
  CHECK(b.numbers_from(a.id()) == counted(1, 2));
  CHECK(b.entry_bytes_from(a.id()) == big);
}

TEST_CASE("garbage on the server port is rejected and harms nobody", "[actors][peer_link]") {
  // A port scanner, a browser, a peer of another version: the connection ends, the listener and the others do not.
  link_fixture f;
  link_end a(f.system(), node_id{1});
  link_end b(f.system(), node_id{2});
  a.dial({b.address()});
  b.dial({a.address()});
  REQUIRE(soon([&] { return a.times_connected(b.id()) > 0 && b.times_connected(a.id()) > 0; }));

  auto flipped = bytes_of(hello_of(node_id{9}, "127.0.0.1:9"));
  flipped[flipped.size() / 2] ^= 1;
  for (const auto& bytes : {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(100000, '\xff'), flipped,
                            bytes_of(wire::read_index{1, false})}) { // no introduction
    stranger s(a.port());
    s.say(bytes);
    CHECK(s.is_closed());
  }
  { stranger hangs_up_at_once(a.port()); }
  b.send_numbers(a.id(), 7, 3);
  REQUIRE(soon([&] { return a.numbers_from(b.id()).size() == 3; }));
  CHECK(a.numbers_from(b.id()) == counted(7, 3));
  CHECK(a.numbers_from(node_id{}).empty());
  CHECK(a.hellos_from(node_id{9}) == 0);
  CHECK(a.times_lost(b.id()) == 0);
}

TEST_CASE("garbage behind a good introduction ends that connection only", "[actors][peer_link]") {
  link_fixture f;
  link_end a(f.system(), node_id{1});
  black_hole nowhere; // where it says that it lives
  stranger s(a.port());
  s.say(bytes_of(hello_of(node_id{9}, nowhere.address())) + bytes_of(wire::read_index{1, false}));
  REQUIRE(soon([&] { return a.numbers_from(node_id{9}).size() == 1; }));
  s.say(std::string(64, '\xff'));
  CHECK(s.is_closed());
  CHECK(soon([&] { return a.times_lost(node_id{9}) == 1; }));
  stranger again(a.port());
  again.say(bytes_of(hello_of(node_id{9}, nowhere.address())) + bytes_of(wire::read_index{2, false}));
  CHECK(soon([&] { return a.numbers_from(node_id{9}).size() == 2; }));
}

TEST_CASE("a peer that was restarted is dialled again", "[actors][peer_link]") {
  link_fixture f;
  link_end a(f.system(), node_id{1});
  auto b = std::make_unique<link_end>(f.system(), node_id{2});
  const auto port = b->port();
  a.dial({b->address()});
  REQUIRE(soon([&] { return a.times_connected(node_id{2}) > 0; }));
  b.reset();
  REQUIRE(soon([&] { return a.times_lost(node_id{2}) > 0; }));
  const auto before = a.times_connected(node_id{2});
  a.send_numbers(node_id{2}, 1, 1); // to nobody
  b = std::make_unique<link_end>(f.system(), node_id{2}, port);
  REQUIRE(soon([&] { return a.times_connected(node_id{2}) > before && b->times_connected(node_id{1}) > 0; }));
  a.send_numbers(node_id{2}, 10, 3);
  REQUIRE(soon([&] { return !b->numbers_from(node_id{1}).empty() && b->numbers_from(node_id{1}).back() == 12; }));
  CHECK(b->numbers_from(node_id{1}) == counted(10, 3));
}

TEST_CASE("an address that never answers delays nobody else", "[actors][peer_link]") {
  // A server was switched off: its address swallows what is sent there. Were the dialler to wait for it, the living
  // peers would lose their leader. Limits of ten minutes make sure that whoever waits is seen to wait.
  black_hole hole;
  if (!hole.full()) {
    WARN("this system answers connections whatever the length of the queue; nothing was tested");
    return;
  }
  peer_link_settings patient;
  patient.dial_deadline = patient.silence_limit = std::chrono::minutes(10);
  link_fixture f;
  link_end a(f.system(), node_id{1}, 0, patient);
  link_end b(f.system(), node_id{2});
  a.dial({hole.address(), b.address()});
  REQUIRE(soon([&] { return a.times_connected(b.id()) > 0; }));
  a.send_numbers(b.id(), 1, 100);
  REQUIRE(soon([&] { return b.numbers_from(a.id()).size() == 100; }));
}

TEST_CASE("a peer that comes back drops its earlier connection", "[actors][peer_link]") {
  // Its machine was cut off and dialled anew before the old connection was found dead. What might still come out of the
  // old one is of an earlier time and must not be heard after the new one's. And it is not lost: it is there.
  link_fixture f;
  link_end a(f.system(), node_id{1});
  black_hole home;
  const auto hello = bytes_of(hello_of(node_id{9}, home.address()));
  stranger first(a.port());
  first.say(hello + bytes_of(wire::read_index{1, false}));
  REQUIRE(soon([&] { return a.numbers_from(node_id{9}).size() == 1; }));
  stranger second(a.port());
  second.say(hello + bytes_of(wire::read_index{2, false}));
  CHECK(first.is_closed());
  first.say(bytes_of(wire::read_index{3, false}));
  second.say(bytes_of(wire::read_index{4, false}));
  REQUIRE(soon([&] { return a.numbers_from(node_id{9}).size() >= 3; }));
  CHECK(a.numbers_from(node_id{9}) == std::vector<std::uint64_t>{1, 2, 4});
  CHECK(a.times_lost(node_id{9}) == 0);
}

TEST_CASE("a peer whose machine lost its power closes nothing, and is lost all the same", "[actors][peer_link]") {
  link_fixture f;
  peer_link_settings s;
  s.hello_limit = std::chrono::milliseconds(1000);
  link_end a(f.system(), node_id{1}, 0, s);
  black_hole home; // it cannot be dialled either, so no connection of ours breaks
  const auto hello = bytes_of(hello_of(node_id{9}, home.address()));
  stranger gone(a.port());
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2500);
  while (std::chrono::steady_clock::now() < until) {
    gone.say(hello);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  REQUIRE(a.hellos_from(node_id{9}) > 0);
  CHECK(a.times_lost(node_id{9}) == 0);
  CHECK(soon([&] { return a.times_lost(node_id{9}) == 1; }));
  CHECK(gone.is_closed());
}

TEST_CASE("a port that is taken is refused with what to do", "[actors][peer_link]") {
  peer_link_settings s;
  s.listen_host = "127.0.0.1";
  auto first = listen_for_peers(s);
  REQUIRE(first.ok());
  s.listen_port = port_of(*first);
  auto second = listen_for_peers(s);
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().find("set bind_addr and ports.server") != std::string::npos);
  ::close(*first);
  s.listen_host = "no such host.invalid";
  CHECK_FALSE(listen_for_peers(s).ok());
}
