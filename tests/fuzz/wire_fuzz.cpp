// Damaged bytes of peers and checkpoints are decoded or rejected, the same in any split, and stable
// when encoded again. Decoded commands, however odd, can be applied.

#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/subjects.hpp"

#include "protocol/wire/command_codec.hpp"
#include "protocol/wire/entry_codec.hpp"
#include "protocol/wire/frame_codec.hpp"
#include "protocol/wire/operator_codec.hpp"

using namespace belay;
using namespace belay::fuzz;

namespace {

const std::string session_id = "5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01";

state::kv_op operation(state::kv_verb verb, std::string key) {
  state::kv_op op;
  op.verb = verb;
  op.key = std::move(key);
  op.value = make_payload("value");
  op.flags = ~0ULL;
  op.index = log_index{4};
  op.session = session_id;
  return op;
}

state::node_record node() {
  state::node_record n;
  n.id = "0f8fad5b-d9cb-469f-a165-70867728950e";
  n.node = "Node";
  n.address = "10.0.0.1";
  n.datacenter = "dc1";
  n.tagged_addresses = state::string_map{{"lan", "10.0.0.1"}, {"wan", ""}};
  n.meta = state::string_map{{"rack", "7"}};
  n.modify_index = log_index{2};
  return n;
}

state::service_record service() {
  state::service_record s;
  s.node = "Node";
  s.id = "W1";
  s.service = "web";
  s.tags = std::vector<std::string>{"a", "b"};
  s.tagged_addresses = std::map<std::string, state::service_address>{{"lan", {"1.1.1.1", -1}}};
  s.meta = state::string_map{};
  s.port = 65535;
  s.proxy_json = "{}";
  s.modify_index = log_index{7};
  return s;
}

state::check_record check() {
  state::check_record c;
  c.node = "Node";
  c.check_id = "C";
  c.name = "check";
  c.status = "passing";
  c.service_id = "W1";
  c.service_tags = std::vector<std::string>{"t"};
  c.definition_json = R"({"Interval":"10s"})";
  return c;
}

state::session_record session() {
  state::session_record s;
  s.id = session_id;
  s.name = "name";
  s.node = "Node";
  s.lock_delay_ns = 15'000'000'000;
  s.behavior = state::session_behavior::remove;
  s.ttl = "10s";
  s.ttl_ns = 10'000'000'000;
  s.checks = std::vector<std::string>{"C"};
  s.node_checks = std::vector<std::string>{};
  return s;
}

/// A short life of a cluster, so that mutants of it meet tables with contents.
std::vector<state::command> commands() {
  using state::kv_verb;
  state::catalog_register registered{node(), false, service(), {check()}};
  state::txn transaction;
  transaction.ops = {operation(kv_verb::get_tree, "k"), state::node_op{state::catalog_verb::cas, node()},
                     state::service_op{state::catalog_verb::set, service()},
                     state::check_op{state::catalog_verb::get, check()}, operation(kv_verb::check_session, "k/1")};
  return {registered,
          state::session_create{session()},
          state::kv_write{operation(kv_verb::set, "k/1")},
          state::kv_write{operation(kv_verb::lock, "k/1")},
          state::kv_write{operation(kv_verb::cas, "k/2")},
          transaction,
          state::kv_write{operation(kv_verb::unlock, "k/1")},
          state::kv_write{operation(kv_verb::lock, "k/2")},
          state::kv_write{operation(kv_verb::remove_cas, "k/1")},
          state::session_destroy{{session_id, ""}, "ttl"},
          state::session_expire{{session_id, ""}, log_index{7}},
          state::waits_withdraw{{{"k", session_id, log_index{7}}}},
          state::kv_write{operation(kv_verb::remove_tree, "")},
          state::catalog_deregister{"Node", "W1", ""},
          state::catalog_deregister{"node", "", ""},
          state::tombstone_reap{log_index{9}}};
}

std::vector<state::dirty_row> rows() {
  using state::table;
  state::kv_draft entry;
  entry.key = "k";
  entry.value = make_payload(std::string("\0v", 2));
  entry.lock_index = 3;
  entry.session = session_id;
  entry.create_index = log_index{1};
  entry.modify_index = log_index{200};
  return {
      {table::kv, "k", state::kv_entry_ptr(entry)},
      {table::tombstones, "t", state::tombstone{"t", log_index{9}, log_index{8}}},
      {table::sessions, session_id, std::make_shared<const state::session_record>(session())},
      {table::lock_delays, "d", state::lock_delay_record{"d", cluster_time{123456789}}},
      {table::nodes, "node", std::make_shared<const state::node_record>(node())},
      {table::services, std::string("node\0w1", 7), std::make_shared<const state::service_record>(service())},
      {table::checks, std::string("node\0c", 6), std::make_shared<const state::check_record>(check())},
      {table::counters, "kvs", state::counter{"kvs", 77}},
  };
}

std::vector<state::reply> replies() {
  state::txn_reply good, failed;
  good.results.push_back({std::get<state::kv_entry_ptr>(rows()[0].row), true});
  good.results.push_back({std::make_shared<const state::node_record>(node()), true});
  good.results.push_back({std::make_shared<const state::service_record>(service()), false});
  good.results.push_back({std::make_shared<const state::check_record>(check()), true});
  failed.errors = {{0, "x"}, {63, ""}};
  return {std::monostate{}, true, session_id, good, failed, state::refusal{"why"}};
}

raft::configuration configuration() {
  const raft::member a{node_id{7}, "0f8fad5b-d9cb-469f-a165-70867728950e", "n1", "127.0.0.1:8300"};
  const raft::member b{node_id{9}, "0f8fad5b-d9cb-469f-a165-70867728950f", "n2", "127.0.0.1:8301"};
  const raft::member c{node_id{12}, "", "n3", ""};
  return {{a, b, c}, {a.id, b.id}, {a.id}, {c.id}};
}

std::vector<raft::entry> entries() {
  return {{log_index{5}, term_id{3}, cluster_time{10}, raft::entry_kind::noop, make_payload("")},
          {log_index{6}, term_id{3}, cluster_time{11}, raft::entry_kind::command, make_payload("command")},
          {log_index{7}, term_id{3}, cluster_time{12}, raft::entry_kind::configuration,
           make_payload(raft::encode(configuration()))}};
}

raft::snapshot_meta meta() {
  return {log_index{9}, term_id{2}, cluster_time{5}, configuration()};
}

std::vector<wire::frame> frames() {
  const auto message = [](raft::message_body body) {
    return raft::message{node_id{7}, node_id{8}, term_id{4}, std::move(body)};
  };
  const auto member = configuration().members[0];
  return {
      wire::hello{member, "dc1", 99, 3, configuration().members},
      message(raft::append_entries{log_index{4}, term_id{3}, log_index{2}, 17, entries()}),
      message(raft::append_reply{true, log_index{6}, log_index{0}, log_index{3}, term_id{2}, 17}),
      message(raft::vote_request{true, false, log_index{6}, term_id{3}}),
      message(raft::vote_reply{true, true}),
      message(raft::snapshot_chunk{meta(), 512, make_payload("chunk"), true}),
      message(raft::snapshot_reply{log_index{9}, 517, true, false}),
      message(raft::timeout_now{}),
      wire::forward_call{request_id{5}, wire::call_kind::renew_session, make_payload(session_id)},
      wire::forward_reply{request_id{5}, wire::call_outcome::unknown, log_index{8}, "text"},
      wire::read_index{11, true},
      wire::read_index_reply{11, true, log_index{6}},
      agent::user_event{"id", "deploy", "payload", "web.*", "api", "v1", 42},
  };
}

/// Frames added after the streams below were stored, which stay as they are.
std::vector<wire::frame> later_frames() {
  return {
      wire::keyring_call{request_id{5}, {forward::keyring_verb::install, "QUJDREVGR0hJSktMTU5PUA=="}},
      wire::keyring_reply{request_id{5}, {true, {}, {"QUJDREVGR0hJSktMTU5PUA=="}, false}},
      wire::coordinate_probe{17},
      wire::coordinate_answer{17, {{0.25, -1e-7}, 1.5, -0.25, 1e-5}},
      wire::coordinate_news{{{"n1", "", {}, 5}, {"n2", "alpha", {}, 6}}},
  };
}

corpus wire_samples() {
  corpus all;
  std::size_t n = 0;
  const auto name = [&n](const std::string& kind) {
    const auto number = std::to_string(n++);
    return kind + "_" + std::string(2 - std::min<std::size_t>(2, number.size()), '0') + number;
  };
  std::string life = "a", stream = "f", bodies = "b";
  for (const auto& c : commands()) {
    all[name("command")] = "c" + wire::encode_command(c);
    add_piece(life, wire::encode_command(c));
  }
  all["applied"] = life;
  n = 0;
  for (const auto& r : replies())
    all[name("reply")] = "r" + wire::encode_reply(r);
  n = 0;
  for (const auto& row : rows()) {
    std::string input = "t";
    byte_writer w(input);
    w.u8(static_cast<std::uint8_t>(row.table));
    w.u16(static_cast<std::uint16_t>(row.key.size()));
    w.raw(row.key);
    w.raw(*wire::encode_row(row));
    all[name("row")] = input;
  }
  n = 0;
  const auto add_frame = [&](const wire::frame& f) {
    std::string bytes;
    wire::encode_frame(f, bytes);
    std::string one = "b";
    add_piece(one, std::string_view(bytes).substr(8)); // without length and checksum
    all[name("frame")] = one;
    return std::pair(bytes, one.substr(1));
  };
  for (const auto& f : frames()) {
    const auto [bytes, body] = add_frame(f);
    stream += bytes;
    bodies += body;
  }
  for (const auto& f : later_frames())
    add_frame(f);
  all["stream"] = stream;
  all["stream_sealed"] = bodies;
  std::string list = "e", hard = "h", snapshot = "m";
  byte_writer to_list(list), to_hard(hard), to_snapshot(snapshot);
  for (const auto& e : entries())
    wire::encode_entry(to_list, e);
  wire::encode_hard_state(to_hard, {term_id{3}, node_id{7}});
  wire::encode_snapshot_meta(to_snapshot, meta());
  all["entries"] = list;
  all["hard_state"] = hard;
  all["snapshot_meta"] = snapshot;
  all["configuration"] = "g" + raft::encode(configuration());
  const auto operators = [](wire::call_kind kind, const forward::operator_call& call) {
    return std::string("o") + static_cast<char>(kind) + wire::encode_operator_call(call);
  };
  all["remove_member"] = operators(wire::call_kind::remove_member,
                                   forward::remove_member{forward::remove_member::named_by::address, "10.0.0.1:8300"});
  all["describe_health"] =
      operators(wire::call_kind::describe_health, forward::describe_health{200'000'000, 250, "1.8.7"});
  return all;
}

} // namespace

TEST_CASE("wire: samples of the present encoding are stored, and decode", "[corpus]") {
  check_stored("wire", wire_samples());
  for (const auto& [name, bytes] : wire_samples()) {
    INFO(name);
    const auto f = run_input(fuzz_wire, bytes);
    CHECK(f.decoded > 0);
    CHECK(f.refused == 0);
  }
}

TEST_CASE("wire: stored inputs keep the property") {
  for (const auto& [name, bytes] : read_corpus("wire")) {
    INFO(name);
    (void)run_input(fuzz_wire, bytes);
  }
}

TEST_CASE("wire: mutated inputs keep the property") {
  std::vector<std::string> inputs;
  for (const auto& [name, bytes] : read_corpus("wire"))
    inputs.push_back(bytes);
  REQUIRE(inputs.size() >= 40);
  seeded_random random(31);
  wire_findings all;
  for (int round = 0; round < 30'000; ++round) {
    INFO("round " << round);
    auto input = inputs[random.below(inputs.size())];
    for (auto n = 1 + random.below(3); n > 0; --n)
      mutate_bytes(input, inputs[random.below(inputs.size())], random);
    const auto f = run_input(fuzz_wire, input);
    all.decoded += f.decoded;
    all.refused += f.refused;
  }
  // Both must occur often enough, or this test is useless.
  CHECK(all.decoded > 10'000);
  CHECK(all.refused > 10'000);
}
