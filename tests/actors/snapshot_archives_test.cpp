// Archives of operators: what was saved is what is restored, in pieces of any size, and nothing damaged gets through.

#include "actors/tables/snapshot_archives.hpp"
#include "protocol/wire/command_codec.hpp"
#include "sim/world/simulated_checkpoints.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;

namespace {

/// A checkpoint of so many keys.
sim::simulated_checkpoints checkpoint_of(std::size_t keys, std::size_t value_bytes) {
  state::machine machine;
  state::effects changed;
  for (std::size_t i = 1; i <= keys; ++i) {
    state::kv_op op;
    op.key = "key/" + std::to_string(i);
    op.value = make_payload(std::string(value_bytes, static_cast<char>('a' + i % 26)));
    machine.apply(log_index{i}, cluster_time{i}, state::kv_write{std::move(op)}, changed);
  }
  storage::checkpoint_delta all;
  all.meta.index = log_index{keys};
  all.meta.term = term_id{3};
  all.digest = machine.digest();
  for (const auto& row : machine.take_dirty())
    all.rows.push_back({static_cast<std::uint8_t>(row.table), row.key, make_payload(*wire::encode_row(row))});
  sim::simulated_checkpoints store;
  REQUIRE(store.commit(all));
  return store;
}

std::string saved(snapshot_archives& archives) {
  std::string whole;
  for (std::uint64_t i = 1;; ++i) {
    const auto p = archives.pack({request_id{i}, request_id{77}});
    REQUIRE(p.error.empty());
    CHECK(p.id == request_id{i});
    whole += p.bytes;
    if (p.last)
      return whole;
  }
}

struct restored {
  std::vector<state::command> commands;
  std::string error;
};

/// Uploads the archive in pieces of that size, each handed over when nothing is left to propose of those before.
restored restore(snapshot_archives& archives, const std::string& archive, std::size_t piece_bytes) {
  restored r;
  std::size_t given = 0;
  for (;;) {
    unpack_archive u{request_id{1}, request_id{88}, "restore-id", archive.substr(given, piece_bytes), false};
    given += u.bytes.size();
    u.last = given == archive.size();
    const auto answer = archives.unpack(u);
    r.error = answer.error;
    if (!r.error.empty())
      return r;
    if (answer.command != nullptr) {
      auto command = wire::decode_command(*answer.command);
      REQUIRE(command);
      r.commands.push_back(std::move(*command));
    }
    if (answer.last)
      return r;
    REQUIRE(r.commands.size() < 1000);
  }
}

} // namespace

TEST_CASE("snapshot_archives: what was saved is what is restored, whatever the pieces", "[actors]") {
  auto store = checkpoint_of(700, 1000); // several pieces, several batches
  snapshot_archives archives(store);
  const auto archive = saved(archives);
  for (const std::size_t piece_bytes : {archive.size(), std::size_t{4096}}) {
    const auto r = restore(archives, archive, piece_bytes);
    REQUIRE(r.error.empty());
    REQUIRE(r.commands.size() > 3);
    const auto& begin = std::get<state::restore_begin>(r.commands.front());
    CHECK(begin.id == "restore-id");
    CHECK(begin.archive_index == log_index{700});
    std::size_t keys = 0;
    for (std::size_t i = 1; i + 1 < r.commands.size(); ++i) {
      const auto& batch = std::get<state::restore_rows>(r.commands[i]);
      CHECK(batch.number == i - 1);
      for (const auto& row : *batch.rows)
        keys += row.table == state::table::kv ? 1 : 0;
    }
    CHECK(keys == 700);
    CHECK(std::get<state::restore_commit>(r.commands.back()).batches == r.commands.size() - 2);
  }
}

// An upload that is cut off must not come into force, although all that arrived of it was in order.
TEST_CASE("snapshot_archives: an archive that ends too early, or is none, is refused", "[actors]") {
  auto store = checkpoint_of(10, 100);
  snapshot_archives archives(store);
  const auto archive = saved(archives);
  for (const auto& damaged : {archive.substr(0, archive.size() / 2), archive.substr(0, archive.size() - 1),
                              std::string("this is no archive"), std::string()}) {
    const auto r = restore(archives, damaged, 64);
    CHECK_FALSE(r.error.empty());
    for (const auto& c : r.commands)
      CHECK_FALSE(std::holds_alternative<state::restore_commit>(c));
  }
  CHECK(restore(archives, archive, 64).error.empty()); // none of them is left over
}

TEST_CASE("snapshot_archives: without a checkpoint there is nothing to save, and the next try begins anew",
          "[actors]") {
  sim::simulated_checkpoints empty;
  snapshot_archives archives(empty);
  CHECK_FALSE(archives.pack({request_id{1}, request_id{77}}).error.empty());
  CHECK_FALSE(archives.pack({request_id{2}, request_id{77}}).error.empty());
}
