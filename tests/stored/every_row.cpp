// Writes an archive's rows as this version writes them: a checkpoint and an archive, for tests/stored/COMMIT/every_row.
// Compiles in the tree of any version since 0.2.0, where storage/ has no folders; README.md says how.
//
// usage: every_row ARCHIVE FOLDER     ARCHIVE: of `test_round_trip '[.write_every_row]'`; FOLDER: empty

#include "actors/tables/checkpointer.hpp"
#include "protocol/archive/snapshot_archive.hpp"
#include "protocol/state/row_hash.hpp"
#include "protocol/wire/command_codec.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "storage/checkpoint/snapshot_file.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <list>

using namespace belay;

namespace {

[[noreturn]] void end(const std::string& why) {
  std::cerr << why << "\n";
  std::exit(1);
}

std::list<state::dirty_row> rows_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  archive::archive_reader reader;
  storage::snapshot_parser parser;
  std::list<state::dirty_row> rows;
  std::string state;
  for (std::string_view rest = bytes;;) {
    if (reader.take(rest, state, 1 << 16))
      end(file + " is no archive");
    if (state.empty())
      break;
    const auto s = parser.take(state, [&](const storage::row_view& r) -> status {
      auto row = wire::decode_row(r.table, r.key, r.value);
      if (!row)
        return failure{"a row that this version cannot read"};
      rows.push_back(std::move(*row));
      return done{};
    });
    if (!s)
      end(s.error());
    state.clear();
  }
  return rows;
}

std::uint64_t hash_of(const state::dirty_row& row) {
  return std::visit(
      [](const auto& r) -> std::uint64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(r)>, std::monostate>)
          return 0;
        else
          return state::row_hash(r);
      },
      static_cast<const state::row_value::plain&>(row.row));
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3)
    end("usage: every_row ARCHIVE FOLDER");
  const auto rows = rows_of(argv[1]);
  auto store = storage::lmdb_checkpoint::open(argv[2]);
  if (!store)
    end(store.error());
  storage::checkpoint_delta d;
  d.meta.index = log_index{9};
  d.meta.term = term_id{2};
  d.full = true;
  for (const auto& row : rows) {
    d.rows.push_back(actors::row_change_of(row));
    d.digest += hash_of(row);
  }
  if (auto s = (*store)->commit(d); !s)
    end(s.error());
  actors::snapshot_archives archives(**store);
  std::ofstream out(std::string(argv[2]) + "/archive.gz", std::ios::binary);
  for (bool last = false; !last;) {
    const auto piece = archives.pack({request_id{1}, request_id{2}});
    if (!piece.error.empty())
      end(piece.error);
    out << piece.bytes;
    last = piece.last;
  }
  std::cout << rows.size() << " rows\n";
}
