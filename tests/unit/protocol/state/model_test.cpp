// Compares the machine with a second implementation that shares no code and no data structure with
// it. That one has plain maps, copied for every transaction, scanned for every query.

#include "protocol/base/random.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>

using namespace belay;
using namespace belay::state;

namespace {

class model {
public:
  struct entry {
    std::string value, holder;
    std::uint64_t flags = 0, lock_index = 0, created = 0, modified = 0;
    bool operator==(const entry&) const = default;
  };
  struct session {
    bool remove = false;
    std::uint64_t delay_ms = 0;
  };

  std::map<std::string, entry> keys;
  std::map<std::string, std::uint64_t> buried; // tombstones
  std::map<std::string, std::uint64_t> trees;  // recursive deletes, by prefix
  std::map<std::string, session> sessions;
  std::map<std::string, std::uint64_t> blocked; // lock delays
  std::uint64_t any_change = 0, emptied = 0;

  /// "yes", "no" or an error text.
  std::string run(const kv_op& op, std::uint64_t index, std::uint64_t now) {
    auto at = keys.find(op.key);
    const bool exists = at != keys.end();
    const std::uint64_t current = exists ? at->second.modified : 0;
    switch (op.verb) {
    case kv_verb::cas:
      if (op.index.value != current)
        return "no";
      [[fallthrough]];
    case kv_verb::set:
      write(op, index, 0, exists ? at->second.holder : "");
      return "yes";
    case kv_verb::lock: {
      if (blocked.count(op.key) != 0 && blocked[op.key] > now)
        return "no";
      if (sessions.count(op.session) == 0)
        return "invalid session \"" + op.session + "\"";
      if (exists && !at->second.holder.empty() && at->second.holder != op.session)
        return "no";
      const bool again = exists && at->second.holder == op.session;
      write(op, index, (exists ? at->second.lock_index : 0) + (again ? 0 : 1), op.session);
      return "yes";
    }
    case kv_verb::unlock:
      if (!exists || at->second.holder != op.session)
        return "no";
      write(op, index, at->second.lock_index, "");
      return "yes";
    case kv_verb::remove_cas:
      if (exists && op.index.value != current)
        return "no";
      [[fallthrough]];
    case kv_verb::remove:
      if (exists)
        bury(op.key, index);
      return "yes";
    case kv_verb::remove_tree: {
      std::set<std::string> gone;
      for (const auto& [key, e] : keys)
        if (key.rfind(op.key, 0) == 0)
          gone.insert(key);
      for (const auto& key : gone)
        keys.erase(key);
      if (gone.empty())
        return "yes";
      any_change = index;
      if (op.key.empty())
        emptied = index;
      else
        buried[op.key] = trees[op.key] = index;
      return "yes";
    }
    default:
      return "?";
    }
  }

  void end(const std::string& id, std::uint64_t index, std::uint64_t now) {
    if (sessions.count(id) == 0)
      return;
    const auto s = sessions[id];
    sessions.erase(id);
    auto copy = keys;
    for (auto& [key, e] : copy) {
      if (e.holder != id)
        continue;
      if (s.remove)
        bury(key, index);
      else {
        keys[key].holder.clear();
        keys[key].modified = any_change = index;
      }
      if (s.delay_ms != 0)
        blocked[key] = now + s.delay_ms;
    }
  }

  void reap(std::uint64_t up_to) {
    for (auto at = buried.begin(); at != buried.end();)
      if (at->second <= up_to) {
        trees.erase(at->first);
        at = buried.erase(at);
      } else
        ++at;
  }

  std::uint64_t prefix_index(const std::string& prefix) const {
    std::uint64_t newest = 0;
    if (!prefix.empty()) {
      for (const auto& [key, e] : keys)
        if (key.rfind(prefix, 0) == 0)
          newest = std::max(newest, e.modified);
      for (const auto& [key, index] : buried)
        if (key.rfind(prefix, 0) == 0)
          newest = std::max(newest, index);
    }
    if (newest == 0)
      return std::max<std::uint64_t>(1, any_change);
    for (const auto& [tree, index] : trees)
      if (tree.size() < prefix.size() && prefix.rfind(tree, 0) == 0)
        newest = std::max(newest, index);
    return std::max(newest, emptied);
  }
  std::uint64_t key_index(const std::string& key) const {
    auto at = keys.find(key);
    return at != keys.end() ? at->second.modified : std::max<std::uint64_t>(1, any_change);
  }

private:
  void write(const kv_op& op, std::uint64_t index, std::uint64_t lock_index, const std::string& holder) {
    entry e{std::string(*op.value), holder, op.flags, lock_index, index, index};
    auto at = keys.find(op.key);
    if (at != keys.end()) {
      auto same = at->second;
      same.created = same.modified = index;
      if (same == e)
        return;
      e.created = at->second.created;
    }
    keys[op.key] = e;
    any_change = index;
  }
  void bury(const std::string& key, std::uint64_t index) {
    keys.erase(key);
    buried[key] = any_change = index;
  }
};

const std::vector<std::string> drawn_keys = {"a", "a/",  "a/1", "a/2",  "a/b/1", "a/b/2",
                                             "b", "b/1", "ab",  "\xff", "\xff/1"};

kv_op random_op(seeded_random& random, const model& m) {
  constexpr kv_verb verbs[] = {kv_verb::set,        kv_verb::set,    kv_verb::set,    kv_verb::cas,
                               kv_verb::cas,        kv_verb::lock,   kv_verb::lock,   kv_verb::lock,
                               kv_verb::unlock,     kv_verb::unlock, kv_verb::remove, kv_verb::remove_cas,
                               kv_verb::remove_tree};
  kv_op op;
  op.verb = verbs[random.below(std::size(verbs))];
  op.key = drawn_keys[random.below(drawn_keys.size())];
  if (op.verb == kv_verb::remove_tree && random.below(10) == 0)
    op.key.clear();
  op.value = make_payload(std::string(random.below(3), 'x'));
  op.flags = random.below(2);
  op.session = uuid(static_cast<int>(random.below(5)));
  auto at = m.keys.find(op.key);
  op.index = log_index{random.below(3) == 0 || at == m.keys.end() ? random.below(3) : at->second.modified};
  return op;
}

std::string shown(const reply& r) {
  if (auto* yes = std::get_if<bool>(&r))
    return *yes ? "yes" : "no";
  if (auto* why = std::get_if<refusal>(&r))
    return why->text;
  return "?";
}

void compare(const driver& d, const model& m) {
  CHECK(d.m.key_count() == m.keys.size());
  const auto all = std::get<kv_entries>(d.m.evaluate(kv_list{""}).data).entries;
  REQUIRE(all.size() == m.keys.size());
  std::size_t i = 0;
  for (const auto& [key, e] : m.keys) {
    const auto got = *all[i++];
    CHECK(got.key == key);
    CHECK(model::entry{std::string(*got.value), std::string(got.session), got.flags, got.lock_index,
                       got.create_index.value, got.modify_index.value} == e);
  }
  for (const auto& name : drawn_keys) {
    CHECK(d.m.index_of(kv_get{name}).value == m.key_index(name));
    CHECK(d.m.index_of(kv_list{name}).value == m.prefix_index(name));
    CHECK(d.m.evaluate(kv_keys{name, "/"}).index.value == m.prefix_index(name));
    auto until = d.m.locked_out_until(name);
    auto at = m.blocked.find(name);
    const bool expected = at != m.blocked.end() && at->second > d.now.value;
    CHECK(until.has_value() == expected);
    if (until && expected)
      CHECK(until->value == at->second);
  }
  CHECK(d.m.index_of(kv_list{""}).value == m.prefix_index(""));
  CHECK(d.m.digest() == d.m.recompute_digest());
}

} // namespace

TEST_CASE("random commands: replies, rows, indexes and lock delays equal those of a plain model") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed);
    seeded_random random(seed);
    driver d;
    model m;
    d.add_node("n");
    for (int step = 0; step < 500; ++step) {
      INFO("step " << step);
      d.pass(random.below(300));
      const auto index = d.index().value + 1;
      const auto choice = random.below(20);
      if (choice == 0) {
        const int n = static_cast<int>(random.below(5));
        if (m.sessions.count(uuid(n)) == 0) {
          const bool remove = random.below(2) == 0;
          const auto delay = random.below(3) * 700;
          d.open(n, static_cast<std::int64_t>(delay), remove ? session_behavior::remove : session_behavior::release);
          m.sessions[uuid(n)] = {remove, delay};
        }
      } else if (choice == 1) {
        const auto id = uuid(static_cast<int>(random.below(5)));
        d.close(id);
        m.end(id, index, d.now.value);
      } else if (choice == 2) {
        const auto up_to = random.below(index);
        d.apply(tombstone_reap{log_index{up_to}});
        m.reap(up_to);
      } else if (choice < 8) {
        txn t;
        model trial = m;
        std::vector<std::size_t> failed, early;
        const auto n = 1 + random.below(6);
        for (std::size_t i = 0; i < n; ++i) {
          const auto op = random_op(random, m);
          t.ops.push_back(op);
          if (op.key.empty() && op.verb != kv_verb::remove_tree)
            early.push_back(i);
          if (op.verb == kv_verb::lock && m.blocked.count(op.key) != 0 && m.blocked[op.key] > d.now.value)
            early.push_back(i);
          if (trial.run(op, index, d.now.value) != "yes")
            failed.push_back(i);
        }
        const auto r = std::get<txn_reply>(d.apply(t));
        std::vector<std::size_t> got;
        for (const auto& e : r.errors)
          got.push_back(e.op_index);
        CHECK(got == (early.empty() ? failed : early));
        if (got.empty())
          m = trial;
      } else {
        const auto op = random_op(random, m);
        CHECK(shown(d.apply(kv_write{op})) == m.run(op, index, d.now.value));
      }
      compare(d, m);
    }
  }
}
