// The bytes of commands about claims: each at its level, never with an older kind's tag.

#include "protocol/wire/command_codec.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;
using namespace belay::wire;

namespace {

const resource_name claim_n{"n", claim_space::claims};
const resource_name lock_k{std::string("k\0y", 3), claim_space::keys};
const std::string session = "00000000-0000-4000-8000-000000000001";

kv_op lock_op() {
  kv_op op;
  op.verb = kv_verb::lock;
  op.key = "k";
  op.value = make_payload("v");
  op.session = session;
  return op;
}

std::vector<command> claims_commands() {
  claim_ask ask;
  ask.name = "n";
  ask.session = session;
  ask.id = "i";
  ask.kind = claim_kind::semaphore;
  ask.mode = claim_mode::shared;
  ask.permits = 3;
  ask.limit = 9;
  ask.priority = 255;
  ask.value = make_payload("v");
  ask.deadline_ms = 77;
  ask.refuse_deadlock = true;
  session_begin begin;
  begin.session.id = session;
  begin.ttl_mode = session_ttl_mode::exact;
  begin.on_end = {lock_op()};
  return {ask,
          claim_release{"n", "i"},
          claim_transfer{"n", "i", "j"},
          claim_mode_set{"n", "i", claim_mode::shared},
          claim_limit_set{"n", 300},
          claim_limit_unset{"n"},
          guard_set{"g/", lock_k},
          guard_remove{"g/", 300},
          claims_alarm{cluster_time{300}},
          kv_acquire{lock_op(), 300, true, fence_ref{claim_n, 5}},
          fenced_write{lock_op(), {lock_k, 300}},
          fenced_txn{{{fence_op{{claim_n, 5}}, lock_op()}}},
          begin};
}

std::vector<dirty_row> claims_rows() {
  auto claim = std::make_shared<claim_record>();
  claim->of = lock_k;
  claim->id = claim->session = session;
  claim->key = claim_key(claim->of.space, claim->of.name, claim->id);
  claim->value = make_payload("v");
  claim->ticket = 300;
  claim->deadline = cluster_time{9};
  auto resource = std::make_shared<claim_resource>();
  resource->of = claim_n;
  resource->key = resource_key(claim_n.space, claim_n.name);
  resource->kind = claim_kind::semaphore;
  resource->limit = 7;
  resource->pinned = true;
  claim_ghost ghost{
      ghost_key(claim_n.space, claim_n.name, 12), claim_n, "i", session, claim_mode::shared, 2, 12, cluster_time{5}};
  auto end = std::make_shared<claim_end_record>();
  end->of = claim_n;
  end->id = "i";
  end->key = claim_key(claim_n.space, claim_n.name, "i");
  end->why = claim_end::limit;
  auto gone = std::make_shared<ended_session>();
  gone->id = session;
  gone->cause = "ttl";
  gone->released = {lock_k, claim_n};
  auto living = std::make_shared<session_record>();
  living->id = session;
  living->ttl_mode = session_ttl_mode::exact;
  living->on_end = {lock_op()};
  return {{table::claims, claim->key, claim_ptr(claim)},
          {table::claim_resources, resource->key, claim_resource_ptr(resource)},
          {table::claim_ghosts, ghost.key, std::make_shared<const claim_ghost>(ghost)},
          {table::claim_ends, end->key, claim_end_ptr(end)},
          {table::guards, "g/", std::make_shared<const guard_record>(guard_record{"g/", claim_n, log_index{3}, {}})},
          {table::ended_sessions, session, ended_session_ptr(gone)},
          {table::sessions, session, session_ptr(living)}};
}

} // namespace

TEST_CASE("the withdrawal of waits: there and back, at its level") {
  const waits_withdraw c{{{"k", session, log_index{300}}, {"", "", {}}}};
  const auto bytes = encode_command(c);
  REQUIRE(needs_of(bytes));
  CHECK(needs_of(bytes)->level == disconnect_level);
  const auto back = decode_command(bytes);
  REQUIRE(back);
  CHECK(std::get<waits_withdraw>(*back).waits == c.waits);
}

TEST_CASE("commands of claims: there and back, at their level") {
  for (auto c : claims_commands()) {
    for (const bool named : {false, true}) {
      if (named)
        c.by = auth_context{"secret", false, "dc1"};
      const auto bytes = encode_command(c);
      INFO(c.index());
      REQUIRE(needs_of(bytes));
      CHECK(needs_of(bytes)->level == claims_level);
      const auto back = decode_command(bytes);
      REQUIRE(back);
      CHECK(back->index() == c.index());
      CHECK(encode_command(*back) == bytes);
      for (std::size_t n = 0; n < bytes.size(); ++n)
        CHECK_FALSE(decode_command(std::string_view(bytes).substr(0, n)));
    }
  }
}

// Servers without claims would take the bytes for a transaction, and stop at its contents.
TEST_CASE("a fence in a transaction of the old kind is not read") {
  const auto fenced = encode_command(fenced_txn{{{fence_op{{claim_n, 5}}}}});
  auto plain = encode_command(txn{});
  plain.pop_back(); // the count of its operations
  const auto head = encode_needs({claims_level, std::string(first_version_of(claims_level))}).size() + 1;
  CHECK_FALSE(decode_command(plain + fenced.substr(head)));
}

TEST_CASE("answers about claims: there and back") {
  claim_answer answer{claim_n,      "i", session, claim_state::waiting, 0, 12, {{"a", session, claim_state::held}},
                      log_index{7}, true};
  claim_refusal refused;
  refused.why = claim_error::deadlock;
  refused.text = "no";
  refused.parameter = "p";
  refused.cycle = {{session, "i", claim_n, true, session, true}};
  refused.ended = claim_end::restored;
  for (const reply& r : {reply{answer}, reply{refused}}) {
    const auto bytes = encode_reply(r);
    const auto back = decode_reply(bytes);
    REQUIRE(back);
    CHECK(back->index() == r.index());
    CHECK(encode_reply(*back) == bytes);
  }
}

TEST_CASE("rows of claims: there and back, under their own keys only") {
  for (const auto& row : claims_rows()) {
    INFO(name_of(row.table));
    const auto bytes = encode_row(row);
    REQUIRE(bytes);
    const auto back = decode_row(static_cast<std::uint8_t>(row.table), row.key, *bytes);
    REQUIRE(back);
    CHECK(encode_row(*back) == bytes);
    const bool key_is_all = row.table == table::guards || row.table == table::ended_sessions;
    CHECK(decode_row(static_cast<std::uint8_t>(row.table), row.key + "x", *bytes).has_value() == key_is_all);
  }
}

TEST_CASE("a session of Consul's kind has the bytes that it had before") {
  auto s = std::make_shared<session_record>();
  s->id = session;
  const dirty_row row{table::sessions, session, session_ptr(s)};
  CHECK(encode_row(row)->front() == 1);
}
