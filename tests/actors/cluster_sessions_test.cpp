// When sessions end: never before their TTL, before twice the TTL, and only by the term's leader.

#include "tests/actors/cluster_fixture.hpp"

#include "actors/tables/session_reaper.hpp"
#include "protocol/wire/command_codec.hpp"
#include "sim/environment/stub_of.hpp"

#include <catch2/catch.hpp>

#include <caf/send.hpp>

#include <algorithm>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;

namespace {

constexpr seconds ttl{10};
// A tick of the reaper, and the way through the log.
constexpr milliseconds slack{500};

bool exists(cluster_fixture& c, std::size_t node, const std::string& session) {
  const auto r = c.found(c.read(node, state::session_info{session}, consistency::stale));
  return !std::get<state::sessions>(std::get<state::query_result>(r.answer).data).list.empty();
}

/// Virtual time from `since` until the session is gone on that node.
milliseconds lifetime(cluster_fixture& c, std::size_t node, const std::string& session, monotonic_time since) {
  while (exists(c, node, session) && c.now() - since < 10 * ttl)
    c.pass(milliseconds(50));
  return std::chrono::duration_cast<milliseconds>(c.now() - since);
}

payload ending(const std::string& session) {
  return make_payload(wire::encode_command(state::session_destroy{{session}, "ttl"}));
}

} // namespace

TEST_CASE("a session lives for its TTL and ends by twice that", "[actors][sessions][C1]") {
  // Clients are promised the TTL as a lower bound; a holder that died must not keep its lock
  // forever. Every node removes the session.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto through = GENERATE(0u, 1u, 2u);
  const auto id = c.session(through, ttl);
  const auto since = c.now();
  c.pass(ttl);
  CHECK(exists(c, leader, id));
  const auto lived = lifetime(c, leader, id, since);
  CHECK(lived >= ttl);
  CHECK(lived <= 2 * ttl + slack);
  CHECK(c.converged());
  for (std::size_t i = 0; i < 3; ++i)
    CHECK_FALSE(exists(c, i, id));
}

TEST_CASE("a renewal starts the TTL again, through any node", "[actors][sessions]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  const auto node = GENERATE(true, false);
  const auto id = c.session(leader, ttl);
  c.pass(seconds(15));
  const auto renewal = c.renew(node ? leader : follower, id);
  REQUIRE(c.until([&] { return c.answered(renewal); }));
  REQUIRE(c.answers(renewal).renewals.size() == 1);
  CHECK(c.answers(renewal).renewals.front().ok);
  REQUIRE(c.answers(renewal).renewals.front().session != nullptr);
  CHECK(c.answers(renewal).renewals.front().session->id == id);
  const auto lived = lifetime(c, leader, id, c.now());
  CHECK(lived >= ttl);
  CHECK(lived <= 2 * ttl + slack);

  // Once it is gone, a renewal reports that.
  const auto late = c.renew(follower, id);
  REQUIRE(c.until([&] { return c.answered(late); }));
  CHECK(c.answers(late).renewals.front().ok);
  CHECK(c.answers(late).renewals.front().session == nullptr);
}

TEST_CASE("a new leader gives every session its whole TTL again", "[actors][sessions][C1]") {
  // The old leader's timers are gone with it, and the holder may have renewed a moment before.
  // The new leader restarts its TTL, so a session may last longer than promised, never shorter.
  cluster_fixture c;
  const auto old = c.leader();
  const auto id = c.session(old, ttl);
  c.pass(seconds(18));
  c.crash(old);
  const auto next = c.leader();
  const auto since = c.now();
  const auto lived = lifetime(c, next, id, since);
  CHECK(lived >= ttl);
  CHECK(lived <= 2 * ttl + slack);
}

TEST_CASE("a session outlives a cluster without a leader", "[actors][sessions][C2]") {
  // No session may end while there is no leader, because it could not be renewed.
  cluster_fixture c;
  c.leader();
  const auto id = c.session(0, ttl);
  c.net().partition({{0}, {1}, {2}});
  c.pass(seconds(60));
  c.net().heal();
  const auto leader = c.leader();
  CHECK(exists(c, leader, id));
  CHECK(lifetime(c, leader, id, c.now()) >= ttl);
}

TEST_CASE("sessions found on the disk have timers", "[actors][sessions][C3]") {
  // All nodes were restarted. A session without a client must end although it was created before
  // the restart.
  cluster_options o;
  o.machine.checkpoints.entries = 16384;
  o.machine.checkpoints.interval = seconds(2);
  cluster_fixture c(o);
  const auto id = c.session(c.leader(), ttl);
  c.pass(seconds(5));
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE_FALSE(c.checkpoints(i).commits().empty());
    c.crash(i);
  }
  for (std::size_t i = 0; i < 3; ++i)
    c.start(i);
  const auto leader = c.leader();
  CHECK(exists(c, leader, id));
  const auto lived = lifetime(c, leader, id, c.now());
  CHECK(lived >= ttl);
  CHECK(lived <= 2 * ttl + slack);
}

TEST_CASE("old_leader_reaper: a timer of an earlier leadership ends nothing", "[actors][sessions][R25]") {
  // The old leader's reaper found a session due; its message was in the mailbox when the leadership
  // changed. The holder has renewed since: ending the session now would break its lock.
  cluster_fixture c;
  const auto first = c.leader();
  const auto id = c.session(first, ttl);
  const auto old_term = c.view(first).soft.term;
  const auto others = c.all_but(first);
  c.net().partition({{first}, others});
  c.leader(others);
  c.net().heal();
  c.pass(seconds(1));
  const auto leader = c.leader();
  const auto now_term = c.view(leader).soft.term;
  REQUIRE(now_term > old_term);

  caf::anon_send(c.peer(leader), propose_internal{old_term, ending(id)});
  for (auto i : c.all_but(leader)) { // and no node forwards it, whatever the term
    caf::anon_send(c.peer(i), propose_internal{old_term, ending(id)});
    caf::anon_send(c.peer(i), propose_internal{now_term, ending(id)});
  }
  c.pass(seconds(1));
  REQUIRE(c.serving(leader));
  REQUIRE(c.view(leader).soft.term == now_term);
  CHECK(exists(c, leader, id));
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(c.net().calls_forwarded_by(i) == 0);

  caf::anon_send(c.peer(leader), propose_internal{now_term, ending(id)});
  c.pass(seconds(1));
  CHECK_FALSE(exists(c, leader, id));
}

namespace {

/// A session_reaper alone, with a raft_peer that accepts its proposals and does nothing.
class reaper_alone {
public:
  reaper_alone() : system_(config_), scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())) {
    scheduler_.clock().current_time += std::chrono::hours(1);
    node_actors_->raft_peer = sim::stub_of<raft_peer_actor>(
        system_, [this](const propose_internal& p) { proposed_.push_back(p); },
        [this](const renew_answer& a) { renewed_.push_back(a); },
        [this](const renew_session& r) { passed_on_.push_back(r); });
    node_actors_->gateways.push_back(sim::stub_of<http_gateway_actor>(
        system_, [this](const renew_result& r) { received_.push_back(r); },
        [this](const write_results& w) { written_.insert(written_.end(), w.list.begin(), w.list.end()); }));
    node_actors_->session_reaper =
        system_.spawn<session_reaper>(nullptr, node_actors_, std::vector<state::session_ptr>{}, log_index{4}, counted_);
    post(tick_atom::value);
  }
  ~reaper_alone() {
    post(stop_atom::value);
    caf::anon_send(node_actors_->raft_peer, stop_atom::value);
    caf::anon_send(node_actors_->gateways.front(), stop_atom::value);
    settle();
    *node_actors_ = {};
    scheduler_.clock().cancel_all();
    settle();
  }

  template <class Message>
  void post(const Message& m) {
    caf::anon_send(node_actors_->session_reaper, m);
    settle();
  }
  void lead(std::uint64_t term, bool serving = true) {
    cluster_view v;
    v.soft.term = term_id{term};
    v.serving = serving;
    post(lease_extended{serving ? scheduler_.clock().now() + std::chrono::hours(10) : monotonic_time{}});
    post(v);
  }
  void change(const std::string& id, bool created) {
    auto s = std::make_shared<state::session_record>();
    s->id = id;
    s->ttl_ns = std::chrono::nanoseconds(ttl).count();
    post(publish_effects{{state::session_changed{s, created}}});
  }
  void pass(milliseconds d) {
    for (milliseconds gone{0}; gone < d; gone += milliseconds(10)) {
      scheduler_.advance_time(milliseconds(10));
      settle();
    }
  }
  monotonic_time now() const { return scheduler_.clock().now(); }
  std::vector<propose_internal>& proposed() { return proposed_; }
  std::vector<renew_answer>& renewed() { return renewed_; }
  std::vector<renew_session>& passed_on() { return passed_on_; }
  std::vector<renew_result>& received() { return received_; }
  std::vector<write_result>& written() { return written_; }
  /// With an exact TTL.
  void create_exact(const std::string& id, milliseconds lives) {
    auto s = std::make_shared<state::session_record>();
    s->id = id;
    s->ttl_ns = std::chrono::nanoseconds(lives).count();
    s->ttl_mode = state::session_ttl_mode::exact;
    post(publish_effects{{state::session_changed{s, true}}});
  }
  void lose_the_lease() { post(lease_extended{}); }
  /// Time passes, and no actor runs.
  void stall(milliseconds d) { scheduler_.clock().current_time += d; }
  std::vector<std::string> ended() const {
    std::vector<std::string> all;
    for (const auto& p : proposed_) {
      const auto c = wire::decode_command(*p.command);
      const auto& ids = std::get<state::session_expire>(*c).ids;
      all.insert(all.end(), ids.begin(), ids.end());
    }
    return all;
  }
  std::string numbers() const { return counted_.prometheus("consul"); }

private:
  struct system_config : caf::actor_system_config {
    system_config() { set("scheduler.policy", caf::atom("testing")); }
  };
  void settle() {
    while (scheduler_.try_run_once()) {
    }
  }

  system_config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  metrics counted_;
  node_actors_ptr node_actors_ = std::make_shared<node_actors>();
  std::vector<propose_internal> proposed_;
  std::vector<renew_answer> renewed_;
  std::vector<renew_session> passed_on_;
  std::vector<renew_result> received_;
  std::vector<write_result> written_;
};

} // namespace

TEST_CASE("sessions with a running TTL are counted on the leader", "[actors][sessions]") {
  reaper_alone r;
  const auto active = [&](int n) {
    r.pass(milliseconds(60));
    return r.numbers().find("consul_session_ttl_active " + std::to_string(n) + "\n") != std::string::npos;
  };
  r.change("a", true);
  r.change("b", true);
  CHECK(active(0));
  r.lead(1);
  CHECK(active(2));
  r.change("a", false);
  CHECK(active(1));
  r.lead(2, false);
  CHECK(active(0));
}

TEST_CASE("a session that is due stays due until it is removed", "[actors][sessions][C3]") {
  // Consul gave up after six attempts, and the session lived forever. Belay retries each second.
  reaper_alone r;
  r.lead(5);
  r.change("s", true);
  r.pass(2 * ttl - milliseconds(100));
  CHECK(r.proposed().empty());
  r.pass(milliseconds(200));
  REQUIRE(r.proposed().size() == 1);
  CHECK(r.proposed().front().required_term == term_id{5});
  r.pass(seconds(10));
  CHECK(r.proposed().size() >= 10);
  CHECK(r.proposed().size() <= 12);
  const auto before = r.proposed().size();
  r.change("s", false);
  r.pass(seconds(30));
  CHECK(r.proposed().size() == before);
}

TEST_CASE("all sessions that are due end in one entry", "[actors][sessions]") {
  // A client with a thousand sessions dies: one command, not a thousand.
  reaper_alone r;
  r.lead(1);
  for (int i = 0; i < 100; ++i)
    r.change("s" + std::to_string(i), true);
  r.pass(2 * ttl + milliseconds(100));
  REQUIRE(r.proposed().size() == 1);
  const auto command = wire::decode_command(*r.proposed().front().command);
  REQUIRE(command.has_value());
  CHECK(std::get<state::session_expire>(*command).ids.size() == 100);
  CHECK(std::get<state::session_expire>(*command).restored_at == log_index{4}); // its initial value
}

TEST_CASE("many sessions that are due end in several entries", "[actors][sessions]") {
  // A new leader starts all timers at once. One entry with all of them would stop each server, and
  // above a million of sessions the log would refuse it, again and again.
  reaper_alone r;
  for (int i = 0; i < 2500; ++i)
    r.change("s" + std::to_string(i), true);
  r.lead(1);
  r.pass(2 * ttl + milliseconds(200));
  REQUIRE(r.proposed().size() == 3);
  for (const auto& p : r.proposed()) {
    const auto command = wire::decode_command(*p.command);
    CHECK(std::get<state::session_expire>(*command).ids.size() <= 1000);
  }
  auto ended = r.ended();
  std::sort(ended.begin(), ended.end());
  CHECK(ended.size() == 2500);
  CHECK(std::unique(ended.begin(), ended.end()) == ended.end());
}

TEST_CASE("timers run on the leader only, and from the start of its leadership", "[actors][sessions][R25]") {
  reaper_alone r;
  r.change("s", true);
  r.pass(5 * ttl);
  CHECK(r.proposed().empty());
  r.post(renew_request{{node_id{1}, request_id{1}}, "s", r.now() + seconds(7)});
  REQUIRE(r.renewed().size() == 1);
  CHECK_FALSE(r.renewed().front().known);

  r.lead(3);
  r.pass(ttl + ttl / 2);
  r.lead(3, false); // lost for a moment
  r.lead(4);
  r.pass(ttl + ttl / 2);
  CHECK(r.proposed().empty());
  r.pass(ttl);
  REQUIRE_FALSE(r.proposed().empty());
  CHECK(r.proposed().front().required_term == term_id{4});
}

TEST_CASE("a session that is about to expire can no longer be renewed", "[actors][sessions]") {
  // Otherwise a client believes its lock safe while the entry that ends it is in flight.
  reaper_alone r;
  r.lead(1);
  r.change("s", true);
  r.pass(2 * ttl + milliseconds(100));
  REQUIRE(r.proposed().size() == 1);
  r.post(renew_request{{node_id{1}, request_id{1}}, "s", r.now() + seconds(7)});
  CHECK(r.renewed().empty());
  r.change("s", false);
  REQUIRE(r.renewed().size() == 1);
  CHECK(r.renewed().front().known);
  CHECK(r.renewed().front().session == nullptr);

  // Proposals may be lost with the leadership: then the next leader decides.
  r.change("t", true);
  r.pass(2 * ttl + milliseconds(100));
  r.post(renew_request{{node_id{1}, request_id{2}}, "t", r.now() + seconds(7)});
  REQUIRE(r.renewed().size() == 1);
  r.lead(1, false);
  REQUIRE(r.renewed().size() == 2);
  CHECK_FALSE(r.renewed().back().known);
  r.lead(3);
  r.post(renew_request{{node_id{1}, request_id{2}}, "t", r.now() + seconds(7)});
  REQUIRE(r.renewed().size() == 3);
  CHECK(r.renewed().back().session != nullptr);
}

TEST_CASE("a renewal of a session that is about to expire is answered by its deadline", "[actors][sessions][R38]") {
  // Its end may be proposed and not committed: the others' disks may be full.
  reaper_alone r;
  r.lead(1);
  r.change("s", true);
  r.pass(2 * ttl + milliseconds(100));
  r.post(renew_request{{node_id{1}, request_id{1}}, "s", r.now() + seconds(7)});
  r.post(renew_request{{node_id{1}, request_id{2}}, "s", r.now() + seconds(9)});
  r.pass(seconds(6));
  CHECK(r.renewed().empty());
  r.pass(seconds(2));
  REQUIRE(r.renewed().size() == 1);
  CHECK(r.renewed().front().requested.from.id == request_id{1});
  CHECK_FALSE(r.renewed().front().known);
  r.change("s", false); // now it has ended
  REQUIRE(r.renewed().size() == 2);
  CHECK(r.renewed().back().known);
}

TEST_CASE("a renewal counts only under the lease", "[actors][sessions]") {
  // A leader that was deposed and does not know it yet must not confirm a renewal.
  reaper_alone r;
  r.lead(1);
  r.change("s", true);
  r.post(lease_extended{});
  r.post(renew_request{{node_id{1}, request_id{1}}, "s", r.now() + seconds(7)});
  REQUIRE(r.renewed().size() == 1);
  CHECK_FALSE(r.renewed().front().known);
}

TEST_CASE("a renewal counts without a lease if a quorum has confirmed this leader since its arrival",
          "[actors][sessions]") {
  reaper_alone r;
  r.lead(4);
  r.change("s", true);
  r.lose_the_lease();
  const auto renewal = [&](std::uint64_t confirmed) {
    return renew_request{{node_id{1}, request_id{1}}, "s", r.now() + seconds(7), term_id{confirmed}};
  };
  r.post(renewal(3));
  r.post(renewal(4));
  REQUIRE(r.renewed().size() == 2);
  CHECK_FALSE(r.renewed()[0].known);
  CHECK(r.renewed()[1].known);
  CHECK(r.renewed()[1].session != nullptr);
}

TEST_CASE("sessions are renewed after a transfer of the leadership that failed", "[actors][sessions][R48]") {
  // The transfer target may campaign at any later time, so the lease is over for the rest of the
  // term. Renewals were rejected until then: every session ended by its TTL, over and over.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto transfer_target = c.all_but(leader).front(), other = c.all_but(leader).back();
  const auto term = c.view(leader).soft.term;
  const auto id = c.session(leader, ttl);
  c.net().cut(leader, transfer_target);
  caf::anon_send(c.peer(leader), leadership_transfer{c.id_of(transfer_target)});
  c.pass(seconds(2));
  c.net().heal();
  c.pass(seconds(2));
  REQUIRE(c.serving(leader));
  REQUIRE(c.view(leader).soft.term == term);
  for (int i = 0; i < 3; ++i) {
    for (const auto through : {leader, other}) {
      const auto renewal = c.renew(through, id);
      REQUIRE(c.until([&] { return c.answered(renewal); }, seconds(1)));
      CHECK(c.answers(renewal).renewals.front().session != nullptr);
    }
    c.pass(ttl);
  }
  CHECK(exists(c, leader, id));
  REQUIRE(c.view(leader).soft.term == term);

  // And a leader that cannot be reached by any other server confirms no renewal.
  c.net().partition({{leader}, c.all_but(leader)});
  const auto unheard = c.renew(leader, id);
  c.pass(milliseconds(100));
  CHECK_FALSE(c.answered(unheard));
}

TEST_CASE("the timers of sessions start again when the tables are replaced", "[actors][sessions]") {
  // A snapshot was installed: sessions that are not in it must not be proposed forever, those in it
  // must end at some time.
  reaper_alone r;
  r.lead(1);
  r.change("gone", true);
  r.pass(ttl);
  auto kept = std::make_shared<state::session_record>();
  kept->id = "kept";
  kept->ttl_ns = std::chrono::nanoseconds(ttl).count();
  r.post(publish_effects{{state::everything_changed{true, log_index{9}}, state::session_changed{kept, true}}});
  r.pass(2 * ttl + milliseconds(100));
  REQUIRE(r.proposed().size() == 1);
  const auto command = wire::decode_command(*r.proposed().front().command);
  REQUIRE(command.has_value());
  CHECK(std::get<state::session_expire>(*command).ids == std::vector<std::string>{"kept"});
  CHECK(std::get<state::session_expire>(*command).restored_at == log_index{9});
}

TEST_CASE("a leader with its lease renews without asking raft_peer, one session or many",
          "[actors][sessions][claims]") {
  reaper_alone r;
  r.change("s", true);
  r.create_exact("e", milliseconds(500));
  r.post(renew_session{request_id{1}, "s"});
  CHECK(r.passed_on().size() == 1); // it does not lead
  r.lead(1);
  r.post(renew_session{request_id{2}, "s"});
  r.post(renew_session{request_id{3}, "none"});
  r.post(renew_session{request_id{4}, forward::renewal_list({"e", "none", "s"})});
  REQUIRE(r.received().size() == 3);
  CHECK(r.received()[0].session->id == "s");
  CHECK(r.received()[1].session == nullptr);
  const auto twice = static_cast<std::uint64_t>(2 * std::chrono::duration_cast<milliseconds>(ttl).count());
  CHECK(r.received()[2].of_list == forward::renewed_lifetimes{500, std::nullopt, twice});
  r.lose_the_lease();
  r.post(renew_session{request_id{5}, "s"});
  CHECK(r.passed_on().size() == 2);
  CHECK(r.received().size() == 3);
}

TEST_CASE("a list of renewals of another server is answered as a list", "[actors][sessions][claims]") {
  reaper_alone r;
  r.create_exact("e", milliseconds(500));
  r.lead(1);
  r.post(renew_request{{node_id{2}, request_id{1}}, forward::renewal_list({"none", "e"}), r.now() + seconds(7)});
  REQUIRE(r.renewed().size() == 1);
  CHECK(r.renewed().front().known);
  CHECK(r.renewed().front().of_list == forward::renewed_lifetimes{std::nullopt, 500});
}

TEST_CASE("an exact session ends at its TTL, and not with the next tick", "[actors][sessions][claims]") {
  reaper_alone r;
  r.lead(1);
  r.pass(milliseconds(30));
  r.create_exact("e", milliseconds(510));
  r.pass(milliseconds(500));
  CHECK(r.ended().empty());
  r.pass(milliseconds(10));
  CHECK(r.ended() == std::vector<std::string>{"e"});
}

TEST_CASE("a renewal counts from its arrival, also of an exact session", "[actors][sessions][claims]") {
  reaper_alone r;
  r.lead(1);
  r.create_exact("e", milliseconds(500));
  r.pass(milliseconds(490));
  r.post(renew_session{request_id{1}, "e"});
  r.pass(milliseconds(490));
  CHECK(r.ended().empty());
  r.pass(milliseconds(20));
  CHECK(r.ended() == std::vector<std::string>{"e"});
}

// The process did not run for half a second: timely renewals are after the tick in the mailbox.
TEST_CASE("after a stall an exact session lives longer by as much", "[actors][sessions][claims]") {
  reaper_alone r;
  r.lead(1);
  r.create_exact("e", milliseconds(500));
  r.pass(milliseconds(200));
  r.stall(milliseconds(600));
  r.pass(milliseconds(200));
  CHECK(r.ended().empty());
  r.pass(milliseconds(160));
  CHECK(r.ended() == std::vector<std::string>{"e"});
}

TEST_CASE("a held claim shows the remaining time of its session", "[actors][sessions][claims]") {
  reaper_alone r;
  r.lead(1);
  r.create_exact("e", milliseconds(500));
  r.pass(milliseconds(100));
  write_results w;
  state::claim_answer held;
  held.session = "e";
  held.state = state::claim_state::held;
  w.list.push_back({request_id{1}, wire::call_outcome::done, held, log_index{5}, {}});
  r.post(w);
  REQUIRE(r.written().size() == 1);
  CHECK(r.written().front().session_ttl_ms == 400);
}
