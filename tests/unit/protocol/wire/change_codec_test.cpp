// The bytes of changes of keys, as stored beside a checkpoint.

#include "protocol/wire/change_codec.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;
using namespace belay::wire;

namespace {

kv_entry_ptr row(const std::string& value, std::uint64_t index, std::uint64_t fence = 0) {
  kv_draft e;
  e.key = "some/key";
  e.value = make_payload(value);
  e.flags = 3;
  e.session = fence != 0 ? "s" : "";
  e.create_index = log_index{2};
  e.modify_index = log_index{index};
  e.fence = fence;
  return e;
}

void check_same(const kv_entry_ptr& a, const kv_entry_ptr& b) {
  REQUIRE(!a == !b);
  if (!a)
    return;
  CHECK(a->key == b->key);
  CHECK(*a->value == *b->value);
  CHECK(a->flags == b->flags);
  CHECK(a->session == b->session);
  CHECK(a->create_index == b->create_index);
  CHECK(a->modify_index == b->modify_index);
  CHECK(a->fence == b->fence);
}

const std::vector<kept_change>& all_kinds() {
  static const std::vector<kept_change> all{
      {log_index{9}, 0, {nullptr, row("new", 9), false}, false},
      {log_index{9}, 1, {row("old", 4), row("new", 9, 9), false}, false},
      {log_index{9}, 2, {row("old", 4), row("new", 9), false}, true},
      {log_index{9}, 3, {row("old", 4, 4), nullptr, true}, false},
      {log_index{9}, 4, {row("", 4), nullptr, false}, false},
  };
  return all;
}

std::string bytes_of(const kept_change& c) {
  std::string out;
  append_change(out, c);
  CHECK(out.size() <= change_bytes_max(c));
  return out;
}

} // namespace

TEST_CASE("each kind of change survives a round trip") {
  for (const auto& c : all_kinds()) {
    INFO("effect " << c.effect);
    const auto back = decode_change(c.index, c.effect, bytes_of(c));
    REQUIRE(back);
    CHECK(back->index == c.index);
    CHECK(back->effect == c.effect);
    CHECK(back->goes_on == c.goes_on);
    CHECK(back->change.expired == c.change.expired);
    check_same(back->change.before, c.goes_on ? nullptr : c.change.before);
    check_same(back->change.after, c.change.after);
  }
}

TEST_CASE("the bytes of a change stay the same") {
  // They are on disks: another layout needs another version.
  CHECK(bytes_of({log_index{9}, 0, {nullptr, row("v", 9), false}, false}) ==
        std::string("\x01\x01\x08some/key\x0f\x01\x01v\x03\0\0\0\0\0\0\0\0\0\x02\x09", 27));
}

TEST_CASE("a change that is cut, has more, or has unknown flags is damaged") {
  for (const auto& c : all_kinds()) {
    const auto bytes = bytes_of(c);
    for (std::size_t n = 0; n < bytes.size(); ++n)
      CHECK_FALSE(decode_change(c.index, c.effect, std::string_view(bytes).substr(0, n)));
    CHECK_FALSE(decode_change(c.index, c.effect, bytes + 'x'));
    auto flags = bytes;
    flags[1] = 16;
    CHECK_FALSE(decode_change(c.index, c.effect, flags));
    flags[1] = 8; // continues, and has no row after
    CHECK_FALSE(decode_change(c.index, c.effect, flags));
    auto version = bytes;
    version[0] = 2;
    CHECK_FALSE(decode_change(c.index, c.effect, version));
  }
}
