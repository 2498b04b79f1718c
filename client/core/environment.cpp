#include <belay/environment.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ctime>

namespace belay {
inline namespace v0 {

namespace {

bool same_name(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

void append_escaped(std::string& out, std::string_view text, std::string_view kept) {
  static constexpr char digits[] = "0123456789ABCDEF";
  for (unsigned char c : text) {
    if (std::isalnum(c) || kept.find(static_cast<char>(c)) != kept.npos) {
      out += static_cast<char>(c);
    } else {
      out += '%';
      out += digits[c >> 4];
      out += digits[c & 15];
    }
  }
}

reason reason_named(std::string_view name) noexcept {
  static constexpr std::pair<std::string_view, reason> known[] = {
      {"held", reason::held},        {"lock-delay", reason::lock_delay},   {"queued", reason::queued},
      {"index", reason::index},      {"deadline", reason::deadline},       {"bounds", reason::bounds},
      {"session", reason::session},  {"unknown-session", reason::session}, {"unknown-claim", reason::absent},
      {"queue-full", reason::limit}, {"bytes-full", reason::limit},
  };
  for (const auto& [text, why] : known)
    if (text == name)
      return why;
  return reason::none;
}

} // namespace

lease_clock::time_point lease_clock::now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

std::string_view name_of(reason r) noexcept {
  static constexpr std::string_view names[] = {
      "none",    "held",      "lock-delay", "queued", "index",       "absent",      "bounds",    "deadline", "stopped",
      "session", "forbidden", "invalid",    "limit",  "unsupported", "unavailable", "no-answer", "server",   "closed"};
  return names[static_cast<std::size_t>(r)];
}

std::string request::path_of(std::string_view path, std::string_view name) {
  std::string out(path);
  append_escaped(out, name, "-_.~/");
  return out;
}

request& request::query(std::string_view name, std::string_view value) {
  waits_ = waits_ || name == "wait";
  query(name);
  target_ += '=';
  append_escaped(target_, value, "-_.~");
  return *this;
}

request& request::query(std::string_view name) {
  target_ += target_.find('?') == target_.npos ? '?' : '&';
  target_ += name;
  return *this;
}

request& request::header(std::string name, std::string value) {
  headers_.emplace_back(std::move(name), std::move(value));
  return *this;
}

request& request::body(std::string text) {
  body_ = std::move(text);
  return *this;
}

request& request::repeatable() {
  repeatable_ = true;
  return *this;
}

request& request::urgent() {
  urgent_ = true;
  return *this;
}

answer answer::none(bool sent, std::string text, reason why) {
  answer a(0, std::move(text));
  a.sent_ = sent;
  a.why_ = why;
  return a;
}

std::string_view answer::header(std::string_view name) const noexcept {
  for (const auto& [key, value] : headers_)
    if (same_name(key, name))
      return value;
  return {};
}

std::uint64_t answer::number(std::string_view name) const noexcept {
  auto text = header(name);
  std::uint64_t n = 0;
  auto [end, ok] = std::from_chars(text.data(), text.data() + text.size(), n);
  return ok == std::errc{} && end == text.data() + text.size() ? n : 0;
}

error answer::to_error(bool changes) const {
  if (!received()) {
    auto how = sent_ && changes ? outcome::unknown : outcome::refused;
    auto why = !sent_ && why_ == reason::no_answer ? reason::unavailable : why_;
    return error(how, why, body_);
  }
  auto text = body_.substr(0, 400);
  auto named = reason_named(header("X-Belay-Reason"));
  error e(outcome::refused, named, text, status_);
  if (status_ >= 500) {
    // Consul responds 500 to many errors. These texts prove that nothing was changed.
    if (text.find("invalid session") != text.npos)
      return error(outcome::refused, reason::session, text, status_);
    if (text.find("Invalid Session TTL") != text.npos)
      return error(outcome::refused, reason::invalid, text, status_);
    return error(changes ? outcome::unknown : outcome::refused, reason::server, text, status_);
  }
  if (status_ == 200) {
    if (auto ms = number("X-Belay-Retry-After-Ms"))
      e.set_retry_after(milliseconds(static_cast<std::int64_t>(std::min<std::uint64_t>(ms, 86'400'000))));
    return e;
  }
  if (named != reason::none)
    return e;
  switch (status_) {
  case 401:
  case 403:
    return error(outcome::refused, reason::forbidden, text, status_);
  case 404:
  case 410:
    return error(outcome::refused, reason::absent, text, status_);
  case 429:
    return error(outcome::refused, reason::limit, text, status_);
  default:
    return error(outcome::refused, reason::invalid, text, status_);
  }
}

namespace detail {

void stop_hook::enter(stop_source& s) noexcept {
  owner = &s;
  after = s.first_;
  if (after)
    after->before = this;
  s.first_ = this;
}

void stop_hook::leave() noexcept {
  if (!owner)
    return;
  (before ? before->after : owner->first_) = after;
  if (after)
    after->before = before;
  owner = nullptr;
  before = after = nullptr;
}

} // namespace detail

stop_source::~stop_source() {
  while (first_)
    first_->leave();
}

void stop_source::stop() {
  stopped_ = true;
  wake_all();
}

void stop_source::wake_all() {
  for (auto* h = first_; h; h = h->after)
    if (h->op->waiting_)
      h->op->env_.stop(*h->op);
}

error deadline::error() const {
  if (stop_ && stop_->stopped())
    return v0::error(outcome::refused, reason::stopped, "stopped by the caller");
  if (stopped())
    return v0::error(outcome::refused, reason::session, "the session has ended");
  return v0::error(outcome::refused, reason::deadline, "the deadline has passed");
}

operation::operation(environment& env, stop_source* one, stop_source* other) noexcept : env_(env) {
  std::size_t i = 0;
  for (auto* s : {one, other}) {
    auto& h = hooks_[i++];
    if (!s)
      continue;
    h.op = this;
    h.enter(*s);
    stopped_ = stopped_ || s->stopped();
  }
}

operation::~operation() {
  for (auto& h : hooks_)
    h.leave();
  if (waiting_)
    env_.forget(*this);
}

answer asking::await_resume() {
  if (stopped_)
    return answer::none(sent_, "stopped by the caller", reason::stopped);
  return std::move(answer_);
}

} // namespace v0
} // namespace belay
