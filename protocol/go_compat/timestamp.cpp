#include "protocol/go_compat/timestamp.hpp"

#include "protocol/go_compat/quoting.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace belay::go_compat {

namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;

void append_padded(std::string& out, std::uint64_t n, std::size_t width) {
  const auto digits = std::to_string(n);
  out.append(width - std::min(width, digits.size()), '0').append(digits);
}

/// Parses parts from the front of a text.
struct time_reader {
  std::string_view rest;
  bool ok = true;

  bool take(char c) {
    if (rest.empty() || rest.front() != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }
  void expect(char c) { ok = ok && take(c); }
  /// Exactly `digits` digits, with a value from `low` to `high`.
  int number(std::size_t digits, int low, int high) {
    int n = 0;
    ok = ok && rest.size() >= digits;
    for (std::size_t i = 0; ok && i < digits; ++i) {
      ok = rest[i] >= '0' && rest[i] <= '9';
      n = n * 10 + (rest[i] - '0');
    }
    if (ok)
      rest.remove_prefix(digits);
    ok = ok && n >= low && n <= high;
    return n;
  }
  /// Parses the digits after the point: at least one.
  std::uint32_t fraction() {
    std::uint32_t n = 0;
    std::size_t digits = 0;
    for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; rest.remove_prefix(1))
      if (digits++ < 9)
        n = n * 10 + static_cast<std::uint32_t>(rest.front() - '0');
    ok = ok && digits > 0;
    for (; digits < 9; ++digits)
      n *= 10;
    return n;
  }
};

std::optional<timestamp> read_timestamp(std::string_view text) {
  using namespace std::chrono;
  time_reader r{text};
  const year y{r.number(4, 0, 9999)};
  r.expect('-');
  const month m{static_cast<unsigned>(r.number(2, 1, 12))};
  r.expect('-');
  const day d{static_cast<unsigned>(r.number(2, 1, 31))};
  r.expect('T');
  const hours h{r.number(2, 0, 23)};
  r.expect(':');
  const minutes min{r.number(2, 0, 59)};
  r.expect(':');
  const seconds s{r.number(2, 0, 59)};
  const auto ns = r.ok && r.take('.') ? r.fraction() : 0;
  minutes ahead{0};
  if (r.ok && !r.take('Z')) {
    const bool behind = r.take('-');
    if (!behind)
      r.expect('+');
    ahead = hours{r.number(2, 0, 24)};
    r.expect(':');
    ahead += minutes{r.number(2, 0, 59)};
    if (behind)
      ahead = -ahead;
  }
  if (!r.ok || !r.rest.empty() || !(y / m / d).ok())
    return std::nullopt;
  return timestamp{sys_days{y / m / d} + h + min + s - ahead, ns};
}

} // namespace

timestamp timestamp::of(std::int64_t ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> at{std::chrono::nanoseconds(ns)};
  const auto second = std::chrono::floor<std::chrono::seconds>(at);
  return {second, static_cast<std::uint32_t>((at - second).count())};
}

std::int64_t timestamp::ns_since_1970() const {
  const auto seconds = second.time_since_epoch().count();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (seconds >= most / ns_per_second)
    return most;
  if (seconds <= -(most / ns_per_second))
    return std::numeric_limits<std::int64_t>::min();
  return seconds * ns_per_second + nanoseconds;
}

std::string format_timestamp(const timestamp& t) {
  using namespace std::chrono;
  const auto midnight = floor<days>(t.second);
  const year_month_day date{midnight};
  const hh_mm_ss time{t.second - midnight};
  std::string out;
  append_padded(out, static_cast<std::uint64_t>(static_cast<int>(date.year())), 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_padded(out, static_cast<std::uint64_t>(time.hours().count()), 2);
  out += ':';
  append_padded(out, static_cast<std::uint64_t>(time.minutes().count()), 2);
  out += ':';
  append_padded(out, static_cast<std::uint64_t>(time.seconds().count()), 2);
  if (t.nanoseconds != 0) {
    out += '.';
    append_padded(out, t.nanoseconds, 9);
    out.erase(out.find_last_not_of('0') + 1);
  }
  return out += 'Z';
}

result<timestamp> parse_timestamp(std::string_view text) {
  if (auto t = read_timestamp(text))
    return *t;
  return failure{"parsing time " + quoted(text) + " as \"2006-01-02T15:04:05Z07:00\": cannot parse " + quoted(text)};
}

} // namespace belay::go_compat
