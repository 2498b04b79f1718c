// Situation: a server's newest checkpoint is damaged, or a commit reads back different. Event: the
// server restarts. What would go wrong: it stays down although an older checkpoint and the log
// after it have everything, or it comes back without acknowledged writes.

#include "actors/tables/checkpointer.hpp"
#include "protocol/wire/command_codec.hpp"
#include "tests/actors/cluster_fixture.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;

namespace {

cluster_options one_server(storage::generation_limits older) {
  cluster_options o;
  o.nodes = 1;
  o.machine.checkpoints.entries = 20;
  o.older_checkpoint = older;
  return o;
}

constexpr storage::generation_limits never{1u << 30, std::chrono::hours(1), 10};

struct story {
  explicit story(cluster_options o) : c(std::move(o)) { c.leader(); }

  void write(int count) {
    for (int i = 0; i < count; ++i, ++written)
      c.put_done(0, "k" + std::to_string(written % 50), "v" + std::to_string(written));
    c.pass(std::chrono::seconds(1));
  }
  void restart() {
    c.crash(0);
    c.start(0);
    REQUIRE(c.until([&] { return c.view(0).serving; }));
  }
  bool all_there() {
    const auto r = c.found(c.read(0, state::kv_list{""}, http::consistency::consistent));
    std::size_t right = 0;
    for (const auto& e : std::get<state::kv_entries>(std::get<state::query_result>(r.answer).data).entries) {
      const auto n = std::stoi(std::string(e->key).substr(1));
      const int last = (written - 1 - n) / 50 * 50 + n;
      right += *e->value == "v" + std::to_string(last);
    }
    return right == static_cast<std::size_t>(std::min(written, 50));
  }
  /// The first entry in the log on the disk.
  std::uint64_t log_begins() {
    const auto& entries = c.log(0).kept().entries;
    return entries.empty() ? UINT64_MAX : entries.front().index.value;
  }
  sim::simulated_checkpoints& disk() { return c.checkpoints(0); }

  cluster_fixture c;
  int written = 0;
};

} // namespace

TEST_CASE("a commit that reads back different costs nothing: the server continues, and restarts from the previous one",
          "[actors][disks]") {
  story s(one_server(GENERATE(never, storage::generation_limits{0, std::chrono::nanoseconds(0), 0})));
  s.write(30);
  REQUIRE(s.disk().commits().size() >= 1);
  const auto before = s.disk().commits().size();
  s.disk().damage_next_commit(GENERATE(5u, 777u, 4001u));
  s.write(30);
  CHECK(s.disk().counted().commits_damaged == 1);
  CHECK_FALSE(s.c.gave_up(0));
  CHECK(s.all_there());
  SECTION("the next one is full") {
    REQUIRE(s.c.until([&] { return s.disk().commits().size() > before; }, std::chrono::seconds(60)));
    CHECK(s.disk().commits().back());
  }
  SECTION("it restarts before that") {}
  s.restart();
  CHECK(s.all_there());
  s.write(60);
  s.restart();
  CHECK(s.all_there());
}

TEST_CASE("a damaged checkpoint of a stopped server is replaced by an older one and the log after it",
          "[actors][disks]") {
  const auto limits = GENERATE(never, storage::generation_limits{2'000, std::chrono::hours(1), 0},
                               storage::generation_limits{0, std::chrono::nanoseconds(0), 0});
  CAPTURE(limits.log_bytes);
  story s(one_server(limits));
  for (int i = 0; i < 5; ++i)
    s.write(26);
  REQUIRE(s.disk().commits().size() >= 3);
  s.c.crash(0);
  const auto bits = s.disk().used_bits();
  const auto part = GENERATE(2, 3, 100);
  CAPTURE(part);
  s.disk().flip_bit(bits / part);
  s.c.start(0);
  REQUIRE(s.c.until([&] { return s.c.view(0).serving; }));
  CHECK(s.disk().counted().fallen_back >= 1);
  CHECK(s.all_there());
  s.write(60);
  s.restart();
  CHECK(s.all_there());
}

TEST_CASE("the log reaches back to the older generation, and a server without one keeps all of it", "[actors][disks]") {
  SECTION("no older generation yet") {
    story s(one_server(never));
    s.write(150);
    CHECK_FALSE(s.disk().older_index());
    CHECK(s.log_begins() == 1);
  }
  SECTION("now and then") {
    story s(one_server({3'000, std::chrono::hours(1), 0}));
    for (int i = 0; i < 10; ++i) {
      s.write(30);
      if (const auto older = s.disk().older_index())
        CHECK((s.c.log(0).kept().entries.empty() || s.log_begins() <= older->next().value));
    }
    REQUIRE(s.disk().older_index());
    CHECK(s.disk().older_index()->value > 100);
    CHECK(s.log_begins() > 100);
  }
  SECTION("with each checkpoint") {
    story s(one_server({0, std::chrono::nanoseconds(0), 0}));
    s.write(150);
    REQUIRE(s.disk().older_index());
    CHECK(s.log_begins() > 100);
  }
}

namespace {

/// A stored response with the row of a key, as 0.2.0 wrote it.
state::dirty_row outcome_showing(const std::string& session, std::uint64_t fence) {
  state::kv_draft entry;
  entry.key = "job";
  entry.value = make_payload({});
  entry.session = session;
  entry.fence = fence;
  state::outcome_record row;
  row.id = "once-1";
  row.key = state::outcome_key("", row.id);
  row.index = log_index{7};
  row.answer =
      std::make_shared<const state::reply>(state::reply{state::txn_reply{{{state::kv_entry_ptr(entry), false}}, {}}});
  return {state::table::outcomes, row.key, std::make_shared<const state::outcome_record>(row)};
}

/// Loads a checkpoint with those rows that claims to have that digest.
result<std::shared_ptr<state::machine>> load(const std::vector<state::dirty_row>& rows, std::uint64_t digest) {
  static std::uint64_t claimed;
  claimed = digest;
  // A store without checksums of rows, as in 0.2.0.
  sim::simulated_checkpoints store([](std::uint8_t table, std::string_view, std::string_view) {
    return std::optional(table == static_cast<std::uint8_t>(state::table::counters) ? claimed : 0);
  });
  storage::checkpoint_delta d;
  d.meta.index = log_index{9};
  d.meta.term = term_id{1};
  d.digest = digest;
  for (const auto& row : rows)
    d.rows.push_back(row_change_of(row));
  REQUIRE(store.commit(d).ok());
  return load_machine(store, **store.info());
}

} // namespace

TEST_CASE("a checkpoint of 0.2.0 whose digest includes fencing tokens of kept outcomes is read; any other difference "
          "is an error",
          "[actors][disks]") {
  const state::dirty_row counter{state::table::counters, "kvs", state::counter{"kvs", 7}};
  const auto locked = outcome_showing("5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01", 7), free = outcome_showing("", 0);
  const auto digest = [&](const state::dirty_row& row) {
    state::machine m;
    for (const auto& each : {counter, row})
      m.load_row(*wire::decode_row(static_cast<std::uint8_t>(each.table), each.key, *wire::encode_row(each)));
    m.finish_load(log_index{9}, {});
    return m.digest();
  };
  CHECK(load({counter, locked}, digest(locked)).ok());
  CHECK(load({counter, free}, digest(free)).ok());
  CHECK(load({counter, locked}, digest(locked) + 1).ok()); // its fencing token counted
  const auto refused = load({counter, free}, digest(free) + 1);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().find("does not have its recorded digest") != std::string::npos);
  CHECK_FALSE(load({counter}, 4711).ok());
}
