// Acquires that wait for the end of a lock delay.

#include "tests/actors/cluster_fixture.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;

namespace {

constexpr milliseconds delay{5'000};
// Time for an entry to be committed and applied, and the lag of cluster time.
constexpr milliseconds delay_slack{200};

state::command acquire_lock(const std::string& session) {
  state::kv_op o;
  o.verb = state::kv_verb::lock;
  o.key = "lock";
  o.value = make_payload("mine");
  o.session = session;
  return state::kv_write{std::move(o)};
}

/// A session whose lock delay starts now. @returns when the lock was lost
monotonic_time lose_the_lock(cluster_fixture& c, std::size_t node) {
  const auto holder = c.session(node, seconds(3600), delay);
  CHECK(std::get<bool>(c.written(c.write(node, acquire_lock(holder))).reply));
  c.written(c.write(node, state::session_destroy{{holder}, "destroyed"}));
  return c.now();
}

} // namespace

TEST_CASE("an acquire waits for the end of the lock-delay, on any server", "[actors][locks]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const bool through_leader = GENERATE(true, false);
  const auto node = through_leader ? leader : c.all_but(leader).front();
  const auto next = c.session(leader, seconds(3600));
  const auto lost = lose_the_lock(c, leader);

  const auto refused = c.written(c.write(node, acquire_lock(next)));
  CHECK_FALSE(std::get<bool>(refused.reply));
  CHECK(refused.reply.note.why == state::refused_for::lock_delay);
  const milliseconds left(refused.reply.note.retry_after_ms);
  CHECK(left <= delay);
  CHECK(left > delay - delay_slack);

  const auto waiting = c.write_later(node, acquire_lock(next), left);
  c.pass(left - milliseconds(100));
  CHECK_FALSE(c.answered(waiting));
  const auto granted = c.written(waiting);
  CHECK(std::get<bool>(granted.reply));
  CHECK(c.now() - lost >= delay - delay_slack);
  CHECK(c.now() - lost <= delay + delay_slack);
}

TEST_CASE("a client that waits for a lock delay outlives the leader", "[actors][locks]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto node = c.all_but(leader).front();
  const auto next = c.session(node, seconds(3600));
  lose_the_lock(c, leader);
  const auto waiting = c.write_later(node, acquire_lock(next), delay);
  const auto lost = c.now();
  c.pass(seconds(1));
  c.crash(leader);
  c.leader();
  const auto gap = c.now() - lost;
  const auto r = c.written(waiting);
  REQUIRE(r.outcome == wire::call_outcome::done);
  // The time between the old leader's last entry and the new one's start does not count. Then the
  // response has the remaining time, and the gateway waits again.
  if (!std::get<bool>(r.reply))
    CHECK(milliseconds(r.reply.note.retry_after_ms) <= gap + delay_slack);
}

TEST_CASE("a client that no longer waits is not retried", "[actors][locks]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto next = c.session(leader, seconds(3600));
  lose_the_lock(c, leader);
  const auto waiting = c.write_later(leader, acquire_lock(next), delay);
  c.cancel(waiting);
  c.pass(2 * delay);
  CHECK_FALSE(c.answered(waiting));
  const auto r = c.found(c.get(leader, "lock"));
  CHECK(std::get<state::kv_entries>(std::get<state::query_result>(r.answer).data).entries.front()->session.empty());
}
