#pragma once
// The source of randomness of a run: a tape of choices, made from a seed or replayed from a file.
//
// A run calls choose(n) on one of many streams. Zero is always the least eventful choice (no fault,
// shortest delay, oldest message first). Only other values are stored. So a tape is a sparse list,
// the empty one is the least eventful run, and removing an item keeps all other streams.

#include "protocol/base/random.hpp"
#include "protocol/base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace belay::sim {

enum class stream_kind : std::uint8_t { swarm, schedule, nemesis, network, disk, client, clock };

/// One sequence of choices, e.g. all choices of the disk of node 2.
struct stream {
  stream_kind kind = stream_kind::swarm;
  std::uint16_t number = 0;
  auto operator<=>(const stream&) const = default;
};

/// The value `value` (never 0) of choice number `position` (from 0) of a stream.
struct tape_item {
  stream from;
  std::uint64_t position = 0;
  std::uint64_t value = 0;
  auto operator<=>(const tape_item&) const = default;
};

class tape {
public:
  /// Draws the choices from the seed.
  explicit tape(std::uint64_t seed) : seed_(seed), drawing_(true) {}
  /// Replays `items`; every other choice is 0. The order of the items does not matter.
  tape(std::uint64_t seed, const std::vector<tape_item>& items);

  /// @returns a number below n, uniformly distributed. @pre n > 0
  std::uint64_t choose(stream s, std::uint64_t n);
  /// One of 1..n-1 in `per_million` of a million cases, else 0. A replay may return anything < n.
  std::uint64_t choose_rarely(stream s, std::uint64_t n, std::uint32_t per_million);
  bool chance(stream s, std::uint32_t per_million) { return choose_rarely(s, 2, per_million) != 0; }

  std::uint64_t seed() const { return seed_; }
  /// All choices so far that are not 0, sorted: a tape that reproduces the run.
  std::vector<tape_item> taken() const;
  std::uint64_t questions() const { return questions_; }

private:
  struct track {
    seeded_random random{0};
    std::uint64_t position = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> planned; ///< replayed: (position, value), sorted
    std::size_t next_planned = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> given;
  };

  track& of(stream s);
  std::uint64_t keep(track& t, std::uint64_t value);
  std::uint64_t replay(track& t, std::uint64_t n);

  std::uint64_t seed_;
  bool drawing_;
  std::uint64_t questions_ = 0;
  std::map<stream, track> tracks_;
};

/// A tape in a file, with what is needed to run it again.
struct saved_tape {
  std::uint64_t seed = 0;
  std::string profile; ///< name of the profile that was run
  std::string mutant;  ///< empty: none
  std::string expect;  ///< the outcome it led to, e.g. "safety"; for readers and for the regression tests
  std::string story;   ///< comment lines
  std::vector<tape_item> items;
  std::uint64_t chaos_seconds = 0; ///< 0: the duration of the profile
};

/// Text, one item a line: `network 12 position value`. Lines that begin with # are the story.
std::string to_text(const saved_tape& t);
result<saved_tape> parse_tape(std::string_view text);

} // namespace belay::sim
