// An archive comes from another cluster: its clock is a year ahead or behind, its log is longer,
// its tokens, sessions and claims are its own. If the restore kept them unchanged, deadlines might
// never pass, or indexes never be reached. Here an archive of anything is restored and used.

#include "tests/harness/members.hpp"
#include "tests/unit/protocol/state/command_generator.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

using namespace belay;
using namespace belay::state;

namespace {

constexpr std::uint64_t second_ms = 1000, year_ms = 365ULL * 24 * 3600 * second_ms;
/// Waits of command_generator are shorter.
constexpr std::uint64_t longest_wait_ms = 4 * second_ms, longest_delay_ms = 60 * second_ms;
/// Tokens of command_generator.
constexpr std::uint64_t longest_token_ms = 2 * 3600 * second_ms;

/// How far a time in a row of that table may be in the future. Zero: not at all.
std::uint64_t longest_ms(table t) {
  switch (t) {
  case table::claims:
    return longest_wait_ms;
  case table::claim_ghosts:
  case table::lock_delays:
    return longest_delay_ms;
  case table::claim_ends:
    return claim_end_ms;
  case table::outcomes:
    return outcome_kept_ms;
  case table::acl_tokens:
    return longest_token_ms;
  default:
    return 0;
  }
}

/// Visits every time and index in a row, found by the compiler, so that new members are included.
struct looks_at_row {
  const driver& d;
  const dirty_row& row;

  void operator()(const cluster_time& t) const { CHECK(t.value <= d.now.value + longest_ms(row.table)); }
  /// Guards keep their archive's index (a bug that 0.2.0 has, too): it is only displayed.
  void operator()(const log_index& i) const { CHECK((row.table == table::guards || i <= d.index())); }
  template <class T>
  void operator()(const T& v) const {
    if constexpr (std::is_same_v<T, restore_head>) // an index of the archive, which it describes
      (*this)(v.touched);
    else if constexpr (listed<T>)
      std::apply([&](const auto&... each) { ((*this)(each), ...); }, harness::members_of(v));
  }
};

void look_at_rows(const driver& d) {
  for (const auto& row : d.m.all_rows()) {
    INFO("table " << name_of(row.table) << ", row " << row.key);
    std::visit(
        [&](const auto& each) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(each)>, std::monostate>)
            looks_at_row{d, row}(record_of(each));
        },
        static_cast<const row_value::plain&>(row.row));
  }
  CHECK(d.m.recount() == std::nullopt);
  CHECK(d.m.digest() == d.m.recompute_digest());
}

std::size_t rows_of(const driver& d, table t) {
  const auto rows = d.m.all_rows();
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const dirty_row& r) { return r.table == t; }));
}

/// The largest fencing token of keys and claims.
std::uint64_t largest_fence(const std::vector<dirty_row>& rows) {
  std::uint64_t largest = 0;
  for (const auto& row : rows)
    if (const auto* c = std::get_if<claim_ptr>(&row.row))
      largest = std::max(largest, (*c)->fence);
    else if (const auto* k = std::get_if<kv_entry_ptr>(&row.row))
      largest = std::max(largest, (*k)->fence);
  return largest;
}

void live(driver& d, command_generator& generator, int commands) {
  for (int i = 0; i < commands; ++i) {
    d.pass(generator.below(300));
    auto c = generator.random_command(generator.random_command_kind(), d.m);
    if (!c)
      continue;
    if (generator.one_in(8) && std::holds_alternative<kv_write>(*c))
      c->once = once_request{uuid(static_cast<int>(5000 + generator.below(1000))), {1, 2}, d.now};
    d.apply(*c);
  }
}

void pass_with_entries(driver& d, std::uint64_t ms) {
  for (std::uint64_t passed = 0; passed < ms; passed += second_ms) {
    d.pass(second_ms);
    d.apply(claims_alarm{d.now});
  }
}

struct story {
  std::uint64_t clock;      ///< clock of the archive's cluster; that of the other one is a year
  std::uint64_t more_index; ///< how many more entries it has than the other cluster
  bool with_access;
};

void restored_and_used(std::uint64_t seed, const story& s) {
  INFO("seed " << seed << ", clock " << s.clock << ", entries " << s.more_index << ", ACLs " << s.with_access);
  driver foreign, d;
  foreign.now.value = s.clock;
  d.now.value = year_ms;
  foreign.m.set_history({7, true});
  d.m.set_history({8, true});
  for (auto* each : {&foreign, &d})
    if (s.with_access)
      each->apply(acl_initialize{command_generator::master, uuid(99), 1});
  if (s.more_index != 0) {
    effects none;
    foreign.m.skip(log_index{foreign.index().value + s.more_index}, foreign.now, none);
  }
  command_generator there(seed, s.with_access), here(seed + 1000, s.with_access);
  live(foreign, there, 300);
  live(d, here, 150);
  const auto saved = save(foreign.m);
  const auto before = d.m.history();
  const auto fences = std::max(largest_fence(saved.rows), largest_fence(d.m.all_rows()));

  std::map<std::string, std::uint64_t> waits_left; ///< claims of the archive: the rest of their waits, by key
  for (const auto& row : saved.rows)
    if (const auto* c = std::get_if<claim_ptr>(&row.row);
        c != nullptr && (*c)->state == claim_state::waiting && !(*c)->deadline.is_zero())
      waits_left[row.key] = (*c)->deadline.value - (*c)->requested.value;
  d.apply(restore_begin{"r", saved.index});
  d.apply(restore_rows{"r", 0, std::make_shared<const std::vector<dirty_row>>(saved.rows)});
  const auto answer = d.apply(restore_commit{"r", 1});
  REQUIRE(d.refused(answer) == "");
  look_at_rows(d);
  CHECK(d.m.history() != before); // earlier cursors are rejected
  CHECK(d.m.history() != foreign.m.history());

  // A clock that was ahead does not shorten any wait.
  if (s.clock > year_ms)
    for (const auto& row : d.m.all_rows())
      if (const auto* c = std::get_if<claim_ptr>(&row.row); c != nullptr && waits_left.contains(row.key))
        if ((*c)->state == claim_state::waiting && (*c)->create_index <= saved.index)
          CHECK((*c)->deadline.value == d.now.value + waits_left.at(row.key));

  // Each new grant has a larger fencing token than all of both clusters.
  d.add_node("fresh");
  session_create fresh;
  fresh.session.id = uuid(77);
  fresh.session.node = "fresh";
  fresh.session.node_checks = std::vector<std::string>{};
  REQUIRE(d.refused(d.apply(fresh)) == "");
  claim_ask ask;
  ask.name = "fresh";
  ask.session = uuid(77);
  const auto granted = d.apply(ask);
  REQUIRE(std::holds_alternative<claim_answer>(granted));
  CHECK(std::get<claim_answer>(granted).fence > fences);

  // And time passes as usual.
  pass_with_entries(d, longest_wait_ms + second_ms);
  for (const auto& row : d.m.all_rows())
    if (const auto* c = std::get_if<claim_ptr>(&row.row); c != nullptr && (*c)->state == claim_state::waiting)
      CHECK((*c)->deadline.is_zero());
  pass_with_entries(d, longest_delay_ms);
  CHECK(rows_of(d, table::claim_ghosts) == 0);
  CHECK(rows_of(d, table::lock_delays) == 0);
  pass_with_entries(d, claim_end_ms + longest_wait_ms);
  CHECK(rows_of(d, table::claim_ends) == 0);
  CHECK(rows_of(d, table::outcomes) == 0);
  look_at_rows(d);
  live(d, here, 100);
  look_at_rows(d);
  d.pass(longest_token_ms);
  d.apply(claims_alarm{d.now});
  for (const auto& row : d.m.all_rows())
    if (const auto* t = std::get_if<acl_token_ptr>(&row.row))
      CHECK(((*t)->expires.is_zero() || (*t)->expires > d.now));
}

} // namespace

TEST_CASE("an archive of a cluster with another clock, another log and other tokens is restored, and used",
          "[restore]") {
  std::uint64_t seed = 0;
  for (const auto clock : {second_ms, year_ms - 5 * second_ms, year_ms + 5 * second_ms, 2 * year_ms})
    for (const auto more : {std::uint64_t{0}, std::uint64_t{1'000'000}})
      for (const bool with_access : {false, true})
        for (int i = 0; i < 8; ++i)
          restored_and_used(++seed, {clock, more, with_access});
}
