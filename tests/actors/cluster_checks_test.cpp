// The actors around the Raft core check what peers send before it has an effect: unreadable
// commands, unknown servers, snapshots with wrong contents, wall clocks.

#include "actors/tables/checkpointer.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/wire/command_codec.hpp"
#include "storage/checkpoint/snapshot_file.hpp"
#include "tests/actors/cluster_fixture.hpp"
#include "tests/harness/scratch.hpp"

#include <caf/send.hpp>

#include <catch2/catch.hpp>

#include <sstream>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;
using wire::call_outcome;

namespace {

constexpr milliseconds year{365LL * 24 * 3600 * 1000};

/// Proposes bytes as if that node, which leads, had received them from its own gateway.
call propose_raw(cluster_fixture& c, std::size_t node, std::string bytes) {
  static std::uint64_t n = 0x5000;
  const call requested{node, 1, request_id{++n}};
  caf::anon_send(c.peer(node), propose_write{requested.id, make_payload(std::move(bytes))});
  return requested;
}

std::string command_of_level(state::feature_level level) {
  return wire::encode_needs({level, "9.8.7"}) + "\xc8made up";
}

wire::hello hello_of(cluster_fixture& c, std::size_t node, state::feature_level level) {
  return {c.member(node), "dc1", c.cluster_id(node), 3, {}, level};
}

bool nobody_gave_up(const cluster_fixture& c) {
  return !c.gave_up(0) && !c.gave_up(1) && !c.gave_up(2);
}

std::size_t entries_in(cluster_fixture& c, std::size_t node, const std::string& data) {
  std::size_t n = 0;
  for (const auto& e : c.log(node).kept().entries)
    n += e.kind == raft::entry_kind::command && *e.data == data ? 1 : 0;
  return n;
}

} // namespace

TEST_CASE("a malformed forwarded command is rejected and stops no server", "[actors][guards]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto other = c.all_but(leader).front();
  const std::string garbage =
      GENERATE(std::string("\x01\x63"), std::string("\x01\x00 nonsense", 11), std::string(), std::string("\x07"));
  c.net().inject(other, leader, wire::forward_call{request_id{77}, wire::call_kind::propose, make_payload(garbage)});
  c.settle();
  const auto replies = c.net().sent<wire::forward_reply>(other);
  REQUIRE_FALSE(replies.empty());
  CHECK(replies.back().second.id == request_id{77});
  CHECK(replies.back().second.outcome == call_outcome::refused);
  CHECK(replies.back().second.bytes == "malformed command");
  CHECK(entries_in(c, leader, garbage) == 0);
  c.put_done(other, "after", "x");
  CHECK(nobody_gave_up(c));
}

TEST_CASE("a forwarded command of a newer level is rejected with the version to install", "[actors][guards][levels]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto other = c.all_but(leader).front();
  c.net().inject(other, leader,
                 wire::forward_call{request_id{78}, wire::call_kind::propose, make_payload(command_of_level(9))});
  c.settle();
  const auto replies = c.net().sent<wire::forward_reply>(other);
  REQUIRE_FALSE(replies.empty());
  CHECK(replies.back().second.outcome == call_outcome::refused);
  CHECK(replies.back().second.bytes.find("the leader has level " + std::to_string(state::own_level) +
                                         ": install Belay 9.8.7") != std::string::npos);
  c.put_done(other, "after", "x");
  CHECK(nobody_gave_up(c));
}

TEST_CASE("a new kind of command is proposed once all members are known to have its level",
          "[actors][guards][levels]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto old = c.all_but(leader).front();
  const auto command = command_of_level(1);

  // A member of an older version keeps it out of the log; other writes continue.
  c.net().inject(old, leader, hello_of(c, old, 0));
  const auto refused = c.written(propose_raw(c, leader, command));
  CHECK(refused.outcome == call_outcome::refused);
  CHECK(refused.text ==
        "server " + c.member(old).name +
            " may not have feature level 1: install Belay 9.8.7 or newer there, or remove it, and try again");
  CHECK(entries_in(c, leader, command) == 0);
  c.put_done(leader, "a", "1");

  // Its last known level still counts while it is away.
  SECTION("away, and of the older version") {
    c.crash(old);
    CHECK(c.written(propose_raw(c, leader, command)).outcome == call_outcome::refused);
    CHECK(entries_in(c, leader, command) == 0);
  }
  SECTION("replaced by the newer version") {
    c.net().inject(old, leader, hello_of(c, old, 1));
    SECTION("and there") {}
    SECTION("and away again") {
      c.crash(old);
    }
    propose_raw(c, leader, command);
    c.settle();
    CHECK(entries_in(c, leader, command) == 1);
  }
}

// Rows have the same form for every server; their contents decide which versions can read them.
TEST_CASE("rows of a restore are proposed once all members are known to read them", "[actors][guards][levels]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front(), old = c.all_but(leader).back();
  auto outcome = std::make_shared<state::outcome_record>();
  outcome->id = "key";
  outcome->key = state::outcome_key("", "key");
  const auto rows = std::make_shared<const std::vector<state::dirty_row>>(
      std::vector<state::dirty_row>{{state::table::outcomes, outcome->key, state::outcome_ptr(outcome)}});
  const auto command = wire::encode_command(state::restore_rows{"id", 0, rows});
  constexpr auto before = state::exactly_once_level - 1;
  const auto text_of = [&](std::size_t node) {
    return "server " + c.member(node).name + " may not have feature level " +
           std::to_string(state::exactly_once_level) + ": install Belay " +
           std::string(state::first_version_of(state::exactly_once_level)) +
           " or newer there, or remove it, and try again";
  };

  SECTION("a follower is older") {
    c.net().inject(old, leader, hello_of(c, old, before));
    for (const auto node : {leader, follower}) {
      const auto refused = c.written(propose_raw(c, node, command));
      CHECK(refused.outcome == call_outcome::refused);
      CHECK(refused.text == text_of(old));
    }
    CHECK(entries_in(c, leader, command) == 0);
    c.net().inject(old, leader, hello_of(c, old, state::own_level));
  }
  // It would only report that it cannot read them.
  SECTION("the leader is older") {
    c.net().inject(leader, follower, hello_of(c, leader, before));
    const auto refused = c.written(propose_raw(c, follower, command));
    CHECK(refused.outcome == call_outcome::refused);
    CHECK(refused.text == text_of(leader));
    CHECK(entries_in(c, leader, command) == 0);
    c.net().inject(leader, follower, hello_of(c, leader, state::own_level));
  }
  propose_raw(c, follower, command);
  c.settle();
  CHECK(entries_in(c, leader, command) == 1);
  CHECK(nobody_gave_up(c));
}

TEST_CASE("a server whose log has a command of a newer level stops", "[actors][guards][levels]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto behind = c.all_but(leader).front();
  c.put_done(leader, "a", "1");
  // The leader does not decode its own gateway's commands: a newer leader would propose it.
  const auto text = GENERATE(true, false) ? command_of_level(1) : std::string("\x01\x63 of an old log");
  propose_raw(c, leader, text);
  REQUIRE(c.until([&] { return c.gave_up(behind); }));
  // The server stops again after the next start, because the entry is still in the log.
  for (std::size_t i = 0; i < 3; ++i)
    c.crash(i);
  for (std::size_t i = 0; i < 3; ++i)
    c.start(i);
  CHECK(c.until([&] { return c.gave_up(behind); }));
}

namespace {

/// A snapshot whose rows do not match its digest.
std::string snapshot_with_a_wrong_digest(const raft::snapshot_meta& meta) {
  sim::simulated_checkpoints forger([](auto, auto, auto) { return std::optional(std::uint64_t{4711}); });
  storage::checkpoint_delta delta{meta, 4711, true, {}};
  const state::dirty_row row{state::table::counters, "k", state::counter{"k", 1}};
  delta.rows.push_back(row_change_of(row));
  REQUIRE(forger.commit(delta).ok());
  const auto chunk = forger.read_snapshot(log_index{}, 0, 1u << 20);
  REQUIRE((chunk.ok() && chunk->last));
  return std::string(*chunk->bytes);
}

} // namespace

TEST_CASE("a snapshot with a wrong digest costs a follower nothing", "[actors][guards][disks]") {
  cluster_options o;
  o.machine.checkpoints.entries = 5;
  cluster_fixture c(o);
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  for (int i = 0; i < 12; ++i)
    c.put_done(leader, "k" + std::to_string(i), "v");
  c.pass(seconds(1));
  REQUIRE(c.converged());
  REQUIRE_FALSE(c.checkpoints(follower).commits().empty());
  const auto before = c.checkpoints(follower).info();
  REQUIRE((before.ok() && before->has_value()));

  const auto& view = c.view(follower);
  const raft::snapshot_meta meta{log_index{c.applied(follower) + 10}, view.soft.term, cluster_time{1}, view.config};
  c.net().inject(leader, follower,
                 raft::message{c.id_of(leader), c.id_of(follower), view.soft.term,
                               raft::snapshot_chunk{meta, 0, make_payload(snapshot_with_a_wrong_digest(meta)), true}});
  c.settle();
  CHECK_FALSE(c.gave_up(follower));
  const auto after = c.checkpoints(follower).info();
  REQUIRE((after.ok() && after->has_value()));
  CHECK((*after)->meta == (*before)->meta);
  CHECK((*after)->digest == (*before)->digest);
  CHECK(c.stale(follower, "k3") == "v");
  c.put_done(follower, "after", "x");
  c.crash(follower);
  c.start(follower);
  CHECK(c.converged());
  CHECK(c.stale(follower, "k3") == "v");
}

TEST_CASE("frames of a server that is not a member change nothing, even with the cluster's id", "[actors][guards]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  c.put_done(leader, "a", "1");
  c.pass(seconds(1));
  const auto view = c.view(follower);
  constexpr node_id unverified_peer{4242};
  const auto last = log_index{c.log(follower).kept().entries.back().index};
  const auto term = view.soft.term;
  const auto forged = wire::encode_command(set_key("forged", "yes"));
  const raft::entry entry{last.next(), term.next(), cluster_time{}, raft::entry_kind::command, make_payload(forged)};
  for (const auto to : {leader, follower}) {
    auto hello = hello_of(c, to, 1);
    hello.self.id = unverified_peer;
    const auto from_unverified_peer = [&](term_id t, raft::message_body body) {
      return raft::message{unverified_peer, c.id_of(to), t, std::move(body)};
    };
    hello.self.name = "stranger";
    hello.self.address = "127.0.0.1:9";
    hello.self.uuid = "57164a6e-0000-4000-8000-000000000001";
    frames_received f{
        unverified_peer,
        {hello, wire::forward_call{request_id{78}, wire::call_kind::propose, make_payload(forged)},
         wire::forward_call{request_id{79}, wire::call_kind::remove_member, make_payload("add 127.0.0.1:9")},
         wire::forward_call{request_id{80}, wire::call_kind::remove_member,
                            make_payload("address " + c.member(follower).address)},
         wire::read_index{1, true},
         from_unverified_peer(term_id{std::uint64_t{1} << 62}, raft::vote_request{false, true, last, term}),
         from_unverified_peer(term.next(), raft::vote_request{false, true, log_index{1000}, term}),
         from_unverified_peer(term.next(), raft::append_entries{last, term, last.next(), 1, {entry}}),
         from_unverified_peer(term, raft::timeout_now{}), wire::gossip{{}, {unverified_peer}},
         from_unverified_peer(term.next(), raft::append_entries{last, term, last.next(), 1, {entry}})}};
    caf::anon_send(c.peer(to), std::move(f));
    c.settle();
  }
  c.pass(seconds(2));
  CHECK(c.leader() == leader);
  CHECK(c.view(leader).soft.term == term);
  CHECK(c.view(leader).config.members.size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(c.stale(i, "forged") == "(none)");
  c.put_done(follower, "after", "x");
}

TEST_CASE("servers of other clusters are logged in few lines", "[actors][guards]") {
  // Each hello with another name was a line in the log, as fast as a peer could send them.
  const harness::scratch_folder folder;
  cluster_fixture c;
  const auto leader = c.leader();
  log::settings s;
  s.to_stdout = false;
  s.file = folder / "log";
  log::configure(s);
  for (std::uint64_t i = 0; i < 300; ++i) {
    auto h = hello_of(c, leader, state::own_level);
    h.self.id = node_id{9000 + i % 3};
    h.self.name = "stranger " + std::to_string(i);
    h.datacenter = "elsewhere";
    c.net().inject(c.all_but(leader).front(), leader, h);
  }
  c.settle();
  s.file.clear();
  log::configure(s);
  std::istringstream text(harness::file_text(folder / "log"));
  std::size_t lines = 0;
  for (std::string line; std::getline(text, line);)
    lines += line.find("server rejected: it is not a member of this cluster") != line.npos ? 1 : 0;
  CHECK(lines > 0);
  CHECK(lines < 30);
}

TEST_CASE("a server that was away follows a leader that its log does not name", "[actors][guards]") {
  // While one of five is cut off, another loses its disk, returns as a new server, and leads.
  cluster_options o;
  o.nodes = 5;
  cluster_fixture c(o);
  const auto leader = c.leader();
  const auto away = c.all_but(leader).front(), renewed = c.all_but(leader).back();
  c.put_done(leader, "a", "1");
  std::vector<std::size_t> others = c.all_but(away);
  c.net().partition({others, {away}});
  c.crash(renewed);
  c.wipe(renewed);
  c.start(renewed);
  const auto is_in = [&] {
    const auto& config = c.view(leader).config;
    return config.is_voter(c.id_of(renewed)) && !config.joint() && config.members.size() == 5;
  };
  REQUIRE(c.until(is_in));
  c.put_done(leader, "b", "2");
  c.pass(seconds(1));
  caf::anon_send(c.peer(leader), leadership_transfer{c.id_of(renewed)});
  REQUIRE(c.until([&] { return c.serving(renewed); }));
  REQUIRE_FALSE(c.view(away).config.contains(c.id_of(renewed)));

  // The new leader cannot vouch for itself.
  c.net().filter = [&](std::size_t from, std::size_t to, const wire::frame& f) {
    return to != away || from == renewed || !std::holds_alternative<wire::gossip>(f);
  };
  c.net().heal();
  c.pass(seconds(7));
  CHECK(c.stale(away, "b") == "(none)");
  c.net().filter = nullptr;
  CHECK(c.until([&] { return c.stale(away, "b") == "2"; }));
  CHECK(c.view(away).soft.leader == c.id_of(renewed));
  CHECK(c.converged());
}

TEST_CASE("members of a version without gossip do not keep a server from following", "[actors][guards][levels]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front(), old = c.all_but(leader).back();
  constexpr node_id joining_member{4242};
  auto hello = hello_of(c, follower, 0);
  hello.self.id = joining_member;
  const auto term = c.view(follower).soft.term;
  const raft::message asks{joining_member, c.id_of(follower), term.next(),
                           raft::vote_request{false, true, log_index{1000}, term}};
  caf::anon_send(c.peer(follower), frames_received{joining_member, {hello, asks}});
  c.settle();
  CHECK(c.view(follower).soft.term == term);
  c.net().inject(old, follower, hello_of(c, old, 0)); // it could not have named the joining member
  caf::anon_send(c.peer(follower), frames_received{joining_member, {hello, asks}});
  c.settle();
  CHECK(c.view(follower).soft.term == term.next());
}

// ---- time

namespace {

state::command acquire(const std::string& key, const std::string& session) {
  state::kv_op o;
  o.verb = state::kv_verb::lock;
  o.key = key;
  o.session = session;
  return state::kv_write{std::move(o)};
}

} // namespace

TEST_CASE("wall clocks that are a year off change no lock delay, whichever server leads",
          "[actors][guards][locks][time]") {
  constexpr milliseconds delay{5000};
  const auto ahead = GENERATE(year, -year, milliseconds(20'000), milliseconds(-20'000));
  const bool failover = GENERATE(false, true);
  CAPTURE(ahead.count(), failover);
  cluster_fixture c;
  auto leader = c.leader();
  if (failover) // the next leader's clock is wrong
    for (const auto i : c.all_but(leader))
      c.set_wall(i, ahead);
  const auto holder = c.session(leader, seconds(3600), delay), next = c.session(leader, seconds(3600));
  REQUIRE(std::get<bool>(c.written(c.write(leader, acquire("lock", holder))).reply));
  c.written(c.write(leader, state::session_destroy{{holder}, "destroyed"}));
  const auto lost = c.now();
  milliseconds gap{0};
  if (failover) {
    c.crash(leader);
    leader = c.leader();
    gap = std::chrono::duration_cast<milliseconds>(c.now() - lost); // is not counted
  } else {
    c.set_wall(leader, ahead);
  }
  for (;;) {
    const auto r = c.written(c.write(leader, acquire("lock", next)));
    if (std::get<bool>(r.reply))
      break;
    REQUIRE(r.reply.note.why == state::refused_for::lock_delay);
    REQUIRE(r.reply.note.retry_after_ms <= static_cast<std::uint64_t>(delay.count()));
    REQUIRE(c.now() - lost < 2 * delay);
    c.pass(milliseconds(50));
  }
  CHECK(c.now() - lost >= delay);
  CHECK(c.now() - lost <= delay + gap + milliseconds(100));
}

TEST_CASE("a server reports the length of a lock delay without its wall clock", "[actors][guards][locks][time]") {
  constexpr milliseconds delay{60'000};
  cluster_fixture c;
  const auto leader = c.leader();
  const auto holder = c.session(leader, seconds(3600), delay);
  REQUIRE(std::get<bool>(c.written(c.write(leader, acquire("lock", holder))).reply));
  c.written(c.write(leader, state::session_destroy{{holder}, "destroyed"}));
  for (std::size_t i = 0; i < 3; ++i)
    c.set_wall(i, i % 2 == 0 ? year : -year);
  c.pass(seconds(20));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto left = milliseconds(c.found(c.get(i, "lock", consistency::stale)).lock_delay_ms);
    CHECK(left <= delay - seconds(19));
    CHECK(left >= delay - seconds(21));
  }
}

TEST_CASE("the skew between wall clocks is measured", "[actors][guards][time]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto off = c.all_but(leader).front();
  const auto skew_of = [&](std::size_t node) {
    const auto text = c.metrics_text(node);
    const std::string name = "\nconsul_raft_clock_skew_ms ";
    const auto at = text.find(name);
    REQUIRE(at != std::string::npos);
    return std::stoll(text.substr(at + name.size()));
  };
  c.pass(seconds(12));
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(skew_of(i) <= 2);
  c.set_wall(off, milliseconds(-7000));
  c.pass(seconds(12));
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(skew_of(i) >= 6998);
    CHECK(skew_of(i) <= 7002);
  }
  c.set_wall(off, milliseconds(0));
  c.pass(seconds(12));
  CHECK(skew_of(leader) <= 2);
}
