#include "protocol/base/random.hpp"
#include "protocol/state/machine.hpp"
#include "sim/checkers/kv_model.hpp"
#include "sim/clients/catalog_client.hpp"
#include "sim/record/text_rendering.hpp"
#include "tests/sim/written_log.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>

using namespace belay;
using namespace belay::sim;
using state::kv_verb;

namespace {

struct log_writer {
  kv_model model;
  std::optional<state::reply> last;

  log_writer& operator()(const state::command& c) {
    last = model.apply(entry(model.applied().value + 1, c));
    return *this;
  }
  std::string reply_text() const {
    if (!last)
      return "not judged";
    const auto* b = std::get_if<bool>(&*last);
    return b == nullptr ? "other" : *b ? "true" : "false";
  }
};

log_index i(std::uint64_t v) {
  return log_index{v};
}
std::string exact(index_bounds b) {
  return b.low == b.high ? to_string(b.low) : to_string(b.low) + ".." + to_string(b.high);
}

} // namespace

TEST_CASE("model of keys: answers to writes") {
  log_writer log;
  CHECK(log(set("k", "a")).reply_text() == "true");          // 1
  CHECK(log(cas("k", "b", 0)).reply_text() == "false");      // exists
  CHECK(log(cas("k", "b", 1)).reply_text() == "true");       // 3
  CHECK(log(cas("k", "c", 1)).reply_text() == "false");      // stale
  CHECK(log(cas("none", "c", 3)).reply_text() == "false");   // missing
  CHECK(log(remove_cas("k", 0)).reply_text() == "false");    // exists
  CHECK(log(remove_cas("none", 77)).reply_text() == "true"); // a missing key: docs/internals/pitfalls.md C8
  CHECK(log(remove_cas("k", 3)).reply_text() == "true");     // 8
  CHECK(log(remove_key("k")).reply_text() == "true");        // missing
  CHECK(log(remove_tree("")).reply_text() == "true");
  CHECK(log.model.entry_at("k", i(1))->modify_index == i(1));
  CHECK(log.model.entry_at("k", i(2))->modify_index == i(1));
  CHECK(*log.model.entry_at("k", i(3))->value == "b");
  CHECK(log.model.entry_at("k", i(3))->create_index == i(1));
  CHECK(log.model.entry_at("k", i(7)) != nullptr);
  CHECK(log.model.entry_at("k", i(8)) == nullptr);
  CHECK(log.model.entry_at("k", i(0)) == nullptr);
}

/// The verified sample of the contract, moved to start at entry 1 (its 53).
TEST_CASE("model of keys: indexes of keys and prefixes") {
  log_writer log;
  log(set("p/a", "1"))(set("p/b", "1"))(set("q/a", "1"))(set("q/a", "1"))(remove_key("p/none"))(remove_key("p/b"));
  log(set("q/a", "2"))(remove_key("p/a"))(set("q/a", "3"))(set("p/a", "4"))(remove_tree("p/"));
  const auto key = [&](const char* k, std::uint64_t s) { return exact(log.model.key_index(k, i(s))); };
  const auto prefix = [&](const char* p, std::uint64_t s) { return exact(log.model.prefix_index(p, i(s))); };
  CHECK(key("p/a", 0) == "1"); // never 0
  CHECK(prefix("p/", 0) == "1");
  CHECK(key("p/a", 2) == "1");
  CHECK(prefix("p/", 2) == "2");
  CHECK(key("p/x", 3) == "3");
  CHECK(prefix("p/", 3) == "2");
  CHECK(key("q/a", 4) == "3"); // the same value: nothing moves (docs/internals/pitfalls.md C7)
  CHECK(key("p/x", 5) == "3");
  CHECK(prefix("p/", 6) == "6"); // a tombstone
  CHECK(key("p/b", 6) == "6");
  CHECK(prefix("q/", 6) == "3");
  CHECK(key("p/b", 7) == "7"); // missing: moves with all
  CHECK(prefix("p/", 8) == "8");
  CHECK(prefix("p/", 9) == "8");
  CHECK(prefix("none/", 9) == "9");
  CHECK(prefix("", 9) == "9");
  CHECK(prefix("p/", 11) == "11");
  CHECK(prefix("p/a", 11) == "8..11"); // an older tombstone of its own; a server may do better
}

TEST_CASE("model of keys: reaped tombstones are forgotten, the table's index is not") {
  log_writer log;
  log(set("p/a", "1"))(set("p/b", "1"))(remove_key("p/b"))(set("e/a", "1"))(remove_key("e/a"))(set("z", "1"));
  CHECK(exact(log.model.prefix_index("p/", i(6))) == "3");
  CHECK(exact(log.model.prefix_index("e/", i(6))) == "5");
  log(state::tombstone_reap{i(3)})(state::tombstone_reap{i(5)});
  CHECK(exact(log.model.prefix_index("p/", i(6))) == "3"); // as of then
  CHECK(exact(log.model.prefix_index("p/", i(7))) == "1");
  CHECK(exact(log.model.prefix_index("e/", i(7))) == "5");
  CHECK(exact(log.model.prefix_index("e/", i(8))) == "6"); // nothing left: like the table
  CHECK(exact(log.model.key_index("p/b", i(8))) == "6");
  CHECK(log.model.reaped_between(i(6), i(7)));
  CHECK_FALSE(log.model.reaped_between(i(8), i(9)));
  CHECK_FALSE(log.model.reaped_between(i(1), i(6)));
}

TEST_CASE("model of keys: a transaction has all of its effects or none") {
  log_writer log;
  log(set("a", "1"))(set("b", "1"));
  log(txn(key_op(kv_verb::set, "a", "2"), key_op(kv_verb::remove, "b"), key_op(kv_verb::cas, "c", "3", 99)));
  REQUIRE(log.last);
  const auto failed = std::get<state::txn_reply>(*log.last);
  REQUIRE(failed.errors.size() == 1);
  CHECK(failed.errors[0].op_index == 2);
  CHECK(failed.errors[0].what == "failed to set key \"c\", index is stale");
  CHECK(failed.results.empty());
  CHECK(*log.model.entry_at("a", i(3))->value == "1");
  CHECK(log.model.entry_at("b", i(3)) != nullptr);
  CHECK(exact(log.model.prefix_index("", i(3))) == "2");

  log(txn(key_op(kv_verb::set, "a", "2"), key_op(kv_verb::remove, "b"), key_op(kv_verb::cas, "c", "3")));
  REQUIRE(log.last);
  CHECK(std::get<state::txn_reply>(*log.last).results.size() == 2);
  CHECK(*log.model.entry_at("a", i(4))->value == "2");
  CHECK(log.model.entry_at("b", i(4)) == nullptr);
  CHECK(log.model.entry_at("c", i(4))->modify_index == i(4));
}

TEST_CASE("model of keys: decisions of the catalog are not checked, the rest is") {
  log_writer log;
  log(set("p/a", "1"))(set("p/b", "1"));
  CHECK(log(txn(key_op(kv_verb::set, "p/b", "9"), write_of_node("m"))).reply_text() == "not judged");
  CHECK_FALSE(log.model.doubtful("p/b", i(2)));
  CHECK(log.model.doubtful("p/b", i(3)));
  CHECK_FALSE(log.model.doubtful("p/a", i(3)));
  CHECK(exact(log.model.prefix_index("p/", i(3))) == "1..3");
  CHECK(exact(log.model.prefix_index("p/a", i(3))) == "1");
  CHECK(log.model.entries_at("p/", i(3)).size() == 1);
  CHECK(log(set("p/b", "2")).reply_text() == "true");
  CHECK(log(cas("p/b", "2", 1)).reply_text() == "not judged");
  CHECK(log(cas("p/a", "2", 9)).reply_text() == "false");
}

TEST_CASE("model of keys: a transaction with rows of the catalog has all of its effects or none") {
  const auto service = [](state::catalog_verb verb, std::uint64_t index = 0) {
    state::service_op op;
    op.verb = verb;
    op.service.node = "txn-0";
    op.service.id = "s-0";
    op.service.service = "s";
    op.service.modify_index = i(index);
    return op;
  };
  const auto errors = [](const log_writer& log) {
    std::string text;
    for (const auto& e : std::get<state::txn_reply>(*log.last).errors)
      text += std::to_string(e.op_index) + " " + e.what + "\n";
    return text;
  };
  using verb = state::catalog_verb;
  log_writer log;
  log(txn(service(verb::set)));
  CHECK(errors(log) == "0 Missing node registration\n");
  log(txn(write_of_node("txn-0"), service(verb::set), key_op(kv_verb::cas, "k", "1", 7)));
  CHECK(errors(log) == "2 failed to set key \"k\", index is stale\n");
  log(txn(service(verb::get)));
  CHECK(errors(log) == "0 service \"s-0\" on node \"txn-0\" doesn't exist\n");          // undone with the rejected one
  log(txn(write_of_node("txn-0"), service(verb::cas), key_op(kv_verb::set, "k", "1"))); // 4
  CHECK(errors(log).empty());
  CHECK(std::get<state::txn_reply>(*log.last).results.size() == 3);
  log(txn(key_op(kv_verb::set, "k", "2"), service(verb::remove_cas, 3)));
  CHECK(errors(log) == "1 failed to delete service \"s-0\" on node \"txn-0\", index is stale\n");
  CHECK(*log.model.entry_at("k", i(5))->value == "1");
  log(txn(key_op(kv_verb::set, "k", "2"), service(verb::remove_cas, 4)));
  CHECK(errors(log).empty());
  // Rows of other clients are unknown, as is the rest of the transaction; then also these rows.
  CHECK(log(txn(write_of_node("m"), key_op(kv_verb::set, "k", "3"))).reply_text() == "not judged");
  CHECK(log(txn(service(verb::get))).reply_text() == "not judged");
}

TEST_CASE("model of keys: a restore brings back keys, tombstones and indexes as of its archive") {
  log_writer log;
  log(set("p/a", "1"))(set("p/b", "1"))(remove_key("p/b"))(set("q", "1")); // 4: archive
  log(set("p/a", "2"))(remove_key("q"))(set("new", "1"));                  // 7
  for (const auto& c : restore("r", 4))
    CHECK(log(c).reply_text() == "true"); // 10: in force
  CHECK(*log.model.entry_at("p/a", i(9))->value == "2");
  CHECK(*log.model.entry_at("p/a", i(10))->value == "1");
  CHECK(log.model.entry_at("p/a", i(10))->modify_index == i(1));
  CHECK(log.model.entry_at("q", i(10)) != nullptr);
  CHECK(log.model.entry_at("new", i(10)) == nullptr);
  CHECK(exact(log.model.prefix_index("p/", i(9))) == "5");
  CHECK(exact(log.model.prefix_index("p/", i(10))) == "3");
  CHECK(exact(log.model.prefix_index("", i(10))) == "4");
  CHECK(exact(log.model.key_index("new", i(10))) == "4");
  CHECK(log(cas("q", "2", 6)).reply_text() == "false");
  CHECK(log(cas("q", "2", 4)).reply_text() == "true"); // 12
  CHECK(exact(log.model.prefix_index("", i(12))) == "12");
  CHECK(log.model.restored_between(i(9), i(10)));
  CHECK_FALSE(log.model.restored_between(i(10), i(12)));
  // A reaping since the archive is undone with everything else; one since the restore is not.
  log(state::tombstone_reap{i(3)}); // 13
  CHECK(exact(log.model.prefix_index("p/", i(13))) == "1");
  for (const auto& c : restore("again", 8))
    log(c); // 16: as of 8, before the first restore
  CHECK(exact(log.model.prefix_index("p/", i(16))) == "5");
  CHECK(exact(log.model.prefix_index("q", i(16))) == "6");
  for (const auto& c : restore("third", 12))
    log(c); // 19: as of 12, after the first restore
  CHECK(exact(log.model.prefix_index("p/", i(19))) == "3");
  CHECK(log.model.entry_at("q", i(19))->modify_index == i(12));
}

TEST_CASE("model of keys: rows missing after a restore are reported") {
  log_writer log;
  log(set("a", "1"))(set("a", "2"));
  const auto parts = restore("r", 1);
  CHECK(log(parts[1]).reply_text() == "other"); // rejected: not begun
  CHECK(log(parts[0]).reply_text() == "true");
  CHECK(log(parts[2]).reply_text() == "other"); // no rows
  CHECK(log(parts[1]).reply_text() == "true");
  CHECK(log(parts[1]).reply_text() == "true"); // sent twice
  CHECK(log(parts[0]).reply_text() == "true"); // a late one changes nothing
  CHECK(log(parts[2]).reply_text() == "true");
  CHECK(*log.model.entry_at("a", log.model.applied())->value == "1");
  CHECK(log(set("a", "3"))(parts[2]).reply_text() == "true"); // was done already
  CHECK(*log.model.entry_at("a", log.model.applied())->value == "3");
  log(restore("other", 2)[0])(state::restore_abort{"other"});
  CHECK(log(restore("other", 2)[1]).reply_text() == "other");
}

/// Both are written from the contract, independently: where they differ, one is wrong.
TEST_CASE("model of keys: agrees with the state machine on random logs") {
  seeded_random random(7);
  const char* keys[] = {"a", "p/", "p/a", "p/b", "p/a/x", "p/a/y", "q/a"};
  const char* prefixes[] = {"", "p", "p/", "p/a", "p/a/", "q/", "none"};
  const auto id_of = [](std::uint64_t n) { return std::to_string(n) + "0000000-0000-4000-8000-000000000000"; };
  for (int round = 0; round < 60; ++round) {
    state::machine machine;
    kv_model model;
    state::effects changed;
    std::vector<std::pair<std::vector<state::dirty_row>, log_index>> archives;
    std::string sent_so_far;
    std::deque<state::command> restoring; // commands of one archive that are not in the log yet
    catalog_client catalog;
    const auto some_key = [&] { return std::string(keys[random.below(std::size(keys))]); };
    const auto some_op = [&]() -> state::kv_op {
      const auto key = some_key();
      const auto old = model.entry_at(key, model.applied());
      const auto index = random.below(3) == 0 || !old ? random.below(3) : old->modify_index.value;
      const auto value = std::to_string(random.below(3));
      switch (random.below(15)) {
      case 12:
      case 13:
      case 14: {
        auto op = key_op(random.below(3) == 0 ? kv_verb::unlock : kv_verb::lock, key, value);
        op.session = random.below(20) == 0 ? "short" : random.below(20) == 0 ? "" : id_of(random.below(4));
        return op;
      }
      case 0:
        return key_op(kv_verb::cas, key, value, index);
      case 1:
        return key_op(kv_verb::remove, key);
      case 2:
        return key_op(kv_verb::remove_cas, key, "", index);
      case 3:
        return key_op(kv_verb::remove_tree, random.below(6) == 0 ? "" : prefixes[1 + random.below(6)]);
      default:
        return key_op(kv_verb::set, key, value);
      }
    };
    const auto of_sessions = [&]() -> state::command {
      switch (random.below(6)) {
      case 0: {
        const std::vector<std::string> ids{id_of(random.below(4)), id_of(random.below(4))};
        if (random.below(2) == 0)
          return state::session_expire{ids, random.below(3) == 0 ? log_index{} : machine.restored_at()};
        return state::session_destroy{ids, "destroyed"};
      }
      case 1: {
        state::catalog_register r;
        r.node.node = "m" + std::to_string(random.below(2));
        r.node.address = "10.0.0.1";
        state::check_record check;
        check.node = r.node.node;
        check.check_id = check.name = "alive";
        check.status = random.below(3) == 0 ? "critical" : "passing";
        r.checks.push_back(check);
        return r;
      }
      case 2:
        return state::catalog_deregister{
            "m" + std::to_string(random.below(2)), {}, random.below(2) == 0 ? "alive" : ""};
      default: {
        // Ids are never used twice for different sessions.
        const auto number = random.below(4);
        state::session_create c;
        c.session.id = id_of(number);
        c.session.node = "m" + std::to_string(number % 2);
        c.session.lock_delay_ns = static_cast<std::int64_t>(number) * 3'500'000;
        c.session.behavior = static_cast<state::session_behavior>(number / 2);
        if (number % 3 == 0)
          c.session.node_checks = {"alive"};
        return c;
      }
      }
    };
    const auto some_read = [&]() -> state::kv_op {
      constexpr kv_verb reads[] = {kv_verb::get, kv_verb::get_tree, kv_verb::check_index, kv_verb::check_not_exists,
                                   kv_verb::check_session};
      return key_op(reads[random.below(5)], some_key(), "", random.below(20));
    };
    for (std::uint64_t n = 1; n <= 100; ++n) {
      state::command c = state::kv_write{some_op()};
      if (random.below(8) == 0) {
        archives.emplace_back(machine.all_rows(), machine.applied_index());
        std::erase_if(archives.back().first, [](const auto& r) { return r.table == state::table::staging; });
      } else if (random.below(12) == 0 && !archives.empty() && restoring.empty()) {
        const auto& [rows, index] = archives[random.below(archives.size())];
        const auto id = "of " + std::to_string(n);
        restoring = {state::restore_begin{id, index},
                     state::restore_rows{id, 0, std::make_shared<const std::vector<state::dirty_row>>(rows)},
                     state::restore_commit{id, 1}};
      }
      if (!restoring.empty() && random.below(3) != 0) {
        c = restoring.front();
        restoring.pop_front();
      } else if (random.below(4) == 0) {
        state::txn t;
        for (auto count = 1 + random.below(4); count > 0; --count)
          t.ops.push_back(random.below(4) == 0 ? some_read() : some_op());
        if (random.below(2) == 0) {
          const auto of_catalog = catalog.next(random.below(UINT64_MAX), n);
          t.ops.insert(random.below(2) == 0 ? t.ops.begin() : t.ops.end(), of_catalog.ops.begin(),
                       of_catalog.ops.end());
        }
        c = t;
      } else if (random.below(4) == 0) {
        c = of_sessions();
      } else if (random.below(15) == 0) {
        c = state::tombstone_reap{i(random.below(n))};
      }
      const auto right = machine.apply(i(n), cluster_time{n}, c, changed);
      const auto answer = model.apply(entry(n, c));
      operation received;
      received.write = c;
      received.reply = right;
      catalog.learn(received);
      sent_so_far += to_string(i(n)) + " " + rendered(c) + "\n";
      INFO("round " << round << "\n" << sent_so_far);
      if (!std::holds_alternative<state::tombstone_reap>(c)) {
        REQUIRE(answer);
        REQUIRE(same_reply(*answer, right));
      }
      for (std::uint64_t each = 0; each < 4; ++each) {
        const auto received = machine.evaluate(state::session_info{id_of(each)});
        REQUIRE(std::get<state::sessions>(received.data).list.size() ==
                (model.sessions().lived_at(id_of(each), i(n)) ? 1 : 0));
        REQUIRE(received.index == model.session_index(i(n)));
      }
      for (const auto* key : keys) {
        INFO("key " << key);
        const auto received = machine.evaluate(state::kv_get{key});
        REQUIRE(model.key_index(key, i(n)).contains(received.index));
        const auto& entries = std::get<state::kv_entries>(received.data).entries;
        const auto mine = model.entry_at(key, i(n));
        REQUIRE(entries.empty() == (mine == nullptr));
        if (mine)
          REQUIRE(same_entry(*entries.front(), *mine));
      }
      for (const auto* prefix : prefixes) {
        INFO("prefix " << prefix);
        const auto received = machine.evaluate(state::kv_list{prefix});
        const auto bounds = model.prefix_index(prefix, i(n));
        INFO(exact(bounds) << " told " << to_string(received.index));
        REQUIRE(bounds.contains(received.index));
        const auto& entries = std::get<state::kv_entries>(received.data).entries;
        const auto mine = model.entries_at(prefix, i(n));
        REQUIRE(std::equal(entries.begin(), entries.end(), mine.begin(), mine.end(),
                           [](const auto& a, const auto& b) { return same_entry(*a, *b); }));
      }
    }
  }
}
