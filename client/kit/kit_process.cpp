#include "client/kit/kit_process.hpp"

#include "client/kit/request_texts.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>

namespace belay {
inline namespace v0 {
namespace sim {

using namespace std::chrono_literals;
using std::chrono::microseconds;

namespace {

// Streams of random numbers: each process has a block of them.
constexpr std::uint16_t first_stream = 2000;
constexpr std::uint16_t streams_each = 16;

// Lengths of pauses, outages and cuts; shrinking prefers the shortest. The longest exceeds any TTL
// that a scenario can wait for.
constexpr milliseconds lengths[] = {100ms, 1000ms, 4000ms, 15000ms, 40000ms};
constexpr std::uint64_t lengths_count = std::size(lengths);
// Each process draws a fault this often, with this probability.
constexpr milliseconds round{1000};
constexpr std::uint32_t rounds_per_million = 150'000;

constexpr microseconds usual_way{150};
constexpr milliseconds late_by[] = {5ms, 50ms, 400ms, 2000ms, 8000ms};

std::string in_seconds(std::chrono::nanoseconds d) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(d.count()) / 1e9);
  return text;
}

answer answer_of(belay_ground::reply r) {
  if (r.status == 0)
    return answer::none(r.sent, std::move(r.body));
  answer a(r.status, std::move(r.body));
  for (auto& [name, value] : r.headers)
    a.add_header(std::move(name), std::move(value));
  return a;
}

/// What the clocks of processes show at the start: a steady clock has no meaningful zero.
constexpr instant origin{std::chrono::seconds(1000)};

} // namespace

kit_process::kit_process(run_parts& shared, std::size_t number, std::string name, std::function<task<>(process&)> main)
    : shared_(shared), number_(number), name_(std::move(name)), main_(std::move(main)), cut_until_(ground().servers()),
      preferred_(number % ground().servers()) {
  if (shared_.faults.clock) {
    constexpr std::uint64_t steps = 9; // in thousandths: within what sessions tolerate (a hundredth)
    const auto drawn = ground().choose(stream(use::clock), 1 + 2 * steps);
    clock_ppm_ = 1000 * (drawn <= steps ? static_cast<std::int64_t>(drawn) : static_cast<std::int64_t>(steps - drawn));
    if (clock_ppm_ != 0)
      add_line("has a clock that runs " + std::to_string(clock_ppm_ / 1000) + " thousandths too fast");
  }
}

std::uint16_t kit_process::stream(use what) const {
  return static_cast<std::uint16_t>(first_stream + streams_each * number_ + static_cast<std::uint16_t>(what));
}

void kit_process::add_line(const std::string& text) {
  if (ground().traces())
    ground().add_line(name_, text);
}

// ---- crashes and restarts

void kit_process::begin() {
  ++life_;
  born_healed_ = shared_.healed;
  down_ = false;
  if (life_ > 1)
    add_line("restarts");
  if (life_ == 1 && !shared_.healed)
    ground().at(ground().now() + round, [this] { act(); });
  task_ = main_(*this);
  task_.start();
  look_at_task();
}

void kit_process::look_at_task() {
  if (!task_.valid() || !task_.done())
    return;
  try {
    task_.take();
    add_line("has ended");
  } catch (const std::exception& e) {
    shared_.fail("exception", name_ + ": " + e.what());
  } catch (...) {
    shared_.fail("exception", name_ + ": an exception that is not a std::exception");
  }
  task_.reset();
}

void kit_process::crash(std::uint64_t length) {
  count("client-crash");
  const bool for_long = length + 1 == lengths_count;
  add_line("crashes");
  down_ = true;
  frozen_until_ = moment(0);
  task_.reset();
  if (!waiting_.empty())
    shared_.fail("crash", name_ + ": a call waits that is not part of the task of the process");
  if (!for_long) // otherwise until the faults end
    ground().at(ground().now() + lengths[length], [this, life = life_] {
      if (down_ && life_ == life)
        begin();
    });
}

void kit_process::heal() {
  std::fill(cut_until_.begin(), cut_until_.end(), moment(0));
  if (down_)
    begin();
}

void kit_process::end() {
  task_.reset();
}

// ---- faults at any time

void kit_process::act() {
  if (shared_.healed)
    return;
  ground().at(ground().now() + round, [this] { act(); });
  // One number for all of it: removing it removes one fault and changes no other.
  const auto cut_choices = ground().servers() + 1;
  const auto drawn =
      ground().choose_rarely(stream(use::rounds), 1 + 3 * lengths_count * cut_choices, rounds_per_million);
  if (drawn == 0 || down_ || !task_.valid())
    return;
  const auto what = (drawn - 1) % 3;
  const auto length = (drawn - 1) / 3 % lengths_count;
  const auto cut_server = (drawn - 1) / 3 / lengths_count;
  if (what == 0 && shared_.faults.stop)
    stand_still(lengths[length], "");
  if (what == 1 && shared_.faults.crash)
    crash(length);
  if (what == 2 && shared_.faults.cut) {
    count("client-cut");
    const auto until = ground().now() + lengths[length];
    for (std::size_t i = 0; i < cut_until_.size(); ++i)
      if (cut_server == 0 || cut_server == i + 1)
        cut_until_[i] = std::max(cut_until_[i], until);
    add_line("is cut off from " +
             (cut_server == 0 ? std::string("any server") : "server n" + std::to_string(cut_server - 1)) + " for " +
             in_seconds(lengths[length]));
  }
}

bool kit_process::is_cut(std::size_t server) const {
  return ground().now() < cut_until_[server];
}

void kit_process::stand_still(moment length, const std::string& where) {
  // All pauses end with the faults.
  const auto until = std::min(ground().now() + length, shared_.faults_end);
  count("client-pause");
  add_line("is paused for " + in_seconds(until - ground().now()) + where);
  if (until <= frozen_until_)
    return;
  frozen_until_ = until;
  ground().at(until, [this, until] {
    if (frozen_until_ == until && !down_)
      add_line("continues");
  });
}

bool kit_process::maybe_pause(use what, std::uint32_t per_million, const char* where, const std::string& words) {
  if (shared_.healed || per_million == 0 || frozen_until_ > ground().now())
    return false;
  const auto drawn = ground().choose_rarely(stream(what), 1 + lengths_count, per_million);
  if (drawn == 0)
    return false;
  stand_still(lengths[drawn - 1], where + words);
  return true;
}

// ---- its clock and its random numbers

// A clock read during a pause shows the time at its end.
instant kit_process::local_of(moment global) const {
  return origin + global + global / 1'000'000 * clock_ppm_;
}

kit_process::moment kit_process::global_of(instant local) const {
  if (clock_ppm_ == 0)
    return local - origin;
  // A time at which its clock shows at least that: the division rounds down, by less than 1.1 ms.
  return (local - origin) / (1'000'000 + clock_ppm_) * 1'000'000 + 2ms;
}

instant kit_process::now() {
  // The pause comes after the clock was read, before the process can use the result.
  const auto seen = local_of(global());
  maybe_pause(use::clock_pause, shared_.faults.pause_at_clock, ", just after it read its clock", "");
  return seen;
}

std::uint64_t kit_process::random(std::uint64_t n) {
  return ground().choose(stream(use::recipes), n);
}

// ---- what it waits for

std::uint64_t kit_process::enlist(operation& op) {
  op.ticket = next_ticket_++;
  waiting_[op.ticket].op = &op;
  return op.ticket;
}

void kit_process::end_at(std::uint64_t ticket, moment when, bool stopped, answer a) {
  ground().at(when, [this, ticket, stopped, a = std::move(a)]() mutable {
    if (ground().now() < frozen_until_)
      end_at(ticket, frozen_until_, stopped, std::move(a));
    else
      finish(ticket, stopped, std::move(a));
  });
}

void kit_process::finish(std::uint64_t ticket, bool stopped, answer a) {
  auto found = waiting_.extract(ticket);
  if (!found)
    return;
  hang_up(found.mapped());
  ground().note(ticket << 16 ^ static_cast<std::uint64_t>(a.status()) ^ number_ << 48);
  found.mapped().op->finish(stopped, std::move(a));
  look_at_task();
}

void kit_process::sleep(operation& op, instant until) {
  end_at(enlist(op), std::max(global_of(until), global()), false, answer());
}

void kit_process::stop(operation& op) {
  end_at(op.ticket, global(), true, answer());
}

void kit_process::forget(operation& op) noexcept {
  if (const auto found = waiting_.extract(op.ticket))
    hang_up(found.mapped());
}

// ---- requests

kit_process::moment kit_process::one_way() {
  moment d = usual_way;
  if (shared_.healed || shared_.faults.late == 0)
    return d;
  if (const auto n = ground().choose_rarely(stream(use::lateness), 1 + std::size(late_by), shared_.faults.late);
      n != 0) {
    count("client-late");
    d = late_by[n - 1];
  }
  return d;
}

void kit_process::ask(operation& op, const request& q, instant deadline) {
  const auto ticket = enlist(op);
  ++shared_.counts.requested;
  letter l{q};
  for (const auto& each : shared_.services)
    if (q.target().compare(0, each.path.size(), each.path) == 0)
      l.to = &each;
  maybe_pause(use::send_pause, shared_.faults.pause_before_send, ", just before it sends a request: it ",
              ground().traces() ? words_of(q) : std::string());
  if (!shared_.healed && shared_.faults.lost > 0)
    l.lost = ground().choose_rarely(stream(use::loss), 3, shared_.faults.lost);
  l.server = preferred_;
  // The deadline was computed from a clock that may have been read long ago.
  const auto until = std::max(global_of(deadline), global());
  ground().at(global(), [this, ticket, l = std::move(l)]() mutable { send(ticket, std::move(l)); });
  ground().at(until, [this, ticket, q] {
    const auto found = waiting_.find(ticket);
    if (found == waiting_.end())
      return;
    // A server that accepts requests and does not respond is not retried at once.
    if (found->second.number != 0)
      avoid(found->second.server);
    ++shared_.counts.unknown;
    const auto none = answer::none(true, "no response in time");
    add_line(words_of(q, none));
    end_at(ticket, ground().now(), false, none);
  });
}

void kit_process::send(std::uint64_t ticket, letter l) {
  // The process is paused: what has not left does not leave.
  if (ground().now() < frozen_until_) {
    ground().at(frozen_until_, [this, ticket, l = std::move(l)]() mutable { send(ticket, std::move(l)); });
    return;
  }
  if (!waiting_.contains(ticket))
    return;
  const auto way = one_way();
  if (l.lost == 1) {
    count("client-loss");
    answered(ticket, l, answer::none(true, "the connection was lost"));
    return;
  }
  // From here on it arrives, whatever happens to the sender.
  ground().at(ground().now() + way, [this, ticket, l = std::move(l)]() mutable { arrive(ticket, std::move(l)); });
}

void kit_process::avoid(std::size_t server) {
  if (server == preferred_)
    preferred_ = (server + 1) % ground().servers();
}

void kit_process::arrive(std::uint64_t ticket, letter l) {
  if (l.to != nullptr)
    return serve(ticket, l);
  if (is_cut(l.server)) {
    // The bytes are never acknowledged: the request ends at its deadline.
    if (const auto found = waiting_.find(ticket); found != waiting_.end()) {
      found->second.number = UINT64_MAX;
      found->second.server = l.server;
    }
    return;
  }
  if (!ground().listens(l.server)) {
    avoid(l.server);
    if (++l.tried == ground().servers())
      return answered(ticket, l, answer::none(false, "no server listens"));
    l.server = (l.server + 1) % ground().servers();
    ground().at(ground().now() + usual_way, [this, ticket, l = std::move(l)]() mutable {
      if (waiting_.contains(ticket))
        arrive(ticket, std::move(l));
    });
    return;
  }
  auto bytes = bytes_of(l.question);
  const auto server = l.server;
  const auto number = ground().send(server, std::move(bytes), [this, ticket, l = std::move(l)](belay_ground::reply r) {
    if (is_cut(l.server))
      return;
    if (l.lost == 2) {
      count("client-loss");
      r = belay_ground::reply{0, true, {}, "the connection was lost"};
    }
    if (r.status == 0 || r.status >= 500)
      avoid(l.server);
    answered(ticket, l, answer_of(std::move(r)));
  });
  if (const auto found = waiting_.find(ticket); found != waiting_.end()) {
    found->second.number = number;
    found->second.server = server;
  } else {
    ground().hang_up(number);
  }
}

void kit_process::serve(std::uint64_t ticket, const letter& l) {
  if (ground().traces())
    ground().add_line(l.to->path, "gets a request from " + name_ + ": " + words_of(l.question).substr(6));
  auto a = l.to->answers(l.question);
  answered(ticket, l, l.lost == 2 ? answer::none(true, "the connection was lost") : std::move(a));
}

void kit_process::answered(std::uint64_t ticket, const letter& l, answer a) {
  if (!waiting_.contains(ticket))
    return;
  ground().at(ground().now() + one_way(), [this, ticket, l, a = std::move(a)]() mutable {
    if (!waiting_.contains(ticket))
      return;
    ++(!a.received() ? shared_.counts.unknown : a.status() == 200 ? shared_.counts.done : shared_.counts.refused);
    traces(ticket, l, std::move(a));
  });
}

void kit_process::traces(std::uint64_t ticket, const letter& l, answer a) {
  if (ground().now() < frozen_until_) {
    ground().at(frozen_until_, [this, ticket, l, a = std::move(a)]() mutable { traces(ticket, l, std::move(a)); });
    return;
  }
  if (!waiting_.contains(ticket))
    return;
  if (ground().traces())
    if (const auto words = words_of(l.question, a); !words.empty() && l.to == nullptr)
      add_line(words);
  if (ground().traces() && l.to == nullptr)
    if (auto id = opened_session(l.question, a); !id.empty())
      shared_.sessions.emplace(std::move(id), name_);
  finish(ticket, false, std::move(a));
}

/// Withdraws a request from its server when its response is no longer needed.
void kit_process::hang_up(const waiting& w) noexcept {
  if (w.number != 0 && w.number != UINT64_MAX && !is_cut(w.server))
    ground().hang_up(w.number);
}

} // namespace sim
} // namespace v0
} // namespace belay
