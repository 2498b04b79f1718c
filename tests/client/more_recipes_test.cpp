// Recipes that are coroutines, run on the client's thread, with Belay and with Consul.
#include "tests/client/servers.hpp"

#include <belay/barrier.hpp>
#include <belay/consumer.hpp>
#include <belay/diff.hpp>
#include <belay/fenced.hpp>
#include <belay/latch.hpp>
#include <belay/mirror.hpp>
#include <belay/queue.hpp>
#include <belay/recursive_mutex.hpp>
#include <belay/saga.hpp>
#include <belay/shared_mutex.hpp>
#include <belay/striped_mutex.hpp>
#include <belay/tree_lock.hpp>

using namespace belay;
using namespace belay::client_tests;

namespace {

/// What was wrong, or "right".
using finding = result<std::string>;

task<finding> try_locks(session& s, deadline limit) {
  recursive_mutex own(s, "r");
  std::string owner = "me";
  result<recursive_mutex::level> one = co_await own.acquire(owner, limit);
  result<recursive_mutex::level> two = co_await own.acquire(owner, limit);
  if (!one || !two || two->depth() != 2)
    co_return std::string("recursive");
  striped_mutex stripes(s, "s", 8);
  std::vector<std::string> keys = {"a", "b", "c"};
  result<std::vector<lease>> held = co_await stripes.acquire_all(keys, limit);
  if (!held)
    co_return std::string("striped");
  status put =
      co_await put_under(s, held->front(), "s/" + std::to_string(stripes.stripe_of("a")), "guarded", "v", limit);
  if (!put && put.reason() != reason::held)
    co_return std::string("guarded");
  if (!s.has_claims())
    co_return std::string("right");
  shared_mutex rw(s, "rw");
  result<lease> reader = co_await rw.acquire_shared(limit);
  result<lease> other = co_await rw.acquire_shared(limit);
  if (!reader || !other)
    co_return std::string("shared");
  reader->drop();
  other->drop();
  result<lease> writer = co_await rw.acquire(limit);
  if (!writer)
    co_return std::string("writer");
  status less = co_await rw.downgrade(*writer, limit);
  if (!less)
    co_return std::string("downgrade");
  tree_lock tree(s, "tree");
  result<tree_lease> path = co_await tree.acquire("eu/berlin", limit);
  result<tree_lease> beside = co_await tree.acquire("eu/paris", limit);
  if (!path || !beside)
    co_return std::string("tree");
  co_return std::string("right");
}

task<status> undo_nothing(int& undone) {
  ++undone;
  co_return nothing();
}

task<finding> try_flows(session& s, deadline limit) {
  environment& env = s.env();
  barrier alone(s, "b", 1);
  result<barrier_pass> pass = co_await alone.enter(limit);
  if (!pass)
    co_return "barrier: " + pass.error().text();
  status left = co_await alone.leave(std::move(*pass), limit);
  if (!left)
    co_return "leave: " + left.error().text();
  latch l(env, "l", 2);
  co_await l.count_down(limit, 2);
  status open = co_await l.wait(limit);
  if (!open)
    co_return "latch: " + open.error().text();
  queue items(s, "q");
  status put = co_await items.put("x", limit);
  result<queue_item> first = co_await items.take(limit);
  if (!put || !first || first->value() != "x")
    co_return std::string("queue");
  status back = co_await items.give_back(std::move(*first), limit);
  result<queue_item> again = co_await items.take(limit);
  if (!back || !again || again->tries() != 2)
    co_return std::string("queue, again");
  status done = co_await items.ack(std::move(*again), limit);
  if (!done)
    co_return "ack: " + done.error().text();
  int undone = 0;
  auto how = [&undone](const saga_step&) { return undo_nothing(undone); };
  saga work(s, "pay", how);
  status begun = co_await work.begin("o1", limit);
  status noted = co_await work.step("debit", "1", limit);
  work.drop();
  status next = co_await work.begin("o2", limit);
  status kept = co_await work.commit(limit);
  if (!begun || !noted || !next || !kept || undone != 1)
    co_return std::string("section");
  status written = co_await put_key(env, "in/a", "1", limit);
  consumer member(s, "in/", "group");
  result<delivery> all = co_await member.next(limit);
  if (!written || !all || !all->is_snapshot || all->changes.size() != 1)
    co_return std::string("consumer");
  consumer::writes effect = {{"out/a", "1"}};
  std::string cursor = all->cursor;
  status acknowledged = co_await member.ack(cursor, limit, effect);
  if (!acknowledged)
    co_return "consumer's ack: " + acknowledged.error().text();
  mirror copying(env, "in/", env, "copy/", "mirror");
  status copied = co_await copying.step(limit);
  result<std::vector<difference>> differ = co_await diff(env, "in/", env, "copy/", limit);
  if (!copied || !differ || !differ->empty())
    co_return std::string("mirror");
  result<tree_reading> tree = co_await read_tree(env, "copy/", limit);
  result<erased> gone = co_await erase_tree_if(env, "copy/", tree->index, limit);
  if (!gone || *gone != erased::erased)
    co_return std::string("erase_tree_if");
  co_return std::string("right");
}

} // namespace

TEST_CASE("client: recipes that are coroutines, on real servers", "[client]") {
  for (const auto& command : all_servers()) {
    INFO(command.text);
    auto cluster = started(command, 1);
    client c(options_for(*cluster, command.is_reference() ? milliseconds(10000) : milliseconds(6000)));
    for (auto* recipes : {try_locks, try_flows}) {
      auto found = c.run<std::string>(recipes, seconds(20));
      REQUIRE(found);
      CHECK(*found == "right");
    }
  }
}
