#include "client/kit/client_faults.hpp"

namespace belay {
inline namespace v0 {
namespace sim {

namespace {

// Numbers of streams, above those of processes (kit_process.cpp).
constexpr std::uint16_t drawn_from = 60'000;

} // namespace

const std::set<std::string>& client_faults::names() {
  static const std::set<std::string> all = {"client-pause", "client-crash", "client-cut",
                                            "client-loss",  "client-late",  "client-clock"};
  return all;
}

client_faults client_faults::drawn(belay_ground::ground& g, const std::set<std::string>& without) {
  // Each fault draws from its own stream, so that disabling one leaves the others as they are.
  std::uint16_t number = drawn_from;
  const auto one_in = [&](std::uint32_t n) { return g.choose_rarely(number++, 2, 1'000'000 / n) != 0; };
  const auto one_of = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t values[] = {a, b, c};
    return values[g.choose(number++, 3)];
  };
  client_faults f;
  const bool pauses = one_in(2);
  const auto before_send = one_of(1'000, 10'000, 50'000);
  const auto at_clock = one_of(100, 1'000, 5'000);
  f.stop = one_in(2);
  f.crash = one_in(3);
  f.cut = one_in(3);
  const bool loses = one_in(3);
  const auto lost = one_of(1'000, 10'000, 100'000);
  const bool delays = one_in(3);
  const auto late = one_of(1'000, 10'000, 100'000);
  f.clock = one_in(3);
  if (pauses && !without.contains("client-pause")) {
    f.pause_before_send = before_send;
    f.pause_at_clock = at_clock;
  }
  f.stop = f.stop && !without.contains("client-pause");
  f.crash = f.crash && !without.contains("client-crash");
  f.cut = f.cut && !without.contains("client-cut");
  f.lost = loses && !without.contains("client-loss") ? lost : 0;
  f.late = delays && !without.contains("client-late") ? late : 0;
  f.clock = f.clock && !without.contains("client-clock");
  return f;
}

std::string client_faults::words() const {
  std::string text;
  const auto name = [&text](bool on, const char* what) { text += on ? std::string(" ") + what : ""; };
  name(pause_before_send > 0 || stop, "client-pause");
  name(crash, "client-crash");
  name(cut, "client-cut");
  name(lost > 0, "client-loss");
  name(late > 0, "client-late");
  name(clock, "client-clock");
  return text;
}

} // namespace sim
} // namespace v0
} // namespace belay
