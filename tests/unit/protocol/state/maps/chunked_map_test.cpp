// Compares the map with std::map, with small chunks that are often split, joined and dropped.

#include "protocol/state/maps/chunked_map.hpp"

#include "protocol/base/random.hpp"

#include <catch2/catch.hpp>

#include <map>

using namespace belay;
using namespace belay::state;

namespace {

struct number {
  std::uint64_t value = 0;
  log_index index() const { return log_index{value}; }
  std::uint64_t hash() const { return value * 0x9E3779B97F4A7C15u; }
};

using plain = std::map<std::string, std::uint64_t>;

template <class Map>
void compare(const Map& m, const plain& p, const std::vector<std::string>& prefixes) {
  REQUIRE(m.size() == p.size());
  auto expected = p.begin();
  for (const auto& slot : m) {
    REQUIRE(expected != p.end());
    CHECK(slot.key() == expected->first);
    CHECK(slot.value.value == expected->second);
    ++expected;
  }
  CHECK(expected == p.end());
  for (const auto& prefix : prefixes) {
    std::uint64_t newest = 0;
    for (auto at = p.lower_bound(prefix); at != p.end() && starts_with(at->first, prefix); ++at)
      newest = std::max(newest, at->second);
    CHECK(m.newest_under(prefix).value == newest);
    auto found = m.lower_bound(prefix);
    auto wanted = p.lower_bound(prefix);
    REQUIRE((found == m.end()) == (wanted == p.end()));
    if (wanted != p.end())
      CHECK(found->key() == wanted->first);
    CHECK((m.find(prefix) != nullptr) == (p.count(prefix) != 0));
  }
}

/// Rows that were cut off: some are inserted again, then the others come back, or are destroyed.
template <class Map, class AnyKey>
void take_apart(seeded_random& random, Map& m, plain& p, const std::string& prefix, typename Map::fragment rows,
                plain removed, const AnyKey& any_key) {
  const auto same = [&] {
    REQUIRE(rows.size() == removed.size());
    auto expected = removed.begin();
    rows.for_each([&](const auto& slot) {
      CHECK(slot.key() == expected->first);
      CHECK(slot.value.value == (expected++)->second);
    });
  };
  same();
  const bool comes_back = random.below(2) == 0;
  for (auto n = random.below(6); n > 0; --n) {
    const auto key = any_key();
    std::size_t received = 0;
    rows.extract(key, [&](const auto& slot) {
      ++received;
      CHECK(slot.value.value == removed.at(key));
    });
    CHECK(received == removed.erase(key));
    if (!comes_back && rows.size() > 0 && random.below(2) == 0) {
      CHECK(rows.last().key() == removed.rbegin()->first);
      removed.erase(std::prev(removed.end()));
      rows.drop_last();
    }
    same();
  }
  if (!comes_back)
    return;
  std::uint64_t hashes = 0;
  for (const auto& [key, value] : removed)
    hashes += number{value}.hash();
  CHECK(rows.hashes() == hashes);
  // Chunks around the gap change while the rows are away.
  for (auto n = random.below(8); n > 0; --n)
    if (const auto key = any_key(); !starts_with(key, prefix)) {
      m.put(m.locate(key), key, number{n});
      p[key] = n;
    }
  m.put_back(prefix, std::move(rows));
  p.merge(removed);
}

template <std::size_t chunk_max, std::size_t node_max>
void run(std::uint64_t seed) {
  INFO("chunk_max " << chunk_max << " node_max " << node_max << " seed " << seed);
  seeded_random random(seed);
  chunked_map<number, chunk_max, node_max> m;
  plain p;
  const auto any_key = [&] {
    // Some have more equal bytes than are compared at once, or end like a byte of others.
    std::string key(random.below(3) == 0 ? 12 : 0, 'a');
    for (auto n = random.below(4); n > 0; --n)
      key.push_back("ab/\xff\0"[random.below(5)]);
    return key;
  };
  for (int step = 0; step < 600; ++step) {
    const auto key = any_key();
    const auto choice = random.below(20);
    if (choice == 0) {
      auto rows = m.cut_under(key);
      plain removed;
      for (auto at = p.lower_bound(key); at != p.end() && starts_with(at->first, key); at = p.erase(at))
        removed.insert(*at);
      compare(m, p, {"", key});
      take_apart(random, m, p, key, std::move(rows), std::move(removed), any_key);
    } else if (choice < 7) {
      auto location = m.locate(key);
      CHECK(location.found == (p.count(key) != 0));
      if (location.found) {
        m.erase(location);
        p.erase(key);
      }
    } else {
      const auto value = 1 + random.below(1000); // even smaller than before, as when a transaction is rolled back
      m.put(m.locate(key), key, number{value});
      p[key] = value;
    }
    compare(m, p, {"", "a", "b", "/", "\xff", "\xff\xff", "a/", "ab", "/b/", "c", "aaaaaaaaaaaa", any_key()});
    const auto wrong = m.recount();
    INFO(wrong.value_or(""));
    REQUIRE(!wrong);
  }
}

} // namespace

TEST_CASE("chunked_map equals std::map under random changes") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    run<2, 2>(seed);
    run<2, 3>(seed);
    run<4, 2>(seed);
    run<4, 8>(seed);
    run<16, 256>(seed);
  }
}

TEST_CASE("ascending, descending and alternating insertion") {
  for (const int order : {0, 1, 2}) {
    chunked_map<number, 8, 4> m;
    plain p;
    for (int i = 0; i < 500; ++i) {
      const int n = order == 0 ? i : order == 1 ? 500 - i : (i % 2 == 0 ? i : 1000 - i);
      auto key = std::to_string(10000 + n);
      m.put(m.locate(key), key, number{static_cast<std::uint64_t>(i) + 1});
      p[key] = static_cast<std::uint64_t>(i) + 1;
    }
    compare(m, p, {"", "1", "10", "100", "1000", "10499", "2"});
    CHECK(m.cut_under("100").size() ==
          static_cast<std::size_t>(std::distance(p.lower_bound("100"), p.lower_bound("101"))));
    p.erase(p.lower_bound("100"), p.lower_bound("101"));
    compare(m, p, {"", "100", "101", "102"});
  }
}

TEST_CASE("rows that come in nearly ascending order fill most of their chunks") {
  constexpr std::size_t chunk_max = 64, rows = 6400;
  for (const std::size_t late : {1u, 4u, 16u}) {
    INFO("of " << late << " next to each other the order is any");
    seeded_random random(late);
    chunked_map<number, chunk_max, 16> m;
    std::vector<std::size_t> waiting;
    for (std::size_t next = 0; next < rows || !waiting.empty();) {
      while (next < rows && waiting.size() < late)
        waiting.push_back(next++);
      std::swap(waiting[random.below(waiting.size())], waiting.back());
      const auto key = std::to_string(10000 + waiting.back());
      waiting.pop_back();
      m.put(m.locate(key), key, number{1});
    }
    CHECK(m.size() == rows);
    CHECK(m.chunks() <= (late == 1 ? 100u : late == 4 ? 110u : 135u)); // 160 if a late row split its chunk
  }
}

TEST_CASE("rows are only appended after all others, even after others were removed") {
  chunked_map<number, 8, 4> m;
  plain p;
  const auto append = [&](int n) {
    const auto key = std::to_string(10000 + n);
    REQUIRE(m.is_behind_all(key));
    m.append(key, number{static_cast<std::uint64_t>(1000 - n)});
    p[key] = static_cast<std::uint64_t>(1000 - n);
    CHECK_FALSE(m.is_behind_all(key));
  };
  for (int i = 0; i < 100; ++i)
    append(i);
  compare(m, p, {"", "1", "10", "100", "1000", "10064", "2"});
  CHECK(m.cut_under("1005").size() == 10);
  for (int i = 50; i < 60; ++i)
    p.erase(std::to_string(10000 + i));
  append(100);
  compare(m, p, {"", "1", "10", "100", "1005", "10064", "2"});
  m.cut_under("");
  p.clear();
  append(3);
  auto between = m.locate("1");
  m.put(between, "1", number{7});
  p["1"] = 7;
  append(4);
  compare(m, p, {"", "1", "10", "100", "2"});
}

TEST_CASE("the rows of the keys that will be looked up are fetched ahead") {
  chunked_map<number, 8, 4> m;
  const auto key_of = [](std::size_t i) { return "fleet/" + std::to_string(10'000 + i); };
  constexpr std::size_t count = 500;
  for (std::size_t i = 0; i < count; i += 2)
    m.put(m.locate(key_of(i)), key_of(i), number{i});
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; i += 6)
    names.push_back(key_of(i * 7 % count));
  std::vector<std::uint64_t> fetched;
  m.fetch(std::vector<std::string_view>(names.begin(), names.end()),
          [&](const number& row) { fetched.push_back(row.value); });
  REQUIRE(fetched.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    CHECK(fetched[i] == m.find(names[i])->value);
}

TEST_CASE("prefetching missing keys, or in an empty map, does no harm") {
  for (const std::size_t rows : {0, 1, 100}) {
    chunked_map<number, 8, 4> m;
    for (std::size_t i = 0; i < rows; ++i) {
      const auto key = "m" + std::to_string(1'000 + i);
      m.put(m.locate(key), key, number{i});
    }
    const std::vector<std::string_view> keys{"",       "a",  "m", "m1050",
                                             "m10505", "m2", "z", std::string_view("\xff\xff", 2)};
    std::size_t called = 0;
    m.fetch(keys, [&](const number&) { ++called; });
    CHECK(called <= keys.size());
    CHECK(m.size() == rows);
  }
}
