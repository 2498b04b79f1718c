#include "protocol/raft/log_window.hpp"
#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::raft;
using namespace belay::raft::testing;

namespace {

entry make_entry(std::uint64_t index, std::uint64_t term, const std::string& data = "x") {
  return {log_index{index}, term_id{term}, cluster_time{index}, entry_kind::command, make_payload(data)};
}

entry config_entry(std::uint64_t index, std::uint64_t term, const configuration& c) {
  return {log_index{index}, term_id{term}, cluster_time{index}, entry_kind::configuration, make_payload(encode(c))};
}

snapshot_meta meta(std::uint64_t index, std::uint64_t term, const configuration& c) {
  return {log_index{index}, term_id{term}, cluster_time{index}, c};
}

} // namespace

TEST_CASE("a log continues after its snapshot, or is dropped") {
  const auto c = make_config({1, 2, 3});
  struct row {
    const char* name;
    std::vector<entry> entries;
    bool fits;
    std::uint64_t first, last;
  };
  const row rows[] = {
      {"nothing at all: perhaps the log was never told of the snapshot", {}, false, 6, 5},
      {"starts behind", {make_entry(6, 2), make_entry(7, 2)}, true, 6, 7},
      {"overlaps, same term", {make_entry(3, 1), make_entry(4, 2), make_entry(5, 2), make_entry(6, 2)}, true, 4, 6},
      {"ends exactly there", {make_entry(4, 2), make_entry(5, 2)}, true, 5, 5},
      {"ends before", {make_entry(3, 1), make_entry(4, 1)}, false, 6, 5},
      {"another term there", {make_entry(4, 1), make_entry(5, 1), make_entry(6, 1)}, false, 6, 5},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    log_window log;
    CHECK(log.restore(meta(5, 2, c), r.entries) == r.fits);
    CHECK(log.first() == log_index{r.first});
    CHECK(log.last() == log_index{r.last});
    CHECK(log.term_at(log_index{5}) == term_id{2});
    CHECK(log.config() == c);
  }
}

TEST_CASE("the configuration in force follows the log") {
  log_window log;
  const auto c1 = make_config({1});
  const auto c2 = make_config({1, 2});
  CHECK(log.config().empty());
  CHECK(log.append(config_entry(1, 1, c1)));
  CHECK_FALSE(log.append(make_entry(2, 1)));
  CHECK(log.append(config_entry(3, 1, c2)));
  CHECK(log.append(config_entry(4, 1, c1)));
  CHECK(log.config() == c1);
  CHECK(*log.config_at(log_index{3}) == c2);
  CHECK(*log.config_at(log_index{2}) == c1);
  CHECK(log.truncate_from(log_index{4}));
  CHECK(log.config() == c2);
  log.forget_until(log_index{3}); // dropped entries still determine what is in force
  CHECK(log.config() == c2);
  CHECK(log.config_index() == log_index{3});
  CHECK(log.config_at(log_index{2}) == nullptr);
  CHECK(log.term_at(log_index{3}) == term_id{1});
  CHECK(log.term_at(log_index{2}).is_zero());
}

TEST_CASE("slices respect both limits but hold at least one entry") {
  log_window log;
  for (std::uint64_t i = 1; i <= 10; ++i)
    log.append(make_entry(i, 1, std::string(100, 'x')));
  CHECK(log.slice(log_index{1}, 4, 10000).size() == 4);
  CHECK(log.slice(log_index{1}, 100, 250).size() == 2);
  CHECK(log.slice(log_index{1}, 100, 1).size() == 1);
  CHECK(log.slice(log_index{9}, 100, 10000).size() == 2);
  CHECK(log.slice(log_index{9}, 100, 10000).front().data == log.at(log_index{9}).data); // shared, not copied
}

TEST_CASE("the newest entry that is not above a term") {
  log_window log;
  const std::uint64_t terms[] = {1, 1, 1, 4, 4, 5, 5, 6, 6, 6};
  for (std::uint64_t i = 0; i < 10; ++i)
    log.append(make_entry(i + 1, terms[i]));
  // below  term -> found
  const std::uint64_t rows[][3] = {{10, 6, 10}, {10, 5, 7}, {10, 4, 5}, {10, 3, 3},
                                   {10, 0, 0},  {6, 9, 6},  {4, 3, 3},  {0, 3, 0}};
  for (const auto& r : rows)
    CHECK(log.last_not_above(log_index{r[0]}, term_id{r[1]}) == log_index{r[2]});
  log.forget_until(log_index{5});
  CHECK(log.last_not_above(log_index{10}, term_id{3}) == log_index{5}); // no longer known: the base
  CHECK(log.last_not_above(log_index{3}, term_id{1}) == log_index{3});
}
