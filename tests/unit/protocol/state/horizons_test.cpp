// A condition holds until a time, or up to an index, and ends there. Random runs do not hit such a
// horizon exactly, and a `<` in place of a `<=` stays unnoticed until a client is exactly there.
// Each is hit here: one before, at, and one after.

#include "protocol/state/restore/staging.hpp"
#include "tests/unit/protocol/state/claims/claims_driver.hpp"
#include "tests/unit/protocol/state/command_generator.hpp"

#include <catch2/catch.hpp>

#include <functional>

using namespace belay;
using namespace belay::state;

namespace {

/// A condition that holds until some cluster time.
struct horizon {
  const char* name;
  /// Makes the condition true. @returns for how many milliseconds it holds
  std::function<std::uint64_t(claims_driver&)> begin;
  /// Evaluated once, by an entry at that time.
  std::function<bool(claims_driver&)> holds;
};

command once(const claims_driver& d, const std::string& key, cluster_time requested) {
  command c = kv_write{op_on(kv_verb::set, "k" + to_string(d.index()), "v")};
  c.once = once_request{key, {1, 2}, requested};
  return c;
}

/// The session is on its own node, and has that delay.
std::string session_with_delay(claims_driver& d, int n) {
  return d.open(n, 2'000);
}

const std::vector<horizon>& horizons() {
  static const std::vector<horizon> all{
      {"a lock delay",
       [](claims_driver& d) {
         const auto s = session_with_delay(d, 1);
         d.open(2);
         REQUIRE(d.acquire("k", s));
         d.close(s);
         return std::uint64_t{2'000};
       },
       [](claims_driver& d) { return !d.acquire("k", uuid(2)); }},
      {"the delay of a claim",
       [](claims_driver& d) {
         const auto s = session_with_delay(d, 1);
         d.open(2);
         REQUIRE(d.asks("c", s, "a") == "held");
         d.close(s);
         return std::uint64_t{2'000};
       },
       [](claims_driver& d) { return d.asks("c", uuid(2), "b") != "held"; }},
      {"a wait for a claim",
       [](claims_driver& d) {
         REQUIRE(d.asks("c", d.open(1), "a") == "held");
         REQUIRE(d.asks("c", d.open(2), "b", [](claim_ask& c) { c.deadline_ms = 700; }) == "waiting 1");
         return std::uint64_t{700};
       },
       [](claims_driver& d) {
         d.drops("c", "a");
         return d.holders("c") == std::vector<std::string>{"b"};
       }},
      {"a wait for a lock",
       [](claims_driver& d) {
         REQUIRE(d.acquire("k", d.open(1)));
         REQUIRE(d.queues("k", d.open(2), 700) == "waiting 1");
         return std::uint64_t{700};
       },
       [](claims_driver& d) {
         d.release("k", uuid(1));
         const auto entry = d.get("k");
         return entry && entry->session == uuid(2);
       }},
      {"the id of a claim that has ended",
       [](claims_driver& d) {
         d.asks("c", d.open(1), "a");
         d.drops("c", "a");
         return std::uint64_t{claim_end_ms};
       },
       [](claims_driver& d) { return d.asks("c", uuid(1), "a") != "held"; }},
      {"the outcome of a write",
       [](claims_driver& d) {
         d.apply(once(d, "o", d.now));
         return std::uint64_t{outcome_kept_ms};
       },
       [](claims_driver& d) { return !d.apply(once(d, "o", d.now)).decided_at.is_zero(); }},
      {"a copy of a write that is under way", [](claims_driver&) { return std::uint64_t{copy_accepted_ms}; },
       [](claims_driver& d) {
         const cluster_time requested{1'000}; // when the story began
         return std::holds_alternative<bool>(d.apply(once(d, "late", requested)));
       }},
      {"a token",
       [](claims_driver& d) {
         d.apply(acl_initialize{"master", uuid(99), 1});
         acl_token_set c;
         c.token.accessor = uuid(50);
         c.token.secret = uuid(51);
         c.fresh = true;
         c.lives_ns = 90'000'000'000;
         REQUIRE(d.refused(d.apply(c)) == "");
         return std::uint64_t{90'000};
       },
       [](claims_driver& d) {
         d.apply(claims_alarm{d.now});
         return command_generator::has_row(d.m, table::acl_tokens, uuid(50));
       }},
      {"a restore with which nobody goes on",
       [](claims_driver& d) {
         d.apply(restore_begin{"r", log_index{1}});
         return staging::idle_ms_max + 1;
       },
       [](claims_driver& d) {
         const auto rows = std::make_shared<const std::vector<dirty_row>>();
         return d.refused(d.apply(restore_rows{"r", 0, rows})).empty();
       }},
      {"a restore that another one may not replace",
       [](claims_driver& d) {
         d.apply(restore_begin{"r", log_index{1}});
         return staging::fresh_ms_max + 1;
       },
       [](claims_driver& d) {
         return d.m.refuse_early(restore_begin{"s", log_index{1}}, d.now).has_value();
       }},
  };
  return all;
}

} // namespace

TEST_CASE("a record valid until a time is valid just before it, and not at it", "[horizons]") {
  for (const auto& each : horizons())
    for (const std::int64_t distance : {-1, 0, 1}) {
      INFO(each.name << ", " << distance << " ms from its end");
      claims_driver d;
      const auto length = each.begin(d);
      d.pass(static_cast<std::uint64_t>(static_cast<std::int64_t>(length) + distance));
      CHECK(each.holds(d) == (distance < 0));
    }
}

// A client that has not seen the deletion one entry above the horizon would never get it.
TEST_CASE("tombstones are reaped up to an index and no further, whichever indexes exist", "[horizons]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    command_generator generator(seed, false);
    driver d;
    for (int i = 0; i < 60; ++i)
      switch (generator.below(4)) {
      case 0:
        d.remove(generator.key());
        break;
      case 1:
        d.remove_tree(generator.prefix());
        break;
      default:
        d.set(generator.key());
      }
    const log_index up_to{1 + generator.below(d.index().value)};
    std::vector<std::string> right, there;
    const auto note = [&](std::vector<std::string>& list, bool all) {
      for (const auto& row : d.m.all_rows())
        if (const auto* t = std::get_if<tombstone>(&row.row); t != nullptr && (all || t->index > up_to))
          list.push_back(t->key);
    };
    note(right, false);
    d.apply(tombstone_reap{up_to});
    note(there, true);
    CHECK(there == right);
  }
}

TEST_CASE("bounded tables hold as much as the bound, and no more", "[horizons]") {
  claims_driver d;
  const auto s = d.open(1);
  SECTION("guards") {
    for (std::uint64_t i = 0; i + 1 < guards_max; ++i)
      d.apply(guard_set{"g" + std::to_string(i) + "/", {"c", claim_space::claims}});
    const auto adds = [&](const std::string& prefix) {
      return claims_driver::response(d.apply(guard_set{prefix, {"c", claim_space::claims}}));
    };
    CHECK(adds("last/") == "true");
    CHECK(adds("more/") == "guards-full");
  }
  SECTION("bytes that wait") {
    REQUIRE(d.asks("c", s, "a") == "held");
    CHECK(d.asks("c", d.open(2), "b",
                 [](claim_ask& c) { c.value = make_payload(std::string(claim_value_bytes_max, 'v')); }) == "waiting 1");
    CHECK(d.asks("c", d.open(3), "e", [](claim_ask& c) {
      c.value = make_payload(std::string(claim_value_bytes_max + 1, 'v'));
    }) == "value-size");
  }
  SECTION("operations at the end of a session") {
    for (const std::size_t n : {on_end_ops_max - 1, on_end_ops_max, on_end_ops_max + 1}) {
      session_begin b;
      b.session.id = uuid(100 + static_cast<int>(n));
      b.session.node = "n";
      for (std::size_t i = 0; i < n; ++i)
        b.on_end.push_back(op_on(kv_verb::set, "k" + std::to_string(i), "v"));
      CHECK(d.m.refuse_early(b, d.now).has_value() == (n > on_end_ops_max));
    }
  }
}
