// Recipes that store a cursor, when the cluster is restored or replaced: its indexes go back, or
// mean something else. A follower that resumed from its cursor would silently miss what is before
// it; a mirror would take its copies for newer than they are.
#include "tests/unit/client/crew.hpp"

#include "client/core/cursors.hpp"

#include <belay/changes.hpp>
#include <belay/consumer.hpp>
#include <belay/diff.hpp>
#include <belay/mirror.hpp>

#include <fcntl.h>
#include <fstream>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

using namespace belay;
using namespace belay::client_tests;

namespace {

constexpr std::uint64_t first_history = 0x9f3c'2a1b'0000'0000, second_history = 0x1234'5678'0000'0000;

/// How 0.2.0 parses a cursor in the text of a file (cli/commands/watching/change_feed.cpp and
/// client/change_feed/changes.cpp there): nullopt, and it ends.
std::optional<std::string> place_for_0_2_0(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  if (text.empty() || text.find_first_not_of("0123456789.") != text.npos)
    return std::nullopt;
  return text;
}

std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The cluster ends, and another one, or the same one, continues from a backup. In half of the
/// cases its indexes go back.
class fate {
public:
  explicit fate(virtual_time::timeline& time) : time_(time) {}

  void save_or_restore(model_server& s) {
    auto what = time_.chance().draw(12);
    if (what == 0 || !saved_) {
      saved_ = s.save();
    } else if (what == 1) {
      bool in_place = time_.chance().draw(2) == 0;
      auto history = in_place ? s.history + 1 : first_history + (++clusters_ << 32);
      auto index = in_place ? s.index() : std::max<std::uint64_t>(s.index(), 30) - time_.chance().draw(20);
      s.restore(*saved_, index, history);
      ++restored;
    }
  }
  int restored = 0;

private:
  virtual_time::timeline& time_;
  std::optional<model_server::archive> saved_;
  std::uint64_t clusters_ = 0;
};

void write_some(virtual_time::timeline& time, model_server& s, int& written) {
  for (auto times = 1 + time.chance().draw(6); times > 0; --times) {
    auto key = "in/k" + std::to_string(time.chance().draw(60)); // few of which are repaired by a later change
    if (time.chance().draw(3) == 0)
      s.erase(key);
    else
      s.put(key, "v" + std::to_string(++written));
  }
}

virtual_time::fault_rates some_losses() {
  virtual_time::fault_rates r;
  r.request_lost = 30'000;
  r.answer_lost = 60'000;
  r.latency_max = milliseconds(200);
  return r;
}

// The feed

struct resumed_follower {
  std::map<std::string, std::string> keys;
  std::string cursor;
};

task<void> follow_on(environment& env, resumed_follower& f) {
  changes stream(env, "in/", f.cursor);
  for (;;) {
    deadline soon(env.now() + seconds(20));
    result<change_batch> batch = co_await stream.next(soon);
    if (!batch)
      continue;
    if (batch->is_snapshot)
      f.keys.clear();
    for (const auto& c : batch->changes) {
      if (c.kind == change_kind::set)
        f.keys[c.key] = c.value;
      else
        f.keys.erase(c.key);
    }
    f.cursor = batch->cursor;
  }
}

/// A follower that is destroyed and resumes from its cursor reaches the final state, whatever
/// happened to the cluster meanwhile.
finding run_restored_stream(std::uint64_t seed) {
  virtual_cluster c(dialect::belay, seed, some_losses());
  c.server.history = first_history;
  fate of_cluster(c.time);
  resumed_follower f;
  int written = 0;
  task<void> following = follow_on(c.client, f);
  following.start();
  for (int i = 0; i < 120; ++i) {
    write_some(c.time, c.server, written);
    c.pass(milliseconds(c.time.chance().draw(1500)));
    bool away = c.time.chance().draw(3) == 0;
    if (away)
      following.reset();
    of_cluster.save_or_restore(c.server);
    for (auto n = c.time.chance().draw(12); n > 0; --n)
      write_some(c.time, c.server, written);
    if (away) {
      following = follow_on(c.client, f);
      following.start();
    }
  }
  c.time.heal();
  c.pass(seconds(80));
  following.reset();
  return f.keys == c.server.all("in/") ? "" : "what is known is not what is there";
}

// Mirrors, from one cluster to another

struct two_clusters {
  explicit two_clusters(std::uint64_t seed = 1, virtual_time::fault_rates rates = {})
      : original(dialect::belay, seed, rates), copy_server(original.time, dialect::belay),
        copy(original.time, copy_server) {
    original.server.history = first_history;
    copy_server.history = second_history;
  }

  std::map<std::string, std::string> copied(const std::string& prefix = "copy/") const {
    std::map<std::string, std::string> out;
    for (const auto& [key, value] : copy_server.all(prefix))
      out["in/" + key.substr(prefix.size())] = value;
    return out;
  }
  bool equal() const { return copied() == original.server.all("in/"); }
  template <class T>
  T run(task<T> t) {
    return original.run(std::move(t));
  }
  /// As `belay mirror -once`.
  status catch_up(mirror& m) {
    for (;;) {
      auto current = run(m.is_current(original.within(seconds(10))));
      if (!current)
        return current.error();
      if (*current)
        return nothing();
      auto copied = run(m.step(original.within(seconds(10))));
      if (!copied)
        return copied;
    }
  }

  virtual_cluster original;
  model_server copy_server;
  virtual_time::process copy;
};

task<void> copy_from(virtual_time::timeline& time, environment& from, environment& to) {
  mirror m(from, "in/", to, "copy/", "mirror");
  for (;;) {
    deadline soon(time.now() + seconds(20));
    status copied = co_await m.step(soon);
    if (!copied) {
      auto later = from.now() + milliseconds(300);
      co_await sleep_until(from, later);
    }
  }
}

finding run_restored_mirrors(std::uint64_t seed) {
  two_clusters c(seed, some_losses());
  auto& time = c.original.time;
  fate of_original(time);
  int written = 0;
  std::vector<task<void>> all(2);
  for (int i = 0; i < 60; ++i) {
    for (auto& each : all) // it dies at any point
      if (i == 0 || time.chance().draw(8) == 0) {
        each = copy_from(time, c.original.client, c.copy);
        each.start();
      }
    write_some(time, c.original.server, written);
    c.original.pass(milliseconds(time.chance().draw(6000)));
    of_original.save_or_restore(c.original.server);
  }
  time.heal();
  c.original.pass(minutes(3));
  all.clear();
  return c.equal() ? "" : "the copy is not equal in the end";
}

} // namespace

TEST_CASE("a cursor has a position and a history", "[client]") {
  CHECK(position_of("12.3@9f3c2a1b00000007") == "12.3");
  CHECK(history_of("12.3@9f3c2a1b00000007") == 0x9f3c'2a1b'0000'0007);
  CHECK(position_of("12.3") == "12.3");
  CHECK(history_of("12.3") == 0);
  CHECK(history_of("12.3@") == 0);
  CHECK(history_of("12.3@9f3c2a1b0000000g") == 0);
  CHECK(is_behind("11@9f3c2a1b00000007", "10.3@9f3c2a1b00000007"));
  CHECK(is_behind("10@9f3c2a1b00000007", "10.3@9f3c2a1b00000007"));
  CHECK(is_behind("10.4@9f3c2a1b00000007", "10.3"));
  CHECK(in_one_cluster(0x9f3c'2a1b'0000'0007, 0x9f3c'2a1b'0000'0000));
  CHECK_FALSE(in_one_cluster(first_history, second_history));
}

TEST_CASE("a file with a cursor stores its history where 0.2.0 ignores it", "[client]") {
  char folder[] = "/tmp/belay-place-XXXXXX";
  REQUIRE(::mkdtemp(folder));
  auto path = std::string(folder) + "/place";
  file_cursor file(path);
  for (auto history :
       {first_history, second_history, std::uint64_t{1}, ~std::uint64_t{1}, std::uint64_t{0x5555'aaaa'0f0f'f0f0}}) {
    auto cursor = detail::cursor_parts{"4711.3", history}.text();
    REQUIRE(file.store(cursor));
    CHECK(*file.load() == cursor);
    CHECK(text_of_file(path).starts_with("4711.3\n"));
    CHECK(place_for_0_2_0(text_of_file(path)) == "4711.3");
  }
  REQUIRE(file.store("12"));
  CHECK(text_of_file(path) == "12\n");
  CHECK(*file.load() == "12");
  auto write = [&](const std::string& text) { std::ofstream(path, std::ios::binary) << text; };
  for (const auto* text : {"12.3", "12.3\n", "12.3 \n", "12.3\n\n\n"}) { // from 0.2.0, or from an editor
    write(text);
    CHECK(*file.load() == "12.3");
  }
  write("12.3@9f3c2a1b00000007\n"); // from a user who copied it from BELAY_CURSOR
  CHECK(*file.load() == "12.3@9f3c2a1b00000007");
  for (const auto* text : {"", "\n", "x\n", "12.3 x\n", "12.3@\n", "12.3.4\n", "12.3\n13\n"}) {
    INFO(text);
    write(text);
    CHECK(file.load().reason() == reason::invalid);
  }
  write(std::string(1 << 20, '1'));
  CHECK(file.load().reason() == reason::invalid);

  // docs/internals/pitfalls.md R43: a folder, a pipe, a device without an end.
  file_cursor in_place_of_a_file{std::string(folder)};
  CHECK(in_place_of_a_file.load().error().text() == std::string(folder) + ": Is a directory");
  auto pipe = std::string(folder) + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(file_cursor(pipe).load().refused());
  CHECK(file_cursor("/dev/zero").load().refused());
  CHECK(file_cursor(path + "/below").load().refused());
  CHECK(*file_cursor(std::string(folder) + "/none").load() == "");
  if (::geteuid() != 0) {
    ::chmod(path.c_str(), 0);
    CHECK(file.load().refused());
  }
  ::unlink(pipe.c_str());
  ::unlink(path.c_str());
  ::rmdir(folder);
}

TEST_CASE("a key with a cursor stores its history in its flags", "[client]") {
  virtual_cluster c;
  key_cursor key(c.client, "place");
  auto store = [&](const std::string& cursor) { return *c.run(key.store(cursor, c.within(seconds(5)))); };
  CHECK(store("12.3") == "12.3");
  CHECK(c.server.flags("place") == 0);
  CHECK(store("12.4@9f3c2a1b00000000") == "12.4@9f3c2a1b00000000");
  CHECK(c.server.value("place") == "12.4"); // what 0.2.0 reads
  CHECK(c.server.flags("place") == first_history);
  CHECK(*c.run(key.load(c.within(seconds(5)))) == "12.4@9f3c2a1b00000000");
  CHECK(store("12.3@9f3c2a1b00000000") == "12.4@9f3c2a1b00000000");
  CHECK(store("2@1234567800000000") == "2@1234567800000000"); // another history: indexes are not comparable
}

TEST_CASE("changes continue in their history, and start over in another one", "[client]") {
  virtual_cluster c;
  c.server.history = first_history;
  for (int i = 0; i < 20; ++i)
    c.server.put("in/k" + std::to_string(i % 3), std::to_string(i));
  auto backup = c.server.save();
  changes stream(c.client, "in/");
  auto all = c.run(stream.next(c.within(seconds(5))));
  REQUIRE(all);
  CHECK(history_of(all->cursor) == first_history);
  c.server.put("in/k0", "new");
  auto one = c.run(stream.next(c.within(seconds(5))));
  REQUIRE(one);
  REQUIRE(one->changes.size() == 1);
  CHECK(history_of(one->changes.front().cursor) == first_history);
  CHECK(position_of(one->changes.front().cursor) == std::to_string(c.server.index()) + ".0");
  CHECK(*c.run(stream.is_current(c.within(seconds(5)))));

  auto gone = [&] {
    changes resumed(c.client, "in/", one->cursor);
    CHECK_FALSE(*c.run(resumed.is_current(c.within(seconds(5)))));
    auto again = c.run(resumed.next(c.within(seconds(5))));
    REQUIRE(again);
    CHECK(again->is_snapshot);
    CHECK(again->is_newest);
    CHECK(history_of(again->cursor) == c.server.history);
  };
  SECTION("in place") {
    c.server.restore(backup, c.server.index(), first_history + 1);
    gone();
  }
  SECTION("in another cluster, whose index is below the cursor") {
    c.server.restore(backup, 11, second_history);
    gone();
  }
  SECTION("in another cluster, whose index has passed the cursor") {
    c.server.restore(backup, 11, second_history);
    for (int i = 0; i < 50; ++i)
      c.server.put("in/k1", std::to_string(i));
    gone();
  }
  SECTION("a cursor of 0.2.0 above the index") {
    c.server.restore(backup, 11, second_history);
    one->cursor = position_of(one->cursor);
    gone();
  }
  SECTION("a server of 0.2.0, to which a cluster was downgraded, gets the cursor without the history") {
    c.server.history = 0;
    c.server.put("in/k2", "newer");
    changes resumed(c.client, "in/", one->cursor);
    CHECK_FALSE(*c.run(resumed.is_current(c.within(seconds(5)))));
    auto next = c.run(resumed.next(c.within(seconds(5))));
    REQUIRE(next);
    CHECK_FALSE(next->is_snapshot);
    CHECK(next->changes.size() == 1);
    CHECK(history_of(next->cursor) == 0);
    CHECK(*c.run(resumed.is_current(c.within(seconds(5)))));
  }
}

TEST_CASE("a change that has left the window counts as missed", "[client]") {
  // `belay mirror -once` promises that the copy equals a state of the original. The 410 has the
  // index of the request.
  virtual_cluster c;
  c.server.history = GENERATE(first_history, std::uint64_t{0});
  c.server.put("in/a", "1");
  changes stream(c.client, "in/");
  REQUIRE(c.run(stream.next(c.within(seconds(5)))));
  CHECK(*c.run(stream.is_current(c.within(seconds(5)))));
  c.server.put("other", "1"); // irrelevant to it
  CHECK(*c.run(stream.is_current(c.within(seconds(5)))));
  c.server.put("in/a", "2");
  c.server.forget_changes();
  CHECK_FALSE(*c.run(stream.is_current(c.within(seconds(5)))));
}

TEST_CASE("a group gets a snapshot of another history, and its state is one of 0.2.0", "[client]") {
  virtual_cluster c;
  c.server.history = first_history;
  session s(c.client, session_options());
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  auto member = std::make_unique<consumer>(s, "in/", "group");
  for (int i = 0; i < 60; ++i)
    c.server.put("other", std::to_string(i));
  auto snapshot = c.run(member->next(c.within(seconds(5))));
  REQUIRE(snapshot);
  REQUIRE(c.run(member->ack(snapshot->cursor, c.within(seconds(5)))));
  for (int i = 0; i < 20; ++i)
    c.server.put("in/a", std::to_string(i));
  auto one = c.run(member->next(c.within(seconds(5))));
  auto two = c.run(member->next(c.within(seconds(5))));
  REQUIRE(one);
  REQUIRE(two);
  CHECK(history_of(one->cursor) == first_history);
  REQUIRE(c.run(member->ack(two->cursor, c.within(seconds(5)))));
  auto state = *c.server.value("group/.state");
  CHECK(state.find('@') == state.npos);
  CHECK(state.find("[\"done\",\"" + position_of(two->cursor) + "\"]") != state.npos);
  CHECK(c.server.flags("group/.state") == first_history);
  // Acknowledged changes beyond the open ones are not delivered again to the next member.
  REQUIRE(c.run(member->leave(c.within(seconds(5)))));
  member = std::make_unique<consumer>(s, "in/", "group");
  auto again = c.run(member->next(c.within(seconds(5))));
  REQUIRE(again);
  CHECK(again->cursor == one->cursor);
  CHECK(again->tries == 2);

  REQUIRE(c.run(member->leave(c.within(seconds(5)))));
  bool of_0_2_0 = GENERATE(false, true); // the member that wrote the state last
  if (of_0_2_0)
    c.server.put("group/.state", state, 0);
  auto backup = c.server.save();
  c.server.restore(backup, 11, second_history); // below the group's cursor
  bool passed = !of_0_2_0 && GENERATE(false, true);
  for (int i = 0; passed && i < 100; ++i)
    c.server.put("in/c", std::to_string(i));
  session other(c.client, session_options());
  REQUIRE(c.run(other.open(c.within(seconds(5)))));
  consumer next(other, "in/", "group");
  auto anew = c.run(next.next(c.within(seconds(5))));
  INFO(anew.error().text());
  REQUIRE(anew);
  CHECK(anew->is_snapshot);
  CHECK(anew->changes.size() == c.server.all("in/").size());
  REQUIRE(c.run(next.ack(anew->cursor, c.within(seconds(5)))));
  CHECK(c.server.flags("group/.state") == second_history);
  c.server.put("in/d", "1");
  auto more = c.run(next.next(c.within(seconds(5))));
  REQUIRE(more);
  CHECK_FALSE(more->is_snapshot);
  CHECK(more->changes.front().key == "in/d");
}

TEST_CASE("a mirror follows an original that was restored", "[client]") {
  // Its keys have lower indexes than the copy's records, or the same with other values.
  two_clusters c;
  auto& server = c.original.server;
  if (GENERATE(false, true)) // servers of 0.2.0 name no history
    server.history = c.copy_server.history = 0;
  bool named = server.history != 0;
  for (int i = 0; i < 3; ++i)
    server.put("in/k" + std::to_string(i), "good");
  auto backup = server.save();
  auto saved_at = server.index();
  server.erase("in/k0");
  server.put("in/phantom", "1");
  for (int i = 0; i < 30; ++i)
    server.put("in/k" + std::to_string(1 + i % 2), "bad" + std::to_string(i));
  auto copying = std::make_unique<mirror>(c.original.client, "in/", c.copy, "copy/", "mirror");
  REQUIRE(c.catch_up(*copying));
  REQUIRE(c.equal());
  CHECK(c.copy_server.flags("mirror/place") == server.history);
  CHECK(c.copy_server.flags("mirror/at/k1") == server.history);
  bool runs_on = GENERATE(false, true);
  if (!runs_on)
    copying = std::make_unique<mirror>(c.original.client, "in/", c.copy, "copy/", "mirror");

  SECTION("in place") {
    server.restore(backup, server.index(), named ? first_history + 1 : 0);
  }
  SECTION("in another cluster") {
    server.restore(backup, saved_at, named ? second_history + (1ull << 32) : 0);
    if (!named) { // its server must notice that the index is in the past
      server.history = first_history;
      REQUIRE(c.catch_up(*copying));
      server.history = 0;
    }
  }
  SECTION("in another cluster, which has passed the cursor") {
    if (!named)
      return; // undetectable
    server.restore(backup, saved_at, second_history + (1ull << 32));
    for (int i = 0; i < 60; ++i)
      server.put("in/k2", "fresh" + std::to_string(i));
  }
  server.put("in/new", "1");
  REQUIRE(c.catch_up(*copying));
  CHECK(c.equal());
  // From here on it follows as usual.
  server.put("in/k1", "later");
  server.erase("in/k2");
  REQUIRE(c.catch_up(*copying));
  CHECK(c.equal());
  CHECK(copying->cursor() == c.copy_server.value("mirror/place"));
}

TEST_CASE("a mirror dies while it copies another history", "[client]") {
  // The next mirror finds records partly of this history, and partly of the one before, with higher
  // indexes.
  for (int steps = 1; steps < 60; ++steps) {
    two_clusters c;
    auto& server = c.original.server;
    for (int i = 0; i < 8; ++i)
      server.put("in/k" + std::to_string(i), "old");
    for (int i = 0; i < 30; ++i)
      server.put("other", std::to_string(i));
    server.erase("in/k7");
    auto backup = server.save();
    mirror before(c.original.client, "in/", c.copy, "copy/", "mirror");
    REQUIRE(c.catch_up(before));
    server.restore(backup, 11, second_history + (1ull << 32));
    for (int i = 0; i < 4; ++i)
      server.put("in/k" + std::to_string(i), "new");
    auto requests_before = c.copy_server.requests("");
    auto dying = copy_from(c.original.time, c.original.client, c.copy);
    dying.start();
    for (int i = 0; i < 1000 && c.copy_server.requests("") < requests_before + static_cast<std::size_t>(steps); ++i)
      c.original.pass(milliseconds(1));
    dying.reset();
    mirror next(c.original.client, "in/", c.copy, "copy/", "mirror");
    REQUIRE(c.catch_up(next));
    INFO(steps);
    CHECK(c.equal());
    server.put("in/k7", "again"); // whose erasure was recorded with a higher index
    REQUIRE(c.catch_up(next));
    CHECK(c.equal());
  }
}

TEST_CASE("two mirrors of one name do not copy two originals in turns", "[client]") {
  two_clusters c;
  model_server old_server(c.original.time, dialect::belay);
  virtual_time::process old(c.original.time, old_server);
  old_server.history = second_history + (1ull << 32);
  for (int i = 0; i < 9; ++i) {
    c.original.server.put("in/a", std::to_string(i));
    old_server.put("in/a", "of the old one " + std::to_string(i));
  }
  mirror of_old(old, "in/", c.copy, "copy/", "mirror");
  mirror of_new(c.original.client, "in/", c.copy, "copy/", "mirror");
  REQUIRE(c.run(of_old.step(c.original.within(seconds(5)))));
  REQUIRE(c.run(of_new.step(c.original.within(seconds(5)))));
  CHECK(c.equal());
  old_server.put("in/a", "late");
  status ended = nothing();
  for (int i = 0; i < 5 && ended; ++i)
    ended = c.run(of_old.step(c.original.within(seconds(5))));
  CHECK(ended.reason() == reason::held);
  CHECK(c.equal()); // and it has written nothing
  c.original.server.put("in/b", "1");
  REQUIRE(c.run(of_new.step(c.original.within(seconds(5)))));
  CHECK(c.equal());
}

TEST_CASE("a mirror leaves out what the copy rejects, reports it, and copies the rest", "[client]") {
  two_clusters c;
  auto& server = c.original.server;
  c.copy_server.value_bytes_max = 100;
  mirror copying(c.original.client, "in/", c.copy, "copy/", "mirror");
  server.put("in/a", "1");
  REQUIRE(c.catch_up(copying));
  auto cursor = c.copy_server.value("mirror/place");
  server.put("in/large", std::string(101, 'v'));
  server.put("in/b", "2");
  REQUIRE(c.catch_up(copying));
  CHECK(c.copy_server.value("copy/b") == "2");
  REQUIRE(copying.left_out().size() == 1);
  CHECK(copying.left_out().begin()->first == "in/large");
  CHECK(copying.left_out().begin()->second.find("too large") != std::string::npos);
  // A mirror that starts again tries it again, and reports it.
  CHECK(c.copy_server.value("mirror/place") == cursor);
  mirror next(c.original.client, "in/", c.copy, "copy/", "mirror");
  REQUIRE(c.catch_up(next));
  CHECK(next.left_out().size() == 1);
  server.forget_changes();
  mirror after_gap(c.original.client, "in/", c.copy, "copy/", "mirror");
  REQUIRE(c.catch_up(after_gap));
  CHECK(after_gap.left_out().size() == 1);
  SECTION("it becomes smaller") {
    server.put("in/large", "small");
  }
  SECTION("it goes") {
    server.erase("in/large");
  }
  SECTION("the copy's server takes it now") {
    c.copy_server.value_bytes_max = 1000;
    mirror again(c.original.client, "in/", c.copy, "copy/", "mirror");
    REQUIRE(c.catch_up(again));
    CHECK(again.left_out().empty());
    CHECK(c.equal());
    return;
  }
  REQUIRE(c.catch_up(after_gap));
  CHECK(after_gap.left_out().empty());
  CHECK(c.equal());
  CHECK(c.copy_server.value("mirror/place") == after_gap.cursor());
}

TEST_CASE("keys that no list can name are left out, and compared with nothing", "[client]") {
  // Go and this server write U+FFFD for a byte that is not UTF-8, so two keys may look alike.
  two_clusters c;
  auto& server = c.original.server;
  const std::string shown = "in/\xEF\xBF\xBD";
  server.put(shown, "its name is this");
  server.put("in/a", "1");
  server.misnamed = {{"in/\xFF", shown}};
  mirror copying(c.original.client, "in/", c.copy, "copy/", "mirror");
  REQUIRE(c.catch_up(copying));
  CHECK(copying.left_out().empty());
  CHECK(c.equal());
  auto same = c.run(diff(c.original.client, "in/", c.copy, "copy/", c.original.within(seconds(20))));
  REQUIRE(same);
  CHECK(same->empty());

  server.put("in/\xFF", "its name is not");
  REQUIRE(c.catch_up(copying));
  CHECK(copying.left_out().count(shown) == 1);
  CHECK(c.copy_server.value("copy/\xEF\xBF\xBD") == "its name is this");
  auto differs = c.run(diff(c.original.client, "in/", c.copy, "copy/", c.original.within(seconds(20))));
  INFO(differs.error().text());
  REQUIRE(differs);
  REQUIRE(differs->size() == 1);
  CHECK(differs->front().kind == difference_kind::not_comparable);
  CHECK(name_of(differs->front().kind) == "NotComparable");
  CHECK(c.run(digests(c.original.client, "in/", c.original.within(seconds(5)))).reason() == reason::invalid);
  server.misnamed["in/\xFE"] = shown;
  server.put("in/\xFE", "nor is its");
  server.erase("in/\xFF");
  REQUIRE(c.catch_up(copying));
  CHECK(copying.left_out().size() == 1);
  server.erase("in/\xFE");
  REQUIRE(c.catch_up(copying));
  CHECK(copying.left_out().empty());
  CHECK(c.equal());

  // A copy without a prefix would have a key with an empty name.
  server.put("in/", "the folder");
  mirror without(c.original.client, "in/", c.copy, "", "mirror2");
  REQUIRE(c.catch_up(without));
  CHECK(without.left_out().count("in/") == 1);
  CHECK(c.copy_server.value("a") == "1");
}

TEST_CASE("followers and mirrors have the present data after every restore, under faults", "[client][faults]") {
  check_seeds(15, run_restored_stream);
  check_seeds(10, run_restored_mirrors);
}

TEST_CASE("known bugs of stored cursors of another history are found", "[client][faults]") {
  check_that_found({
      {"history_unsaid", run_restored_stream},
      {"mirror_keeps_other_history", run_restored_mirrors},
  });
  two_clusters c;
  mirror copying(c.original.client, "in/", c.copy, "copy/", "mirror");
  c.original.server.put("in/a", "1");
  REQUIRE(c.catch_up(copying));
  c.original.server.put("in/b", "1");
  {
    mutant_switch on("gap_taken_for_nothing");
    c.original.server.forget_changes();
    CHECK(c.catch_up(copying));
    CHECK_FALSE(c.equal());
  }
  {
    mutant_switch on("left_out_unsaid");
    c.copy_server.value_bytes_max = 10;
    c.original.server.put("in/large", std::string(11, 'v'));
    CHECK(c.catch_up(copying));
    CHECK_FALSE(c.equal());
    CHECK(copying.left_out().empty());
  }
}
