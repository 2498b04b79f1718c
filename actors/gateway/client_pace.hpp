#pragma once
// Decides whether a client sends its request, or takes its answer, fast enough. Only time in
// which the server waits for the client counts: a busy server makes no client slow.

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace belay::actors {

struct pace_limits {
  /// Time from the first byte of a request to the end of its header.
  std::chrono::milliseconds header{10'000};
  /// Time for a body or answer, plus a second for each `bytes_per_second` transferred.
  /// The numbers are those of Apache's mod_reqtimeout: only attackers are slower.
  std::chrono::milliseconds grace{20'000};
  std::uint64_t bytes_per_second = 500;
  /// Upper bound of the time for a body or answer, however many bytes were transferred.
  std::chrono::milliseconds longest = std::chrono::hours(1'000'000); // effectively none
};

/// Limits for archive uploads. An upload blocks other restores. 128 kbit/s is less than any
/// link between servers. An hour at 10 Mbit/s is 4.5 GB of a compressed archive.
inline constexpr pace_limits upload_pace{std::chrono::milliseconds(10'000), std::chrono::milliseconds(20'000), 16'384,
                                         std::chrono::hours(1)};

/// Measures one direction of one connection.
class client_pace {
public:
  using time = std::chrono::steady_clock::time_point;

  /// Starts waiting for a transfer, unless already started.
  void begin(time now) {
    if (!begun_)
      *this = client_pace{true, now};
  }
  /// The transfer is complete.
  void end() { begun_ = false; }
  /// The client sent or took this many bytes of it.
  void moved(std::uint64_t bytes) { moved_ += bytes; }

  /// Call it regularly.
  /// @param waiting whether the server now waits for the client
  void look(time now, bool waiting) {
    if (begun_ && waiting)
      waited_ += now - looked_;
    looked_ = now;
  }
  bool header_too_slow(const pace_limits& l) const { return begun_ && waited_ > l.header; }
  bool body_too_slow(const pace_limits& l) const {
    return begun_ &&
           waited_ > std::min(l.longest, l.grace + std::chrono::milliseconds(moved_ * 1000 / l.bytes_per_second));
  }

  client_pace() = default;

private:
  client_pace(bool begun, time now) : begun_(begun), looked_(now) {}

  bool begun_ = false;
  time looked_{};
  time::duration waited_{};
  std::uint64_t moved_ = 0;
};

} // namespace belay::actors
