// The bytes of writes that take effect once, of counters, and of outcomes.

#include "protocol/wire/command_codec.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;
using namespace belay::wire;

namespace {

kv_op add_op() {
  kv_op op;
  op.verb = kv_verb::add;
  op.key = "k";
  op.value = make_payload({});
  op.amount = -3;
  op.max = 100;
  return op;
}

std::vector<command> commands_of_level() {
  session_begin begin;
  begin.session.id = "00000000-0000-4000-8000-000000000001";
  begin.on_end = {add_op()};
  std::vector<command> all{kv_write{add_op()},
                           txn{{add_op()}},
                           fenced_txn{{{fence_op{{{"n"}, 5}}, add_op()}}},
                           fenced_write{add_op(), {{"n"}, 5}},
                           begin,
                           outcome_seal{"key", cluster_time{9}}};
  for (command c : {command(kv_write{}), command(kv_write{add_op()}), command(session_destroy{{"s"}, "destroyed"}),
                    command(guard_set{"g/", {"n"}})}) {
    c.once = once_request{"key", {1, 2}, cluster_time{300}};
    all.push_back(c);
  }
  return all;
}

} // namespace

TEST_CASE("commands of exactly once: there and back, at their level") {
  for (auto c : commands_of_level())
    for (const bool named : {false, true}) {
      if (named) {
        c.by = auth_context{"secret", false, "dc1"};
        c.authorized_at = log_index{4};
      }
      INFO(c.index());
      const auto bytes = encode_command(c);
      REQUIRE(needs_of(bytes));
      CHECK(needs_of(bytes)->level == exactly_once_level);
      const auto back = decode_command(bytes);
      REQUIRE(back);
      CHECK(encode_command(*back) == bytes);
      CHECK(back->once.has_value() == c.once.has_value());
      for (std::size_t n = 0; n < bytes.size(); ++n)
        CHECK_FALSE(decode_command(std::string_view(bytes).substr(0, n)));
      if (named)
        CHECK(decode_command(without_authorization(bytes).value())->authorized_at.is_zero());
    }
}

// Older servers would read a verb that they do not know.
TEST_CASE("an add that is not visible in its tag is not read, and tags do not nest") {
  const auto bytes = encode_command(kv_write{add_op()});
  const auto head = encode_needs({exactly_once_level, std::string(first_version_of(exactly_once_level))}).size() + 1;
  CHECK_FALSE(decode_command(bytes.substr(head)));
  CHECK_FALSE(decode_command(bytes.substr(0, head) + bytes));
  CHECK_FALSE(decode_command(bytes.substr(0, head) + encode_command(kv_write{})));
  command c = kv_write{};
  c.once = once_request{"key", {1, 2}, cluster_time{300}};
  const auto marked = encode_command(c);
  const auto mark = marked.size() - encode_command(kv_write{}).size();
  CHECK_FALSE(decode_command(marked.substr(0, mark) + marked));
  CHECK_FALSE(decode_command(bytes.substr(0, head) + marked));
}

TEST_CASE("answers that were decided before, and outcomes: there and back") {
  reply no(false);
  no.note.why = refused_for::bounds;
  no.decided_at = log_index{300};
  reply seal;
  seal.decided_at = log_index{7};
  for (const reply& r :
       {no, seal, reply{kv_added{-5}}, reply{once_refusal{once_error::too_old, cluster_time{300}}}, reply{true}}) {
    const auto bytes = encode_reply(r);
    const auto back = decode_reply(bytes);
    REQUIRE(back);
    CHECK(back->decided_at == r.decided_at);
    CHECK(encode_reply(*back) == bytes);
    for (std::size_t n = 0; n < bytes.size(); ++n)
      CHECK_FALSE(decode_reply(std::string_view(bytes).substr(0, n)));
  }
  auto row = std::make_shared<outcome_record>();
  row->scope = "00000000-0000-4000-8000-000000000001";
  row->id = "key";
  row->key = outcome_key(row->scope, row->id);
  row->print = {1, 2};
  row->index = log_index{5};
  row->until = cluster_time{9};
  for (const bool answered : {false, true}) {
    if (answered)
      row->answer = std::make_shared<const reply>(kv_added{5});
    const dirty_row there{table::outcomes, row->key, outcome_ptr(std::make_shared<outcome_record>(*row))};
    const auto bytes = encode_row(there);
    REQUIRE(bytes);
    const auto back = decode_row(static_cast<std::uint8_t>(table::outcomes), row->key, *bytes);
    REQUIRE(back);
    CHECK(encode_row(*back) == bytes);
    CHECK_FALSE(decode_row(static_cast<std::uint8_t>(table::outcomes), "other", *bytes));
  }
}
