#pragma once
// A log written by hand for tests of the checkers: one call, one entry.

#include "protocol/raft/types.hpp"
#include "protocol/state/commands.hpp"
#include "protocol/wire/command_codec.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belay::sim {

inline state::kv_op key_op(state::kv_verb verb, std::string key, std::string value = {}, std::uint64_t index = 0) {
  state::kv_op op;
  op.verb = verb;
  op.key = std::move(key);
  op.value = make_payload(std::move(value));
  op.index = log_index{index};
  return op;
}
inline state::command set(std::string key, std::string value) {
  return state::kv_write{key_op(state::kv_verb::set, std::move(key), std::move(value))};
}
inline state::command cas(std::string key, std::string value, std::uint64_t index) {
  return state::kv_write{key_op(state::kv_verb::cas, std::move(key), std::move(value), index)};
}
inline state::command remove_key(std::string key) {
  return state::kv_write{key_op(state::kv_verb::remove, std::move(key))};
}
inline state::command remove_cas(std::string key, std::uint64_t index) {
  return state::kv_write{key_op(state::kv_verb::remove_cas, std::move(key), {}, index)};
}
inline state::command remove_tree(std::string prefix) {
  return state::kv_write{key_op(state::kv_verb::remove_tree, std::move(prefix))};
}
inline state::command lock(std::string key) {
  auto op = key_op(state::kv_verb::lock, std::move(key), "held");
  op.session = "11111111-2222-3333-4444-555555555555";
  return state::kv_write{op};
}
/// A command that is not modeled.
inline state::node_op write_of_node(std::string name) {
  state::node_op op;
  op.node.node = std::move(name);
  op.node.address = "10.0.0.1";
  return op;
}
/// All commands of a restore; the models ignore the rows of the archive.
inline std::vector<state::command> restore(const std::string& id, std::uint64_t archive) {
  const auto rows = std::make_shared<const std::vector<state::dirty_row>>();
  return {state::restore_begin{id, log_index{archive}}, state::restore_rows{id, 0, rows}, state::restore_commit{id, 1}};
}
template <class... Ops>
state::command txn(Ops... ops) {
  state::txn t;
  (t.ops.push_back(std::move(ops)), ...);
  return t;
}

inline raft::entry entry(std::uint64_t index, const state::command& c) {
  raft::entry e;
  e.index = log_index{index};
  e.term = term_id{1};
  e.time = cluster_time{index};
  e.kind = raft::entry_kind::command;
  e.data = make_payload(wire::encode_command(c));
  return e;
}
inline raft::entry noop(std::uint64_t index) {
  raft::entry e;
  e.index = log_index{index};
  e.term = term_id{1};
  e.data = make_payload({});
  return e;
}

} // namespace belay::sim
