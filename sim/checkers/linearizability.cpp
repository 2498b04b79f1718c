#include "sim/checkers/linearizability.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace belay::sim {

namespace {

// The search of Wing and Gong with Lowe's memo, in the form that follows the history in time ("just
// in time"). An operation is put in order only when its end is reached, or before another whose end
// is reached. So a state of the search is a moment, the value, and the set of open operations that
// already have a position in the order. Operations that ended before the moment all have one. At a
// quiescent point nothing is open, so the history splits into independent parts there.

using value_id = std::uint32_t;
constexpr value_id absent = 0;
constexpr value_id unseen = 1;   ///< any value that was never read or expected: all of them behave alike
constexpr value_id anything = 2; ///< only as an expectation: some value, not absent

constexpr std::size_t slots_max = 256; ///< operations open at a time, with all that never ended

struct slot_set {
  std::array<std::uint64_t, slots_max / 64> words{};
  bool has(std::size_t i) const { return (words[i / 64] >> (i % 64) & 1) != 0; }
  void add(std::size_t i) { words[i / 64] |= std::uint64_t{1} << (i % 64); }
  void drop(std::size_t i) { words[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  bool within(const slot_set& other) const {
    for (std::size_t i = 0; i < words.size(); ++i)
      if ((words[i] & ~other.words[i]) != 0)
        return false;
    return true;
  }
  bool operator==(const slot_set&) const = default;
};

struct step_op {
  std::uint64_t id = 0;
  register_verb verb = register_verb::read;
  value_id value = absent, expected = absent;
  bool succeeded = true;
  bool optional = false; ///< may never take effect, with any result
  virtual_time invoked{0}, returned{0};
  std::size_t slot = 0;
};

bool matches(value_id expected, value_id now) {
  return expected == anything ? now != absent : expected == now;
}

/// The value after the operation; nullopt: it cannot have had its result at `now`.
std::optional<value_id> after(const step_op& op, value_id now) {
  const auto only_if = [&](bool possible, value_id then) {
    return possible ? std::optional<value_id>(then) : std::nullopt;
  };
  switch (op.verb) {
  case register_verb::put:
    return op.value;
  case register_verb::remove:
    return absent;
  case register_verb::read:
    return only_if(op.value == now, now);
  case register_verb::cas: {
    const bool hit = matches(op.expected, now);
    if (op.optional)
      return hit ? op.value : now;
    if (!op.succeeded && op.expected == anything) // an index that was never read says nothing
      return now;
    return only_if(hit == op.succeeded, hit ? op.value : now);
  }
  case register_verb::remove_cas: {
    const bool hit = now == absent || matches(op.expected, now);
    if (op.optional)
      return hit ? absent : now;
    if (!op.succeeded && op.expected == anything)
      return only_if(now != absent, now);
    return only_if(hit == op.succeeded, hit ? absent : now);
  }
  }
  return std::nullopt;
}

bool only_looks(register_verb verb, bool succeeded) {
  return verb == register_verb::read || !succeeded;
}

struct event {
  virtual_time at;
  bool ends = false;
  std::size_t op = 0;
};

struct search_result {
  linearizable finding = linearizable::yes;
  std::size_t stuck = 0; ///< no: the operation whose end no order could pass
};

class search {
public:
  search(std::vector<step_op> ops, std::uint64_t steps) : ops_(std::move(ops)), steps_(steps) {}

  search_result run(const std::vector<value_id>& starts) {
    if (!lay_out())
      return {linearizable::gave_up, 0};
    for (auto start : starts) {
      frames_.clear();
      if (auto done = enter({0, {}, start}))
        return *done;
      while (!frames_.empty())
        if (auto done = advance())
          return *done;
    }
    return {linearizable::no, events_.empty() ? 0 : events_[furthest_].op};
  }

private:
  struct position {
    std::uint32_t event = 0;
    slot_set in_order;
    value_id value = absent;
    bool operator==(const position&) const = default;
  };
  struct position_hash {
    std::size_t operator()(const position& p) const noexcept {
      std::uint64_t h = p.event * 0x9E3779B97F4A7C15ULL ^ p.value;
      for (auto w : p.in_order.words)
        h = (h ^ w ^ h >> 29) * 0xBF58476D1CE4E5B9ULL;
      return static_cast<std::size_t>(h ^ h >> 32);
    }
  };
  struct frame {
    position at; ///< at the end of an operation that is not in order yet
    std::vector<std::size_t> choices;
    std::size_t next = 0;
  };

  /// Gives each operation a slot while it is open. @returns false: too many
  bool lay_out() {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      events_.push_back({ops_[i].invoked, false, i});
      if (!ops_[i].optional)
        events_.push_back({ops_[i].returned, true, i});
    }
    // At equal times starts come before ends, because two operations of which one ends when the
    // other starts may have overlapped.
    std::stable_sort(events_.begin(), events_.end(),
                     [](const event& a, const event& b) { return std::tie(a.at, a.ends) < std::tie(b.at, b.ends); });
    // Operations that never end have the first slots, so that the memo recognizes them by slot.
    const auto never_end = static_cast<std::size_t>(
        std::count_if(ops_.begin(), ops_.end(), [](const step_op& op) { return op.optional; }));
    std::size_t next_optional = 0;
    std::set<std::size_t> free;
    for (auto i = never_end; i < slots_max; ++i)
      free.insert(i);
    std::vector<std::size_t> open;
    for (const auto& e : events_) {
      auto& op = ops_[e.op];
      if (!e.ends) {
        if (free.empty())
          return false;
        if (op.optional) {
          op.slot = next_optional++;
          optional_.add(op.slot);
        } else {
          op.slot = *free.begin();
          free.erase(free.begin());
        }
        open.push_back(e.op);
      }
      open_at_.push_back(open);
      if (e.ends) {
        free.insert(op.slot);
        open.erase(std::find(open.begin(), open.end(), e.op));
      }
    }
    return true;
  }

  /// An operation that changes nothing may take effect at once. Only changes need a choice.
  void settle(position& p, const std::vector<std::size_t>& open) const {
    for (auto i : open) {
      const auto& op = ops_[i];
      if (!op.optional && only_looks(op.verb, op.succeeded) && !p.in_order.has(op.slot) && after(op, p.value))
        p.in_order.add(op.slot);
    }
  }

  /// The memo. A position is no better than one that is equal except that fewer operations of
  /// unknown outcome are used up. Whatever can follow the first can follow the second.
  bool is_new(const position& p) {
    auto key = p;
    slot_set used;
    for (std::size_t i = 0; i < used.words.size(); ++i) {
      used.words[i] = p.in_order.words[i] & optional_.words[i];
      key.in_order.words[i] &= ~optional_.words[i];
    }
    auto& known = seen_[key];
    if (std::any_of(known.begin(), known.end(), [&](const slot_set& fewer) { return fewer.within(used); }))
      return false;
    std::erase_if(known, [&](const slot_set& more) { return used.within(more); });
    known.push_back(used);
    return true;
  }

  /// Advances to the next end that needs a choice. @returns a result when the search is over
  std::optional<search_result> enter(position p) {
    for (; p.event < events_.size(); ++p.event) {
      const auto& e = events_[p.event];
      furthest_ = std::max<std::size_t>(furthest_, p.event);
      const auto& op = ops_[e.op];
      settle(p, open_at_[p.event]);
      if (!e.ends)
        continue;
      if (!p.in_order.has(op.slot)) {
        if (steps_-- == 0)
          return search_result{linearizable::gave_up, 0};
        if (!is_new(p))
          return std::nullopt;
        frames_.push_back({p, choices(p, e.op), 0});
        return std::nullopt;
      }
      p.in_order.drop(op.slot);
    }
    return search_result{linearizable::yes, 0};
  }

  /// The order in which to try operations: first the one that must be next, then those that produce
  /// the value it saw, then those that are done, and last those of unknown outcome.
  std::vector<std::size_t> choices(const position& p, std::size_t must) const {
    std::vector<std::size_t> found;
    bool unseen_write = false;
    for (auto i : open_at_[p.event]) {
      const auto& op = ops_[i];
      if (p.in_order.has(op.slot))
        continue;
      // A delete of a missing key changes nothing now, but may have to precede the key's creation.
      if (!after(op, p.value) || (op.optional && *after(op, p.value) == p.value))
        continue;
      // Writes whose values were never read are interchangeable.
      if (op.optional && op.verb == register_verb::put && op.value == unseen && std::exchange(unseen_write, true))
        continue;
      found.push_back(i);
    }
    const auto& wanted = ops_[must];
    const auto rank = [&](std::size_t i) {
      if (i == must)
        return 0;
      const bool helps = after(wanted, *after(ops_[i], p.value)).has_value() && !after(wanted, p.value);
      return (ops_[i].optional ? 3 : 1) + (helps ? 0 : 1);
    };
    std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    return found;
  }

  std::optional<search_result> advance() {
    auto& top = frames_.back();
    if (top.next == top.choices.size()) {
      frames_.pop_back();
      return std::nullopt;
    }
    auto p = top.at;
    const auto& op = ops_[top.choices[top.next++]];
    p.value = *after(op, p.value);
    p.in_order.add(op.slot);
    return enter(p); // may move frames_
  }

  std::vector<step_op> ops_;
  std::uint64_t steps_;
  std::vector<event> events_;
  std::vector<std::vector<std::size_t>> open_at_; ///< by event, with the operation that begins or ends there
  slot_set optional_;                             ///< slots of operations that may never take effect; never used again
  std::unordered_map<position, std::vector<slot_set>, position_hash> seen_; ///< used up, by everything else
  std::vector<frame> frames_;
  std::size_t furthest_ = 0;
};

// ---- one key

std::string described(const register_op& op) {
  const auto text = [](const std::optional<std::string>& v) { return v ? '"' + *v + '"' : std::string("absent"); };
  const auto expected = [&] { return op.expected.anything ? std::string("something") : text(op.expected.value); };
  const auto us = [](virtual_time t) { return std::to_string(t.count() / 1000); };
  std::string line = '#' + std::to_string(op.id) + " [" + us(op.invoked) + ", ";
  const bool open = op.result != outcome::done;
  line += open ? "? us] " : us(op.returned) + " us] ";
  switch (op.verb) {
  case register_verb::put:
    return line + "put " + text(op.value);
  case register_verb::remove:
    return line + "delete";
  case register_verb::read:
    return line + "read " + text(op.observed);
  case register_verb::cas:
    return line + "cas " + expected() + " to " + text(op.value) + (open ? "" : op.succeeded ? ": true" : ": false");
  case register_verb::remove_cas:
    return line + "delete if " + expected() + (open ? "" : op.succeeded ? ": true" : ": false");
  }
  return line;
}

class one_key {
public:
  explicit one_key(std::vector<const register_op*> ops) : ops_(std::move(ops)) {
    std::stable_sort(ops_.begin(), ops_.end(), [](const auto* a, const auto* b) { return a->invoked < b->invoked; });
    name_values();
  }

  linearizability_report check(std::uint64_t steps_max) {
    const auto found = search(steps(virtual_time::min()), steps_max).run({absent});
    linearizability_report report{found.finding, {}, {}};
    if (found.finding == linearizable::no)
      report.text = window(found.stuck, steps_max);
    return report;
  }

private:
  /// A value gets a number of its own only if it was read or expected.
  void name_values() {
    value_id next = anything + 1;
    const auto name = [&](const std::optional<std::string>& v) {
      if (v && ids_.emplace(*v, next).second)
        ++next;
    };
    for (const auto* op : ops_) {
      if (op->verb == register_verb::read && op->result == outcome::done)
        name(op->observed);
      if ((op->verb == register_verb::cas || op->verb == register_verb::remove_cas) && !op->expected.anything)
        name(op->expected.value);
    }
    values_ = next;
  }
  value_id id_of(const std::optional<std::string>& v) const {
    if (!v)
      return absent;
    const auto it = ids_.find(*v);
    return it == ids_.end() ? unseen : it->second;
  }

  /// Operations that end at or after `from`. Earlier begun ones may have taken effect before it.
  std::vector<step_op> steps(virtual_time from, std::size_t begin = 0, std::size_t end = SIZE_MAX) {
    std::vector<step_op> found;
    shown_.clear();
    for (std::size_t i = begin; i < std::min(end, ops_.size()); ++i) {
      const auto& op = *ops_[i];
      const bool known = op.result == outcome::done;
      if (known && op.returned < from)
        continue;
      step_op s;
      s.id = op.id;
      s.verb = op.verb;
      s.optional = !known || op.invoked < from;
      if (s.optional && only_looks(op.verb, !known || op.succeeded))
        continue;
      s.value = id_of(op.verb == register_verb::read ? op.observed : std::optional(op.value));
      s.expected = op.expected.anything ? anything : id_of(op.expected.value);
      s.succeeded = op.succeeded;
      s.invoked = op.invoked;
      s.returned = op.returned;
      found.push_back(s);
      shown_.push_back(&op);
    }
    return found;
  }

  /// Removes first what came after the end that no order can pass, then as much as possible of what
  /// came before. A cut is invalid if some value of the register there makes the remaining
  /// operations linearizable.
  std::string window(std::size_t stuck, std::uint64_t steps_max) {
    (void)steps(virtual_time::min());
    const auto last_end = shown_[stuck]->returned;
    std::vector<const register_op*> kept;
    for (const auto* op : shown_)
      if (op->invoked <= last_end)
        kept.push_back(op);
    std::vector<register_op> cut; // operations that cross the cut are open
    for (const auto* op : kept) {
      const bool beyond = op->result == outcome::done && op->returned > last_end;
      if (beyond && only_looks(op->verb, op->succeeded))
        continue;
      cut.push_back(*op);
      if (beyond)
        cut.back().result = outcome::unknown;
    }
    ops_.clear();
    for (const auto& op : cut)
      ops_.push_back(&op);
    std::vector<value_id> any_start;
    for (value_id v = absent; v < values_; ++v)
      if (v != anything)
        any_start.push_back(v);
    std::vector<const register_op*> smallest;
    for (std::size_t size = 1; size < ops_.size(); size = size < 16 ? size + 1 : size * 2) {
      const auto from = ops_[ops_.size() - size]->invoked;
      auto some = steps(from);
      if (search(std::move(some), steps_max / 16 + 1).run(any_start).finding == linearizable::no) {
        smallest = shown_;
        break;
      }
    }
    if (smallest.empty()) {
      (void)steps(virtual_time::min());
      smallest = shown_;
    }
    std::string text;
    constexpr std::size_t lines_max = 40;
    if (smallest.size() > lines_max)
      text = "(" + std::to_string(smallest.size() - lines_max) + " operations before these)\n";
    for (auto i = smallest.size() > lines_max ? smallest.size() - lines_max : 0; i < smallest.size(); ++i)
      text += described(*smallest[i]) + '\n';
    return text;
  }

  std::vector<const register_op*> ops_;   ///< by begin
  std::vector<const register_op*> shown_; ///< those of the last steps(), in the same order
  std::unordered_map<std::string, value_id> ids_;
  value_id values_ = 0;
};

} // namespace

linearizability_report check_linearizability(const std::vector<register_op>& history, std::uint64_t steps_max_per_key) {
  std::map<std::string_view, std::vector<const register_op*>> by_key;
  for (const auto& op : history)
    if (op.result != outcome::refused)
      by_key[op.key].push_back(&op);
  linearizability_report given_up;
  for (auto& [key, ops] : by_key) {
    auto report = one_key(std::move(ops)).check(steps_max_per_key);
    report.key = key;
    if (report.finding == linearizable::no)
      return report;
    if (report.finding == linearizable::gave_up && given_up.finding == linearizable::yes)
      given_up = std::move(report);
  }
  return given_up;
}

} // namespace belay::sim
