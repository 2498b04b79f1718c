#include "protocol/wire/command_codec.hpp"

#include "protocol/base/random.hpp"
#include "protocol/state/command_level.hpp"
#include "protocol/state/row_hash.hpp"

#include <catch2/catch.hpp>

#include <malloc.h>

#include <limits>

using namespace belay;
using namespace belay::state;
using namespace belay::wire;

namespace {

kv_op full_op(kv_verb verb) {
  kv_op op;
  op.verb = verb;
  op.key = std::string("k\0/\xff", 4);
  op.value = make_payload(std::string(256, '\x80'));
  op.flags = 0xE0F69A2BAA414DE0ULL; // above 2^63: the semaphore flag of client libraries
  op.index = log_index{~0ULL};
  op.session = "00000000-0000-4000-8000-000000000001";
  return op;
}

session_record full_session() {
  session_record s;
  s.id = "00000000-0000-4000-8000-000000000001";
  s.name = "n\xc3\xa4me";
  s.node = "Node";
  s.lock_delay_ns = -5;
  s.behavior = session_behavior::remove;
  s.ttl = "10s";
  s.ttl_ns = 10'000'000'000;
  s.checks = std::vector<std::string>{};
  s.node_checks = std::vector<std::string>{"serfHealth", ""};
  s.create_index = log_index{300};
  s.modify_index = log_index{301};
  return s;
}

node_record full_node() {
  return {"id",         "Node",       "10.0.0.1",  "dc1", string_map{{"lan", "1"}, {"wan", ""}},
          std::nullopt, log_index{1}, log_index{2}};
}

service_record full_service() {
  service_record s;
  s.node = "Node";
  s.id = "W1";
  s.service = "web";
  s.tags = std::vector<std::string>{"a", "b"};
  s.tagged_addresses = std::map<std::string, service_address>{{"lan", {"1.1.1.1", -1}}};
  s.meta = string_map{};
  s.port = 65535;
  s.weights.warning = 0;
  s.enable_tag_override = true;
  s.proxy_json = "{}";
  s.modify_index = log_index{7};
  return s;
}

check_record full_check() {
  check_record c;
  c.node = "Node";
  c.check_id = "C";
  c.status = "warning";
  c.service_tags = std::vector<std::string>{"t"};
  c.definition_json = R"({"Interval":"10s"})";
  c.modify_index = log_index{8};
  return c;
}

acl_policy full_policy() {
  return {"00000000-0000-4000-8000-0000000000aa", "p-1",        "d",          R"(key_prefix "" { policy = "read" })",
          std::vector<std::string>{"dc1"},        log_index{3}, log_index{4}, nullptr};
}

acl_role full_role() {
  return {"00000000-0000-4000-8000-0000000000bb",
          "r_1",
          "",
          {full_policy().id},
          {{"web", std::vector<std::string>{"dc1", "dc2"}}, {"db", std::nullopt}},
          {{"n1", "dc1"}},
          log_index{5},
          log_index{6}};
}

acl_token full_token() {
  acl_token t;
  t.accessor = "00000000-0000-4000-8000-0000000000cc";
  t.secret = "00000000-0000-4000-8000-0000000000cd";
  t.description = "of somebody";
  t.policies = {full_policy().id};
  t.roles = {full_role().id};
  t.service_identities = {{"web", std::nullopt}};
  t.node_identities = {{"n1", "dc1"}};
  t.local = true;
  t.create_time_ns = 1'700'000'000'000'000'000;
  t.expiration_time_ns = 1'700'000'600'000'000'000;
  t.expires = cluster_time{1'700'000'600'000};
  t.create_index = log_index{7};
  t.modify_index = log_index{8};
  return t;
}

/// The kinds that came with ACLs, and others on behalf of a token.
std::vector<command> commands_of_acls() {
  std::vector<command> all = {
      acl_initialize{"secret", full_token().accessor, -1},
      acl_bootstrap{full_token().accessor, full_token().secret, 5, log_index{9}},
      acl_policy_set{full_policy(), true},
      acl_policy_delete{full_policy().id},
      acl_role_set{full_role(), {{"", "p-1"}, {full_policy().id, ""}}, false},
      acl_role_delete{full_role().id},
      acl_token_set{full_token(), {{"", "p-1"}}, {{full_role().id, ""}}, 600'000'000'000, true},
      acl_token_clone{"of", full_token().accessor, full_token().secret, "", 3},
      acl_token_delete{full_token().accessor},
  };
  all.push_back(kv_write{full_op(kv_verb::lock)});
  all.back().by = auth_context{"secret", true, "dc1"};
  all.push_back(txn{});
  all.back().by = auth_context{};
  all.push_back(acl_token_delete{"a"});
  all.back().by = auth_context{"anonymous", false, "dc1"};
  all.push_back(kv_write{full_op(kv_verb::set)});
  all.back().by = auth_context{"secret", false, "dc1"};
  all.back().authorized_at = log_index{300};
  return all;
}

std::vector<command> commands() {
  std::vector<command> all;
  for (int v = 0; v <= static_cast<int>(kv_verb::remove_cas); ++v)
    all.push_back(kv_write{full_op(static_cast<kv_verb>(v))});
  txn t;
  t.ops = {full_op(kv_verb::get_tree), node_op{catalog_verb::cas, full_node()},
           service_op{catalog_verb::remove_cas, full_service()}, check_op{catalog_verb::get, full_check()}};
  all.push_back(t);
  all.push_back(txn{});
  all.push_back(session_create{full_session()});
  all.push_back(session_destroy{{"a", "", "b"}, "ttl"});
  catalog_register r;
  r.node = full_node();
  r.skip_node_update = true;
  all.push_back(r);
  r.service = full_service();
  r.checks = {full_check(), check_record{}};
  all.push_back(r);
  all.push_back(catalog_deregister{"n", "s", "c"});
  all.push_back(tombstone_reap{log_index{1ULL << 40}});
  all.push_back(
      autopilot_set{{false, -1, 250, 3, 1ll << 60, "zone", true, "tag", log_index{1}, log_index{7}}, log_index{9}});
  all.push_back(autopilot_set{});
  all.push_back(restore_begin{"id", log_index{77}});
  all.push_back(restore_rows{"id", 3,
                             std::make_shared<const std::vector<dirty_row>>(std::vector<dirty_row>{
                                 {table::counters, "kvs", counter{"kvs", 7}},
                                 {table::lock_delays, "d", lock_delay_record{"d", cluster_time{5}}}})});
  all.push_back(restore_commit{"id", 4});
  all.push_back(restore_abort{"id"});
  for (auto& each : commands_of_acls())
    all.push_back(std::move(each));
  return all;
}

std::vector<dirty_row> rows() {
  kv_draft entry;
  entry.key = "k";
  entry.value = make_payload(std::string("\0v", 2));
  entry.flags = ~0ULL;
  entry.lock_index = 3;
  entry.session = "s";
  entry.create_index = log_index{1};
  entry.modify_index = log_index{200};
  entry.fence = 199;
  return {
      {table::kv, "k", kv_entry_ptr(entry)},
      {table::tombstones, "t", tombstone{"t", log_index{9}, log_index{8}}},
      {table::sessions, full_session().id, std::make_shared<const session_record>(full_session())},
      {table::lock_delays, "d", lock_delay_record{"d", cluster_time{123456789}}},
      {table::nodes, "node", std::make_shared<const node_record>(full_node())},
      {table::services, std::string("node\0w1", 7), std::make_shared<const service_record>(full_service())},
      {table::checks, std::string("node\0c", 6), std::make_shared<const check_record>(full_check())},
      {table::counters, "kvs", counter{"kvs", 77}},
      {table::operators, "autopilot",
       std::make_shared<const autopilot_settings>(
           autopilot_settings{false, -1, 250, 3, 1ll << 60, "zone", true, "tag", log_index{1}, log_index{7}})},
      {table::staging, "a",
       std::make_shared<const staged_record>(
           staged_record{"a", restore_head{"restore", log_index{9}, 3, cluster_time{1234}, true}})},
      {table::staging, "b1",
       std::make_shared<const staged_record>(
           staged_record{"b1", std::make_shared<const std::vector<dirty_row>>(
                                   std::vector<dirty_row>{{table::counters, "x", counter{"x", 1}}})})},
      {table::acl_policies, full_policy().id, std::make_shared<const acl_policy>(full_policy())},
      {table::acl_roles, full_role().id, std::make_shared<const acl_role>(full_role())},
      {table::acl_tokens, full_token().accessor, std::make_shared<const acl_token>(full_token())},
  };
}

std::vector<reply> replies() {
  txn_reply t;
  t.results.push_back({std::get<kv_entry_ptr>(rows()[0].row), true});
  t.results.push_back({std::make_shared<const node_record>(full_node()), true});
  t.results.push_back({std::make_shared<const service_record>(full_service()), true});
  t.results.push_back({std::make_shared<const check_record>(full_check()), true});
  txn_reply failed;
  failed.errors = {{0, "x"}, {63, ""}};
  reply held(false), granted(true);
  held.note = {refused_for::held, "holder", 0, 0};
  granted.note = {refused_for::nothing, "", 0, 1234567890123};
  return {std::monostate{},
          true,
          false,
          std::string("id"),
          t,
          failed,
          refusal{"why"},
          held,
          granted,
          acl_row{std::make_shared<const acl_policy>(full_policy()), {}, {}},
          acl_row{std::make_shared<const acl_role>(full_role()), {{full_policy().id, "p-1"}}, {}},
          acl_row{std::make_shared<const acl_token>(full_token()), {{full_policy().id, "p-1"}}, {{"", "r"}}}};
}

} // namespace

// Compares the bytes: different values with equal bytes would be caught by the field checks below.

TEST_CASE("commands survive encoding") {
  for (const auto& c : commands()) {
    const auto bytes = encode_command(c);
    const auto back = decode_command(bytes);
    REQUIRE(back);
    CHECK(back->index() == c.index());
    CHECK(back->by == c.by);
    CHECK(back->authorized_at == c.authorized_at);
    CHECK(encode_command(*back) == bytes);
  }
}

TEST_CASE("fields of a key operation, a session and a registration survive a round trip") {
  const auto op = std::get<kv_write>(*decode_command(encode_command(kv_write{full_op(kv_verb::lock)}))).op;
  const auto expected = full_op(kv_verb::lock);
  CHECK(op.verb == expected.verb);
  CHECK(op.key == expected.key);
  CHECK(*op.value == *expected.value);
  CHECK(op.flags == expected.flags);
  CHECK(op.index == expected.index);
  CHECK(op.session == expected.session);

  const auto s = std::get<session_create>(*decode_command(encode_command(session_create{full_session()}))).session;
  const auto ws = full_session();
  CHECK(s.id == ws.id);
  CHECK(s.name == ws.name);
  CHECK(s.node == ws.node);
  CHECK(s.lock_delay_ns == ws.lock_delay_ns);
  CHECK(s.behavior == ws.behavior);
  CHECK(s.ttl == ws.ttl);
  CHECK(s.ttl_ns == ws.ttl_ns);
  CHECK(s.checks == ws.checks);
  CHECK(s.node_checks == ws.node_checks);
  CHECK(s.service_checks == ws.service_checks);
  CHECK(s.create_index == ws.create_index);

  catalog_register r;
  r.node = full_node();
  r.service = full_service();
  r.checks = {full_check()};
  const auto got = std::get<catalog_register>(*decode_command(encode_command(r)));
  CHECK(got.node.tagged_addresses == r.node.tagged_addresses);
  CHECK_FALSE(got.node.meta);
  CHECK(got.node.modify_index == log_index{2});
  REQUIRE(got.service);
  CHECK(got.service->tagged_addresses->at("lan").port == -1);
  CHECK(got.service->meta == string_map{});
  CHECK(got.service->weights.warning == 0);
  CHECK(got.service->enable_tag_override);
  CHECK(got.checks.at(0).definition_json == full_check().definition_json);
  CHECK(got.checks.at(0).service_tags == full_check().service_tags);
}

TEST_CASE("fields of policies, roles and tokens survive a round trip") {
  const auto sent = full_token();
  const auto t = std::get<acl_token_set>(*decode_command(encode_command(commands_of_acls()[6])));
  CHECK(t.token.accessor == sent.accessor);
  CHECK(t.token.secret == sent.secret);
  CHECK(t.token.description == sent.description);
  CHECK(t.token.service_identities == sent.service_identities);
  CHECK(t.token.node_identities == sent.node_identities);
  CHECK(t.token.local);
  CHECK(t.token.create_time_ns == sent.create_time_ns);
  CHECK(t.token.expiration_time_ns == sent.expiration_time_ns);
  CHECK(t.token.expires == sent.expires);
  CHECK(t.policies == std::vector<acl_link>{{"", "p-1"}});
  CHECK(t.roles == std::vector<acl_link>{{full_role().id, ""}});
  CHECK(t.lives_ns == 600'000'000'000);
  CHECK(t.fresh);
  const auto shown = std::get<acl_row>(*decode_reply(encode_reply(replies()[10])));
  const auto role = std::get<acl_role_ptr>(shown.row);
  CHECK(role->name == "r_1");
  CHECK(role->service_identities == full_role().service_identities);
  CHECK(role->modify_index == log_index{6});
  CHECK(shown.policies == std::vector<acl_link>{{full_policy().id, "p-1"}});
}

// A token around a token could differ between authorization and apply(), and would recurse.
TEST_CASE("a command with a token has one encoding, and one name") {
  command plain = kv_write{full_op(kv_verb::set)};
  const auto inner = encode_command(plain);
  plain.by = auth_context{"s", true, "dc1"};
  const auto whole = encode_command(plain);
  REQUIRE(decode_command(whole));
  CHECK(needs_of(whole)->level == acl_level);
  const auto head = whole.substr(0, whole.size() - inner.size());
  REQUIRE(head + inner == whole);
  CHECK_FALSE(decode_command(head + whole));
  CHECK_FALSE(decode_command(head + head + inner));
  std::string deep;
  for (int i = 0; i < 100'000; ++i)
    deep += head;
  CHECK_FALSE(decode_command(deep + inner));
  // A level that is not that of its kind, or the name of another version.
  const auto behind_needs = whole.substr(encode_needs({acl_level, "0.1.0"}).size());
  REQUIRE(encode_needs({acl_level, "0.1.0"}) + behind_needs == whole);
  CHECK_FALSE(decode_command(encode_needs({1, "0.1.0"}) + behind_needs));
  CHECK_FALSE(decode_command("\x01" + behind_needs));
  CHECK_FALSE(decode_command(encode_needs({acl_level, "0.1.1"}) + behind_needs));
}

TEST_CASE("a decision that comes with a command can be left out, and is never encoded as none") {
  command c = kv_write{full_op(kv_verb::set)};
  CHECK_FALSE(without_authorization(encode_command(c)));
  c.by = auth_context{"s", true, "dc1"};
  const auto plain = encode_command(c);
  CHECK_FALSE(without_authorization(plain));
  c.authorized_at = log_index{7};
  auto authorized = encode_command(c);
  CHECK(needs_of(authorized)->level == authorization_level);
  CHECK(decode_command(authorized)->authorized_at == c.authorized_at);
  CHECK(without_authorization(authorized) == plain);
  const auto at = authorized.find("dc1") + 3;
  REQUIRE(authorized.at(at) == 7);
  authorized[at] = 0;
  CHECK_FALSE(decode_command(authorized));
  CHECK_FALSE(without_authorization(authorized));
}

TEST_CASE("ends of sessions can be encoded for older servers") {
  const auto expiry = encode_command(session_expire{{"a", "b"}, log_index{7}});
  CHECK(needs_of(expiry)->level == expiry_level);
  CHECK(std::get<session_expire>(*decode_command(expiry)).restored_at == log_index{7});
  CHECK(as_session_destroy(expiry) == encode_command(session_destroy{{"a", "b"}, "ttl"}));
  CHECK_FALSE(as_session_destroy(expiry.substr(0, expiry.size() - 1)));
  CHECK_FALSE(as_session_destroy(encode_command(session_destroy{{"a"}, "ttl"})));
  CHECK_FALSE(as_session_destroy(""));
}

// A server of 0.2.0 cannot parse the address of a client, and decides about the claim without it.
TEST_CASE("the address of a client can be left out for older servers") {
  claim_ask ask;
  ask.name = "n";
  ask.session = "s";
  ask.id = "i";
  kv_acquire acquire;
  acquire.op.verb = kv_verb::lock;
  acquire.op.key = "k";
  acquire.wait_ms = 1;
  const command commands[] = {ask, claim_release{"n", "i"}, claim_limit_unset{"n"}, acquire};
  for (const auto& plain : commands)
    for (const bool by_token : {false, true}) {
      auto c = plain;
      if (by_token) {
        c.by = auth_context{"secret", false, "dc1"};
        c.authorized_at = log_index{7};
      }
      const auto without = encode_command(c);
      CHECK_FALSE(without_client_address(without));
      CHECK(needs_of(without)->level < client_address_level);
      c.client_address = "192.0.2.1";
      const auto bytes = encode_command(c);
      CHECK(needs_of(bytes)->level == client_address_level);
      CHECK(decode_command(bytes)->client_address == c.client_address);
      CHECK(without_client_address(bytes) == without);
      auto damaged = bytes;
      damaged[bytes.find("192.0.2.1")] = ' ';
      CHECK_FALSE(decode_command(damaged));
    }
}

// From level 8 on they have no effect if their reply is too large to be kept.
TEST_CASE("a transaction, policy, role or token has the address of a client if it takes effect once") {
  const plain_command commands[] = {
      txn{},           fenced_txn{{{fence_op{}}}}, txn{{full_op(kv_verb::add)}}, acl_policy_set{}, acl_role_set{},
      acl_token_set{}, acl_token_clone{}};
  for (const auto& plain : commands) {
    INFO(plain.index());
    command c;
    static_cast<plain_command&>(c) = plain;
    c.client_address = "192.0.2.1";
    CHECK_FALSE(has_client(c));
    c.once = once_request{"k", {1, 2}, {}};
    for (const bool by_token : {false, true}) {
      if (by_token)
        c.by = auth_context{"secret", false, "dc1"};
      const auto bytes = encode_command(c);
      CHECK(needs_of(bytes)->level == client_address_level);
      const auto decoded = decode_command(bytes);
      REQUIRE(decoded);
      CHECK(decoded->client_address == c.client_address);
      CHECK(decoded->once->key == "k");
      CHECK(encode_command(*decoded) == bytes);
      const auto without = without_client_address(bytes);
      REQUIRE(without);
      CHECK(needs_of(*without)->level < client_address_level);
      CHECK_FALSE(decode_command(*without)->client_address);
    }
    // Without the key it has none.
    command marked = claim_release{"n", "i"};
    marked.client_address = "192.0.2.1";
    const auto release = encode_command(claim_release{"n", "i"});
    const auto address = encode_command(marked);
    c.once.reset();
    c.by.reset();
    c.client_address.reset();
    CHECK_FALSE(decode_command(address.substr(0, address.size() - release.size()) + encode_command(c)));
  }
}

// A sender cannot give a scope to a command that has none, or a second scope to one that has.
TEST_CASE("only commands about claims have the address of a client, and with one") {
  command c = claim_release{"n", "i"};
  c.client_address = "192.0.2.1";
  const auto bytes = encode_command(c);
  const auto release = encode_command(claim_release{"n", "i"});
  REQUIRE(bytes.ends_with(release));
  const auto head = bytes.substr(0, bytes.size() - release.size());
  CHECK(decode_command(head + release));
  CHECK_FALSE(decode_command(head + bytes));
  CHECK_FALSE(decode_command(head + encode_command(claim_limit_set{"n", 1})));
  CHECK_FALSE(decode_command(head + encode_command(kv_write{full_op(kv_verb::set)})));
  kv_acquire at_once;
  at_once.op.verb = kv_verb::lock;
  CHECK_FALSE(decode_command(head + encode_command(at_once)));
}

/// The log keeps it in memory, and counts its bytes, not the allocated size.
TEST_CASE("the text of a large transaction has no more room than it needs") {
  txn t;
  for (int i = 0; i < 64; ++i) {
    kv_op op;
    op.key = "key " + std::to_string(i);
    op.value = make_payload(std::string(256, 'v'));
    t.ops.push_back(op);
  }
  const auto text = make_payload(encode_command(t));
  CHECK(text->size() > 64 * 256);
  constexpr std::size_t beside_bytes = 8; // size of what precedes a payload
  const auto room = malloc_usable_size(const_cast<char*>(text->data()) - beside_bytes);
  CHECK(room >= text->size());
  CHECK(room <= text->size() + text->size() / 8);
}

TEST_CASE("a missing value is the empty value") {
  kv_op op;
  op.key = "k";
  const auto back = std::get<kv_write>(*decode_command(encode_command(kv_write{op}))).op;
  REQUIRE(back.value);
  CHECK(back.value->empty());
}

TEST_CASE("rows survive encoding") {
  for (const auto& row : rows()) {
    const auto bytes = encode_row(row);
    REQUIRE(bytes);
    const auto back = decode_row(static_cast<std::uint8_t>(row.table), row.key, *bytes);
    REQUIRE(back);
    CHECK(back->table == row.table);
    CHECK(back->key == row.key);
    CHECK(back->row.index() == row.row.index());
    CHECK(encode_row(*back) == bytes);
    CHECK(row_bytes_max(row) >= bytes->size());
  }
  kv_draft largest; // each number as long as possible
  largest.value = make_payload(std::string(300, 'v'));
  largest.session = std::string(36, 's');
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  largest.flags = largest.lock_index = largest.fence = most;
  largest.create_index = largest.modify_index = log_index{most};
  const dirty_row row{table::kv, "k", kv_entry_ptr(largest)};
  CHECK(row_bytes_max(row) >= encode_row(row)->size());

  CHECK_FALSE(encode_row({table::kv, "k", {}}));
  CHECK_FALSE(decode_row(0, "k", *encode_row(rows()[1])));
  CHECK_FALSE(decode_row(9, "k", *encode_row(rows()[1])));
}

TEST_CASE("a row under a key that is not its own is damage") {
  for (const auto i : {2, 4, 5, 6, 11, 12, 13}) {
    const auto row = rows()[static_cast<std::size_t>(i)];
    CHECK_FALSE(decode_row(static_cast<std::uint8_t>(row.table), row.key + "x", *encode_row(row)));
  }
}

TEST_CASE("a loaded machine equals the one that was saved") {
  machine m;
  effects changed;
  std::uint64_t index = 0;
  for (const auto& c : commands()) {
    ++index;
    m.apply(log_index{index}, cluster_time{index}, c, changed);
  }
  machine copy;
  for (const auto& row : m.all_rows()) {
    auto back = decode_row(static_cast<std::uint8_t>(row.table), row.key, *encode_row(row));
    REQUIRE(back);
    copy.load_row(std::move(*back));
  }
  copy.finish_load(m.applied_index(), m.now());
  CHECK(copy.digest() == m.digest());
  CHECK(copy.recompute_digest() == m.digest());
  CHECK(m.digest() != 0);
}

TEST_CASE("replies survive encoding; values that are not shown do not travel") {
  for (const auto& r : replies()) {
    const auto bytes = encode_reply(r);
    const auto back = decode_reply(bytes);
    REQUIRE(back);
    CHECK(back->index() == r.index());
    CHECK(back->note == r.note);
    CHECK(encode_reply(*back) == bytes);
  }
  txn_reply t;
  t.results.push_back({std::get<kv_entry_ptr>(rows()[0].row), false});
  const auto back = std::get<txn_reply>(*decode_reply(encode_reply(t)));
  const auto entry = std::get<kv_entry_ptr>(back.results.at(0).row);
  CHECK(entry->key == "k");
  CHECK(entry->value->empty());
  CHECK(entry->modify_index == log_index{200});
}

TEST_CASE("every cut and every changed byte is refused or decodes to something that encodes again") {
  seeded_random random(7);
  const auto try_all = [&](const std::string& good, auto&& decode) {
    for (std::size_t n = 0; n < good.size(); ++n)
      CHECK_FALSE(decode(std::string_view(good).substr(0, n)));
    CHECK_FALSE(decode(good + "x"));
    for (std::size_t i = 0; i < good.size(); ++i)
      for (int k = 0; k < 6; ++k) {
        auto bad = good;
        bad[i] = static_cast<char>(random.below(256));
        if (random.below(3) == 0)
          bad[random.below(bad.size())] = static_cast<char>(0xFF);
        decode(bad);
      }
  };
  for (const auto& c : commands())
    try_all(encode_command(c), [](std::string_view b) {
      auto v = decode_command(b);
      if (v)
        encode_command(*v);
      return v.has_value();
    });
  for (const auto& r : replies())
    try_all(encode_reply(r), [](std::string_view b) {
      auto v = decode_reply(b);
      if (v)
        encode_reply(*v);
      return v.has_value();
    });
  for (const auto& row : rows())
    try_all(*encode_row(row), [&](std::string_view b) {
      auto v = decode_row(static_cast<std::uint8_t>(row.table), row.key, b);
      if (v)
        encode_row(*v);
      return v.has_value();
    });
}

// Logs, checkpoints and archives of every release contain such bytes, and checkpoints the sums of
// such hashes. If one of these differs, stored data becomes unreadable, or counts as damaged.
TEST_CASE("bytes of commands, replies and rows, and hashes of rows, are those of every release before") {
  const std::vector<std::uint32_t> command_crcs = {
      0x93371ca9, 0xd88c2878, 0x0441750b, 0x4ffa41da, 0xb837b91c, 0xf38c8dcd, 0x2f41d0be, 0x64fae46f,
      0xc53657c3, 0x8e8d6312, 0x52403e61, 0x19fb0ab0, 0x382481d3, 0xd687a973, 0x0e9f1219, 0x90b95930,
      0x32f1bb48, 0x292562ab, 0x9ee26c40, 0xc0a1fb3d, 0x840e1ded, 0xa97a78a0, 0x247ff895, 0xb4063992,
      0x48b6549c, 0xd3597147, 0x8c5633b7, 0xaf490f7a, 0xe72c6ad7, 0x952b12dd, 0x881c167c, 0x06bfcaa7,
      0xe2b2591f, 0x94839024, 0xaf2b8782, 0x093e2ee5, 0xee8b3a3b, 0xc5aac25e, 0xc81dcab0};
  const std::vector<std::uint32_t> reply_crcs = {0xe2c3efa5, 0x24ec2a70, 0xd687a973, 0x251d12a1,
                                                 0x90462ccb, 0x5bb31305, 0x0cac2b4b, 0x979f9ec0,
                                                 0xac9236ce, 0x56400fb3, 0xb8fd8542, 0xbfb8538c};
  struct stored {
    std::uint32_t crc;
    std::uint64_t hash;
  };
  const std::vector<stored> row_sums = {
      {0x54105232, 0xc168319d6cff551},  {0xc14a3204, 0xce359040a6b45db6}, {0x33b825f3, 0xdd28bd16f50f0f4b},
      {0x2b5c285a, 0xee2dfae854b08b1e}, {0xa65d0ebd, 0xeb55bb81780134cc}, {0xf1e6964a, 0x51e7809305e14293},
      {0xd028c1fc, 0x1b1eae9194e7f263}, {0x1c90beca, 0x1a1cad9c1de51be0}, {0xe386b3a9, 0x3c1d2ca3fd20ccb6},
      {0x06bb644c, 0xafb186160d9c248e}, {0xfbf64879, 0x289a5bb38dcc682},  {0x7b78168c, 0x5e0018994ddd2e92},
      {0xef91ba2c, 0x678b330277bfe5a9}, {0x16d98ca7, 0x35ed9420d49035e9}};
  const auto all_commands = commands();
  REQUIRE(all_commands.size() == command_crcs.size());
  for (std::size_t i = 0; i < all_commands.size(); ++i)
    CHECK(crc32c(encode_command(all_commands[i])) == command_crcs[i]);
  const auto all_replies = replies();
  REQUIRE(all_replies.size() == reply_crcs.size());
  for (std::size_t i = 0; i < all_replies.size(); ++i)
    CHECK(crc32c(encode_reply(all_replies[i])) == reply_crcs[i]);
  const auto all_rows = rows();
  REQUIRE(all_rows.size() == row_sums.size());
  for (std::size_t i = 0; i < all_rows.size(); ++i) {
    INFO(name_of(all_rows[i].table));
    CHECK(crc32c(*encode_row(all_rows[i])) == row_sums[i].crc);
    std::visit(
        [&]<class Row>(const Row& row) {
          if constexpr (!std::is_same_v<Row, std::monostate>)
            CHECK(row_hash(row) == row_sums[i].hash);
        },
        all_rows[i].row);
  }
}

TEST_CASE("another version is refused") {
  auto bytes = encode_command(tombstone_reap{log_index{1}});
  bytes[0] = 2;
  CHECK_FALSE(decode_command(bytes));
  CHECK_FALSE(decode_command(""));
  CHECK_FALSE(decode_reply(""));
}

TEST_CASE("a command has the feature level that it needs, even for versions without its kind") {
  const auto of_acls = commands_of_acls().size(), all = commands().size();
  for (std::size_t i = 0; i < all; ++i) {
    const auto needs = needs_of(encode_command(commands()[i]));
    REQUIRE(needs);
    const auto authorized = !commands()[i].authorized_at.is_zero();
    CHECK(needs->level == (i < all - of_acls ? 0 : authorized ? authorization_level : acl_level));
  }
  const auto newer = encode_needs({7, "0.9.1"}) + "\xc8what came later";
  CHECK_FALSE(decode_command(newer));
  const auto needs = needs_of(newer);
  REQUIRE(needs);
  CHECK(needs->level == 7);
  CHECK(needs->version == "0.9.1");
  CHECK(too_new(*needs, "this server") == "command of feature level 7, and this server has level " +
                                              std::to_string(state::own_level) + ": install Belay 0.9.1 or newer");

  // Level 0 has one encoding, and a known kind is not accepted at another level than its own.
  CHECK_FALSE(needs_of(encode_needs({0, ""})));
  CHECK_FALSE(decode_command(encode_needs({1, "0.1.0"}) + encode_command(tombstone_reap{log_index{1}}).substr(1)));
  // A peer must not be able to put arbitrary text into the log and messages to operators.
  CHECK_FALSE(needs_of(encode_needs({7, std::string(33, '1')})));
  CHECK_FALSE(needs_of(encode_needs({7, "1\n2"})));
  CHECK_FALSE(needs_of(newer.substr(0, 5)));
  CHECK_FALSE(needs_of(""));
  CHECK_FALSE(needs_of("\x03garbage"));
}
