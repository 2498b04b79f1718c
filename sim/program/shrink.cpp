// Delta debugging (Zeller, Hildebrandt 2002: ddmin), reduced to removing complements: choices
// rarely need each other's absence. First whole kinds and streams, since most faults are unrelated.

#include "sim/program/shrink.hpp"

#include <algorithm>
#include <set>

namespace belay::sim {

namespace {

using tape_items = std::vector<tape_item>;

class shrinker {
public:
  shrinker(const attempt_function& run, const shrink_limits& limits,
           const std::function<void(std::size_t, std::uint64_t)>& progress)
      : run_(run), limits_(limits), progress_(progress), start_(std::chrono::steady_clock::now()) {}

  shrunk work(tape_items items) {
    std::sort(items.begin(), items.end());
    best_.items = items;
    const auto first = run_(items);
    best_.runs = 1;
    best_.report = first.report;
    best_.reproduced = first.report.outcome != run_outcome::passed;
    if (!best_.reproduced)
      return best_;
    accept(first);

    try_items({});
    drop_groups([](const tape_item& i) { return stream{i.from.kind, 0}; });
    drop_groups([](const tape_item& i) { return i.from; });
    drop_chunks(std::max<std::size_t>(1, best_.items.size() / 2));
    // Less eventful values can make other choices superfluous, and vice versa.
    while (lower_values() && drop_chunks(1))
      ;
    best_.minimal = !out_of_budget();
    return best_;
  }

private:
  bool out_of_budget() const {
    return best_.runs >= limits_.runs || std::chrono::steady_clock::now() - start_ >= limits_.wall;
  }

  void accept(const attempt& a) {
    best_.report = a.report;
    best_.items = a.taken;
    std::sort(best_.items.begin(), best_.items.end());
    if (progress_)
      progress_(best_.items.size(), best_.runs);
  }

  /// @returns whether that tape fails in the same way; then the tape, as used, is the new best.
  bool try_items(const tape_items& candidate) {
    if (candidate == best_.items || out_of_budget() || !tried_.insert(fingerprint(candidate)).second)
      return false;
    ++best_.runs;
    const auto a = run_(candidate);
    if (a.report.outcome != best_.report.outcome || a.report.checker != best_.report.checker)
      return false;
    accept(a);
    return true;
  }

  /// FNV-1a. A collision would only lose a chance to shrink.
  static std::uint64_t fingerprint(const tape_items& items) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const auto& i : items)
      for (const auto n : {static_cast<std::uint64_t>(i.from.kind), std::uint64_t{i.from.number}, i.position, i.value})
        hash = (hash ^ n) * 0x100000001B3ULL;
    return hash;
  }

  /// Drops all items of a group at once, the largest groups first.
  template <class GroupOf>
  void drop_groups(GroupOf group_of) {
    std::map<stream, std::size_t> sizes;
    for (const auto& i : best_.items)
      ++sizes[group_of(i)];
    std::vector<std::pair<std::size_t, stream>> order;
    for (const auto& [group, size] : sizes)
      order.emplace_back(size, group);
    std::sort(order.rbegin(), order.rend());
    for (const auto& [size, group] : order) {
      tape_items rest;
      for (const auto& i : best_.items)
        if (group_of(i) != group)
          rest.push_back(i);
      try_items(rest);
    }
  }

  /// Drops ranges of adjacent items, shorter and shorter, down to single items, until none can go.
  /// @returns whether anything was dropped.
  bool drop_chunks(std::size_t size) {
    bool any = false;
    for (;;) {
      const bool some = drop_chunks_of(size);
      any = any || some;
      if (out_of_budget() || (size == 1 && !some))
        return any;
      // After a success with single items, try again: items before it may now be superfluous.
      size = std::max<std::size_t>(1, size / 2);
    }
  }

  bool drop_chunks_of(std::size_t size) {
    bool any = false;
    for (std::size_t at = 0; at < best_.items.size() && !out_of_budget();) {
      const auto begin = best_.items.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end = begin + static_cast<std::ptrdiff_t>(std::min(size, best_.items.size() - at));
      tape_items rest(best_.items.begin(), begin);
      rest.insert(rest.end(), end, best_.items.end());
      const bool last = end == best_.items.end();
      const auto next = last ? tape_item{} : *end;
      if (!try_items(rest)) {
        at += size;
        continue;
      }
      any = true;
      if (last)
        break;
      // The run may have dropped more than the chunk, even before it.
      at = static_cast<std::size_t>(std::lower_bound(best_.items.begin(), best_.items.end(), next) -
                                    best_.items.begin());
    }
    return any;
  }

  /// 1 is the least eventful choice above 0. @returns whether anything was lowered.
  bool lower_values() {
    auto ones = best_.items;
    for (auto& i : ones)
      i.value = 1;
    if (try_items(ones))
      return true;
    bool any = false;
    // Iterates by position in the stream, not by index: a success may drop items anywhere.
    auto next = tape_item{};
    while (!out_of_budget()) {
      const auto it = std::lower_bound(best_.items.begin(), best_.items.end(), next);
      if (it == best_.items.end())
        return any;
      const auto was = *it;
      next = {was.from, was.position + 1, 0};
      if (was.value == 1)
        continue;
      if (try_value(was, 1)) {
        any = true;
        continue;
      }
      // If the run does not fail with 1, halves the value as long as it does.
      for (auto v = was.value; v > 3 && try_value({was.from, was.position, v}, v / 2); v /= 2)
        any = true;
    }
    return any;
  }

  bool try_value(const tape_item& was, std::uint64_t value) {
    auto items = best_.items;
    const auto it = std::lower_bound(items.begin(), items.end(), was);
    if (it == items.end() || *it != was)
      return false;
    it->value = value;
    return try_items(items);
  }

  const attempt_function& run_;
  const shrink_limits limits_;
  const std::function<void(std::size_t, std::uint64_t)>& progress_;
  const std::chrono::steady_clock::time_point start_;
  shrunk best_;
  std::set<std::uint64_t> tried_;
};

} // namespace

shrunk shrink(const std::vector<tape_item>& items, const attempt_function& run, const shrink_limits& limits,
              const std::function<void(std::size_t, std::uint64_t)>& progress) {
  return shrinker(run, limits, progress).work(items);
}

} // namespace belay::sim
