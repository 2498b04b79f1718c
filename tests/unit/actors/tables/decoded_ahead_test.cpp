// In any batch, a command is decoded as if it were alone.

#include "actors/tables/decoded_ahead.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;

namespace {

raft::entry entry_of(raft::entry_kind kind, std::string_view bytes) {
  raft::entry e;
  e.kind = kind;
  e.data = make_payload(bytes);
  return e;
}

raft::entry put_of(const std::string& key, std::size_t value_bytes) {
  state::kv_op op;
  op.key = key;
  op.value = make_payload(std::string(value_bytes, 'v'));
  return entry_of(raft::entry_kind::command, wire::encode_command(state::kv_write{std::move(op)}));
}

const std::string& key_of(const std::optional<state::command>& c) {
  REQUIRE(c);
  const auto* write = std::get_if<state::kv_write>(&*c);
  REQUIRE(write != nullptr);
  return write->op.key;
}

} // namespace

TEST_CASE("commands of a batch keep their positions when they are decoded") {
  const state::machine tables;
  // Small commands, of which many fit one batch, then larger ones, of which few fit; other kinds of
  // entries are between them.
  for (const std::size_t value_bytes : {1, 20'000, 100'000}) {
    std::vector<raft::entry> entries;
    entries.reserve(50);
    for (int i = 0; i < 50; ++i)
      entries.push_back(i % 7 == 3 ? entry_of(raft::entry_kind::configuration, "")
                                   : put_of("k" + std::to_string(i), value_bytes));
    decoded_ahead commands(entries, tables);
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (entries[i].kind == raft::entry_kind::command)
        CHECK(key_of(commands.of(i)) == "k" + std::to_string(i));
  }
}

TEST_CASE("entries that are not requested are skipped") {
  const state::machine tables;
  std::vector<raft::entry> entries;
  entries.reserve(50);
  for (int i = 0; i < 50; ++i)
    entries.push_back(put_of("k" + std::to_string(i), 1));
  decoded_ahead commands(entries, tables);
  CHECK(key_of(commands.of(20)) == "k20");
  CHECK(key_of(commands.of(49)) == "k49");
}

TEST_CASE("a malformed command spoils none before or after it") {
  const state::machine tables;
  const std::vector<raft::entry> entries{put_of("before", 1), entry_of(raft::entry_kind::command, "no command"),
                                         put_of("behind", 1)};
  decoded_ahead commands(entries, tables);
  CHECK(key_of(commands.of(0)) == "before");
  CHECK_FALSE(commands.of(1));
  CHECK(key_of(commands.of(2)) == "behind");
}
