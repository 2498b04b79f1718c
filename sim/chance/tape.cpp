#include "sim/chance/tape.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

namespace belay::sim {

namespace {

constexpr std::array<std::string_view, 7> kind_names = {"swarm", "schedule", "nemesis", "network",
                                                        "disk",  "client",   "clock"};

std::uint64_t seed_of(std::uint64_t seed, stream s) {
  seeded_random mix(seed * 0x9E3779B97F4A7C15ULL + (static_cast<std::uint64_t>(s.kind) << 32 | s.number));
  mix.next();
  return mix.next();
}

bool parse_number(std::string_view text, std::uint64_t& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_item(std::string_view line, tape_item& into) {
  std::istringstream words{std::string(line)};
  std::string kind, number, position, value, more;
  words >> kind >> number >> position >> value;
  const auto* known = std::find(kind_names.begin(), kind_names.end(), kind);
  std::uint64_t n = 0;
  if (known == kind_names.end() || words >> more || !parse_number(number, n) || n > UINT16_MAX ||
      !parse_number(position, into.position) || !parse_number(value, into.value) || into.value == 0)
    return false;
  into.from = {static_cast<stream_kind>(known - kind_names.begin()), static_cast<std::uint16_t>(n)};
  return true;
}

} // namespace

tape::tape(std::uint64_t seed, const std::vector<tape_item>& items) : seed_(seed), drawing_(false) {
  auto sorted = items;
  std::sort(sorted.begin(), sorted.end());
  for (const auto& i : sorted)
    tracks_[i.from].planned.emplace_back(i.position, i.value);
}

tape::track& tape::of(stream s) {
  ++questions_;
  const auto [it, fresh] = tracks_.try_emplace(s);
  if (fresh && drawing_)
    it->second.random = seeded_random(seed_of(seed_, s));
  return it->second;
}

std::uint64_t tape::keep(track& t, std::uint64_t value) {
  if (value != 0)
    t.given.emplace_back(t.position, value);
  ++t.position;
  return value;
}

std::uint64_t tape::replay(track& t, std::uint64_t n) {
  while (t.next_planned < t.planned.size() && t.planned[t.next_planned].first < t.position)
    ++t.next_planned;
  std::uint64_t value = 0;
  if (t.next_planned < t.planned.size() && t.planned[t.next_planned].first == t.position)
    value = std::min(t.planned[t.next_planned].second, n - 1);
  return keep(t, value);
}

std::uint64_t tape::choose(stream s, std::uint64_t n) {
  PRECONDITION(n > 0);
  auto& t = of(s);
  return drawing_ ? keep(t, t.random.below(n)) : replay(t, n);
}

std::uint64_t tape::choose_rarely(stream s, std::uint64_t n, std::uint32_t per_million) {
  PRECONDITION(n > 1);
  auto& t = of(s);
  if (!drawing_)
    return replay(t, n);
  return keep(t, t.random.below(1'000'000) < per_million ? 1 + t.random.below(n - 1) : 0);
}

std::vector<tape_item> tape::taken() const {
  std::vector<tape_item> items;
  for (const auto& [from, t] : tracks_)
    for (const auto& [position, value] : t.given)
      items.push_back({from, position, value});
  return items;
}

std::string to_text(const saved_tape& t) {
  std::ostringstream out;
  out << "belay-sim tape 1\n";
  std::istringstream story(t.story);
  for (std::string line; std::getline(story, line);)
    out << "# " << line << '\n';
  out << "seed " << t.seed << "\nprofile " << t.profile << '\n';
  if (!t.mutant.empty())
    out << "mutant " << t.mutant << '\n';
  if (t.chaos_seconds != 0)
    out << "chaos_seconds " << t.chaos_seconds << '\n';
  if (!t.expect.empty())
    out << "expect " << t.expect << '\n';
  for (const auto& i : t.items)
    out << kind_names[static_cast<std::size_t>(i.from.kind)] << ' ' << i.from.number << ' ' << i.position << ' '
        << i.value << '\n';
  return out.str();
}

result<saved_tape> parse_tape(std::string_view text) {
  saved_tape t;
  std::istringstream in{std::string(text)};
  std::string line;
  if (!std::getline(in, line) || line != "belay-sim tape 1")
    return failure{"not a tape: the first line must be \"belay-sim tape 1\""};
  for (std::size_t number = 2; std::getline(in, line); ++number) {
    const auto space = line.find(' ');
    const auto word = line.substr(0, space);
    const auto rest = space == std::string::npos ? std::string{} : line.substr(space + 1);
    tape_item item;
    bool good = true;
    if (line.empty())
      continue;
    if (word == "#")
      t.story += rest + '\n';
    else if (word == "seed")
      good = parse_number(rest, t.seed);
    else if (word == "profile")
      t.profile = rest;
    else if (word == "mutant")
      t.mutant = rest;
    else if (word == "chaos_seconds")
      good = parse_number(rest, t.chaos_seconds);
    else if (word == "expect")
      t.expect = rest;
    else if ((good = parse_item(line, item)))
      t.items.push_back(item);
    if (!good)
      return failure{"line " + std::to_string(number) + " of the tape cannot be read: " + line};
  }
  return t;
}

} // namespace belay::sim
