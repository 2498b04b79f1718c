// A claim ends, and a late copy of its request arrives, from a proxy or a retry. If the end were
// forgotten, the copy would take the lock for a session that does not know it. Ends are remembered
// for ten minutes, in a bounded number of bytes; the client with most of them waits.

#include "protocol/state/claims/tables/end_shares.hpp"
#include "protocol/state/command_level.hpp"
#include "tests/unit/protocol/state/claims/claims_driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

namespace {

/// Sends claims and drops like servers that name their clients.
class clients_driver : public claims_driver {
public:
  std::string asks_from(
      const std::string& address, const std::string& name, const std::string& session, const std::string& id = {},
      const change& more = [](claim_ask&) {}) {
    claim_ask a;
    a.name = name;
    a.session = session;
    a.id = id;
    more(a);
    return from(address, a);
  }
  std::string drops_from(const std::string& address, const std::string& name, const std::string& id) {
    return from(address, claim_release{name, id});
  }
  std::string from(const std::string& address, command c) {
    c.client_address = address;
    return response(apply(c));
  }
  /// Claims and ends them, with ids of its own, until one is refused. @returns how many were not
  int fill(const std::string& address, const std::string& session, int most) {
    for (int i = 0; i < most; ++i) {
      const auto id = address + "-" + std::to_string(i);
      if (asks_from(address, "n" + address, session, id) != "held")
        return i;
      REQUIRE(drops_from(address, "n" + address, id) == "true");
    }
    return most;
  }
};

constexpr std::uint64_t of_an_end = 560; // bytes of one end here at most

} // namespace

TEST_CASE("an end is remembered for ten minutes, whatever other clients do") {
  clients_driver d;
  const auto s = d.open(1), other = d.open(2);
  CHECK(d.asks_from("a", "job", s, "victim") == "held");
  CHECK(d.drops_from("a", "job", "victim") == "true");
  for (std::uint64_t i = 0; i <= claim_ends_max; ++i)
    REQUIRE(d.drops_from("b", "o", "x" + std::to_string(i)) == "true");
  CHECK(d.asks_from("a", "job", s, "victim") == "ended released");
  d.pass(claim_end_ms - 1);
  d.alarm();
  CHECK(d.asks_from("a", "job", s, "victim") == "ended released");
  d.pass(1);
  d.alarm();
  CHECK(d.asks_from("a", "job", s, "victim") == "held");
  CHECK(d.sound());
}

TEST_CASE("mutant: claim_end_forgotten_early") {
  clients_driver d;
  const auto s = d.open(1);
  for (std::uint64_t i = 0; i <= claim_ends_max; ++i)
    REQUIRE(d.drops_from("b", "o", "x" + std::to_string(i)) == "true");
  CHECK(detects_mutant("claim_end_forgotten_early", [&] {
    d.drops_from("b", "o", "y" + std::to_string(d.index().value));
    return d.asks_from("a", "o", s, "x0") == "ended withdrawn";
  }));
}

// Entries of servers that do not name their clients are decided as in 0.2.0.
TEST_CASE("ends without a scope are bounded as before, and use no room of others") {
  clients_driver d;
  const auto s = d.open(1);
  CHECK(d.drops("o", "old") == "true");
  CHECK(d.drops_from("a", "o", "new") == "true");
  for (std::uint64_t i = 0; i < claim_ends_max; ++i)
    REQUIRE(d.drops("o", "x" + std::to_string(i)) == "true");
  CHECK(d.m.claims_counted().ends == claim_ends_max + 1);
  CHECK(d.asks("o", s, "new") == "ended withdrawn");
  CHECK(d.asks("o", s, "old") == "held");
}

TEST_CASE("the client with most ends is refused, until its oldest is ten minutes old, and others are not") {
  clients_driver d;
  constexpr int share = 10, all = 60;
  d.m.limit_claim_ends(all * of_an_end, share);
  const auto s = d.open(1), t = d.open(2), u = d.open(3);
  CHECK(d.fill("small", t, 5) == 5);
  d.pass(1000);
  const auto had = d.fill("large", s, all);
  CHECK(had > share);
  CHECK(had < all);
  CHECK(d.asks_from("large", "other", s, "one-more") == "ends-full");
  CHECK(d.drops_from("large", "other", "never-asked-for") == "ends-full");
  CHECK(d.asks_from("large", "nlarge", s, "large-0") == "ended released"); // a known end is reported
  CHECK(d.fill("small", t, 2) == 0);                                       // its ids have ended
  CHECK(d.asks_from("small", "fresh", t, "small-next") == "held");
  CHECK(d.asks_from("third", "x", u, "first") == "held");
  CHECK(d.asks_from("large", "without-id", s) == "held"); // no limit applies here: the session is the id
  d.pass(claim_end_ms - 1001);
  d.alarm();
  CHECK(d.asks_from("large", "other", s, "one-more") == "ends-full");
  d.pass(1001);
  d.alarm();
  CHECK(d.asks_from("large", "other", s, "one-more") == "held");
  CHECK(d.sound());
}

TEST_CASE("claims that are held or wait count for the ends that they will have, and nothing exceeds the bytes") {
  clients_driver d;
  constexpr std::uint64_t bytes = 20 * of_an_end;
  d.m.limit_claim_ends(bytes, 1000); // no scope reaches a share
  const auto s = d.open(1), t = d.open(2);
  int taken = 0;
  while (taken < 100 && d.asks_from("a", "n" + std::to_string(taken), s, "i") == "held")
    ++taken;
  CHECK(taken < 100);
  CHECK(d.m.claims_counted().end_bytes <= bytes);
  CHECK(d.asks_from("b", "m", t) == "ends-full"); // even without an id of its own
  kv_acquire wait;
  wait.op = op_on(kv_verb::lock, "k", "v", 0, t);
  wait.wait_ms = 1000;
  CHECK(d.from("b", wait) == "true"); // it does not wait
  wait.op.session = s;
  CHECK(d.from("b", wait) == "ends-full");
  CHECK(d.asks_from("a", "n0", s, "i") == "held"); // it holds it already
  const auto before = d.m.claims_counted().end_bytes;
  d.close(s);
  CHECK(d.m.claims_counted().ends == static_cast<std::size_t>(taken));
  CHECK(d.m.claims_counted().end_bytes == before);
  d.pass(claim_end_ms);
  d.alarm();
  CHECK(d.m.claims_counted().end_bytes == 0);
  CHECK(d.m.claims_counted().ends == 0);
}

TEST_CASE("a token has its own share, whatever address it uses") {
  clients_driver d;
  const auto s = d.open(1);
  claim_ask a;
  a.name = "n";
  a.session = s;
  a.id = "i";
  command c = a;
  c.client_address = "10.0.0.1";
  c.by = auth_context{std::string(anonymous_secret), true, "dc1"};
  d.apply(c);
  for (const auto& row : d.m.all_rows())
    if (const auto* claim = std::get_if<claim_ptr>(&row.row)) {
      CHECK((*claim)->scope == anonymous_accessor);
      CHECK(level_of(row) == client_address_level);
    }
}

// A share of 250,000 ends with the longest names fits into the half above which shares count.
TEST_CASE("shares fit into the limit") {
  const resource_name longest{std::string(512, 'n'), claim_space::claims};
  CHECK(claim_ends_share * claim_end_bytes(longest, std::string(36, 'i'), std::string(36, 's')) <=
        claim_end_bytes_max / 2);
}

// docs/reference/claims.md, rule 3. An operator raises the limit for a while; workers still fit later.
TEST_CASE("a limit that was set and is unset follows the claims again") {
  clients_driver d;
  const auto s = d.open(1), t = d.open(2), u = d.open(3);
  const auto limited = [](std::uint64_t n, std::uint64_t wanted = 1) { return permits(wanted, n); };
  CHECK(d.asks_from("a", "sem", s, "1", limited(2)) == "held");
  d.apply(claim_limit_set{"sem", 5});
  CHECK(d.asks_from("a", "sem", s, "2", limited(2, 3)) == "held"); // whatever claims say
  CHECK(d.asks_from("a", "sem", t, "3", limited(9, 4)) == "waiting 1");
  CHECK(d.from("a", claim_limit_unset{"sem"}) == "true");
  CHECK(d.view("sem").limit == 5); // until a claim names one
  CHECK(d.asks_from("a", "sem", u, "4", [](claim_ask& c) { c.permits = 1; }) == "waiting 2");
  CHECK(d.asks_from("a", "sem", u, "5", limited(2, 3)) == "parameter permits"); // and a refused one sets none
  CHECK(d.view("sem").limit == 5);
  CHECK(d.asks_from("a", "sem", d.open(4), "7", limited(2)) == "waiting 2");
  CHECK(d.view("sem").limit == 2);
  CHECK(d.ended("sem", "3") == "limit"); // it would have stayed first forever
  CHECK(d.asks_from("a", "sem", d.open(5), "8", limited(5)) == "limit");
  CHECK(d.sound());
}

TEST_CASE("mutant: unpinned_limit_stays") {
  CHECK(detects_mutant("unpinned_limit_stays", [] {
    clients_driver d;
    const auto s = d.open(1), t = d.open(2);
    d.asks_from("a", "sem", s, "1", permits(1, 2));
    d.apply(claim_limit_set{"sem", 5});
    d.from("a", claim_limit_unset{"sem"});
    return d.asks_from("a", "sem", t, "2", permits(1, 2)) == "held";
  }));
}

TEST_CASE("a limit that servers of 0.2.0 unset stays") {
  clients_driver d;
  const auto s = d.open(1), t = d.open(2);
  CHECK(d.asks("sem", s, "1", permits(1, 2)) == "held");
  d.apply(claim_limit_set{"sem", 5});
  d.apply(claim_limit_unset{"sem"});
  CHECK(d.asks_from("a", "sem", t, "2", permits(1, 2)) == "limit");
}
