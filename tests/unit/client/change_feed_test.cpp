// Followers of changes: the feed itself, consumer groups, mirrors; and the reconciler.
#include "tests/unit/client/crew.hpp"

#include <belay/changes.hpp>
#include <belay/consumer.hpp>
#include <belay/mirror.hpp>
#include <belay/reconciler.hpp>

#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <unistd.h>
#include <utility>

using namespace belay;
using namespace belay::client_tests;

namespace {

/// Writes and erases keys below a prefix, several in one entry at times, and drops the history.
class writer {
public:
  writer(virtual_cluster& c, std::string prefix, bool forgets, std::uint64_t names = 6)
      : c_(c), prefix_(std::move(prefix)), forgets_(forgets), names_(names) {}
  void some() {
    auto& chance = c_.time.chance();
    auto times = 1 + chance.draw(8);
    for (std::uint64_t i = 0; i < times; ++i) {
      auto key = prefix_ + "k" + std::to_string(chance.draw(names_));
      auto how = chance.draw(6);
      if (how < 2)
        c_.server.erase(key);
      else if (how == 2)
        c_.server.put_together({{prefix_ + "k1", "t" + std::to_string(++written_)},
                                {prefix_ + "k3", "t" + std::to_string(written_)},
                                {prefix_ + "k5", "t" + std::to_string(written_)}});
      else
        c_.server.put(key, "v" + std::to_string(++written_));
    }
    if (forgets_ && chance.draw(20) == 0)
      c_.server.forget_changes();
  }

private:
  virtual_cluster& c_;
  std::string prefix_;
  bool forgets_;
  std::uint64_t names_;
  int written_ = 0;
};

virtual_time::fault_rates lossy() {
  virtual_time::fault_rates r;
  r.request_lost = 50'000;
  r.answer_lost = 100'000;
  r.latency_max = milliseconds(300);
  return r;
}

// The feed

struct follower {
  std::map<std::string, std::string> keys;
  std::string cursor;
  std::uint64_t change_count = 0;
  std::uint64_t snapshots = 0;
  std::string last_sent;
  finding wrong;
};

void take_in(follower& f, const change_batch& b) {
  if (b.is_snapshot) {
    f.keys.clear();
    f.last_sent.clear();
    ++f.snapshots;
  }
  for (const auto& c : b.changes) {
    if (!b.is_snapshot && !f.last_sent.empty() && !is_behind(c.cursor, f.last_sent))
      f.wrong = "a change was told twice, or out of order";
    if (!c.cursor.empty())
      f.last_sent = c.cursor;
    ++f.change_count;
    if (c.kind == change_kind::set)
      f.keys[c.key] = c.value;
    else
      f.keys.erase(c.key);
  }
  f.cursor = b.cursor;
}

task<void> follow(environment& env, follower& f) {
  changes stream(env, "in/", f.cursor);
  for (;;) {
    deadline soon(env.now() + seconds(20));
    result<change_batch> batch = co_await stream.next(soon);
    if (batch)
      take_in(f, *batch);
  }
}

/// A follower is destroyed now and then, and another one resumes from its cursor.
finding run_stream(dialect speaks, std::uint64_t seed, bool forgets) {
  virtual_cluster c(speaks, seed, lossy());
  writer keys(c, "in/", forgets);
  follower f;
  task<void> following = follow(c.client, f);
  following.start();
  for (int i = 0; i < 100; ++i) {
    keys.some();
    c.pass(milliseconds(c.time.chance().draw(3000)));
    if (c.time.chance().draw(10) == 0) {
      following = follow(c.client, f);
      following.start();
    }
    if (!f.wrong.empty())
      return f.wrong;
  }
  c.time.heal();
  c.pass(seconds(80));
  if (f.keys != c.server.all("in/"))
    return "what is known is not what is there";
  if (!forgets && speaks == dialect::belay && f.snapshots != 1)
    return "a snapshot without need";
  following.reset();
  return f.wrong;
}

// Groups

struct group_story {
  std::map<std::string, int> acknowledged; ///< by cursor
  std::set<std::string> put;
  int next = 0;
  bool no_more = false;
};

struct group_kit {
  explicit group_kit(session& s) : member(s, "in/", "group") {}
  consumer member;
};
using group_crew = crew<group_kit>;

/// The effect of a change is a key in out/. After a gap it finds out what is missing.
task<void> consume(group_crew::member& m, group_story& story) {
  for (;;) {
    bool open = co_await have_session(m.env, *m.s);
    if (!open)
      continue;
    ++m.progress[0];
    deadline soon(m.env.now() + seconds(60));
    result<delivery> got = co_await m.kit->member.next(soon);
    if (!got) {
      auto later = m.env.now() + milliseconds(200);
      co_await sleep_until(m.env, later);
      continue;
    }
    deadline ten(m.env.now() + seconds(10));
    consumer::writes effect;
    if (got->is_snapshot) {
      result<tree_reading> there = co_await read_tree(m.env, "out/", ten);
      if (!there)
        continue;
      for (const auto& c : got->changes) {
        auto key = "out/" + c.key.substr(3);
        bool known =
            std::any_of(there->found.begin(), there->found.end(), [&](const entry& e) { return e.key == key; });
        if (!known)
          effect.emplace_back(key, std::to_string(m.env.random(1'000'000'000)));
      }
    } else {
      effect.emplace_back("out/" + got->changes.front().key.substr(3), std::to_string(m.env.random(1'000'000'000)));
    }
    auto what = m.env.random(12);
    if (what == 0)
      m.kit->member.nack(got->cursor);
    if (what < 2)
      continue;
    auto later = m.env.now() + milliseconds(m.env.random(1500));
    co_await sleep_until(m.env, later);
    deadline five(m.env.now() + seconds(5));
    std::string cursor = got->cursor;
    status done = co_await m.kit->member.ack(cursor, five, effect);
    if (done && !got->is_snapshot)
      ++story.acknowledged[cursor];
  }
}

/// 18 keys are put, one after another, while members die. Each has its effect once.
finding run_group(dialect speaks, std::uint64_t seed, bool forgets) {
  virtual_cluster c(speaks, seed, all_faults());
  group_story story;
  std::map<std::string, std::string> effects;
  std::map<std::string, int> changed;
  group_crew all(c, 3, 1, [&](group_crew::member& m, std::size_t) { return consume(m, story); });
  auto next = c.time.now();
  auto look = [&]() -> finding {
    if (story.next < 18 && c.time.now() >= next) {
      c.server.put("in/" + std::to_string(story.next++), "v");
      next = c.time.now() + seconds(10 + c.time.chance().draw(40));
      if (forgets && c.time.chance().draw(6) == 0)
        c.server.forget_changes();
    }
    for (const auto& [key, value] : c.server.all("out/")) {
      if (effects[key] != value)
        ++changed[key];
      effects[key] = value;
      if (changed[key] > 1)
        return key + " has its effect twice";
    }
    for (const auto& [cursor, n] : story.acknowledged)
      if (n > 1)
        return "acknowledged twice";
    return "";
  };
  auto wrong = all.run(look);
  if (!wrong.empty())
    return wrong;
  // Changes that were tried too often are put aside, which is reported.
  auto buried = c.server.all("group/dead/").size();
  if (effects.size() + buried < 18)
    return std::to_string(effects.size()) + " of 18 have their effect, and " + std::to_string(buried) + " are dead";
  return {};
}

// Mirrors

struct mirror_kit {
  explicit mirror_kit(session& s) : copying(s.env(), "in/", s.env(), "copy/", "mirror") {}
  mirror copying;
};
using mirror_crew = crew<mirror_kit>;

task<void> copy_on(mirror_crew::member& m) {
  for (;;) {
    ++m.progress[0];
    deadline soon(m.env.now() + seconds(20));
    status copied = co_await m.kit->copying.step(soon);
    if (!copied) {
      auto later = m.env.now() + milliseconds(200);
      co_await sleep_until(m.env, later);
    }
  }
}

finding run_mirror(dialect speaks, std::uint64_t seed, bool forgets) {
  virtual_cluster c(speaks, seed, all_faults());
  // With many keys the last change of a key is rarely repaired by a later one.
  writer keys(c, "in/", forgets, forgets ? 6 : 200);
  mirror_crew all(c, 2, 1, [](mirror_crew::member& m, std::size_t) { return copy_on(m); });
  auto next = c.time.now();
  auto stop = c.time.now() + minutes(14);
  std::map<std::string, std::uint64_t> copied;
  auto look = [&]() -> finding {
    if (c.time.now() >= next && c.time.now() < stop) {
      keys.some();
      next = c.time.now() + milliseconds(2000 + c.time.chance().draw(20'000));
    }
    for (const auto& [key, value] : c.server.all("mirror/at/")) {
      auto index = std::stoull(value);
      if (index < copied[key])
        return "a copy went back";
      copied[key] = index;
    }
    return "";
  };
  auto wrong = all.run(look);
  if (!wrong.empty())
    return wrong;
  auto original = c.server.all("in/");
  std::map<std::string, std::string> copy;
  for (const auto& [key, value] : c.server.all("copy/"))
    copy["in/" + key.substr(5)] = value;
  return original == copy ? "" : "the copy is not equal in the end";
}

/// Four processes store their cursor in one key, in any order: the most advanced one stays.
task<void> keep_cursor(environment& env, int n) {
  key_cursor kept(env, "place");
  auto later = env.now() + milliseconds(env.random(5000));
  co_await sleep_until(env, later);
  for (;;) {
    deadline minute(env.now() + minutes(1));
    result<std::string> there = co_await kept.store(std::to_string(n), minute);
    if (there)
      co_return;
  }
}

finding run_cursors(std::uint64_t seed) {
  virtual_cluster c(dialect::belay, seed, lossy());
  std::vector<task<void>> all;
  for (int n = 1; n <= 4; ++n) {
    all.push_back(keep_cursor(c.client, n));
    all.back().start();
  }
  c.pass(minutes(10));
  return c.server.value("place") == "4" ? "" : "the cursor went back";
}

// The reconciler

/// Keys have versions, and the work brings the actual state of a key to the desired one.
struct desired_and_there {
  std::map<std::string, int> desired;
  std::map<std::string, int> there;
  std::vector<instant> starts;
  int at_a_time = 0;
  int most_at_a_time = 0;
};

task<status> bring_about(environment& env, desired_and_there& d, std::string key) {
  d.starts.push_back(env.now());
  ++d.at_a_time;
  d.most_at_a_time = std::max(d.most_at_a_time, d.at_a_time);
  int seen = d.desired[key];
  auto later = env.now() + milliseconds(env.random(60));
  co_await sleep_until(env, later);
  --d.at_a_time;
  if (env.random(5) == 0)
    co_return error(outcome::refused, reason::unavailable, "not now");
  d.there[key] = seen;
  co_return nothing();
}

task<result<std::vector<std::string>>> scan_of(desired_and_there& d) {
  std::vector<std::string> out;
  for (const auto& [key, version] : d.desired)
    out.push_back(key);
  co_return out;
}

finding run_reconciler(std::uint64_t seed, bool passes) {
  virtual_cluster c(dialect::belay, seed);
  desired_and_there d;
  reconciler_options o;
  o.waiting_max = 16;
  o.per_second = 50;
  o.workers = 4;
  o.tries_max = 50;
  o.pass_every = milliseconds(5000);
  auto how = [&](std::string key, deadline) { return bring_about(c.client, d, std::move(key)); };
  reconciler::scan everything;
  if (passes)
    everything = [&](deadline) { return scan_of(d); };
  reconciler r(c.client, how, everything, o);
  r.start();
  std::uint64_t refused = 0;
  std::map<std::string, bool> last_taken;
  for (int i = 0; i < 300; ++i) {
    auto burst = 1 + c.time.chance().draw(i % 50 == 0 ? 60 : 3);
    for (std::uint64_t n = 0; n < burst; ++n) {
      auto key = std::to_string(c.time.chance().draw(40));
      ++d.desired[key];
      last_taken[key] = r.offer(key);
      refused += last_taken[key] ? 0 : 1;
    }
    if (r.waiting() > o.waiting_max + o.workers)
      return "more wait than may";
    c.pass(milliseconds(c.time.chance().draw(100)));
  }
  c.pass(seconds(passes ? 30 : 10));
  if (r.counts().dropped < refused || refused == 0)
    return "what was refused is not counted";
  if (d.most_at_a_time > 4)
    return "more at a time than may";
  for (std::size_t i = 60; i < d.starts.size(); ++i)
    if (d.starts[i] - d.starts[i - 60] < seconds(1))
      return "faster than may be";
  for (const auto& [key, version] : d.desired)
    if ((passes || last_taken[key]) && d.there[key] != version)
      return "key " + key + " is not what it should be";
  if (!passes && !r.idle())
    return "something waits";
  r.stop();
  return c.client.waiting() == 0 ? "" : "something is left";
}

} // namespace

TEST_CASE("cursors have an order, and are kept in a file or in a key", "[client]") {
  CHECK(is_behind("11", "10"));
  CHECK(is_behind("10.1", "10.0"));
  CHECK(is_behind("10", "10.7"));
  CHECK(is_behind("11.0", "10"));
  CHECK_FALSE(is_behind("10", "10"));
  CHECK_FALSE(is_behind("9", "10.0"));
  CHECK(is_behind("1", ""));

  char folder[] = "/tmp/belay-place-XXXXXX";
  REQUIRE(::mkdtemp(folder));
  file_cursor file(std::string(folder) + "/place");
  CHECK(*file.load() == "");
  REQUIRE(file.store("12.3"));
  REQUIRE(file.store("13"));
  CHECK(*file.load() == "13");
  file_cursor nowhere(std::string(folder) + "/no/place");
  CHECK(nowhere.store("1").refused());
  ::unlink((std::string(folder) + "/place").c_str());
  ::rmdir(folder);

  virtual_cluster c;
  key_cursor key(c.client, "place");
  CHECK(*c.run(key.load(c.within(seconds(5)))) == "");
  CHECK(*c.run(key.store("12.3", c.within(seconds(5)))) == "12.3");
  CHECK(*c.run(key.store("12.2", c.within(seconds(5)))) == "12.3");
  CHECK(*c.run(key.store("12", c.within(seconds(5)))) == "12");
  CHECK(*c.run(key.load(c.within(seconds(5)))) == "12");
}

TEST_CASE("changes start at the given cursor", "[client]") {
  virtual_cluster c;
  c.server.put("in/a", "1");
  changes from_now(c.client, "in/", "now");
  auto first = from_now.next(c.within(minutes(1)));
  first.start();
  c.pass(seconds(1));
  CHECK_FALSE(first.done());
  c.server.put("in/b", "2");
  c.pass(seconds(1));
  REQUIRE(first.done());
  auto batch = first.take();
  REQUIRE(batch);
  CHECK_FALSE(batch->is_snapshot);
  REQUIRE(batch->changes.size() == 1);
  CHECK(batch->changes.front().key == "in/b");
  CHECK(batch->changes.front().previous_index == 0);

  changes all(c.client, "in/");
  auto snapshot = c.run(all.next(c.within(seconds(5))));
  REQUIRE(snapshot);
  CHECK(snapshot->is_snapshot);
  CHECK(snapshot->changes.size() == 2);
  c.server.erase("in/a");
  changes resumed(c.client, "in/", snapshot->cursor);
  auto next = c.run(resumed.next(c.within(seconds(5))));
  REQUIRE(next);
  REQUIRE(next->changes.size() == 1);
  CHECK(next->changes.front().kind == change_kind::erased);
  CHECK(c.run(resumed.next(c.within(seconds(5)))).reason() == reason::deadline);
  c.server.forget_changes();
  c.server.put("in/c", "3");
  changes behind(c.client, "in/", snapshot->cursor);
  auto gap = c.run(behind.next(c.within(seconds(5))));
  REQUIRE(gap);
  CHECK(gap->is_snapshot);
  CHECK(gap->changes.size() == 2);
}

TEST_CASE("a change is redelivered after a nack and after its time, and dead-lettered in the end", "[client]") {
  virtual_cluster c;
  session s(c.client, session_options());
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  consumer_options o;
  o.tries_max = 3;
  consumer member(s, "in/", "group", o);
  auto snapshot = c.run(member.next(c.within(seconds(5))));
  REQUIRE(snapshot);
  CHECK(snapshot->is_snapshot);
  CHECK(snapshot->changes.empty());
  REQUIRE(c.run(member.ack(snapshot->cursor, c.within(seconds(5)))));
  c.server.put("in/a", "1");
  c.server.put("in/b", "2");
  auto a = c.run(member.next(c.within(seconds(5))));
  auto b = c.run(member.next(c.within(seconds(5))));
  REQUIRE(a);
  REQUIRE(b);
  CHECK(a->changes.front().key == "in/a");
  CHECK(b->changes.front().key == "in/b");
  CHECK(a->tries == 1);
  CHECK(c.run(member.next(c.within(seconds(5)))).reason() == reason::deadline);
  member.nack(a->cursor);
  auto again = c.run(member.next(c.within(seconds(5))));
  REQUIRE(again);
  CHECK(again->cursor == a->cursor);
  CHECK(again->tries == 2);
  consumer::writes effect = {{"out/b", "done"}};
  REQUIRE(c.run(member.ack(b->cursor, c.within(seconds(5)), effect)));
  CHECK(c.server.value("out/b") == "done");
  CHECK(c.run(member.ack(b->cursor, c.within(seconds(5)))).reason() == reason::session);
  auto begun = c.time.now();
  auto third = c.run(member.next(c.within(minutes(2))));
  REQUIRE(third);
  CHECK(third->tries == 3);
  CHECK(c.time.now() - begun > seconds(20));
  CHECK(c.time.now() - begun < seconds(40));
  CHECK(c.run(member.next(c.within(minutes(2)))).reason() == reason::deadline);
  CHECK(c.server.value("group/dead/" + a->cursor));
  CHECK(c.run(member.leave(c.within(seconds(5)))));
}

namespace {

/// An active member that has been given `in/a` and `in/b`.
struct busy_member {
  explicit busy_member(virtual_cluster& c) : s(c.client, session_options()), it(s, "in/", "group") {
    REQUIRE(c.run(s.open(c.within(seconds(5)))));
    auto snapshot = c.run(it.next(c.within(seconds(5))));
    REQUIRE(snapshot);
    REQUIRE(c.run(it.ack(snapshot->cursor, c.within(seconds(5)))));
    for (const auto* key : {"in/a", "in/b"}) {
      c.server.put(key, "1");
      auto got = c.run(it.next(c.within(seconds(5))));
      REQUIRE(got);
      REQUIRE(got->changes.front().key == key);
      given.push_back(got->cursor);
    }
  }
  session s;
  consumer it;
  std::vector<std::string> given;
};

} // namespace

TEST_CASE("a nack ends the wait for changes", "[client]") {
  virtual_cluster c;
  busy_member m(c);
  auto waiting = m.it.next(c.within(seconds(20)));
  waiting.start();
  c.pass(seconds(2));
  CHECK_FALSE(waiting.done());
  m.it.nack(m.given.front());
  c.pass(seconds(1));
  REQUIRE(waiting.done());
  auto again = waiting.take();
  REQUIRE(again);
  CHECK(again->cursor == m.given.front());
}

TEST_CASE("the longest times of followers do not overflow", "[client]") {
  virtual_cluster c;
  busy_member m(c);
  consumer_options never;
  never.ack_wait = milliseconds::max();
  REQUIRE(c.run(m.it.leave(c.within(seconds(5)))));
  consumer patient(m.s, "in/", "group", never);
  REQUIRE(c.run(patient.next(c.within(seconds(5)))));
  REQUIRE(c.run(patient.next(c.within(seconds(5)))));
  CHECK(c.run(patient.next(c.within(minutes(5)))).reason() == reason::deadline);

  reconciler_options once;
  once.pass_every = milliseconds::max();
  once.work_limit = milliseconds::max();
  desired_and_there d;
  reconciler r(
      c.client, [&](std::string key, deadline) { return bring_about(c.client, d, std::move(key)); },
      [&](deadline) { return scan_of(d); }, once);
  r.start();
  c.pass(seconds(10));
  CHECK(r.counts().passes == 1);
}

// next() stores a new change while the ack of an earlier one is in progress. It must not store that
// this one is done: the server may refuse the ack, and with it the effect.
TEST_CASE("a change whose ack fails beside the arrival of another one is redelivered", "[client]") {
  for (bool refused : {true, false})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      INFO("refused " << refused << ", seed " << seed);
      virtual_cluster c(dialect::belay, seed);
      busy_member m(c);
      c.server.value_bytes_max = 1000;
      auto waiting = m.it.next(c.within(seconds(20)));
      waiting.start();
      c.pass(seconds(2));
      consumer::writes effect = {{"out/a", std::string(refused ? 2000 : 10, 'x')}};
      auto acknowledging = m.it.ack(m.given.front(), c.within(seconds(5)), effect);
      acknowledging.start();
      c.server.put("in/c", "1");
      c.pass(seconds(10));
      REQUIRE(acknowledging.done());
      REQUIRE(waiting.done());
      auto acknowledged = acknowledging.take();
      auto next = waiting.take();
      REQUIRE(next);
      CHECK(acknowledged.done() == !refused);
      CHECK(c.server.value("out/a").has_value() == !refused);
      CHECK(next->changes.front().key == (refused ? "in/a" : "in/c"));
    }
}

TEST_CASE("an ack that waits for another one ends with the session", "[client]") {
  virtual_cluster c;
  busy_member m(c);
  c.server.silent = true;
  auto first = m.it.ack(m.given[0], c.within(minutes(10)));
  auto second = m.it.ack(m.given[1], c.within(minutes(10)));
  first.start();
  second.start();
  c.pass(seconds(20));
  CHECK(m.s.state() == session_state::lost);
  REQUIRE(second.done());
  CHECK(second.take().reason() == reason::session);
  c.server.silent = false;
  c.pass(seconds(20));
  REQUIRE(first.done());
  CHECK(first.take().reason() == reason::session);
}

TEST_CASE("a mirror repairs what another client has changed", "[client]") {
  virtual_cluster c;
  mirror copying(c.client, "in/", c.client, "copy/", "mirror");
  c.server.put("in/a", "1");
  c.server.put("in/b", "2");
  REQUIRE(c.run(copying.step(c.within(seconds(5)))));
  CHECK(c.server.value("copy/a") == "1");
  CHECK(*c.run(copying.repair(c.within(seconds(5)))) == 0);
  c.server.put("copy/a", "x");
  c.server.erase("copy/b");
  CHECK(*c.run(copying.repair(c.within(seconds(5)))) == 2);
  CHECK(c.server.value("copy/a") == "1");
  CHECK(c.server.value("copy/b") == "2");
}

TEST_CASE("streams of changes hold their guarantees under faults", "[client][faults]") {
  for (bool forgets : {false, true})
    check_seeds(20, [=](std::uint64_t seed) { return run_stream(dialect::belay, seed, forgets); });
  check_seeds(20, [](std::uint64_t seed) { return run_stream(dialect::consul, seed, false); });
}

TEST_CASE("groups of consumers hold their guarantees under faults", "[client][faults]") {
  for (bool forgets : {false, true})
    check_seeds(15, [=](std::uint64_t seed) { return run_group(dialect::belay, seed, forgets); });
}

namespace {

/// A seed whose run shows the bug: one of `likely`, which showed it when this was written, else the
/// lowest. Which seeds do depends on the library's random numbers. @returns nullopt: none of ten
/// thousand
std::optional<std::uint64_t> seed_that_shows(const char* bug, std::vector<std::uint64_t> likely) {
  constexpr std::uint64_t seeds_max = 10'000;
  mutant_switch on(bug);
  for (std::uint64_t seed = 1; seed <= seeds_max; ++seed)
    likely.push_back(seed);
  for (const auto seed : likely)
    if (run_group(dialect::belay, seed, false) != "")
      return seed;
  return std::nullopt;
}

} // namespace

// About one run in 200: the next member closes the gap with its first batch, then the rest.
TEST_CASE("changes done beyond a gap are not redelivered when the gap is closed", "[client][faults]") {
  const auto seed = seed_that_shows("consumer_forgets_beyond", {134, 619, 642});
  REQUIRE(seed);
  CHECK(run_group(dialect::belay, *seed, false) == "");
}

// About one run in 1,000: the next member's first batch ends before the earlier one's gap.
TEST_CASE("a gap is not closed before its changes have been fetched", "[client][faults]") {
  const auto seed = seed_that_shows("consumer_skips_a_gap", {958});
  REQUIRE(seed);
  CHECK(run_group(dialect::belay, *seed, false) == "");
}

TEST_CASE("a cursor stored in a key does not go back under faults", "[client][faults]") {
  check_seeds(20, run_cursors);
}

TEST_CASE("mirrors hold their guarantees under faults", "[client][faults]") {
  for (auto speaks : {dialect::belay, dialect::consul})
    check_seeds(10, [=](std::uint64_t seed) { return run_mirror(speaks, seed, true); });
}

TEST_CASE("a reconciler processes the offered keys, at its rate", "[client][faults]") {
  for (bool passes : {false, true})
    check_seeds(10, [=](std::uint64_t seed) { return run_reconciler(seed, passes); });
}

namespace {

task<status> throws_once(bool& thrown) {
  if (!std::exchange(thrown, true))
    throw std::runtime_error("the work");
  co_return nothing();
}

task<result<std::vector<std::string>>> scan_throws_once(bool& thrown) {
  if (!std::exchange(thrown, true))
    throw std::runtime_error("the scan");
  co_return std::vector<std::string>{"a", "b"};
}

} // namespace

TEST_CASE("an exception of a reconciler's work or scan is a failure that is retried", "[client]") {
  virtual_cluster c;
  bool work_threw = false, scan_threw = false;
  reconciler_options o;
  o.workers = 1;
  reconciler r(
      c.client, [&](const std::string&, deadline) { return throws_once(work_threw); },
      [&](deadline) { return scan_throws_once(scan_threw); }, o);
  r.start();
  r.offer("c");
  c.pass(seconds(10));
  CHECK(r.idle());
  CHECK(r.counts().passes == 1);
  CHECK(r.counts().failed == 1);
  CHECK(r.counts().done == 3);
}

TEST_CASE("known bugs of change followers are found by seeds", "[client][faults]") {
  auto stream = [](std::uint64_t seed) { return run_stream(dialect::belay, seed, false); };
  auto gaps = [](std::uint64_t seed) { return run_stream(dialect::belay, seed, true); };
  auto group = [](std::uint64_t seed) { return run_group(dialect::belay, seed, false); };
  auto copies = [](std::uint64_t seed) { return run_mirror(dialect::belay, seed, true); };
  auto copies_of_all = [](std::uint64_t seed) { return run_mirror(dialect::belay, seed, false); };
  auto offers = [](std::uint64_t seed) { return run_reconciler(seed, false); };
  check_that_found({
      {"rest_of_list_lost", stream},
      {"gap_unsaid", gaps},
      {"place_goes_back", run_cursors},
      {"consumer_unguarded", group},
      {"consumer_moves_on_early", group},
      {"consumer_never_again", group},
      {"mirror_goes_back", copies},
      {"mirror_notes_place_first", copies_of_all},
      {"mirror_keeps_erased", copies},
      {"offer_rings_nobody", offers},
      {"offer_while_busy_lost", offers},
      {"works_without_rate", offers},
  });
}
