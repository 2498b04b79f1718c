// An earlier version wrote rows of every kind, with every member set. Its archive is still read,
// row by row, and gives the same bytes again. tests/stored/record makes such archives ("every_row").

#include "actors/tables/checkpointer.hpp"
#include "protocol/archive/snapshot_archive.hpp"
#include "protocol/state/row_hash.hpp"
#include "protocol/wire/command_codec.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/round_trip/random_values.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

using namespace belay;
using namespace belay::round_trip;

namespace {

std::size_t kind_of(const state::dirty_row& row) {
  return static_cast<const state::row_value::plain&>(row.row).index() - 1;
}

} // namespace

TEST_CASE("write an archive with rows of every kind", "[.write_every_row]") {
  const auto* out = std::getenv("BELAY_EVERY_ROW");
  REQUIRE(out != nullptr);
  harness::scratch_folder scratch;
  auto store = storage::lmdb_checkpoint::open(scratch.path());
  REQUIRE(store);
  storage::checkpoint_delta d;
  d.meta.index = log_index{9};
  d.meta.term = term_id{2};
  std::map<std::pair<state::table, std::string>, state::dirty_row> rows;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    value_source source(seed, filling::full);
    for (std::size_t kind = 0; kind < value_source::row_kinds; ++kind) {
      auto row = source.row_of_kind(kind);
      if (row.table != state::table::staging) // archives have none
        rows.emplace(std::pair(row.table, row.key), std::move(row));
    }
  }
  for (const auto& [key, row] : rows) {
    d.rows.push_back(actors::row_change_of(row));
    d.digest += state::row_hash(row);
  }
  const auto s = (*store)->commit(d);
  if (!s)
    FAIL(s.error());
  actors::snapshot_archives archives(**store);
  std::ofstream file(out, std::ios::binary | std::ios::trunc);
  for (bool last = false; !last;) {
    const auto piece = archives.pack({request_id{1}, request_id{2}});
    REQUIRE(piece.error == "");
    file << piece.bytes;
    last = piece.last;
  }
  REQUIRE(file.flush());
}

/// Decodes and encodes them again, and adds them up.
struct stored_rows {
  std::set<std::size_t> kinds;
  std::uint64_t digest = 0;

  void take(std::uint8_t table, std::string_view key, std::string_view value) {
    const auto row = wire::decode_row(table, key, value);
    REQUIRE(row);
    const auto again = wire::encode_row(*row);
    REQUIRE(again);
    CHECK(*again == value);
    kinds.insert(kind_of(*row));
    digest += state::row_hash(*row);
  }
  void finish(std::uint64_t written) const {
    CHECK(digest == written);
    // All but rows that are staged. A kind that is newer than the version is not there: write it down here.
    CHECK(kinds.size() == value_source::row_kinds - 1);
  }
};

TEST_CASE("round_trip of the rows of every kind that earlier versions wrote", "[round_trip]") {
  std::size_t versions = 0;
  for (const auto& version : std::filesystem::directory_iterator(BELAY_STORED_STATES)) {
    const auto folder = version.path() / "every_row";
    if (!std::filesystem::exists(folder))
      continue;
    INFO(folder);
    ++versions;
    {
      const auto bytes = harness::file_text(folder / "archive.gz");
      archive::archive_reader reader;
      storage::snapshot_parser parser;
      stored_rows found;
      std::string state;
      for (std::string_view rest = bytes;;) {
        REQUIRE_FALSE(reader.take(rest, state, 1 << 16));
        if (state.empty())
          break;
        REQUIRE(parser.take(state, [&](const storage::row_view& r) {
          found.take(r.table, r.key, r.value);
          return status(done{});
        }));
        state.clear();
      }
      REQUIRE_FALSE(reader.finish());
      REQUIRE(parser.finish());
      found.finish(parser.info()->digest);
    }
    harness::scratch_folder scratch;
    std::filesystem::create_directory(scratch.path() / "state");
    std::filesystem::copy_file(folder / "checkpoint.mdb", scratch.path() / "state/checkpoint.mdb");
    auto store = storage::lmdb_checkpoint::open(scratch.path());
    REQUIRE(store);
    const auto info = (*store)->info();
    REQUIRE(info);
    stored_rows found;
    REQUIRE((*store)->load(
        [&](std::uint8_t table, std::string_view key, std::string_view value) { found.take(table, key, value); }));
    found.finish((*info)->digest);
  }
  CHECK(versions >= 1);
}
