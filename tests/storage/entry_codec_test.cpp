// Bytes of entries, hard states and snapshot metas.

#include "protocol/base/random.hpp"
#include "protocol/wire/entry_codec.hpp"
#include "tests/storage/log_story.hpp"

#include <catch2/catch.hpp>

namespace belay::tests {

namespace {

raft::snapshot_meta some_meta() {
  raft::snapshot_meta m;
  m.index = log_index{77};
  m.term = term_id{5};
  m.time = cluster_time{123456};
  for (std::uint64_t i = 1; i <= 3; ++i) {
    m.config.members.push_back({node_id{i}, "uuid", "n" + std::to_string(i), "127.0.0.1:1"});
    m.config.voters.push_back(node_id{i});
  }
  return m;
}

template <class Value, class Decode>
void refuses_every_cut(const std::string& bytes, Value into, Decode decode) {
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    byte_reader r(std::string_view(bytes).substr(0, n));
    CHECK_FALSE(decode(r, into));
    CHECK_FALSE(r.ok());
  }
}

} // namespace

TEST_CASE("entries, hard states and snapshot metas survive a round trip") {
  std::string bytes;
  byte_writer w(bytes);
  const auto e = make_entry(~0ull, 3, std::string("\0binary\xff", 8), raft::entry_kind::configuration);
  const raft::hard_state h{term_id{9}, node_id{1234567890123}};
  const auto m = some_meta();
  wire::encode_entry(w, e);
  CHECK(bytes.size() <= wire::entry_bytes_max(e));
  wire::encode_hard_state(w, h);
  wire::encode_snapshot_meta(w, m);
  wire::encode_snapshot_meta(w, {});
  byte_reader r(bytes);
  raft::entry e2;
  raft::hard_state h2;
  raft::snapshot_meta m2, m3 = m;
  REQUIRE(wire::decode_entry(r, e2));
  REQUIRE(wire::decode_hard_state(r, h2));
  REQUIRE(wire::decode_snapshot_meta(r, m2));
  REQUIRE(wire::decode_snapshot_meta(r, m3));
  CHECK(r.complete());
  CHECK(same_entry(e, e2));
  CHECK(h == h2);
  CHECK(m == m2);
  CHECK(m3 == raft::snapshot_meta{});
}

TEST_CASE("cut, unknown and impossible bytes are refused") {
  std::string entry, hard, meta;
  byte_writer we(entry), wh(hard), wm(meta);
  wire::encode_entry(we, make_entry(4, 2, "data"));
  wire::encode_hard_state(wh, {term_id{1}, node_id{2}});
  wire::encode_snapshot_meta(wm, some_meta());
  refuses_every_cut(entry, raft::entry{}, [](auto& r, auto& v) { return wire::decode_entry(r, v); });
  refuses_every_cut(hard, raft::hard_state{}, [](auto& r, auto& v) { return wire::decode_hard_state(r, v); });
  refuses_every_cut(meta, raft::snapshot_meta{}, [](auto& r, auto& v) { return wire::decode_snapshot_meta(r, v); });

  const auto refused = [](std::string bytes, std::size_t at, char value) {
    bytes[at] = value;
    byte_reader r(bytes);
    raft::entry e;
    const bool decoded = wire::decode_entry(r, e);
    return !decoded && e.data != nullptr;
  };
  CHECK(refused(entry, 0, 2)); // version
  CHECK(refused(entry, 1, 3)); // kind
  CHECK(refused(entry, 2, 0)); // index zero
}

} // namespace belay::tests
