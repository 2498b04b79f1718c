// What actors hold, and what happens to it when they end, in virtual time.
#include "tests/client/caf/virtual_actors.hpp"

using namespace belay::client_tests;
using belay::milliseconds;
using belay::reason;
namespace ask = belay::caf;

namespace {

ask::lock lock_of(std::string key, milliseconds within = minutes(5)) {
  ask::lock m;
  m.key = std::move(key);
  m.within = within;
  return m;
}

template <class Message>
Message about(std::uint64_t id) {
  Message m;
  m.id = id;
  return m;
}

} // namespace

TEST_CASE("caf: a lock ends with its actor, however that ends, and the waiter gets it", "[caf]") {
  for (auto how : {caf::exit_reason::kill, caf::exit_reason::normal, caf::exit_reason::user_shutdown}) {
    virtual_actors v;
    auto one = v.coordinator();
    auto other = v.coordinator();
    auto a = v.spawn(one), b = v.spawn(other), c = v.spawn(one);
    v.post(a, lock_of("x"));
    REQUIRE(v.run_until(seconds(2), [&] { return a->holds(); }));
    v.post(b, lock_of("x"));
    v.pass(seconds(1));
    v.post(c, lock_of("x"));
    v.pass(seconds(30)); // sessions are renewed
    CHECK_FALSE(b->holds());
    CHECK_FALSE(c->holds());

    auto died = v.time.now();
    v.end(a, how);
    REQUIRE(v.run_until(seconds(2), [&] { return b->holds(); }));
    // A release and a grant: four messages of 20 ms at most, and milliseconds in which actors run.
    CHECK(v.time.now() - died < milliseconds(100));
    CHECK(b->grants[0].fence > a->grants[0].fence);
    v.end(b, how);
    REQUIRE(v.run_until(seconds(2), [&] { return c->holds(); }));
    CHECK(c->grants[0].fence > b->grants[0].fence);
    CHECK(c->grants[0].safe_for > seconds(9));
    v.end(c, how);
    v.pass(seconds(1));
    CHECK(v.server.holders("x").empty());
  }
}

TEST_CASE("caf: all that an actor holds ends with it, and all that it waits for is withdrawn", "[caf]") {
  virtual_actors v;
  auto c = v.coordinator();
  auto a = v.spawn(c), b = v.spawn(v.coordinator());
  for (auto key : {"1", "2", "3"})
    v.post(a, lock_of(key));
  ask::permits two;
  two.name = "pool";
  two.max = 3;
  two.permits = 2;
  v.post(a, two);
  ask::campaign leadership;
  leadership.name = "leader";
  leadership.value = "a";
  v.post(a, leadership);
  v.post(b, lock_of("waited"));
  REQUIRE(v.run_until(seconds(2), [&] { return a->grants.size() == 5 && b->holds(); }));
  v.post(a, lock_of("waited"));
  v.pass(seconds(2));
  CHECK(v.server.waiting("waited") == 1);
  CHECK(v.server.holders("pool").size() == 1);

  v.end(a);
  v.pass(milliseconds(100));
  for (auto key : {"1", "2", "3", "pool", "leader"})
    CHECK(v.server.holders(key).empty());
  v.pass(seconds(3));
  CHECK(v.server.waiting("waited") == 0);
  CHECK(v.server.sessions().size() == 2); // the session belongs to the coordinator, and continues
  v.post(b, about<ask::release>(b->grants[0].id));
  v.pass(seconds(3));
  CHECK(v.server.holders("waited").empty());
}

TEST_CASE("caf: permits and a leadership go from actor to actor", "[caf]") {
  virtual_actors v;
  auto c = v.coordinator();
  auto a = v.spawn(c), b = v.spawn(v.coordinator());
  ask::campaign leadership;
  leadership.name = "leader";
  leadership.within = minutes(5);
  leadership.value = "a";
  v.post(a, leadership);
  REQUIRE(v.run_until(seconds(2), [&] { return a->holds(); }));
  leadership.value = "b";
  v.post(b, leadership);
  v.pass(seconds(1));
  ask::who_leads question;
  question.name = "leader";
  v.post(b, question);
  v.pass(seconds(1));
  v.post(a, about<ask::transfer>(a->grants[0].id));
  REQUIRE(v.run_until(seconds(1), [&] { return b->holds(); }));
  v.pass(seconds(1));
  CHECK(a->done == 1);
  v.post(b, question);
  v.pass(seconds(1));
  REQUIRE(b->leaderships.size() == 2);
  CHECK(b->leaderships[0].value == "a");
  CHECK(b->leaderships[1].value == "b");
  CHECK(b->leaderships[1].fence > b->leaderships[0].fence);
  // No actor waits: the transfer is refused, and the leadership stays.
  v.post(b, about<ask::transfer>(b->grants[0].id));
  v.pass(seconds(1));
  REQUIRE(b->errors.size() == 1);
  v.post(b, about<ask::check>(b->grants[0].id));
  v.pass(seconds(1));
  REQUIRE(b->grants.size() > 1);
  CHECK(b->grants.back().id == b->grants[0].id);
  CHECK(b->grants.back().safe_until > b->grants[0].safe_until - seconds(1));

  ask::permits two;
  two.name = "pool";
  two.max = 3;
  two.permits = 2;
  two.within = seconds(2);
  auto p = v.spawn(c), q = v.spawn(c);
  v.post(p, two);
  v.pass(seconds(1));
  v.post(q, two);
  v.pass(seconds(3));
  CHECK(p->holds());
  REQUIRE(q->errors.size() == 1);
  CHECK(q->errors[0].reason() == reason::deadline);
  two.permits = 1;
  v.post(q, two);
  v.pass(seconds(1));
  CHECK(q->holds());
}

TEST_CASE("caf: only the holder can check, transfer and release it", "[caf]") {
  virtual_actors v;
  auto c = v.coordinator();
  auto a = v.spawn(c), b = v.spawn(c);
  v.post(a, lock_of("x"));
  REQUIRE(v.run_until(seconds(2), [&] { return a->holds(); }));
  auto id = a->grants[0].id;
  v.post(b, about<ask::release>(id));
  v.post(b, about<ask::check>(id));
  v.post(b, about<ask::transfer>(id));
  v.pass(seconds(1));
  CHECK(b->errors.size() == 3);
  for (const auto& e : b->errors)
    CHECK(e.reason() == reason::session);
  CHECK(v.server.holders("x").size() == 1);
  v.post(a, about<ask::release>(id));
  v.pass(seconds(1));
  CHECK(a->done == 1);
  CHECK(v.server.holders("x").empty());
  v.post(a, about<ask::check>(id));
  v.pass(seconds(1));
  CHECK(a->errors.size() == 1);
}

TEST_CASE("caf: the holder is notified of its loss, and later requests have a new session", "[caf]") {
  virtual_actors v;
  auto c = v.coordinator();
  auto a = v.spawn(c), b = v.spawn(c);
  v.post(a, lock_of("x"));
  REQUIRE(v.run_until(seconds(2), [&] { return a->holds(); }));
  v.post(b, lock_of("x"));
  v.pass(seconds(1));
  v.server.destroy(*v.server.sessions().begin());
  REQUIRE(v.run_until(seconds(10), [&] { return !a->losses.empty() && !b->errors.empty(); }));
  CHECK(a->losses[0].id == a->grants[0].id);
  CHECK(a->losses[0].name == "x");
  CHECK(a->losses[0].reason == "destroyed by operator");
  CHECK(b->errors[0].reason() == reason::session);
  v.post(a, about<ask::check>(a->grants[0].id));
  v.post(a, about<ask::release>(a->grants[0].id));
  v.pass(seconds(1));
  CHECK(a->errors.size() == 2);
  v.post(b, lock_of("x"));
  CHECK(v.run_until(seconds(20), [&] { return b->holds(); })); // a lock delay has ended by then
}

TEST_CASE("caf: notifications are never late: with silent servers a lock ends by its time", "[caf]") {
  virtual_actors v;
  auto a = v.spawn(v.coordinator());
  v.post(a, lock_of("x"));
  REQUIRE(v.run_until(seconds(2), [&] { return a->holds(); }));
  v.server.silent = true;
  REQUIRE(v.run_until(seconds(30), [&] { return !a->losses.empty(); }));
  // The lock is free at most one TTL after the last renewal, and that was at most a third of the
  // TTL before the silence.
  v.post(a, about<ask::check>(a->grants[0].id));
  v.post(a, lock_of("y", seconds(2)));
  auto sent_at = v.time.now();
  REQUIRE(v.run_until(seconds(10), [&] { return a->errors.size() == 2; }));
  CHECK(v.time.now() - sent_at < milliseconds(2100));
  CHECK(a->losses[0].reason == "no renewal was acknowledged in time");
}

TEST_CASE("caf: a link ends the linked actor, not the coordinator", "[caf]") {
  virtual_actors v;
  auto c = v.coordinator();
  auto a = v.spawn(c), b = v.spawn(c), idle = v.spawn(c);
  for (const auto& w : {a, b, idle})
    caf::actor_cast<caf::abstract_actor*>(w.actor)->add_link(caf::actor_cast<caf::abstract_actor*>(c));
  v.post(a, lock_of("x"));
  REQUIRE(v.run_until(seconds(2), [&] { return a->holds(); }));
  v.post(b, lock_of("x"));
  v.pass(seconds(1));
  v.end(idle, caf::exit_reason::user_shutdown);
  v.end(a, caf::exit_reason::user_shutdown);
  REQUIRE(v.run_until(seconds(1), [&] { return b->holds(); }));

  caf::anon_send_exit(c, caf::exit_reason::user_shutdown);
  v.pass(seconds(2));
  CHECK(v.server.sessions().empty());
  CHECK(b->losses.size() == 1);
  v.post(b, lock_of("y"));
  v.pass(seconds(1));
  CHECK(b->errors.empty()); // the coordinator is gone
  CHECK(v.server.holders("x").empty());
}

TEST_CASE("caf: a coordinator that is closed releases its locks, ends its session, and rejects requests", "[caf]") {
  virtual_actors v;
  auto c = v.coordinator();
  auto a = v.spawn(c), b = v.spawn(c), next = v.spawn(v.coordinator());
  v.post(a, lock_of("x"));
  REQUIRE(v.run_until(seconds(2), [&] { return a->holds(); }));
  v.post(b, lock_of("x"));
  v.post(next, lock_of("x"));
  v.pass(seconds(1));
  CHECK(v.server.sessions().size() == 2);
  v.post(a, ask::close());
  v.post(b, lock_of("z"));
  REQUIRE(v.run_until(seconds(2), [&] { return next->holds() && a->done == 1; }));
  CHECK(v.server.sessions().size() == 1);
  REQUIRE(a->losses.size() == 1);
  CHECK(a->losses[0].reason == "the coordinator was closed");
  REQUIRE(b->errors.size() == 2);
  CHECK(b->errors[0].reason() == reason::closed);
  v.post(b, lock_of("y"));
  v.pass(seconds(1));
  REQUIRE(b->errors.size() == 3);
  CHECK(b->errors[2].outcome() == belay::outcome::unknown);
}

TEST_CASE("caf: a coordinator that is killed answers its waiters, and its session expires", "[caf]") {
  virtual_actors v;
  belay::client_options options;
  options.session.lock_delay = milliseconds(0);
  auto c = v.coordinator({}, options);
  auto a = v.spawn(c), b = v.spawn(c), next = v.spawn(v.coordinator());
  v.post(a, lock_of("x"));
  REQUIRE(v.run_until(seconds(2), [&] { return a->holds(); }));
  v.post(b, lock_of("x"));
  v.post(next, lock_of("x"));
  v.pass(seconds(1));
  caf::anon_send_exit(c, caf::exit_reason::kill);
  v.pass(seconds(1));
  REQUIRE(b->errors.size() == 1);
  CHECK(b->errors[0].reason() == reason::closed);
  CHECK_FALSE(next->holds());
  CHECK(v.run_until(minutes(1), [&] { return next->holds(); }));
}

TEST_CASE("caf: requests and leases are bounded", "[caf]") {
  virtual_actors v;
  ask::coordinator_options more;
  more.calls_max = 30;
  more.leases_max = 3;
  auto c = v.coordinator(more);
  auto holder = v.spawn(v.coordinator());
  for (int i = 0; i < 16; ++i)
    v.post(holder, lock_of("n" + std::to_string(i)));
  REQUIRE(v.run_until(seconds(2), [&] { return holder->grants.size() == 16; }));

  auto a = v.spawn(c);
  for (int i = 0; i < 16; ++i)
    v.post(a, lock_of("n" + std::to_string(i)));
  v.pass(seconds(1));
  CHECK(a->errors.empty());
  auto b = v.spawn(c);
  for (int i = 0; i < 20; ++i)
    v.post(b, lock_of("n0"));
  v.pass(seconds(1));
  REQUIRE(b->errors.size() == 6);
  CHECK(b->errors[0].reason() == reason::limit);
  v.end(b);
  v.end(a);
  v.pass(seconds(1));
  auto d = v.spawn(c);
  for (int i = 0; i < 5; ++i) {
    v.post(d, lock_of("own" + std::to_string(i)));
    v.pass(seconds(1));
  }
  CHECK(d->grants.size() == 3);
  CHECK(d->errors.size() == 2);
}

TEST_CASE("caf: keys are read, written and followed; a slow reader sees the newest value", "[caf]") {
  virtual_actors v;
  auto c = v.coordinator();
  auto a = v.spawn(c);
  ask::get read;
  read.key = "k";
  ask::put write;
  write.key = "k";
  write.value = "1";
  v.post(a, read);
  v.pass(seconds(1));
  v.post(a, write);
  v.pass(seconds(1));
  v.post(a, read);
  v.pass(seconds(1));
  REQUIRE(a->values.size() == 2);
  CHECK_FALSE(a->values[0].there);
  CHECK(a->values[1].value == "1");

  auto f = v.spawn(c);
  ask::follow wanted;
  wanted.key = "k";
  v.post(f, wanted);
  v.pass(seconds(90));
  REQUIRE(f->values.size() == 1);
  v.server.put("k", "2");
  v.pass(seconds(1));
  v.server.put("k", "3");
  v.pass(seconds(1));
  REQUIRE(f->values.size() == 3);
  CHECK(f->values[1].value == "2");
  f->slow = true;
  for (auto value : {"4", "5", "6", "7"}) {
    v.server.put("k", value);
    v.pass(seconds(1));
  }
  REQUIRE(f->values.size() == 4);
  f->slow = false;
  v.post(f, caf::ok_atom_v);
  v.pass(seconds(1));
  REQUIRE(f->values.size() == 5);
  CHECK(f->values[4].value == "7");
  ask::unfollow enough;
  enough.key = "k";
  v.post(f, enough);
  v.pass(seconds(1));
  CHECK(f->done == 1);
  v.server.put("k", "8");
  v.pass(seconds(1));
  CHECK(f->values.size() == 5);
  CHECK(v.server.sessions().empty()); // nothing here needs a session
}
