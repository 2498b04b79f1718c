#pragma once
// Whether a client sends its request, or takes its answer, fast enough to be waited for. Only time during which the server waits for
// the client counts: a client is not slow because we are.

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace belay::actors {

struct pace_limits {
  /// From the first byte of a request to the end of its header.
  std::chrono::milliseconds header{10'000};
  /// Of bodies and answers: so long in all, and a second more for each `bytes_per_second` that came. The numbers are those of Apache's
  /// mod_reqtimeout: slower are only attackers.
  std::chrono::milliseconds grace{20'000};
  std::uint64_t bytes_per_second = 500;
  /// Of bodies and answers: longer is not waited in all, however much came.
  std::chrono::milliseconds longest = std::chrono::hours(1'000'000); // nobody's
};

/// Of archives that are uploaded: each keeps others from being restored. 128 kbit/s is less than any link over which servers are
/// operated; an hour at 10 Mbit/s is 4.5 GB of an archive, which is compressed.
inline constexpr pace_limits upload_pace{std::chrono::milliseconds(10'000), std::chrono::milliseconds(20'000), 16'384,
                                         std::chrono::hours(1)};

/// Of one direction of one connection.
class client_pace {
public:
  using time = std::chrono::steady_clock::time_point;

  /// What is waited for now begins, unless it has begun.
  void begin(time now) {
    if (!begun_)
      *this = client_pace{true, now};
  }
  /// It is complete.
  void end() { begun_ = false; }
  /// The client did so much of it.
  void moved(std::uint64_t bytes) { moved_ += bytes; }

  /// Called now and then. @param waiting for the client, at this moment
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
