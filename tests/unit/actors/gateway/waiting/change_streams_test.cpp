// Streams of changes: what clients get, rendering, and clients that are slow, late or rejected.

#include "actors/gateway/waiting/change_streams.hpp"
#include "tests/unit/actors/gateway/requests/requested.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <algorithm>
#include <list>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

using requested_for = state::kv_changes::what;

/// The gateway's part, and a state machine that answers like the fsm.
struct streams_fixture : requested_fixture {
  byte_budget held;
  metrics numbers;
  change_streams streams{out, pending, times, held, numbers};
  state::driver d;
  std::list<read_query> parked;
  std::size_t questions = 0;
  bool forbidden = false, leaderless = false;

  /// A client that takes everything at once, or nothing.
  struct follower {
    exchange* e;
    std::string text;
    std::vector<http::shared_body_ptr> blocks;
    bool takes = true;
  };
  std::list<follower> followers;

  follower& open(requested_for what, state::change_position after = {log_index{}, state::change_position::all_effects},
                 std::vector<std::string> prefixes = {"a/"}, const std::string& secret = {},
                 http::consistency mode = http::consistency::normal) {
    http::change_stream requested{state::kv_changes{std::move(prefixes), after, what}, mode};
    if (!secret.empty())
      requested.query.by = state::auth_context{secret, false, {}};
    auto& e = client->asks(std::move(requested));
    auto& f = followers.emplace_back(follower{&e, {}, {}, true});
    streams.begin(e, now);
    pump();
    return f;
  }

  /// All clients may see everything, or nothing.
  state::query_result look(state::query q) {
    q.by.reset();
    ++questions;
    if (forbidden)
      return {log_index{1}, state::refusal{"Permission denied"}};
    return d.m.evaluate(q);
  }
  bool waits(read_query& q, const state::query_result& found) {
    const auto* rows = std::get_if<state::change_rows>(&found.data);
    auto& requested = std::get<state::kv_changes>(q.request.query);
    if (q.request.min_index == 0 || rows == nullptr || rows->gone || now >= q.deadline)
      return false;
    const bool nothing =
        requested.requested == requested_for::changes ? rows->nothing_yet() : rows->applied < requested.after.index;
    if (nothing)
      requested.after = rows->reached;
    return nothing;
  }
  void respond(const read_query& q, state::query_result found) {
    read_result r{q.id, std::move(found), 0, true};
    if (streams.answered(r, now))
      return;
    if (auto* e = pending.settle(q.id))
      streams.opened(*e, r, now);
  }

  /// Runs until nothing is left to do.
  void pump() {
    constexpr int most = 10'000; // known bugs send requests without end
    int requested = 0;
    for (bool busy = true; busy;) {
      busy = false;
      while (!out.list.empty()) {
        busy = true;
        if (++requested > most)
          FAIL("questions without end");
        if (const auto* cancelled = std::get_if<cancel_query>(&out.list.front())) {
          parked.remove_if([&](const read_query& q) { return q.id == cancelled->id; });
          out.list.pop_front();
          continue;
        }
        auto q = out.take<read_query>();
        auto found = look(q.request.query);
        if (waits(q, found))
          parked.push_back(std::move(q));
        else
          respond(q, std::move(found));
      }
      for (auto& f : followers)
        busy = take(f) || busy;
    }
  }
  void wake() {
    for (auto it = parked.begin(); it != parked.end();) {
      auto found = look(it->request.query);
      if (waits(*it, found)) {
        ++it;
        continue;
      }
      const auto q = std::move(*it);
      it = parked.erase(it);
      respond(q, std::move(found));
    }
    pump();
  }
  void set(const std::string& key, const std::string& value = "v") {
    d.set(key, value);
    wake();
  }
  void pass(std::chrono::seconds time) {
    now += time;
    wake();
    streams.tick(now, leaderless);
    pump();
  }

  /// Like exchange_queue.
  bool take(follower& f) {
    auto* t = f.e->transfer.get();
    if (t == nullptr || !f.takes || f.e->answer->status != 200)
      return false;
    bool some = false;
    for (;;) {
      if (t->block != nullptr) {
        f.text += unframed(*t->block);
        f.blocks.push_back(std::move(t->block));
        some = true;
      }
      f.text += std::exchange(t->piece, {});
      if (t->ended || t->requested)
        return some;
      streams.next_piece(*f.e, now);
      some = some || !t->requested;
    }
  }
};

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++n;
  return n;
}

} // namespace

TEST_CASE("streams with the same request form one group, and get one rendering", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& one = f.open(requested_for::position);
  auto& two = f.open(requested_for::position);
  CHECK(one.text == "id: 1\nevent: progress\ndata: {\"Index\":1}\n\n");
  CHECK(two.text == one.text);
  CHECK(f.parked.size() == 1);
  const auto before = f.questions;
  f.set("a/1");
  CHECK(f.questions == before + 2); // the waiting one was handled, and sends its request again
  CHECK(count(one.text, "event: set") == 1);
  CHECK(one.blocks.back() == two.blocks.back());
  const auto requested = f.questions;
  f.set("b/1");
  CHECK(f.questions == requested + 1);
  CHECK(count(one.text, "event: set") == 1);
}

TEST_CASE("groups with the same changes get one rendering", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  std::vector<streams_fixture::follower*> all;
  for (const auto* secret : {"one", "two", "one", "two"})
    all.push_back(&f.open(requested_for::position, {}, {"a/"}, secret));
  auto& wider = f.open(requested_for::position, {}, {"a/", "b/"}, "one");
  REQUIRE(f.parked.size() == 3);
  f.set("a/1");
  for (const auto* s : all)
    CHECK(s->blocks.back() == wider.blocks.back());
  f.set("b/1");
  CHECK(count(wider.text, "b/1") == 1);
  CHECK(count(all.front()->text, "b/1") == 0);
  auto& keys = f.client->asks(http::change_stream{state::kv_changes{{"a/"}, {}, requested_for::position}});
  keys.options.keys_only = true;
  const auto& names = f.followers.emplace_back(streams_fixture::follower{&keys, {}, {}, true});
  f.streams.begin(keys, f.now);
  f.pump();
  f.now += 10s; // progress events are sent along
  f.set("a/2", "w");
  for (const auto* s : all) {
    CHECK(s->blocks.back() == wider.blocks.back());
    CHECK(s->text.ends_with("id: 4\nevent: progress\ndata: {\"Index\":4}\n\n"));
  }
  CHECK(count(names.text, "\"Value\"") == 0);
  for (auto& each : f.followers)
    each.blocks.clear();
  CHECK(f.held.used() > 0); // for future groups
  f.streams.tick(f.now, false);
  CHECK(f.held.used() == 0);
}

TEST_CASE("each stream gets its cursor every ten seconds, whatever happens", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& s = f.open(requested_for::position);
  f.set("b/1");
  f.pass(10s);
  CHECK(s.text.ends_with("id: 2\nevent: progress\ndata: {\"Index\":2}\n\n"));
  f.now += 10s;
  f.set("a/1");
  const auto event = s.text.rfind("id: 3.0\n"), progress = s.text.rfind("id: 3\n");
  CHECK(event < progress);
  CHECK(progress != std::string::npos);
}

TEST_CASE("a stream that reconnects reads what it missed and joins its group", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& there = f.open(requested_for::position);
  f.set("a/1");
  f.set("a/2");
  auto& back = f.open(requested_for::changes, {log_index{2}, 0});
  CHECK(count(back.text, "event: set") == 1);
  CHECK(count(back.text, "id: 3.0\n") == 1);
  f.set("a/3");
  CHECK(count(back.text, "id: 4.0\n") == 1);
  CHECK(back.blocks.back() == there.blocks.back());
  CHECK(f.parked.size() == 1);
}

TEST_CASE("a stream that joins between a write and its delivery gets it once", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& there = f.open(requested_for::position);
  f.d.set("a/1"); // applied, and the group is not woken yet
  auto& fresh = f.open(requested_for::changes, state::change_position{log_index{1}});
  CHECK(count(fresh.text, "id: 2.0\n") == 1);
  f.wake();
  f.set("a/2");
  for (const auto* s : {&there, &fresh}) {
    CHECK(count(s->text, "id: 2.0\n") == 1);
    CHECK(count(s->text, "id: 3.0\n") == 1);
  }
}

TEST_CASE("a stream names its history, and one of another history starts over", "[changes]") {
  // The client was at a cluster that was lost, further than this one, or at an index that this one
  // has passed.
  constexpr std::uint64_t cluster = 7;
  const auto ours = state::history_id::of(cluster, {}), other = state::history_id::of(cluster + 1, {});
  streams_fixture f;
  f.d.m.set_history({cluster, true});
  for (int i = 0; i < 5; ++i)
    f.d.set("a/" + std::to_string(i));
  const auto open = [&](log_index after, state::history_id history,
                        requested_for what = requested_for::changes) -> auto& {
    state::kv_changes q{{"a/"}, state::change_position{after}, what};
    q.history = history;
    auto& e = f.client->asks(http::change_stream{std::move(q), http::consistency::normal});
    auto& s = f.followers.emplace_back(streams_fixture::follower{&e, {}, {}, true});
    f.streams.begin(e, f.now);
    f.pump();
    return s;
  };
  const auto at = "@" + to_string(ours);
  auto& own = open(log_index{3}, ours);
  CHECK(own.text.starts_with("id: 4.0" + at + "\nevent: set\n"));
  CHECK(count(own.text, "id: 5.0" + at + "\n") == 1);
  CHECK(own.text.ends_with("id: 5" + at + "\nevent: progress\ndata: {\"Index\":5}\n\n"));
  for (const std::uint64_t after : {2, 5, 500})
    for (const auto what : {requested_for::changes, requested_for::snapshot}) {
      auto& s = open(log_index{after}, other, what);
      INFO(after);
      CHECK(s.text.starts_with("id: 0\nevent: reset\ndata: {\"Index\":5,\"Reason\":\"history\"}\n\n"));
      CHECK(count(s.text, "event: set") == 5);
      CHECK(s.text.ends_with("id: 5" + at + "\nevent: progress\ndata: {\"Index\":5}\n\n"));
    }
  f.set("a/x");
  for (const auto& s : f.followers)
    CHECK(count(s.text, "id: 6.0" + at + "\n") == 1);
  CHECK(f.parked.size() == 1); // all of them are a group
  f.pass(10s);
  for (const auto& s : f.followers)
    CHECK(s.text.ends_with("id: 6" + at + "\nevent: progress\ndata: {\"Index\":6}\n\n"));
  // A server that cannot parse the cursor joins, and leaves again.
  f.d.m.set_history({cluster, false});
  f.set("a/y");
  CHECK(count(own.text, "id: 7.0\n") == 1);
  f.d.m.set_history({cluster, true});
  f.set("a/z");
  CHECK(count(own.text, "id: 8.0" + at + "\n") == 1);
}

TEST_CASE("a snapshot comes first, then the changes after it", "[changes]") {
  streams_fixture f;
  for (int i = 0; i < 1000; ++i)
    f.d.set("a/" + std::to_string(i), std::string(200, 'v'));
  auto& s = f.open(requested_for::snapshot);
  CHECK(s.text.starts_with("id: 0\nevent: snapshot\ndata: {\"Index\":1000}\n\n"));
  CHECK(count(s.text, "event: set") == 1000);
  CHECK(count(s.text, "id: ") == 2);
  CHECK(s.text.ends_with("id: 1000\nevent: progress\ndata: {\"Index\":1000}\n\n"));
  f.set("a/1");
  CHECK(count(s.text, "id: 1001.0\n") == 1);
}

TEST_CASE("writes during the transfer of a snapshot are delivered after it", "[changes]") {
  streams_fixture f;
  for (int i = 0; i < 10; ++i)
    f.d.set("a/" + std::to_string(i));
  auto& e = f.client->asks(http::change_stream{state::kv_changes{{"a/"}, {}, requested_for::snapshot}});
  auto& s = f.followers.emplace_back(streams_fixture::follower{&e, {}, {}, false});
  f.streams.begin(e, f.now);
  f.pump();
  f.set("a/x");
  s.takes = true;
  f.pump();
  CHECK(count(s.text, "a/x") == 1);
  CHECK(s.text.find("id: 10\n") < s.text.find("id: 11.0\n"));
}

TEST_CASE("below the oldest retained index all streams start over, with one read of the keys", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& one = f.open(requested_for::position);
  auto& two = f.open(requested_for::position);
  f.d.m.keep_changes(2000);
  for (int i = 0; i < 50; ++i) // while no client is notified
    f.d.set("a/" + std::to_string(i));
  const auto before = f.questions;
  f.wake();
  CHECK(f.questions <= before + 5);
  for (const auto* s : {&one, &two}) {
    CHECK(count(s->text, "id: 0\nevent: reset\n") == 1);
    CHECK(count(s->text, "event: set") == 50);
    CHECK(s->text.find("\"Reason\":\"not-retained\"") != std::string::npos);
  }
  CHECK(f.parked.size() == 1); // they are a group again, without a change
  f.pass(10s);
  for (const auto* s : {&one, &two})
    CHECK(count(s->text, "event: progress") == 3);
  f.set("a/x");
  CHECK(count(one.text, "a/x") == 1);
  CHECK(count(two.text, "a/x") == 1);
  auto& late = f.open(requested_for::changes, state::change_position{log_index{1}});
  CHECK(count(late.text, "event: reset") == 1);
}

TEST_CASE("a stream that was ahead of its group does not start over with it", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& behind = f.open(requested_for::position);
  f.d.m.keep_changes(2000);
  for (int i = 0; i < 50; ++i) // while no client is notified
    f.d.set("a/" + std::to_string(i));
  auto& ahead = f.open(requested_for::changes, state::change_position{f.d.index()});
  f.wake();
  CHECK(count(behind.text, "event: reset") == 1);
  CHECK(count(ahead.text, "event: reset") == 0);
  f.set("a/x");
  CHECK(count(behind.text, "a/x") == 1);
  CHECK(count(ahead.text, "a/x") == 1);
  CHECK(count(ahead.text, "event: set") == 1);
}

TEST_CASE("a stream that was ahead of its group gets no cursor below its own", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  f.open(requested_for::position);
  for (int i = 0; i < 5000; ++i)
    f.d.set("b/" + std::to_string(i));
  state::txn all;
  for (int i = 0; i < 5000; ++i)
    all.ops.push_back(state::op_on(state::kv_verb::set, "a/" + std::to_string(i), "v"));
  f.d.apply(all); // read in pieces
  auto& ahead = f.open(requested_for::changes, state::change_position{f.d.index()});
  f.now += 10s; // progress is due meanwhile
  f.wake();
  const auto own = "id: " + std::to_string(f.d.index().value) + ".";
  for (auto at = ahead.text.find(own); at != std::string::npos; at = ahead.text.find(own, at + 1))
    CHECK(ahead.text.substr(at + own.size(), 2) == "0\n");
}

TEST_CASE("a client that does not read is cut off with what is in transit, and nothing more is buffered", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& slow = f.open(requested_for::position);
  auto& quick = f.open(requested_for::position);
  slow.takes = false;
  slow.e->transfer->requested = false; // it has a piece
  f.streams.next_piece(*slow.e, f.now);
  for (int i = 0; i < 20; ++i)
    f.set("a/big", std::string(100'000, static_cast<char>('a' + i)));
  CHECK(count(quick.text, "event: set") == 20);
  const auto kept = f.held.used();
  CHECK(kept < 3 * change_streams::queued_bytes_max);
  slow.takes = true;
  f.pump();
  CHECK(slow.e->transfer->ended);
  CHECK(slow.text.ends_with("event: cut\ndata: {\"Reason\":\"slow\"}\n\n"));
  const auto had = count(slow.text, "event: set");
  CHECK(had < 20);
  CHECK(count(slow.text, "id: " + std::to_string(had + 1) + ".0\n") == 1); // everything up to its cursor
  slow.blocks.clear();
  quick.blocks.clear();
  f.streams.tick(f.now, false);
  CHECK(f.held.used() == 0);
}

TEST_CASE("a stream without permission is rejected at first, and ends when the permission is revoked", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& s = f.open(requested_for::position);
  f.forbidden = true;
  f.set("a/1");
  CHECK(s.e->transfer->ended);
  CHECK(s.text.ends_with("event: refused\ndata: {\"Reason\":\"Permission denied\"}\n\n"));
  auto& late = f.open(requested_for::position);
  CHECK(late.e->answer->status == 403);
}

TEST_CASE("a stream with a cursor ahead of this server waits for it", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& s = f.open(requested_for::changes, {log_index{3}, 0});
  CHECK(s.text.find("event:") == std::string::npos);
  f.set("a/1");
  f.set("a/2");
  CHECK(s.text.find("event: set") == std::string::npos); // it has them
  f.set("a/3");
  f.pass(10s);
  CHECK(count(s.text, "event: set") == 1);
  CHECK(count(s.text, "id: 4.0\n") == 1);
}

TEST_CASE("a client that has read everything gets a change at once, and overtakes no other one", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& slow = f.open(requested_for::position);
  f.open(requested_for::position);
  std::vector<http::shared_body_ptr> sent;
  slow.takes = false;
  f.set("a/1"); // belongs to its exchange
  f.client->sends_now = [&](const http::shared_body_ptr& piece) {
    sent.push_back(piece);
    return true;
  };
  const auto received_before = f.client->received;
  f.set("a/2");
  REQUIRE(sent.size() == 1); // that of the quick one
  CHECK(count(std::string(unframed(*sent.front())), "id: 3.0\n") == 1);
  CHECK(f.client->received == received_before);
  slow.takes = true;
  f.pump();
  CHECK(count(slow.text, "event: set") == 2);
  CHECK(slow.text.find("id: 2.0\n") < slow.text.find("id: 3.0\n"));
  f.set("a/3");
  CHECK(sent.size() == 3);
}

TEST_CASE("clients may be lost during delivery", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  for (int i = 0; i < 6; ++i)
    f.open(requested_for::position);
  std::size_t sent = 0;
  const auto lose = [&](std::size_t which) {
    const auto it = std::next(f.followers.begin(), static_cast<std::ptrdiff_t>(which));
    f.pending.forget(*it->e);
    f.streams.close(*it->e);
    f.followers.erase(it);
  };
  f.client->sends_now = [&](const http::shared_body_ptr&) {
    if (++sent == 2) { // the connection that is notified, and others that held too much
      lose(4);
      lose(1);
      lose(0);
    }
    return true;
  };
  f.set("a/1");
  CHECK(sent == 4); // three are left, and one was notified before it was lost
  f.set("a/2");
  CHECK(sent == 7);
}

TEST_CASE("the lag of streams is counted", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  const auto shown = [&](const std::string& name) {
    f.streams.tick(f.now, false);
    const auto text = f.numbers.prometheus("belay");
    const auto at = text.find("\nbelay_changes_" + name + " ");
    REQUIRE(at != std::string::npos);
    return std::stoll(text.substr(text.find(' ', at)));
  };
  auto& s = f.open(requested_for::position);
  CHECK(shown("streams") == 1);
  CHECK(shown("lagging_streams") == 0);
  s.takes = false;
  f.set("a/1", std::string(1000, 'v')); // belongs to its exchange
  CHECK(shown("queued_bytes") == 0);
  f.set("a/2", std::string(1000, 'v'));
  CHECK(shown("queued_bytes") > 1336); // in base64
  CHECK(shown("lagging_streams") == 0);
  s.takes = true;
  f.pump();
  CHECK(shown("queued_bytes") == 0);

  f.set("a/3");
  const auto lag = [&] { return shown("lag_entries_sum"); };
  const auto before = lag();
  auto& back = f.open(requested_for::changes, state::change_position{log_index{1}});
  CHECK(lag() == before + 3);
  CHECK(count(back.text, "event: set") == 3);
  auto& e = f.client->asks(http::change_stream{state::kv_changes{{"a/"}, {}, requested_for::snapshot}});
  f.followers.emplace_back(streams_fixture::follower{&e, {}, {}, false});
  f.streams.begin(e, f.now);
  f.pump();
  CHECK(shown("lagging_streams") == 1);
  f.streams.close(e);
  CHECK(shown("lagging_streams") == 0);
  CHECK(shown("queued_bytes") == 0);
}

TEST_CASE("a group ends with its last stream", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& s = f.open(requested_for::position);
  CHECK(f.parked.size() == 1);
  f.streams.close(*s.e);
  f.followers.clear();
  f.pass(1s);
  CHECK(f.parked.empty());
}

TEST_CASE("streams end when there has been no leader for the hold time, but those that may be stale", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  const state::change_position newest{log_index{}, state::change_position::all_effects};
  auto& follows = f.open(requested_for::position);
  auto& stale = f.open(requested_for::position, newest, {"a/"}, {}, http::consistency::stale);
  const auto hold = std::chrono::duration_cast<std::chrono::seconds>(f.times.queue_timeout);
  f.leaderless = true;
  f.pass(1s);
  f.pass(hold - 1s);
  f.leaderless = false; // in time
  f.pass(1s);
  f.leaderless = true;
  f.pass(1s);
  f.pass(hold - 1s);
  CHECK_FALSE(follows.e->transfer->ended);
  f.pass(1s);
  CHECK(follows.e->transfer->ended);
  CHECK(count(follows.text, "event: leaderless\ndata: {\"Reason\":\"No cluster leader\"}\n\n") == 1);
  f.pass(1s);
  CHECK(count(follows.text, "event: leaderless") == 1);
  CHECK_FALSE(stale.e->transfer->ended);
  f.set("a/1");
  CHECK(count(stale.text, "a/1") == 1);
  CHECK(count(follows.text, "a/1") == 0);
}

TEST_CASE("all streams end with the server", "[changes]") {
  streams_fixture f;
  f.d.set("a/0");
  auto& s = f.open(requested_for::position);
  f.streams.finish();
  f.pump();
  CHECK(s.e->transfer->ended);
}
