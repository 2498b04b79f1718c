// The files of a data directory beside the checkpoint, written and read back. A file that reads
// back different makes a server forget what it has promised, its own identity, or what was
// registered with it.

#include "actors/node/disk/acl_files.hpp"
#include "actors/node/disk/data_directory.hpp"
#include "actors/node/disk/known_servers.hpp"
#include "protocol/wire/change_codec.hpp"
#include "protocol/wire/entry_codec.hpp"
#include "protocol/wire/registration_codec.hpp"
#include "storage/checkpoint/kept_record.hpp"
#include "storage/log/segment_log.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/round_trip/random_values.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::round_trip;

namespace {

std::string word(value_source& source) {
  std::string text = source.make<std::string>();
  for (auto& c : text)
    c = static_cast<char>('a' + static_cast<unsigned char>(c) % 26);
  return text.empty() ? "x" : text;
}

} // namespace

TEST_CASE("round_trip of kept changes of keys", "[round_trip]") {
  each_filling(100, [](value_source& source) {
    state::kept_change c;
    c.index = log_index{1 + source.below(1000)};
    c.effect = source.below(1000);
    const auto key = source.make<std::string>();
    const auto entry = [&] {
      auto draft = source.make<state::kv_draft>();
      draft.key = key;
      return state::kv_entry_ptr(draft);
    };
    const auto kind = source.below(4); // written, written again, continued, removed
    if (kind != 3)
      c.change.after = entry();
    if (kind == 1 || kind == 3)
      c.change.before = entry();
    c.change.expired = source.below(2) == 0;
    c.goes_on = kind == 2;
    std::string bytes;
    wire::append_change(bytes, c);
    CHECK(wire::change_bytes_max(c) >= bytes.size());
    const auto back = wire::decode_change(c.index, c.effect, bytes);
    REQUIRE(back);
    CHECK(same(back->change.before, c.change.before));
    CHECK(same(back->change.after, c.change.after));
    CHECK(back->change.expired == c.change.expired);
    CHECK(back->goes_on == c.goes_on);
    CHECK((back->index == c.index && back->effect == c.effect));
    std::string again;
    wire::append_change(again, *back);
    CHECK(again == bytes);
  });
}

TEST_CASE("round_trip of the record of kept changes", "[round_trip]") {
  each_filling(100, [](value_source& source) {
    const auto r = source.make<storage::kept_record>();
    const auto back = storage::decode_kept_record(encode(r));
    REQUIRE(back);
    CHECK(same(*back, r));
  });
}

TEST_CASE("round_trip of registrations", "[round_trip]") {
  each_filling(100, [](value_source& source) {
    auto service = source.make<agent::stored_service>();
    if (auto back = wire::decode_registration(wire::encode_registration(service), 5); !back)
      FAIL(back.error());
    else
      CHECK(same(std::get<agent::stored_service>(*back), service));
    auto check = source.make<agent::stored_check>();
    constexpr std::int64_t ms = 1'000'000;
    check.definition.ttl_ns = static_cast<std::int64_t>(source.below(1'000'000)) * ms;
    check.valid_ns = check.definition.ttl_ns / ms / 2 * ms; // whole milliseconds, no longer than the TTL
    if (check.definition.grpc.empty())
      check.definition.grpc_use_tls = false; // it says nothing then
    if (auto back = wire::decode_registration(wire::encode_registration(check, 1000), 1000); !back)
      FAIL(back.error());
    else
      CHECK(same(std::get<agent::stored_check>(*back), check));
  });
}

TEST_CASE("round_trip of entries, votes and configurations in the log", "[round_trip]") {
  harness::scratch_folder scratch;
  int n = 0;
  each_filling(20, [&](value_source& source) {
    const auto folder = scratch / std::to_string(++n);
    raft::persist_batch batch;
    batch.hard = source.make<raft::hard_state>();
    batch.restart_after = source.make<raft::snapshot_meta>();
    batch.restart_after->index.value %= 1'000'000;
    for (std::uint64_t i = 0; i < 5; ++i) {
      auto e = source.make<raft::entry>();
      e.index = log_index{batch.restart_after->index.value + 1 + i};
      batch.entries.push_back(std::move(e));
    }
    {
      auto log = storage::segment_log::open(storage::posix_file_system(), folder, {64 << 10, 4096, 2, 7});
      REQUIRE(log.ok());
      REQUIRE((*log)->load().ok());
      REQUIRE((*log)->append({batch}).ok());
    }
    auto log = storage::segment_log::open(storage::posix_file_system(), folder, {64 << 10, 4096, 2, 7});
    REQUIRE(log.ok());
    const auto found = (*log)->load();
    if (!found)
      FAIL(found.error());
    CHECK(same(found->hard, *batch.hard));
    CHECK(same(found->entries, batch.entries));
  });
}

TEST_CASE("round_trip of identity, promise, known servers and tokens", "[round_trip]") {
  harness::scratch_folder scratch;
  each_filling(100, [&](value_source& source) {
    actors::identity who{node_id{1 + source.below(1u << 30)}, "5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01", word(source),
                         source.make<std::uint64_t>()};
    REQUIRE(actors::save_identity(scratch.path(), who).ok());
    const auto found = actors::read_identity(scratch.path());
    if (!found)
      FAIL(found.error());
    CHECK(same(*found, who));

    auto promised = source.make<raft::promise>();
    std::uint64_t id = 0;
    for (auto& m : promised.set)
      m.id.value = ++id;
    REQUIRE(actors::save_promise(scratch.path(), promised).ok());
    const auto kept = actors::load_promise(scratch.path());
    if (!kept)
      FAIL(kept.error());
    CHECK(same(*kept, promised));

    std::vector<std::string> servers;
    for (auto i = source.below(5); i > 0; --i)
      servers.push_back("10.0.0." + std::to_string(source.below(255)) + ":" + std::to_string(1 + source.below(65535)));
    REQUIRE(actors::save_known_servers(scratch.path(), servers).ok());
    const auto known = actors::load_known_servers(scratch.path());
    REQUIRE(known.ok());
    CHECK(*known == servers);

    actors::agent_token_values tokens;
    std::apply([&](auto&... each) { ((each = source.below(2) == 0 ? "" : word(source)), ...); },
               harness::members_of(tokens));
    REQUIRE(actors::save_agent_tokens(scratch.path(), tokens).ok());
    const auto read = actors::read_agent_tokens(scratch.path());
    REQUIRE(read.ok());
    CHECK(same(*read, tokens));
  });
}
