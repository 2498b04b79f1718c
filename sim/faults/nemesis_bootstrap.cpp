// Faults of the nemesis while new servers form their cluster.

#include "sim/faults/nemesis.hpp"

namespace belay::sim {

using std::chrono::milliseconds;

namespace {

constexpr stream of_bootstrap{stream_kind::nemesis, 0x7FFA};
// The first configuration is made within this time, or after what was broken is repaired.
constexpr milliseconds bootstrap_last{6'000};

/// Faults of one server, or of the links between it and another one.
enum class bootstrap_fault : std::uint8_t { nothing, start_again, power_off, part };
constexpr share<bootstrap_fault> bootstrap_faults[] = {{bootstrap_fault::nothing, 3},
                                                       {bootstrap_fault::start_again, 3},
                                                       {bootstrap_fault::power_off, 2},
                                                       {bootstrap_fault::part, 4}};

} // namespace

void nemesis::disturb_bootstrap() {
  if (!acting_ || time_.now() > bootstrap_last)
    return;
  const auto draw_fault = [this](std::uint64_t n) { return tape_.choose(of_bootstrap, n); };
  time_.after(milliseconds(20 + draw_fault(300)), [this] { disturb_bootstrap(); });
  const auto node = draw_fault(swarm_.nodes);
  const auto other = (node + 1 + draw_fault(swarm_.nodes - 1)) % swarm_.nodes;
  const auto how_long = milliseconds(20 + draw_fault(1500));
  const auto what = action_of(bootstrap_faults, draw_fault(numbers_of(bootstrap_faults)));
  if (what == bootstrap_fault::nothing || !nodes_.running(node))
    return;
  count_fault("birth");
  if (what == bootstrap_fault::part) {
    net_.cut(node, other);
    net_.cut(other, node);
    time_.after(how_long, [this, node, other] {
      if (stay_down_.contains(node) || stay_down_.contains(other))
        return;
      net_.mend(node, other);
      net_.mend(other, node);
    });
    return;
  }
  if (what == bootstrap_fault::power_off)
    nodes_.power_off(node);
  else
    nodes_.kill(node);
  start_later(node, how_long);
}

// Another server may have received the promise and made the first configuration. Then the node
// restarts among others that know nothing of it and are enough to form a cluster if it forgets.
void nemesis::on_promised(std::size_t node) {
  const auto draw_fault = [this](std::uint64_t n) { return tape_.choose(of_bootstrap, n); };
  if (!acting_ || swarm_.beginning != beginning::more_than_expected || swarm_.nodes < 5 ||
      time_.now() > bootstrap_last || draw_fault(4) != 3)
    return;
  const auto one = (node + 1 + draw_fault(swarm_.nodes - 1)) % swarm_.nodes;
  const auto other = (node + 1 + draw_fault(swarm_.nodes - 1)) % swarm_.nodes;
  const auto in = swarm_.network.latency * static_cast<std::int64_t>(1 + draw_fault(8));
  const auto how_long = milliseconds(3000 + draw_fault(3000));
  time_.after(in, [this, node, one, other, how_long] {
    if (!acting_ || !nodes_.running(node))
      return;
    count_fault("birth");
    directions across;
    for (std::size_t a = 0; a < swarm_.nodes; ++a)
      for (std::size_t b = 0; b < swarm_.nodes; ++b)
        if ((a == node || a == one || a == other) != (b == node || b == one || b == other))
          across.emplace_back(a, b);
    trace_.line(time_.now(), node, "is alone with two others");
    for (const auto& [from, to] : across)
      net_.cut(from, to);
    time_.after(how_long, [this, across] {
      for (const auto& [from, to] : across)
        if (!stay_down_.contains(from) && !stay_down_.contains(to))
          net_.mend(from, to);
    });
    nodes_.kill(node);
    start_later(node, milliseconds(20));
  });
}

} // namespace belay::sim
