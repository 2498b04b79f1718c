// Peer links: frames, garbage, peers that disconnect and return.

#include "tests/actors/link_fixture.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

using namespace belay;
using namespace belay::actors;
using namespace belay::link_test;

TEST_CASE("frames arrive in order, both ways", "[actors][peer_link]") {
  // Only one of them knows the other's address; the other one dials back after the hello.
  link_fixture f;
  link_end a(f, node_id{1});
  link_end b(f, node_id{2});
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
  link_end a(f, node_id{1});
  link_end b(f, node_id{2});
  a.dial({b.address()});
  REQUIRE(soon([&] { return a.times_connected(b.id()) > 0; }));
  std::string big;
  // More than one read takes, and more than a socket's buffers hold.
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
  a.post(s);
  REQUIRE(soon([&] { return b.numbers_from(a.id()).size() == 2; }));
  CHECK(b.numbers_from(a.id()) == counted(1, 2));
  CHECK(b.entry_bytes_from(a.id()) == big);
}

TEST_CASE("garbage on the server port is rejected without harm", "[actors][peer_link]") {
  // A port scanner, a browser, a peer of another version: only its own connection ends.
  link_fixture f;
  link_end a(f, node_id{1});
  link_end b(f, node_id{2});
  a.dial({b.address()});
  b.dial({a.address()});
  REQUIRE(soon([&] { return a.times_connected(b.id()) > 0 && b.times_connected(a.id()) > 0; }));

  auto flipped = bytes_of(hello_of(node_id{9}, "127.0.0.1:9"));
  flipped[flipped.size() / 2] ^= 1;
  for (const auto& bytes : {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(100000, '\xff'), flipped,
                            bytes_of(wire::read_index{1, false})}) { // no hello
    unverified_peer s(a.port());
    s.send_bytes(bytes);
    CHECK(s.is_closed());
  }
  { unverified_peer hangs_up_at_once(a.port()); }
  b.send_numbers(a.id(), 7, 3);
  REQUIRE(soon([&] { return a.numbers_from(b.id()).size() == 3; }));
  CHECK(a.numbers_from(b.id()) == counted(7, 3));
  CHECK(a.numbers_from(node_id{}).empty());
  CHECK(a.hellos_from(node_id{9}) == 0);
  CHECK(a.times_lost(b.id()) == 0);
}

TEST_CASE("garbage after a valid hello ends only that connection", "[actors][peer_link]") {
  link_fixture f;
  link_end a(f, node_id{1});
  black_hole nowhere; // the address that it claims
  unverified_peer s(a.port());
  s.send_bytes(bytes_of(hello_of(node_id{9}, nowhere.address())) + bytes_of(wire::read_index{1, false}));
  REQUIRE(soon([&] { return a.numbers_from(node_id{9}).size() == 1; }));
  s.send_bytes(std::string(64, '\xff'));
  CHECK(s.is_closed());
  CHECK(soon([&] { return a.times_lost(node_id{9}) == 1; }));
  unverified_peer again(a.port());
  again.send_bytes(bytes_of(hello_of(node_id{9}, nowhere.address())) + bytes_of(wire::read_index{2, false}));
  CHECK(soon([&] { return a.numbers_from(node_id{9}).size() == 2; }));
}

TEST_CASE("a peer that was restarted is dialled again", "[actors][peer_link]") {
  link_fixture f;
  link_end a(f, node_id{1});
  auto b = std::make_unique<link_end>(f, node_id{2});
  const auto port = b->port();
  a.dial({b->address()});
  REQUIRE(soon([&] { return a.times_connected(node_id{2}) > 0; }));
  b.reset();
  REQUIRE(soon([&] { return a.times_lost(node_id{2}) > 0; }));
  const auto before = a.times_connected(node_id{2});
  a.send_numbers(node_id{2}, 1, 1); // to no peer
  b = std::make_unique<link_end>(f, node_id{2}, port);
  REQUIRE(soon([&] { return a.times_connected(node_id{2}) > before && b->times_connected(node_id{1}) > 0; }));
  a.send_numbers(node_id{2}, 10, 3);
  REQUIRE(soon([&] { return !b->numbers_from(node_id{1}).empty() && b->numbers_from(node_id{1}).back() == 12; }));
  CHECK(b->numbers_from(node_id{1}) == counted(10, 3));
}

TEST_CASE("an address that does not respond delays no other one", "[actors][peer_link]") {
  // A server was switched off: its address swallows what is sent there. If the dialler waited for
  // it, the live peers would lose their leader. With limits of ten minutes such a wait would show.
  black_hole hole;
  if (!hole.full()) {
    WARN("this system answers connections whatever the length of the queue; nothing was tested");
    return;
  }
  peer_link_settings patient;
  patient.dial_deadline = patient.silence_limit = std::chrono::minutes(10);
  link_fixture f;
  link_end a(f, node_id{1}, 0, patient);
  link_end b(f, node_id{2});
  a.dial({hole.address(), b.address()});
  REQUIRE(soon([&] { return a.times_connected(b.id()) > 0; }));
  a.send_numbers(b.id(), 1, 100);
  REQUIRE(soon([&] { return b.numbers_from(a.id()).size() == 100; }));
}

TEST_CASE("a peer that reconnects drops its earlier connection", "[actors][peer_link]") {
  // Its machine was cut off and dialled again before the old connection was found dead. Later
  // frames from the old connection must not be accepted after the new one's; the peer is not lost.
  link_fixture f;
  link_end a(f, node_id{1});
  black_hole home;
  const auto hello = bytes_of(hello_of(node_id{9}, home.address()));
  unverified_peer first(a.port());
  first.send_bytes(hello + bytes_of(wire::read_index{1, false}));
  REQUIRE(soon([&] { return a.numbers_from(node_id{9}).size() == 1; }));
  unverified_peer second(a.port());
  second.send_bytes(hello + bytes_of(wire::read_index{2, false}));
  CHECK(first.is_closed());
  first.send_bytes(bytes_of(wire::read_index{3, false}));
  second.send_bytes(bytes_of(wire::read_index{4, false}));
  REQUIRE(soon([&] { return a.numbers_from(node_id{9}).size() >= 3; }));
  CHECK(a.numbers_from(node_id{9}) == std::vector<std::uint64_t>{1, 2, 4});
  CHECK(a.times_lost(node_id{9}) == 0);
}

TEST_CASE("a name and an address of the same peer are one connection", "[actors][peer_link]") {
  // retry_join names hosts, and peers send addresses in their hellos. Both were dialled, each
  // connection was taken for a return of the peer and ended the other one, forever: heartbeats were
  // lost every second. A name may also resolve to another address than the one that the peer knows.
  const std::string behind_names = GENERATE("127.0.0.1", "::ffff:127.0.0.1");
  INFO("names stand for " << behind_names);
  peer_link_settings has_names;
  has_names.look_up = [behind_names](const std::string&) {
    return name_lookups::addresses{*numeric_endpoint(behind_names, 0)};
  };
  link_fixture f;
  link_end a(f, node_id{1}, 0, has_names);
  link_end b(f, node_id{2}, 0, has_names);
  a.dial({"server-b.test:" + std::to_string(b.port())});
  b.dial({"server-a.test:" + std::to_string(a.port())});
  REQUIRE(soon([&] { return a.times_connected(b.id()) > 0 && b.times_connected(a.id()) > 0; }));
  // Both sides dialled before they knew each other, so one of the two connections is closed at
  // first. With the bug this was repeated once a second, and no attempt succeeded.
  constexpr int attempts_max = 20;
  bool lasted = false;
  for (int attempt = 0; attempt < attempts_max && !lasted; ++attempt) {
    const auto connected = a.times_connected(b.id()), lost = a.times_lost(b.id());
    const auto first = static_cast<std::uint64_t>(attempt) * 100;
    for (std::uint64_t i = 0; i < 100; ++i) {
      a.send_numbers(b.id(), first + i, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const auto received = [&] {
      auto all = b.numbers_from(a.id());
      std::erase_if(all, [first](std::uint64_t n) { return n < first; });
      return all;
    };
    const auto kept = [&] { return a.times_connected(b.id()) == connected && a.times_lost(b.id()) == lost; };
    lasted = soon([&] { return received().size() >= 100 || !kept(); }) && kept() && received() == counted(first, 100);
  }
  CHECK(lasted);
}

TEST_CASE("a peer whose machine lost power closes nothing, and is lost all the same", "[actors][peer_link]") {
  link_fixture f;
  peer_link_settings s;
  s.hello_limit = std::chrono::milliseconds(1000);
  link_end a(f, node_id{1}, 0, s);
  black_hole home; // it cannot be dialled either, so no connection to it breaks
  const auto hello = bytes_of(hello_of(node_id{9}, home.address()));
  unverified_peer gone(a.port());
  // The absence of a loss only counts if this thread had a processor in time throughout.
  using clock = std::chrono::steady_clock;
  clock::duration silent{};
  auto last = clock::now();
  for (const auto until = last + std::chrono::milliseconds(2500); last < until;) {
    gone.send_bytes(hello);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto now = clock::now();
    silent = std::max<clock::duration>(silent, now - std::exchange(last, now));
  }
  REQUIRE(soon([&] { return a.hellos_from(node_id{9}) > 0; }));
  if (silent < s.hello_limit / 2)
    CHECK(a.times_lost(node_id{9}) == 0);
  CHECK(soon([&] { return a.times_lost(node_id{9}) == 1; }));
  CHECK(gone.is_closed());
}

TEST_CASE("a peer that closes our connection and keeps its own is known all the same", "[actors][peer_link]") {
  // raft_peer forgets a lost peer, with all that is not in a hello. A write forwarded before the
  // next hello would get no response; so raft_peer is notified that this peer still sends.
  link_fixture f;
  link_end a(f, node_id{1});
  home there;
  unverified_peer peer(a.port());
  peer.send_bytes(bytes_of(hello_of(node_id{9}, there.address())));
  REQUIRE(soon([&] { return there.was_visited() && a.times_connected(node_id{9}) == 1; }));
  there.close_visitor();
  REQUIRE(soon([&] { return a.times_lost(node_id{9}) == 1; }));
  CHECK(a.is_still_reachable(node_id{9}));
  peer.hang_up();
  REQUIRE(soon([&] { return a.times_lost(node_id{9}) == 2; }));
  CHECK_FALSE(a.is_still_reachable(node_id{9}));
}

TEST_CASE("two members that swap addresses are found at their new ones by a running member", "[actors][peer_link]") {
  // Both addresses respond. Frames were sent to the member's old address, now another server's.
  link_fixture f;
  link_end a(f, node_id{1});
  home first, second;
  const auto send_hello = [&](unverified_peer& who, std::uint64_t id, home& where) {
    who.send_bytes(bytes_of(hello_of(node_id{id}, where.address())));
  };
  const auto arrives = [&](std::uint64_t id, home& where) {
    return soon([&] {
      a.send_numbers(node_id{id}, id, 1);
      const auto came = where.numbers();
      return !came.empty() && came.front() == id;
    });
  };
  a.dial_members({{node_id{1}, a.address()}, {node_id{2}, first.address()}, {node_id{3}, second.address()}});
  {
    unverified_peer b(a.port()), c(a.port());
    send_hello(b, 2, first);
    send_hello(c, 3, second);
    REQUIRE(soon([&] { return first.was_visited() && second.was_visited(); }));
    REQUIRE(arrives(2, first));
    REQUIRE(arrives(3, second));
  }
  REQUIRE(soon([&] { return a.times_lost(node_id{2}) > 0 && a.times_lost(node_id{3}) > 0; }));
  for (auto* h : {&first, &second}) {
    h->close_visitor();
    REQUIRE(soon([&] { return h->was_visited(); }));
  }
  unverified_peer b(a.port(), "127.0.0.2"), c(a.port(), "127.0.0.3");
  send_hello(b, 2, second);
  send_hello(c, 3, first);
  CHECK(arrives(2, second));
  CHECK(arrives(3, first));
}

TEST_CASE("a port in use is rejected with advice", "[actors][peer_link]") {
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

// The port listens before the server knows its cluster: early agents must not be rejected.
TEST_CASE("a client agent that connects before the server's own identity is known waits for it",
          "[actors][peer_link]") {
  link_fixture f;
  std::atomic<int> passed_on{0};
  peer_link_settings settings;
  settings.client_agent = [&](identified_peer p) {
    ++passed_on;
    ::close(p.fd);
  };
  link_end a(f, node_id{1}, 0, settings, false);
  auto agent = hello_of(node_id{9}, "127.0.0.1:9");
  agent.client_agent = true;
  log::tap lines(log::level::info, false, 100'000);
  unverified_peer early(a.port());
  early.send_bytes(bytes_of(agent));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  CHECK(early.is_open());
  CHECK(passed_on == 0);
  a.post(announce{hello_of(node_id{1}, a.address())});
  CHECK(soon([&] { return passed_on == 1; }));
  CHECK(lines.take().find("refused") == std::string::npos);
}
