#include "protocol/base/payload.hpp"

#include "protocol/base/rare_text.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <thread>
#include <vector>

using namespace belay;

TEST_CASE("payload: copies are one piece of memory, which ends with the last of them") {
  auto first = make_payload(std::string("a\0b", 3));
  CHECK(*first == std::string_view("a\0b", 3));
  CHECK(first->size() == 3);
  const auto second = first;
  CHECK(second == first);
  CHECK(second->data() == first->data());
  CHECK_FALSE(make_payload(*first) == first); // equal bytes are not the same piece
  auto third = std::move(first);
  CHECK(first == nullptr); // NOLINT(bugprone-use-after-move): null is what it promises to be
  third = nullptr;
  CHECK(*second == std::string_view("a\0b", 3));
  third = second;
  third = *&third; // to itself
  CHECK(third == second);
}

TEST_CASE("payload: none, and no bytes, are two things") {
  payload none;
  CHECK_FALSE(none);
  CHECK(none == nullptr);
  const auto empty = make_payload({});
  CHECK(empty);
  CHECK(empty->empty());
  CHECK_FALSE(empty == none);
}

TEST_CASE("payload: owners on several threads") {
  const auto shared = make_payload(std::string(1000, 'x'));
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([shared] {
      for (int i = 0; i < 10'000; ++i) {
        payload mine = shared;
        payload other = std::move(mine);
        other = nullptr;
      }
    });
  for (auto& t : threads)
    t.join();
  CHECK(*shared == std::string(1000, 'x'));
}

TEST_CASE("rare_text: a text in the room of a pointer") {
  static_assert(sizeof(rare_text) == sizeof(void*));
  rare_text t;
  CHECK(t.empty());
  CHECK(t == "");
  t = "holder";
  CHECK_FALSE(t.empty());
  CHECK(t == std::string("holder"));
  CHECK(t.size() == 6);
  const rare_text copy = t;
  t = std::string();
  CHECK(t.empty());
  CHECK(copy == std::string_view("holder"));
  CHECK_FALSE(copy == t);
  t = copy;
  t = *&t; // to itself
  CHECK(t == copy);
  t.clear();
  CHECK(t == rare_text());
}
