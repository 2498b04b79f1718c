#include "protocol/state/keys/kv_entry.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

using namespace belay;
using namespace belay::state;

namespace {

kv_draft draft(std::string key, std::string_view value) {
  kv_draft d;
  d.key = std::move(key);
  d.value = make_payload(value);
  d.create_index = log_index{3};
  d.modify_index = log_index{~std::uint64_t{0}};
  return d;
}

void check_same(const kv_entry_ptr& stored, const kv_draft& d) {
  CHECK(stored.key() == d.key);
  CHECK(stored.modify_index() == d.modify_index);
  CHECK(stored->key == d.key);
  CHECK(*stored->value == *d.value);
  CHECK(stored->flags == d.flags);
  CHECK(stored->lock_index == d.lock_index);
  CHECK(stored->session == d.session);
  CHECK(stored->create_index == d.create_index);
  CHECK(stored->modify_index == d.modify_index);
  CHECK(stored->fence == d.fence);
}

} // namespace

TEST_CASE("an entry is stored with keys and values of any length") {
  for (const std::size_t key : {0, 1, 7, 8, 9, 15, 16, 17, 1000})
    for (const std::size_t value : {0, 1, 255, 256, 70'000}) {
      INFO(key << " " << value);
      const auto d = draft(std::string(key, 'k'), std::string(value, 'v'));
      check_same(d, d);
      // The numbers start where the key ends, whatever its length.
      const kv_entry_ptr stored = d;
      CHECK(reinterpret_cast<std::uintptr_t>(stored.key().data() + key) % alignof(std::uint64_t) == 0);
    }
  const auto zeros = draft(std::string("a\0b", 3), std::string("\0v\0", 3));
  check_same(zeros, zeros);
}

// Rare members are behind one pointer: each of them alone must create it.
TEST_CASE("an entry is stored with each of its rare members") {
  for (int member = 0; member < 4; ++member) {
    INFO(member);
    auto d = draft("k", "v");
    (member == 0 ? d.flags : member == 1 ? d.lock_index : d.fence) = ~std::uint64_t{0};
    if (member == 3) {
      d.fence = 0;
      d.session = std::string(36, 's');
    }
    check_same(d, d);
  }
}

TEST_CASE("a stored entry is shared, and lives as long as one of its owners or one of its value's") {
  kv_entry_ptr first = draft("key", "value"), second = first, other = draft("key", "value");
  CHECK(first == second);
  CHECK_FALSE(first == other); // equal, but another piece of memory
  CHECK_FALSE(first == nullptr);
  payload value = first->value;
  CHECK(value->data() == second->value->data());
  first = nullptr;
  CHECK_FALSE(first);
  CHECK(second->key == "key");
  auto third = std::move(second);
  CHECK(second == nullptr); // NOLINT(bugprone-use-after-move): null is what it promises to be
  third = *&third;          // to itself
  CHECK(third->key == "key");
  third = nullptr;
  CHECK(*value == "value");
}

TEST_CASE("a copy of an entry with other members is an entry of its own") {
  auto d = draft("key", "value");
  d.session = "s";
  d.fence = 5;
  const kv_entry_ptr locked = d;
  auto changed = *locked;
  changed.session = {};
  changed.fence = 0;
  changed.modify_index = log_index{9};
  const kv_entry_ptr open = changed;
  CHECK(open->session.empty());
  CHECK(open->fence == 0);
  CHECK(open->modify_index == log_index{9});
  CHECK(*open->value == "value");
  check_same(locked, d);
}

TEST_CASE("an entry has owners on several threads") {
  auto d = draft("key", std::string(1000, 'x'));
  d.session = "s";
  const kv_entry_ptr shared = d;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([shared] {
      for (int i = 0; i < 10'000; ++i) {
        kv_entry_ptr mine = shared;
        const payload value = mine->value;
        mine = nullptr;
      }
    });
  for (auto& t : threads)
    t.join();
  check_same(shared, d);
}
