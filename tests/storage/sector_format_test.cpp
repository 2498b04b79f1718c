// Situation: the last frame of a segment whose file had an earlier life. Event: some of its sectors
// were not written, or changed later. What would go wrong: a damaged frame is taken for an
// unfinished one and an acknowledged entry is lost, or a server does not start after a power loss.

#include "storage/log/sector_format.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/random.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::storage;

namespace {

constexpr std::uint64_t sequence = 41;

segment_header segment_with(std::uint64_t salt) {
  segment_header s;
  s.version = segment_version::sectors;
  s.number = 3;
  s.salt = salt;
  return s;
}
const auto segment = segment_with(7);

std::string frame_of(std::string_view body, std::uint64_t at = sequence, const segment_header& s = segment,
                     std::uint32_t attempt = 1) {
  std::string out;
  encode_sectors(body, s, at, attempt, out);
  return out;
}

/// A body that fills `sectors` sectors.
std::string body_of(std::size_t sectors, char fill) {
  return std::string((sectors - 1) * sector_content_bytes + 100, fill);
}

frame_state state_at_begin(const std::string& all) {
  std::string body;
  return look_at_sectors(all, 0, sequence, segment, body).state;
}

/// `all` with the sector `k` of `from`.
std::string with_sector(std::string all, std::size_t k, const std::string& from) {
  return all.replace(k * sector_bytes, sector_bytes, from, k * sector_bytes, sector_bytes);
}

} // namespace

TEST_CASE("a frame of sectors has its body again, whatever its size") {
  for (const std::size_t size : {0, 1, 483, 484, 485, 504, 988, 989, 20'000}) {
    INFO(size);
    const std::string body(size, size % 2 == 0 ? '\0' : 'v');
    const auto all = frame_of(body);
    CHECK(all.size() == sector_frame_bytes(size));
    CHECK(all.size() % sector_bytes == 0);
    std::string found;
    const auto look = look_at_sectors(all, 0, sequence, segment, found);
    REQUIRE(look.state == frame_state::whole);
    CHECK(look.body == body);
    CHECK(look.bytes == all.size());
    CHECK(look_at_sectors(all, 0, sequence + 1, segment, found).state != frame_state::whole);
    CHECK(look_at_sectors(all, 0, sequence, segment_with(8), found).state == frame_state::none);
  }
}

TEST_CASE("a sector that was not written has what was there before: the frame is unfinished") {
  const auto now = frame_of(body_of(5, 'n'));
  const std::string zeros(now.size(), '\0');
  const auto earlier_life = frame_of(body_of(5, 'o'), sequence, segment_with(6));
  for (const auto& before : {zeros, earlier_life})
    for (unsigned missing = 1; missing < 1u << 5; ++missing) {
      INFO(missing);
      auto all = now;
      for (std::size_t k = 0; k < 5; ++k)
        if ((missing >> k & 1u) != 0)
          all = with_sector(all, k, before);
      CHECK(state_at_begin(all) == ((missing & 1u) != 0 ? frame_state::none : frame_state::torn));
    }
}

TEST_CASE("a changed bit in any sector is damage, and so is a sector of noise") {
  const auto now = frame_of(body_of(3, 'n'));
  seeded_random random(4);
  for (std::size_t at = 0; at < now.size(); ++at) {
    INFO(at);
    auto all = now;
    all[at] = static_cast<char>(all[at] ^ (1 << random.below(8)));
    CHECK(state_at_begin(all) == frame_state::damaged);
  }
  for (std::size_t k = 0; k < 3; ++k) {
    std::string noise(now.size(), '\0');
    for (auto& c : noise)
      c = static_cast<char>(random.next());
    CHECK(state_at_begin(with_sector(now, k, noise)) == frame_state::damaged);
  }
}

TEST_CASE("sectors of a frame do not pass for others of the same frame, or of an earlier attempt") {
  const auto now = frame_of(body_of(4, 'n'));
  auto swapped = now;
  swapped.replace(sector_bytes, sector_bytes, now, 2 * sector_bytes, sector_bytes);
  CHECK(state_at_begin(swapped) == frame_state::torn);
  CHECK(state_at_begin(frame_of("another frame", sequence - 1)) == frame_state::damaged);
  // An unfinished write of the same sequence number stays in the file.
  const auto attempt = frame_of(body_of(4, 'a'), sequence, segment, 2);
  CHECK(state_at_begin(with_sector(now, 2, attempt)) == frame_state::torn);
  CHECK(state_at_begin(with_sector(now, 0, attempt)) == frame_state::torn);
}

TEST_CASE("damage after the last frame is wiped, and nothing else is") {
  const auto old = frame_of(body_of(4, 'o'), sequence, segment_with(6));
  const std::string zeros(2 * sector_bytes, '\0');
  CHECK(damaged_tail_bytes(old + zeros, 0) == 0);
  auto all = old + zeros;
  all[2 * sector_bytes + 17] ^= 1;
  CHECK(damaged_tail_bytes(all, 0) == 3 * sector_bytes);
  CHECK(damaged_tail_bytes(all, sector_bytes) == 2 * sector_bytes);
  CHECK(damaged_tail_bytes(all, 3 * sector_bytes) == 0);
}

TEST_CASE("a later frame is found, one of an earlier life is not") {
  const std::string gap(3 * sector_bytes, '\0');
  const auto later = frame_of("later", sequence + 2), old = frame_of("old", sequence + 2, segment_with(6));
  CHECK(find_later_sectors(gap + later, 0, sequence, segment) == gap.size());
  CHECK_FALSE(find_later_sectors(gap + old, 0, sequence, segment));
  CHECK_FALSE(find_later_sectors(gap + frame_of("this", sequence), 0, sequence, segment));
}

TEST_CASE("mutant: sector_tag_ignored") {
  const auto now = frame_of(body_of(2, 'n'));
  const auto all = with_sector(now, 1, frame_of(body_of(2, 'o'), sequence, segment_with(6)));
  CHECK(state_at_begin(all) == frame_state::torn);
  REQUIRE(activate_mutant("sector_tag_ignored"));
  const auto with = state_at_begin(all);
  activate_mutant("");
  CHECK(with == frame_state::whole);
}
