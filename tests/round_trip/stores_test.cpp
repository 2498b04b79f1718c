// Rows of every kind through everything that keeps or moves them: a checkpoint, the older generation, the chunks of a snapshot
// for a follower, an archive, and the commands that restore it. The rows must be the same
// afterwards, and have the digest that they were written with. Otherwise a server, a follower or a
// restored cluster has other rows than the one that wrote them.

#include "actors/tables/checkpointer.hpp"
#include "protocol/archive/snapshot_archive.hpp"
#include "protocol/state/row_hash.hpp"
#include "protocol/wire/command_codec.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/round_trip/random_values.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <map>

using namespace belay;
using namespace belay::round_trip;

namespace {

using rows_by_key = std::map<std::pair<state::table, std::string>, state::dirty_row>;

/// Some of every kind, of every filling.
rows_by_key rows_of_every_kind() {
  rows_by_key rows;
  for (const auto how : all_fillings)
    for (std::uint64_t seed = 1; seed <= (how == filling::empty ? 1 : 20); ++seed) {
      value_source source(seed, how);
      for (std::size_t kind = 0; kind < value_source::row_kinds; ++kind) {
        auto row = source.row_of_kind(kind);
        rows.emplace(std::pair(row.table, row.key), std::move(row));
      }
    }
  return rows;
}

storage::checkpoint_delta delta_of(const rows_by_key& rows, bool full = false) {
  storage::checkpoint_delta d;
  d.meta.index = log_index{9};
  d.meta.term = term_id{2};
  d.full = full;
  for (const auto& [key, row] : rows) {
    d.rows.push_back(actors::row_change_of(row));
    d.digest += state::row_hash(row);
  }
  return d;
}

std::unique_ptr<storage::lmdb_checkpoint> open_store(const std::string& folder) {
  auto s = storage::lmdb_checkpoint::open(folder);
  if (!s)
    FAIL(s.error());
  return std::move(s).value();
}

class comparison {
public:
  explicit comparison(const rows_by_key& expected) : expected_(expected) {}

  void row(std::uint8_t table, std::string_view key, std::string_view value) {
    const auto row = wire::decode_row(table, key, value);
    REQUIRE(row);
    const auto at = expected_.find({row->table, row->key});
    REQUIRE(at != expected_.end());
    different_ += !same(*row, at->second) || state::row_hash(*row) != state::row_hash(at->second);
    ++seen_;
  }
  void finish() const {
    CHECK(different_ == 0);
    CHECK(seen_ == expected_.size());
  }

private:
  const rows_by_key& expected_;
  std::size_t seen_ = 0, different_ = 0;
};

void check_load(storage::lmdb_checkpoint& store, const rows_by_key& rows) {
  comparison all(rows);
  const auto s =
      store.load([&](std::uint8_t table, std::string_view key, std::string_view value) { all.row(table, key, value); });
  if (!s)
    FAIL(s.error());
  all.finish();
}

} // namespace

TEST_CASE("round_trip through a checkpoint and its older generation", "[round_trip]") {
  const auto rows = rows_of_every_kind();
  const auto full = GENERATE(false, true);
  harness::scratch_folder scratch;
  auto store = open_store(scratch.path());
  const auto s = store->commit(delta_of(rows, full));
  if (!s)
    FAIL(s.error());
  REQUIRE(store->keep_older().ok());
  check_load(*store, rows);
  store.reset();
  store = open_store(scratch.path());
  check_load(*store, rows);
  store.reset();
  std::filesystem::remove(scratch / "state/checkpoint.mdb");
  store = open_store(scratch.path());
  REQUIRE(store->fall_back()->has_value());
  check_load(*store, rows);
}

TEST_CASE("round_trip through the chunks of a snapshot", "[round_trip]") {
  const auto rows = rows_of_every_kind();
  harness::scratch_folder here, there;
  auto from = open_store(here.path()), to = open_store(there.path());
  REQUIRE(from->commit(delta_of(rows)).ok());
  log_index index;
  for (std::uint64_t offset = 0;;) {
    const auto chunk = from->read_snapshot(index, offset, 7'000);
    REQUIRE(chunk.ok());
    index = chunk->meta.index;
    const auto stored = to->write_snapshot(chunk->meta, offset, *chunk->bytes, chunk->last);
    if (!stored)
      FAIL(stored.error());
    offset = *stored;
    if (chunk->last)
      break;
  }
  check_load(*to, rows);
  CHECK((*to->info())->digest == (*from->info())->digest);
}

TEST_CASE("round_trip through an archive", "[round_trip]") {
  const auto rows = rows_of_every_kind();
  harness::scratch_folder scratch;
  auto store = open_store(scratch.path());
  REQUIRE(store->commit(delta_of(rows)).ok());
  actors::snapshot_archives archives(*store);
  std::string archive;
  for (bool last = false; !last;) {
    const auto piece = archives.pack({request_id{1}, request_id{2}});
    REQUIRE(piece.error == "");
    archive += piece.bytes;
    last = piece.last;
  }
  archive::archive_reader reader;
  storage::snapshot_parser parser;
  comparison all(rows);
  std::string state;
  for (std::string_view rest = archive;;) {
    REQUIRE_FALSE(reader.take(rest, state, 1 << 16));
    if (state.empty())
      break;
    REQUIRE(parser.take(state, [&](const storage::row_view& r) {
      all.row(r.table, r.key, r.value);
      return status(done{});
    }));
    state.clear();
  }
  REQUIRE_FALSE(reader.finish());
  REQUIRE(parser.finish());
  all.finish();
}

TEST_CASE("round_trip through the commands of a restore", "[round_trip]") {
  const auto rows = rows_of_every_kind();
  auto batch = std::make_shared<std::vector<state::dirty_row>>();
  for (const auto& [key, row] : rows)
    if (row.table != state::table::staging)
      batch->push_back(row);
  const auto bytes = wire::encode_command(state::restore_rows{"id", 3, batch});
  const auto back = wire::decode_command(bytes);
  REQUIRE(back);
  const auto& read = *std::get<state::restore_rows>(*back).rows;
  REQUIRE(read.size() == batch->size());
  for (std::size_t i = 0; i < read.size(); ++i)
    CHECK(same(read[i], (*batch)[i]));
  // It waits in a row of its own, which is in checkpoints, too.
  const state::dirty_row staged{state::table::staging, "b3",
                                std::make_shared<const state::staged_record>(state::staged_record{"b3", batch})};
  const auto kept = wire::decode_row(static_cast<std::uint8_t>(staged.table), staged.key, *wire::encode_row(staged));
  REQUIRE(kept);
  CHECK(state::row_hash(*kept) == state::row_hash(staged));
}
