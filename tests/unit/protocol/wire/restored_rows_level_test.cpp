// Which servers can read the rows of an archive: the bytes are those of the row's own level.

#include "protocol/state/command_level.hpp"
#include "protocol/wire/command_codec.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;
using namespace belay::wire;

namespace {

const std::string session_id = "00000000-0000-4000-8000-000000000001";

kv_op put_op(kv_verb verb = kv_verb::set) {
  kv_op op;
  op.verb = verb;
  op.key = "k";
  op.value = make_payload("1");
  op.amount = verb == kv_verb::add ? 3 : 0;
  return op;
}

command created(session_ttl_mode mode, std::vector<kv_op> on_end) {
  session_begin c;
  c.session.id = session_id;
  c.session.node = "n";
  c.session.ttl = "30s";
  c.session.ttl_ns = 30'000'000'000;
  c.ttl_mode = mode;
  c.on_end = std::move(on_end);
  if (mode == session_ttl_mode::lower_bound && c.on_end.empty())
    return session_create{c.session};
  return c;
}

/// The rows of an archive after that command.
row_batch rows_after(const command& c) {
  machine m;
  effects changed;
  catalog_register node;
  node.node.node = "n";
  node.node.address = "127.0.0.1";
  std::uint64_t index = 0;
  for (const auto& each : {command(node), created(session_ttl_mode::lower_bound, {}), c}) {
    ++index;
    m.apply(log_index{index}, cluster_time{1000 + index}, each, changed);
  }
  return std::make_shared<const std::vector<dirty_row>>(m.all_rows());
}

command kept() {
  command c = kv_write{put_op()};
  c.once = once_request{"key", {1, 2}, cluster_time{1000}};
  return c;
}

command new_token(std::string accessor) {
  acl_token_set c;
  c.token.accessor = std::move(accessor);
  c.token.secret = "00000000-0000-4000-8000-00000000000c";
  c.fresh = true;
  return c;
}

command from_client(command c) {
  c.client_address = "192.0.2.1";
  return c;
}

} // namespace

TEST_CASE("rows of a restore need the level of their content") {
  claim_ask ask;
  ask.name = "leader";
  ask.session = session_id;
  struct row {
    const char* name;
    command last;
    feature_level level;
  };
  const row rows[] = {
      {"a key", kv_write{put_op()}, 0},
      {"a key that was added to", kv_write{put_op(kv_verb::add)}, 0},
      {"a policy", acl_initialize{"secret", "00000000-0000-4000-8000-00000000000a", 1}, acl_level},
      {"a token", new_token("abcdefab-0000-4000-8000-00000000000b"), acl_level},
      {"a token as its client wrote it", from_client(new_token("ABCDEFAB-0000-4000-8000-00000000000b")),
       client_address_level},
      {"a claim", ask, claims_level},
      {"a claim of a client", from_client(ask), client_address_level},
      {"the end of a client's claim", from_client(claim_release{"leader", "id"}), client_address_level},
      {"a guard", guard_set{"g/", {"n"}}, claims_level},
      {"a guard of a client", from_client(guard_set{"g/", {"n"}}), client_address_level},
      {"an outcome", kept(), exactly_once_level},
      {"a seal", outcome_seal{"key", cluster_time{1000}}, exactly_once_level},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    const command restore = restore_rows{"id", 0, rows_after(r.last)};
    CHECK(level_of(restore) == r.level);
    const auto bytes = encode_command(restore);
    const auto needs = needs_of(bytes);
    REQUIRE(needs);
    CHECK(needs->level == r.level);
    CHECK(needs->version == (r.level == 0 ? "" : first_version_of(r.level)));
    CHECK(bytes[0] == 1); // as before
    const auto back = decode_command(bytes);
    REQUIRE(back);
    CHECK(encode_command(*back) == bytes);
    CHECK_FALSE(needs_of(bytes.substr(0, bytes.size() - 1))->level != 0); // unreadable rows need no level
  }
}

TEST_CASE("sessions of a restore need the level of their promises") {
  struct row {
    const char* name;
    session_ttl_mode mode;
    std::vector<kv_op> on_end;
    feature_level level;
  };
  const row rows[] = {
      {"Consul's", session_ttl_mode::lower_bound, {}, 0},
      {"exact", session_ttl_mode::exact, {}, claims_level},
      {"with something to do", session_ttl_mode::lower_bound, {put_op()}, claims_level},
      {"with something to add", session_ttl_mode::exact, {put_op(), put_op(kv_verb::add)}, exactly_once_level},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    auto s = std::make_shared<session_record>();
    s->id = session_id;
    s->ttl_mode = r.mode;
    s->on_end = r.on_end;
    const auto batch = std::make_shared<const std::vector<dirty_row>>(
        std::vector<dirty_row>{{table::sessions, session_id, session_ptr(std::move(s))}});
    CHECK(needs_of(encode_command(restore_rows{"id", 0, batch}))->level == r.level);
  }
}
