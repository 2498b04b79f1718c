#pragma once
// A state machine driven by a test: every call is one entry, one index, and a time of the cluster.

#include "protocol/state/machine.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace belay::state {

inline std::string uuid(int n) {
  auto digits = std::to_string(n);
  return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

inline kv_op op_on(kv_verb verb, const std::string& key, const std::string& value = "v", std::uint64_t at = 0,
                   const std::string& session = {}) {
  kv_op op;
  op.verb = verb;
  op.key = key;
  op.value = make_payload(value);
  op.index = log_index{at};
  op.session = session;
  return op;
}

class driver {
public:
  machine m;
  effects changed; ///< effects of the newest entry
  cluster_time now{1000};

  log_index index() const { return m.applied_index(); }
  void pass(std::uint64_t ms) { now.value += ms; }

  /// Null: there is none.
  session_ptr session(const std::string& id) const {
    const auto answer = m.evaluate(session_info{id});
    const auto* found = std::get_if<sessions>(&answer.data);
    return found == nullptr || found->list.empty() ? nullptr : found->list.front();
  }

  reply apply(const command& c) {
    changed.clear();
    auto answer = m.apply(m.applied_index().next(), now, c, changed);
    // Recounts after each of the first entries, then ever less often: it costs as many rows.
    if (++applied_ < 64 || (applied_ & (applied_ - 1)) == 0)
      if (const auto wrong = m.recount())
        throw std::logic_error("after entry " + std::to_string(index().value) + ": " + *wrong);
    return answer;
  }

  reply write(kv_verb verb, const std::string& key, const std::string& value = {}, std::uint64_t flags = 0,
              std::uint64_t at = 0, const std::string& session = {}) {
    auto op = op_on(verb, key, value, at, session);
    op.flags = flags;
    return apply(kv_write{std::move(op)});
  }
  bool set(const std::string& key, const std::string& value = "v", std::uint64_t flags = 0) {
    return std::get<bool>(write(kv_verb::set, key, value, flags));
  }
  bool cas(const std::string& key, log_index at, const std::string& value = "v") {
    return std::get<bool>(write(kv_verb::cas, key, value, 0, at.value));
  }
  bool remove(const std::string& key) { return std::get<bool>(write(kv_verb::remove, key)); }
  bool remove_cas(const std::string& key, log_index at) {
    return std::get<bool>(write(kv_verb::remove_cas, key, {}, 0, at.value));
  }
  bool remove_tree(const std::string& prefix) { return std::get<bool>(write(kv_verb::remove_tree, prefix)); }
  bool acquire(const std::string& key, const std::string& session, const std::string& value = "v") {
    return std::get<bool>(write(kv_verb::lock, key, value, 0, 0, session));
  }
  bool release(const std::string& key, const std::string& session, const std::string& value = "v") {
    return std::get<bool>(write(kv_verb::unlock, key, value, 0, 0, session));
  }

  reply add_node(const std::string& name) {
    catalog_register r;
    r.node.node = name;
    r.node.address = "10.0.0.1";
    return apply(r);
  }
  reply add_check(const std::string& node, const std::string& id, const std::string& status,
                  const std::string& service_id = {}) {
    catalog_register r;
    r.node.node = node;
    r.node.address = "10.0.0.1";
    check_record c;
    c.node = node;
    c.check_id = id;
    c.name = id;
    c.status = status;
    c.service_id = service_id;
    r.checks.push_back(c);
    return apply(r);
  }
  reply add_service(const std::string& node, const std::string& id, const std::string& service,
                    std::vector<std::string> tags = {}, std::int64_t port = 80) {
    catalog_register r;
    r.node.node = node;
    r.node.address = "10.0.0.1";
    service_record s;
    s.id = id;
    s.service = service;
    s.tags = std::move(tags);
    s.port = port;
    r.service = s;
    return apply(r);
  }
  reply drop(const std::string& node, const std::string& service_id = {}, const std::string& check_id = {}) {
    return apply(catalog_deregister{node, service_id, check_id});
  }

  /// On node "n", which is created if needed.
  std::string open(int n, std::int64_t lock_delay_ms = 0, session_behavior behavior = session_behavior::release) {
    if (!node_known("n"))
      add_node("n");
    session_create c;
    c.session.id = uuid(n);
    c.session.node = "n";
    c.session.lock_delay_ns = lock_delay_ms * 1'000'000;
    c.session.behavior = behavior;
    return std::get<std::string>(apply(c));
  }
  void close(const std::string& id) { apply(session_destroy{{id}, "destroyed"}); }

  bool node_known(const std::string& name) const {
    return std::get<node_services>(m.evaluate(catalog_node{name}).data).node != nullptr;
  }
  kv_entry_ptr get(const std::string& key) const {
    auto found = std::get<kv_entries>(m.evaluate(kv_get{key}).data).entries;
    return found.empty() ? nullptr : found.front();
  }
  std::vector<std::string> keys(const std::string& prefix, const std::string& separator = {}) const {
    return std::get<key_names>(m.evaluate(kv_keys{prefix, separator}).data).keys;
  }
  std::uint64_t key_index(const std::string& key) const { return m.evaluate(kv_get{key}).index.value; }
  std::uint64_t prefix_index(const std::string& prefix) const { return m.evaluate(kv_list{prefix}).index.value; }
  std::string refused(const reply& r) const {
    auto* why = std::get_if<refusal>(&r);
    return why ? why->text : std::string();
  }

private:
  std::uint64_t applied_ = 0;
};

/// The content of an archive: all rows except those of a restore in progress.
struct archive {
  std::vector<dirty_row> rows;
  log_index index;
};

inline archive save(const machine& m) {
  archive a{m.all_rows(), m.applied_index()};
  std::erase_if(a.rows, [](const dirty_row& r) { return r.table == table::staging; });
  return a;
}

} // namespace belay::state
