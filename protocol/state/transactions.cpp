#include "protocol/state/transactions.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/answer_size.hpp"
#include "protocol/state/catalog/catalog_rules.hpp"
#include "protocol/state/claims/guarding.hpp"
#include "protocol/state/keys/key_operations.hpp"
#include "protocol/state/outcomes/exactly_once.hpp"

namespace belay::state {

namespace {

using failure_text = std::optional<std::string>;

std::string in_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

bool only_reads(const txn_op& op) {
  return std::visit(overloaded{[](const kv_op& o) { return !writes_keys(o.verb); },
                               [](const fence_op&) { return true; },
                               [](const auto& o) { return o.verb == catalog_verb::get; }},
                    op);
}

// ---- keys

/// @pre not a tree
failure_text read_key(const tables& t, const kv_op& op, std::vector<txn_result>& out) {
  const auto entry = t.kv.find(op.key);
  const auto name = in_quotes(op.key);
  switch (op.verb) {
  case kv_verb::get:
    if (!entry)
      return "key " + name + " doesn't exist";
    out.push_back({entry, true});
    return std::nullopt;
  case kv_verb::check_index:
    if (!entry)
      return "failed to check index, key " + name + " doesn't exist";
    if (entry->modify_index != op.index)
      return "failed index check for key " + name + ", current modify index " + to_string(entry->modify_index) +
             " != " + to_string(op.index);
    out.push_back({entry, false});
    return std::nullopt;
  case kv_verb::check_session:
    if (!entry)
      return "failed to check session, key " + name + " doesn't exist";
    if (entry->session != folded(op.session) && !MUTANT(check_session_ignored))
      return "failed session check for key " + name + ", current session " + in_quotes(entry->session) +
             " != " + in_quotes(op.session);
    out.push_back({entry, false});
    return std::nullopt;
  case kv_verb::check_not_exists:
    if (entry)
      return "key " + name + " exists";
    return std::nullopt;
  default:
    return "not a read";
  }
}

std::string refusal_text(const kv_op& op, refused_for why) {
  switch (op.verb) {
  case kv_verb::add:
    return "failed to add to key " + in_quotes(op.key) +
           (why == refused_for::value ? ", its value is no decimal number of 64 bits" : ", the sum is out of bounds");
  case kv_verb::lock:
    return "failed to lock key " + in_quotes(op.key) + ", lock is already held";
  case kv_verb::unlock:
    return "failed to unlock key " + in_quotes(op.key) + ", lock isn't held, or is held by another session";
  case kv_verb::remove_cas:
    return "failed to delete key " + in_quotes(op.key) + ", index is stale";
  default:
    return "failed to set key " + in_quotes(op.key) + ", index is stale";
  }
}

std::string lock_delay_text(const kv_op& op) {
  return "failed to lock key " + in_quotes(op.key) + " due to lock delay";
}

/// A transaction that is running.
struct running {
  applying& a;
  std::vector<txn_result>& out;
  std::vector<fence_ref> fences = {}; ///< named by earlier operations
  std::size_t bytes_of_trees = 0;     ///< less than outcome_bytes() of their rows
};

/// Reads the rows of a tree. A reply above the limit of kept ones is not shown, whatever follows,
/// so no more rows are read. Entries of 0.2.0 with a token count visible rows only, and need all.
void run_tree(running& txn, const std::string& prefix) {
  const auto& a = txn.a;
  const bool limited = a.keeps_answer && (a.scope || a.secret == nullptr);
  const auto& rows = a.t.kv.rows();
  for (auto at = rows.lower_bound(prefix); at != rows.end() && starts_with(at->key(), prefix); ++at) {
    if (limited && txn.bytes_of_trees > kept_answer_bytes_max)
      return;
    txn.bytes_of_trees += at->key().size() + at->value.row->value->size();
    txn.out.push_back({at->value.row, true});
  }
}

failure_text run(running& txn, const kv_op& op) {
  auto& [a, out, fences, bytes_of_trees] = txn;
  if (op.verb == kv_verb::get_tree) {
    run_tree(txn, op.key);
    return std::nullopt;
  }
  if (!writes_keys(op.verb))
    return read_key(a.t, op, out);
  if (const auto* guard = guard_against(a.t, op, fences))
    return guarded_text(op, *guard);
  auto r = write_key(a, op);
  switch (r.outcome) {
  case key_outcome::done:
    if (r.entry)
      out.push_back({std::move(r.entry), op.verb == kv_verb::add});
    return std::nullopt;
  case key_outcome::refused:
    return refusal_text(op, r.why);
  case key_outcome::lock_delay:
    return lock_delay_text(op);
  case key_outcome::failed:
    return std::move(r.text);
  }
  return std::nullopt;
}

// ---- catalog: the same code for nodes, services and checks

bool index_matches(log_index wanted, bool exists, log_index current) {
  return wanted == (exists ? current : log_index{});
}

node_ptr find(const tables& t, const node_record& n) {
  return n.id.empty() ? t.catalog.find_node(n.node) : t.catalog.find_node_by_id(n.id);
}
service_ptr find(const tables& t, const service_record& s) {
  return t.catalog.find_service(s.node, s.id.empty() ? s.service : s.id);
}
check_ptr find(const tables& t, const check_record& c) {
  return t.catalog.find_check(c.node, c.check_id.empty() ? c.name : c.check_id);
}

std::string described(const node_record& n) {
  return "node " + in_quotes(n.node);
}
std::string described(const service_record& s) {
  return "service " + in_quotes(s.id.empty() ? s.service : s.id) + " on node " + in_quotes(s.node);
}
std::string described(const check_record& c) {
  return "check " + in_quotes(c.check_id.empty() ? c.name : c.check_id) + " on node " + in_quotes(c.node);
}

failure_text ensure(applying& a, const node_record& n) {
  return ensure_node(a, n);
}
failure_text ensure(applying& a, const service_record& s) {
  return ensure_service(a, s);
}
failure_text ensure(applying& a, const check_record& c) {
  return ensure_check(a, c);
}

void remove(applying& a, const node_record& n) {
  remove_node(a, n.node);
}
void remove(applying& a, const service_record& s) {
  remove_service(a, s.node, s.id.empty() ? s.service : s.id);
}
void remove(applying& a, const check_record& c) {
  remove_check(a, c.node, c.check_id.empty() ? c.name : c.check_id);
}

/// Writes match by name, as in the reference; only reads match by node id.
node_ptr find_to_write(const tables& t, const node_record& n) {
  return t.catalog.find_node(n.node);
}
template <class Record>
auto find_to_write(const tables& t, const Record& r) {
  return find(t, r);
}

template <class Record>
failure_text read_row(const tables& t, const Record& wanted, std::vector<txn_result>& out) {
  auto row = find(t, wanted);
  if (!row)
    return described(wanted) + " doesn't exist";
  out.push_back({std::move(row), true});
  return std::nullopt;
}

template <class Record>
failure_text run_row(applying& a, catalog_verb verb, const Record& wanted, std::vector<txn_result>& out) {
  const auto known = find_to_write(a.t, wanted);
  const auto current = known ? known->modify_index : log_index{};
  switch (verb) {
  case catalog_verb::get:
    return read_row(a.t, wanted, out);
  case catalog_verb::cas:
    if (!index_matches(wanted.modify_index, known != nullptr, current))
      return "failed to set " + described(wanted) + ", index is stale";
    [[fallthrough]];
  case catalog_verb::set:
    if (auto why = ensure(a, wanted))
      return why;
    if (auto row = find(a.t, wanted))
      out.push_back({std::move(row), true});
    return std::nullopt;
  case catalog_verb::remove_cas:
    if (!known || wanted.modify_index != current)
      return "failed to delete " + described(wanted) + ", index is stale";
    [[fallthrough]];
  case catalog_verb::remove:
    remove(a, wanted);
    return std::nullopt;
  }
  return std::nullopt;
}

failure_text run(running& txn, const node_op& op) {
  return run_row(txn.a, op.verb, op.node, txn.out);
}
failure_text run(running& txn, const service_op& op) {
  return run_row(txn.a, op.verb, op.service, txn.out);
}
failure_text run(running& txn, const check_op& op) {
  return run_row(txn.a, op.verb, op.check, txn.out);
}
failure_text run(running& txn, const fence_op& op) {
  txn.fences.push_back(op.fence);
  return is_valid(txn.a.t, op.fence) || MUTANT(check_fence_ignored) ? std::nullopt
                                                                    : failure_text(invalid_fence_text(op.fence));
}

failure_text read(const tables& t, const fence_op& op, std::vector<txn_result>&) {
  return is_valid(t, op.fence) ? std::nullopt : failure_text(invalid_fence_text(op.fence));
}
failure_text early_error(const tables&, const fence_op& op, cluster_time) {
  return op.fence.of.name.empty() ? failure_text("Must provide the name of a claim or lock") : std::nullopt;
}

/// Of a tree with more keys than a transaction may read, one key too many.
failure_text read(const tables& t, const kv_op& op, std::vector<txn_result>& out) {
  if (op.verb != kv_verb::get_tree)
    return read_key(t, op, out);
  const auto& rows = t.kv.rows();
  const auto end = out.size() + txn_answer_rows_max + 1;
  for (auto at = rows.lower_bound(op.key); at != rows.end() && starts_with(at->key(), op.key) && out.size() < end; ++at)
    out.push_back({at->value.row, true});
  return std::nullopt;
}
failure_text read(const tables& t, const node_op& op, std::vector<txn_result>& out) {
  return read_row(t, op.node, out);
}
failure_text read(const tables& t, const service_op& op, std::vector<txn_result>& out) {
  return read_row(t, op.service, out);
}
failure_text read(const tables& t, const check_op& op, std::vector<txn_result>& out) {
  return read_row(t, op.check, out);
}

failure_text early_error(const tables& t, const kv_op& op, cluster_time now) {
  if (op.key.empty() && op.verb != kv_verb::remove_tree)
    return "Must provide key";
  if (op.verb == kv_verb::lock && t.delays.blocked_until(op.key, now))
    return lock_delay_text(op);
  return std::nullopt;
}
failure_text early_error(const tables&, const node_op& op, cluster_time) {
  return op.verb == catalog_verb::get ? std::nullopt : node_error(op.node);
}
failure_text early_error(const tables&, const service_op& op, cluster_time) {
  return op.verb == catalog_verb::get ? std::nullopt : service_error(op.service);
}
failure_text early_error(const tables&, const check_op&, cluster_time) {
  return std::nullopt;
}

} // namespace

std::vector<txn_error> early_errors(const tables& t, const txn& c, cluster_time now) {
  std::vector<txn_error> errors;
  for (std::size_t i = 0; i < c.ops.size(); ++i)
    if (auto why = std::visit([&](const auto& op) { return early_error(t, op, now); }, c.ops[i]))
      errors.push_back({i, std::move(*why)});
  return errors;
}

txn_reply run_transaction(applying& a, const txn& c) {
  txn_reply answer;
  answer.errors = early_errors(a.t, c, a.now);
  if (!answer.errors.empty())
    return answer;
  const auto effects_before = a.changed.size();
  a.t.log.start_recording();
  running txn{a, answer.results};
  for (std::size_t i = 0; i < c.ops.size(); ++i)
    if (auto why = std::visit([&](const auto& op) { return run(txn, op); }, c.ops[i]))
      answer.errors.push_back({i, std::move(*why)});
  INVARIANT(a.t.log.recording());
  INVARIANT(effects_before <= a.changed.size()); // effects are only appended
  const bool failed = !answer.errors.empty() || (a.keeps_answer && is_too_large(answer));
  if (failed && !MUTANT(txn_not_rolled_back))
    a.t.undo();
  a.t.log.discard_recording();
  if (!failed)
    return answer;
  PROBE("kv: transaction rolled back");
  a.changed.erase(a.changed.begin() + static_cast<std::ptrdiff_t>(effects_before), a.changed.end());
  if (!answer.errors.empty())
    answer.results.clear();
  return answer;
}

bool reads_trees(const txn& c) {
  return std::any_of(c.ops.begin(), c.ops.end(), [](const txn_op& each) {
    const auto* op = std::get_if<kv_op>(&each);
    return op != nullptr && op->verb == kv_verb::get_tree;
  });
}

std::optional<refusal> refused_for_reads(const tables& t, const txn& c) {
  std::size_t rows = 0, bytes = 0;
  for (const auto& each : c.ops) {
    if (!only_reads(each))
      continue;
    std::vector<txn_result> found;
    (void)std::visit([&](const auto& op) { return read(t, op, found); }, each); // apply() decides on errors
    rows += found.size();
    for (const auto& row : found)
      bytes += shown_bytes(row);
    if (auto why = refused_txn_size(rows, bytes))
      return refusal{std::move(*why)};
  }
  return std::nullopt;
}

std::variant<txn_reply, refusal> read_transaction(const tables& t, const txn& c) {
  txn_reply answer;
  answer.errors = early_errors(t, c, {});
  if (!answer.errors.empty())
    return answer;
  for (std::size_t i = 0; i < c.ops.size(); ++i) {
    failure_text why = only_reads(c.ops[i])
                           ? std::visit([&](const auto& op) { return read(t, op, answer.results); }, c.ops[i])
                           : failure_text("not a read");
    if (why)
      answer.errors.push_back({i, std::move(*why)});
    if (auto too_many = refused_txn_size(answer.results.size(), 0))
      return refusal{std::move(*too_many)};
  }
  if (!answer.errors.empty())
    answer.results.clear();
  return answer;
}

} // namespace belay::state
