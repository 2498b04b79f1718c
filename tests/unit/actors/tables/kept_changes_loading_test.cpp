// Situation: changes are stored beside a checkpoint without the values that the log contains.
// Event: the server restarts. What would go wrong: a client that follows changes gets another
// value than the one that was put, or a reset although all changes are on the disk.

#include "actors/tables/kept_changes_loading.hpp"

#include "actors/tables/checkpointer.hpp"
#include "protocol/wire/command_codec.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::state;

namespace {

/// A server that has put some keys, and written a checkpoint.
struct stopped_server {
  harness::scratch_folder folder;
  std::shared_ptr<storage::lmdb_checkpoint> store;
  driver d;
  std::vector<raft::entry> log;

  void put(const std::string& key, const std::string& value) { apply(kv_write{op_on(kv_verb::set, key, value)}); }
  void apply(const command& c) {
    d.apply(c);
    log.push_back({d.index(), term_id{1}, d.now, raft::entry_kind::command, make_payload(wire::encode_command(c))});
  }
  /// @param first_known the first entry whose command the writer of the checkpoint has
  void checkpoint(log_index first_known) {
    auto opened = storage::lmdb_checkpoint::open(folder.path());
    REQUIRE(opened);
    store = std::move(*opened);
    const auto rows = d.m.take_dirty();
    const auto changes = d.m.take_unkept_changes(true);
    storage::kept_delta kept{changes.behind, changes.floor, {}};
    for (const auto& c : changes.list)
      kept.rows.push_back({c.index, c.effect,
                           [&](std::string& out) {
                             const auto command = view_of(log[c.index.value - 1].data);
                             wire::append_change(out, c,
                                                 c.index >= first_known ? wire::find_value(c, command) : std::nullopt);
                           },
                           wire::change_bytes_max(c)});
    storage::checkpoint_delta delta;
    delta.meta.index = d.index();
    delta.meta.time = d.now;
    delta.digest = d.m.digest();
    for (const auto& row : rows)
      delta.rows.push_back(row_change_of(row));
    REQUIRE(store->keep_changes({delta.meta, delta.digest}, kept));
    REQUIRE(store->commit(delta).ok());
  }

  struct started {
    std::shared_ptr<machine> m;
    std::optional<log_index> first_needed;
  };
  started start() const {
    const auto info = store->info();
    REQUIRE((info && *info));
    auto m = load_machine(*store, **info);
    REQUIRE(m);
    (*m)->keep_changes(1u << 20);
    auto kept = kept_changes::read(*store);
    const auto needed = kept.first_needed();
    std::move(kept).load_into(**m, log);
    return {std::move(*m), needed};
  }
};

std::string value_of(char c) {
  return std::string(300, c);
}

std::string value_at(const machine& m, const std::string& key, log_index at) {
  kv_at q;
  q.key = key;
  q.index = at;
  const auto found = m.evaluate(q);
  const auto* entries = std::get_if<kv_entries>(&found.data);
  return entries == nullptr || entries->entries.empty() ? "(none)" : std::string(*entries->entries.front()->value);
}

/// Two keys, one of them overwritten; a transaction; a short value; a key that goes.
void make_history(stopped_server& w) {
  w.d.m.keep_changes(1u << 20);
  w.put("a", value_of('1')); // entry 1
  w.put("b", value_of('2')); // 2
  w.put("a", value_of('3')); // 3
  txn t;
  t.ops.push_back(op_on(kv_verb::set, "c", value_of('4')));
  t.ops.push_back(op_on(kv_verb::set, "a", value_of('5')));
  w.apply(t);                                     // 4
  w.put("d", "short");                            // 5
  w.apply(kv_write{op_on(kv_verb::remove, "b")}); // 6
}

} // namespace

TEST_CASE("kept changes take their values from the log") {
  stopped_server w;
  make_history(w);
  const auto kept = w.d.m.changes_counted();
  w.checkpoint(log_index{1});
  const auto again = w.start();
  CHECK(again.first_needed == log_index{1});
  CHECK(again.m->changes_counted().count == kept.count);
  CHECK(again.m->changes_counted().bytes == kept.bytes);
  CHECK(again.m->changes_counted().floor == kept.floor);
  for (const auto* key : {"a", "b", "c", "d"})
    for (std::uint64_t at = 1; at <= 6; ++at) {
      INFO(key << " at " << at);
      CHECK(value_at(*again.m, key, log_index{at}) == value_at(w.d.m, key, log_index{at}));
    }
  CHECK(value_at(*again.m, "a", log_index{3}) == value_of('3'));
}

TEST_CASE("kept changes of entries whose commands are not at hand have their values") {
  stopped_server w;
  make_history(w);
  const auto kept = w.d.m.changes_counted();
  w.checkpoint(log_index{4});
  w.log.erase(w.log.begin(), w.log.begin() + 3);
  const auto again = w.start();
  CHECK(again.first_needed == log_index{4});
  CHECK(again.m->changes_counted().count == kept.count);
  CHECK(value_at(*again.m, "a", log_index{3}) == value_of('3'));
}

TEST_CASE("kept changes are not believed if the log has other values, or none") {
  stopped_server w;
  make_history(w);
  w.checkpoint(log_index{1});
  const auto log = w.log;
  w.log.erase(w.log.begin()); // the first value is gone
  CHECK(w.start().m->changes_counted().count == 0);
  w.log.clear();
  CHECK(w.start().m->changes_counted().count == 0);
  w.log = log;
  w.log[2].data = make_payload(wire::encode_command(kv_write{op_on(kv_verb::set, "a", value_of('x'))}));
  CHECK(w.start().m->changes_counted().count == 0);
  CHECK(value_at(*w.start().m, "a", log_index{6}) == value_of('5')); // the rows are as they were
}
