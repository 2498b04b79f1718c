#include "protocol/base/payload.hpp"

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

TEST_CASE("payload: a missing payload differs from an empty one") {
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

namespace {

/// Has its bytes after itself.
struct host {
  static host* with(std::string_view bytes) {
    auto* made = new (::operator new(sizeof(host) + bytes.size())) host{hosted_bytes(bytes, end)};
    ++alive;
    return made;
  }
  static void end(hosted_bytes& bytes) noexcept {
    --alive;
    ::operator delete(&bytes); // the only member, so it has the same address
  }
  inline static int alive = 0;

  hosted_bytes bytes;
};

} // namespace

TEST_CASE("payload: bytes within a larger piece of memory, which ends with their last owner") {
  auto* h = host::with("value");
  payload kept = payload_ref(h->bytes);
  CHECK(*kept == "value");
  CHECK(kept->data() == h->bytes.view().data());
  h->bytes.add_owner();
  h->bytes.remove_owner();
  h->bytes.remove_owner(); // the first one
  CHECK(host::alive == 1);
  auto other = kept;
  kept = nullptr;
  CHECK(host::alive == 1);
  CHECK(*other == "value");
  other = nullptr;
  CHECK(host::alive == 0);
}

TEST_CASE("payload_ref: the bytes of a payload, which is none of its owners") {
  const auto owner = make_payload("x");
  const payload_ref ref = owner;
  CHECK(*ref == "x");
  CHECK(ref->size() == 1);
  const payload again = ref;
  CHECK(again == owner);
  CHECK_FALSE(payload_ref());
  CHECK(payload(payload_ref()) == nullptr);
}
