// What unverified peers can use up: connections, descriptors, bytes, time. Members are served.

#include "tests/actors/link_fixture.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <atomic>
#include <condition_variable>

using namespace belay;
using namespace belay::actors;
using namespace belay::link_test;

namespace {

using unverified_peers = std::vector<std::unique_ptr<unverified_peer>>;

std::size_t open_ones(unverified_peers& all) {
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](auto& s) { return s->is_open(); }));
}

raft::message append_of(node_id from, node_id to, std::size_t bytes) {
  raft::entry e;
  e.index = log_index{1};
  e.term = term_id{1};
  e.kind = raft::entry_kind::command;
  e.data = make_payload(std::string(bytes, 'x'));
  raft::append_entries append;
  append.entries.push_back(e);
  return raft::message{from, to, term_id{1}, append};
}

} // namespace

TEST_CASE("silent connections are limited, and exclude no other peer", "[actors][peer_link][limits]") {
  // 120 connections from the host of a peer, twelve times the limit. The peer comes last.
  peer_link_settings s;
  s.pending.per_address_max = 10;
  link_fixture f;
  link_end a(f, node_id{1}, 0, s);
  unverified_peers all;
  for (int i = 0; i < 120; ++i)
    all.push_back(std::make_unique<unverified_peer>(a.port()));
  CHECK(soon([&] { return open_ones(all) <= 10; }));
  link_end b(f, node_id{2});
  b.dial({a.address()});
  REQUIRE(soon([&] { return a.hellos_from(b.id()) > 0 && b.times_connected(a.id()) > 0; }));
  b.send_numbers(a.id(), 1, 3);
  CHECK(soon([&] { return a.numbers_from(b.id()).size() == 3; }));
}

TEST_CASE("connections of all addresses together are limited, too", "[actors][peer_link][limits]") {
  peer_link_settings s;
  s.pending.connections_max = 20;
  link_fixture f;
  link_end a(f, node_id{1}, 0, s);
  unverified_peers all;
  for (int host = 2; host < 10; ++host)
    for (int i = 0; i < 10; ++i)
      all.push_back(std::make_unique<unverified_peer>(a.port(), ("127.0.0." + std::to_string(host)).c_str()));
  CHECK(soon([&] { return open_ones(all) <= 20; }));
  link_end b(f, node_id{2});
  b.dial({a.address()});
  CHECK(soon([&] { return a.hellos_from(b.id()) > 0; }));
}

TEST_CASE("a hello that does not end is not waited for", "[actors][peer_link][limits]") {
  peer_link_settings s;
  s.pending.deadline = std::chrono::milliseconds(300);
  link_fixture f;
  link_end a(f, node_id{1}, 0, s);
  unverified_peer silent(a.port()), slow(a.port()), chatty(a.port());
  const auto hello = bytes_of(hello_of(node_id{9}, "127.0.0.1:9"));
  slow.send_bytes(hello.substr(0, hello.size() - 1));
  auto large = hello_of(node_id{9}, "127.0.0.1:9");
  large.self.name = std::string(peer_handshake::hello_bytes_max, 'x');
  chatty.send_bytes(bytes_of(large));
  CHECK(chatty.is_closed());
  CHECK(slow.is_closed());
  CHECK(silent.is_closed());
  CHECK(a.hellos_from(node_id{9}) == 0);
}

TEST_CASE("handshakes of unverified peers take a share of the time, and members have one of their own",
          "[actors][peer_link][limits]") {
  // With a tiny share one batch uses it up: one that reads a hello, as connections are accepted
  // with theirs.
  peer_link_settings s;
  s.pending.share_of_time = 1e-9;
  s.pending.deadline = std::chrono::minutes(10);
  link_fixture f;
  link_end a(f, node_id{1}, 0, s, true, link_end::accepts::with_first_bytes);
  home there;
  a.dial_members({local(1)}, {node_id{1}, node_id{2}});
  unverified_peer first(a.port(), "127.0.0.2");
  first.send_bytes(bytes_of(hello_of(node_id{11}, there.address())));
  REQUIRE(soon([&] { return a.hellos_from(node_id{11}) > 0; }));
  unverified_peer second(a.port(), "127.0.0.3");
  second.send_bytes(bytes_of(hello_of(node_id{12}, there.address())));
  unverified_peer member(a.port(), "127.0.0.1");
  member.send_bytes(bytes_of(hello_of(node_id{2}, there.address())));
  REQUIRE(soon([&] { return a.hellos_from(node_id{2}) > 0; }));
  // Its next frame is in a later batch than its hello; the second unverified peer came before.
  member.send_bytes(bytes_of(wire::read_index{1, false}));
  CHECK(soon([&] { return a.numbers_from(node_id{2}).size() == 1; }));
  CHECK(a.hellos_from(node_id{12}) == 0);
}

TEST_CASE("few unverified peers are dialled back, and they are forgotten when they disconnect",
          "[actors][peer_link][limits]") {
  // Each hello left an address that was dialled forever: 3,000 of them kept the Raft core busy.
  peer_link_settings s;
  s.unverified_max = 2;
  link_fixture f;
  link_end a(f, node_id{1}, 0, s);
  a.dial_members({}, {node_id{1}, node_id{2}, node_id{3}});
  home homes[4];
  const auto identify = [&](unverified_peer& who, std::uint64_t id, home& where) {
    who.send_bytes(bytes_of(hello_of(node_id{id}, where.address())));
  };
  auto first = std::make_unique<unverified_peer>(a.port());
  identify(*first, 11, homes[0]);
  unverified_peer second(a.port());
  identify(second, 12, homes[1]);
  REQUIRE(soon([&] { return homes[0].was_visited() && homes[1].was_visited(); }));
  unverified_peer third(a.port());
  identify(third, 13, homes[2]);
  CHECK(third.is_closed());
  CHECK_FALSE(homes[2].was_visited());
  unverified_peer member(a.port()); // not one of the two
  identify(member, 3, homes[3]);
  CHECK(soon([&] { return homes[3].was_visited(); }));

  first.reset();
  CHECK(soon([&] { return homes[0].visitor_left(); }));
  unverified_peer instead(a.port());
  identify(instead, 14, homes[2]);
  CHECK(soon([&] { return homes[2].was_visited(); }));
  CHECK_FALSE(homes[1].visitor_left());
}

TEST_CASE("a name in place of the address in a hello is not looked up", "[actors][peer_link][limits]") {
  std::atomic<int> requested{0};
  peer_link_settings s;
  s.look_up = [&](const std::string&) -> name_lookups::addresses {
    ++requested;
    return {};
  };
  link_fixture f;
  link_end a(f, node_id{1}, 0, s);
  unverified_peer who(a.port());
  who.send_bytes(bytes_of(hello_of(node_id{9}, "attacker.example:8300")));
  CHECK(who.is_closed());
  CHECK(requested == 0);
  CHECK(a.hellos_from(node_id{9}) == 0);
}

TEST_CASE("an unresolved name in retry_join delays no other one", "[actors][peer_link][limits]") {
  // getaddrinfo() ran on the Raft core's thread: an unresolvable name left 36 writes in 15 s.
  struct gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
  };
  const auto closed = std::make_shared<gate>();
  peer_link_settings s;
  s.look_up = [closed](const std::string&) -> name_lookups::addresses {
    std::unique_lock lock(closed->mutex);
    closed->changed.wait(lock, [&] { return closed->open; });
    return {};
  };
  link_fixture f;
  link_end a(f, node_id{1}, 0, s);
  link_end b(f, node_id{2});
  a.dial({"nobody.invalid:8300", b.address()});
  REQUIRE(soon([&] { return b.hellos_from(a.id()) > 0 && a.times_connected(b.id()) > 0; }));
  a.send_numbers(b.id(), 1, 100);
  CHECK(soon([&] { return b.numbers_from(a.id()).size() == 100; }));
  {
    std::lock_guard lock(closed->mutex);
    closed->open = true;
  }
  closed->changed.notify_all();
}

TEST_CASE("large frames are for members", "[actors][peer_link][limits]") {
  // Twenty unfinished frames of 60 MiB were 1.3 GB.
  link_fixture f;
  link_end a(f, node_id{1});
  a.dial_members({}, {node_id{1}, node_id{2}});
  home there;
  const auto send_large = [&](unverified_peer& who, std::uint64_t id) {
    who.send_bytes(bytes_of(hello_of(node_id{id}, there.address())) + bytes_of(wire::read_index{1, false}));
    REQUIRE(soon([&] { return a.numbers_from(node_id{id}).size() == 1; }));
    const auto frame = bytes_of(append_of(node_id{id}, a.id(), 100'000));
    who.send_bytes(frame.substr(0, 10)); // its length alone is enough
    return frame.substr(10);
  };
  unverified_peer outside(a.port()), member(a.port());
  send_large(outside, 9);
  CHECK(outside.is_closed());
  member.send_bytes(send_large(member, 2));
  CHECK(soon([&] { return a.entry_bytes_from(node_id{2}).size() == 100'000; }));
}

TEST_CASE("unfinished frames of all unverified peers together are limited", "[actors][peer_link][limits]") {
  // A server without a cluster must accept large frames from any peer: it may be its leader.
  peer_link_settings s;
  s.hello_limit = std::chrono::minutes(1); // these send one
  s.unverified_bytes_max = 3u << 20;
  link_fixture f;
  link_end a(f, node_id{1}, 0, s);
  home there;
  unverified_peers all;
  for (std::uint64_t id = 11; id < 15; ++id) {
    all.push_back(std::make_unique<unverified_peer>(a.port()));
    all.back()->send_bytes(bytes_of(hello_of(node_id{id}, there.address())));
    REQUIRE(soon([&] { return a.hellos_from(node_id{id}) > 0; }));
    all.back()->send_bytes(bytes_of(append_of(node_id{id}, a.id(), 60u << 20)).substr(0, 1u << 20));
  }
  CHECK(soon([&] { return open_ones(all) == 3; }));
}

TEST_CASE("an unverified peer is read slowly, and a member is not", "[actors][peer_link][limits]") {
  peer_link_settings s;
  s.hello_limit = std::chrono::minutes(1); // these send one
  s.unverified_bytes_per_second = 16u << 10;
  link_fixture f;
  link_end a(f, node_id{1}, 0, s);
  a.dial_members({}, {node_id{1}, node_id{2}});
  home there;
  unverified_peer outside(a.port()), member(a.port());
  std::string many;
  for (std::uint64_t i = 0; i < 120'000; ++i)
    wire::encode_frame(wire::read_index{i, false}, many);
  // CAF reads up to 50 times at once; even so an unverified peer needs ten seconds for all of it.
  REQUIRE(many.size() > 10 * (50u * 4096));
  outside.send_bytes(bytes_of(hello_of(node_id{9}, there.address())));
  REQUIRE(soon([&] { return a.hellos_from(node_id{9}) > 0; }));
  std::thread sends([&] { outside.send_bytes(many); });
  member.send_bytes(bytes_of(hello_of(node_id{2}, there.address())) + many);
  CHECK(soon([&] { return a.numbers_from(node_id{2}).size() == 120'000; }));
  CHECK(a.numbers_from(node_id{9}).size() < 50'000);
  CHECK(a.times_lost(node_id{9}) == 0);
  a.stop();
  sends.join();
}

TEST_CASE("a server with a member's id does not replace it", "[actors][peer_link][limits]") {
  // Hellos with members' ids stopped all writes: frames were sent to the address in the last hello.
  link_fixture f;
  link_end a(f, node_id{1});
  link_end b(f, node_id{2});
  a.dial_members({b.address()}, {node_id{1}, node_id{2}});
  b.dial({a.address()});
  REQUIRE(soon([&] { return a.times_connected(b.id()) > 0 && b.times_connected(a.id()) > 0; }));
  home elsewhere;
  unverified_peer forger(a.port(), "127.0.0.77");
  forger.send_bytes(bytes_of(hello_of(b.id(), elsewhere.address())));
  CHECK(forger.is_closed());
  a.send_numbers(b.id(), 1, 10);
  CHECK(soon([&] { return b.numbers_from(a.id()).size() == 10; }));
  CHECK_FALSE(elsewhere.was_visited());
  CHECK(a.times_lost(b.id()) == 0);
}

TEST_CASE("unverified peers are counted by connection, and one of the many is closed", "[actors][peer_link][limits]") {
  // They were counted by the addresses that they claimed. A known address was not counted, and 512
  // of them blocked all others indefinitely.
  peer_link_settings s;
  s.unverified_max = 3;
  link_fixture f;
  link_end a(f, node_id{1}, 0, s);
  home there;
  a.dial_members({{node_id{1}, a.address()}, {node_id{2}, there.address()}});
  unverified_peers many;
  for (std::uint64_t id = 11; id < 21; ++id) {
    many.push_back(std::make_unique<unverified_peer>(a.port(), "127.0.0.77"));
    many.back()->send_bytes(bytes_of(hello_of(node_id{id}, there.address())));
  }
  CHECK(soon([&] { return open_ones(many) == 3; }));
  unverified_peer joining_member(a.port(), "127.0.0.78");
  joining_member.send_bytes(bytes_of(hello_of(node_id{31}, there.address())));
  CHECK(soon([&] { return a.hellos_from(node_id{31}) > 0; }));
  CHECK(soon([&] { return open_ones(many) == 2; }));
  unverified_peer member(a.port(), "127.0.0.79");
  member.send_bytes(bytes_of(hello_of(node_id{2}, there.address())));
  CHECK(soon([&] { return a.hellos_from(node_id{2}) > 0; }));
  CHECK(open_ones(many) == 2);
  CHECK(joining_member.is_open());
}

TEST_CASE("connections of unverified peers are closed for one from a member's host", "[actors][peer_link][limits]") {
  const bool in_all = GENERATE(false, true);
  peer_link_settings s;
  if (in_all)
    s.pending.connections_max = 3;
  else
    s.pending.per_address_max = 3;
  link_fixture f;
  link_end a(f, node_id{1}, 0, s);
  home there;
  a.dial_members({{node_id{1}, a.address()}, {node_id{2}, there.address()}});
  unverified_peers many;
  for (std::uint64_t id = 11; id < 14; ++id) {
    many.push_back(std::make_unique<unverified_peer>(a.port(), in_all ? "127.0.0.77" : "127.0.0.1"));
    many.back()->send_bytes(bytes_of(hello_of(node_id{id}, there.address())));
    REQUIRE(soon([&] { return a.hellos_from(node_id{id}) > 0; }));
  }
  unverified_peer member(a.port());
  member.send_bytes(bytes_of(hello_of(node_id{2}, there.address())));
  CHECK(soon([&] { return a.hellos_from(node_id{2}) > 0; }));
  CHECK(soon([&] { return open_ones(many) == 2; }));
}

TEST_CASE("texts of unverified peers are always short", "[actors][peer_link][limits]") {
  // The limit applied to the first frame only: later ones could name a thousand servers.
  link_fixture f;
  link_end a(f, node_id{1});
  a.dial_members({}, {node_id{1}, node_id{2}});
  home there;
  auto long_name = hello_of(node_id{9}, there.address());
  long_name.self.name = std::string(300, 'n');
  auto many = hello_of(node_id{9}, there.address());
  for (std::uint64_t id = 20; id < 120; ++id)
    many.agreed.push_back(hello_of(node_id{id}, there.address()).self);
  for (const auto& response : {long_name, many}) {
    unverified_peer who(a.port());
    who.send_bytes(bytes_of(hello_of(node_id{9}, there.address())) + bytes_of(response));
    CHECK(who.is_closed());
  }
  unverified_peer wordy(a.port());
  wordy.send_bytes(bytes_of(long_name));
  CHECK(wordy.is_closed());
  CHECK(a.hellos_from(node_id{9}) == 0);
  unverified_peer member(a.port());
  many.self.id = node_id{2};
  member.send_bytes(bytes_of(hello_of(node_id{2}, there.address())) + bytes_of(many));
  CHECK(soon([&] { return a.hellos_from(node_id{2}) == 2; }));
}

TEST_CASE("an unverified peer with a member's address is not recorded there", "[actors][peer_link][limits]") {
  // Each made-up id left an entry forever, and the member's connection counted as the other's.
  link_fixture f;
  link_end a(f, node_id{1});
  home there;
  a.dial_members({{node_id{1}, a.address()}, {node_id{2}, there.address()}});
  unverified_peer member(a.port());
  member.send_bytes(bytes_of(hello_of(node_id{2}, there.address())));
  REQUIRE(soon([&] { return there.was_visited() && a.times_connected(node_id{2}) > 0; }));
  {
    unverified_peer who(a.port(), "127.0.0.77");
    who.send_bytes(bytes_of(hello_of(node_id{9}, there.address())));
    REQUIRE(soon([&] { return a.hellos_from(node_id{9}) > 0; }));
  }
  REQUIRE(soon([&] { return a.times_lost(node_id{9}) > 0; }));
  a.send_numbers(node_id{9}, 9, 1);
  a.send_numbers(node_id{2}, 2, 1);
  std::vector<std::uint64_t> came;
  REQUIRE(soon([&] {
    came = there.numbers();
    return !came.empty();
  }));
  CHECK(came == std::vector<std::uint64_t>{2});
  CHECK(a.times_connected(node_id{9}) == 0);
}

TEST_CASE("no peer can use this server's own id", "[actors][peer_link][limits]") {
  // It was taken for a member: the configuration has this server, too. A server that dials itself,
  // by an address of its own in retry_join, detects it and continues.
  peer_link_settings s;
  s.look_up = [](const std::string&) { return name_lookups::addresses{*numeric_endpoint("127.0.0.1", 1)}; };
  link_fixture f;
  link_end a(f, node_id{1}, 0, s);
  a.dial_members({"me.invalid:" + std::to_string(a.port())}, {node_id{1}, node_id{2}});
  home there;
  unverified_peer who(a.port());
  who.send_bytes(bytes_of(hello_of(node_id{1}, there.address())));
  CHECK(who.is_closed());
  unverified_peer without_id(a.port());
  without_id.send_bytes(bytes_of(hello_of(node_id{}, there.address())));
  CHECK(without_id.is_closed());
  CHECK(a.hellos_from(node_id{1}) == 0);
  CHECK_FALSE(there.was_visited());
  unverified_peer member(a.port());
  member.send_bytes(bytes_of(hello_of(node_id{2}, there.address())));
  CHECK(soon([&] { return a.hellos_from(node_id{2}) > 0; }));
}

TEST_CASE("a member that connects from its own host takes precedence over one from another host",
          "[actors][peer_link][limits]") {
  // An impostor that connected during the member's restart kept the member out.
  const bool configuration_followed = GENERATE(false, true);
  link_fixture f;
  link_end a(f, node_id{1});
  home there, elsewhere("127.0.0.77");
  a.dial_members({{node_id{1}, a.address()}, {node_id{2}, there.address()}});
  unverified_peer impostor(a.port(), "127.0.0.77");
  impostor.send_bytes(bytes_of(hello_of(node_id{2}, elsewhere.address())));
  REQUIRE(soon([&] { return a.hellos_from(node_id{2}) == 1 && elsewhere.was_visited(); }));
  REQUIRE(soon([&] { return there.was_visited(); }));
  if (configuration_followed) {
    a.dial_members({{node_id{1}, a.address()}, {node_id{2}, elsewhere.address()}});
    REQUIRE(soon([&] { return there.visitor_left(); }));
    there.close_visitor();
  }
  unverified_peer member(a.port());
  member.send_bytes(bytes_of(hello_of(node_id{2}, there.address())));
  CHECK(soon([&] { return a.hellos_from(node_id{2}) == 2; }));
  CHECK(impostor.is_closed());
  unverified_peer again(a.port(), "127.0.0.77");
  again.send_bytes(bytes_of(hello_of(node_id{2}, elsewhere.address())));
  CHECK(again.is_closed());
  CHECK(soon([&] {
    a.send_numbers(node_id{2}, 2, 1);
    return there.was_visited() && !there.numbers().empty();
  }));
  CHECK(member.is_open());
}

TEST_CASE("the last descriptors are left to the log", "[actors][peer_link][limits]") {
  // 1,100 connections at ulimit -n 1024: accept() used one core, and the log had no descriptor.
  link_fixture f;
  link_end a(f, node_id{1});
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(next >= 0);
  ::close(next);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next) + 70;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  // The unverified peers' own ends count as well; they stop at 38 below the limit.
  std::vector<int> ends;
  for (int i = 0; i < 34; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto to = loopback(a.port());
    if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      break;
    ends.push_back(fd);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::vector<int> files;
  for (int i = 0; i < 8; ++i)
    if (const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC); fd >= 0)
      files.push_back(fd);
  CHECK(files.size() == 8);
  for (const auto* list : {&ends, &files})
    for (int fd : *list)
      ::close(fd);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  link_end b(f, node_id{2});
  b.dial({a.address()});
  CHECK(soon([&] { return a.hellos_from(b.id()) > 0; })); // and afterwards everything works
}
