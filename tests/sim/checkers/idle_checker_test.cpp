// sim/checkers/idle_checker: what may be written without requests of clients.
#include "sim/checkers/idle_checker.hpp"

#include "protocol/wire/command_codec.hpp"

#include <catch2/catch.hpp>

namespace belay::sim {

namespace {

raft::entry entry_of(const state::command& c, std::uint64_t term = 3) {
  raft::entry e;
  e.index = log_index{10};
  e.term = term_id{term};
  e.kind = raft::entry_kind::command;
  e.data = make_payload(wire::encode_command(c));
  return e;
}

raft::entry put_entry(std::uint64_t term = 3) {
  state::kv_write w;
  w.op.key = "k";
  return entry_of(w, term);
}

} // namespace

TEST_CASE("idle_checker: nothing is checked before and after", "[sim]") {
  idle_checker c;
  CHECK_FALSE(c.committed(put_entry()));
  c.begin(term_id{3});
  CHECK(c.committed(put_entry()));
  c.end();
  CHECK_FALSE(c.committed(put_entry(4)));
}

TEST_CASE("idle_checker: sessions may only expire, and no other term may begin", "[sim]") {
  idle_checker c;
  c.begin(term_id{3});
  CHECK_FALSE(c.committed(entry_of(state::session_destroy{{"id"}, "ttl"})));
  CHECK_FALSE(c.committed(entry_of(state::session_expire{{"id"}, {}})));
  CHECK(c.committed(entry_of(state::session_destroy{{"id"}, "destroyed"})));
  CHECK(c.committed(entry_of(state::session_destroy{{"id"}, "ttl"}, 4)));
  raft::entry noop;
  noop.term = term_id{3};
  noop.data = make_payload({});
  noop.kind = raft::entry_kind::noop;
  CHECK(c.committed(noop));
}

TEST_CASE("idle_checker: tombstones are reaped, but not repeatedly", "[sim]") {
  idle_checker c;
  CHECK_FALSE(c.committed(entry_of(state::tombstone_reap{log_index{5}})));
  c.begin(term_id{3});
  CHECK_FALSE(c.committed(entry_of(state::tombstone_reap{log_index{7}})));
  CHECK_FALSE(c.committed(entry_of(state::tombstone_reap{log_index{7}})));
  CHECK(c.committed(entry_of(state::tombstone_reap{log_index{7}})));
}

} // namespace belay::sim
