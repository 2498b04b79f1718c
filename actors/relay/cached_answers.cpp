#include "actors/relay/cached_answers.hpp"

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/tokens.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

/// Whether an answer's header is kept: not those of the connection, nor generated ones.
bool is_kept(std::string_view header) {
  for (const std::string_view name : {"Content-Length", "Transfer-Encoding", "Connection", "Date", "X-Cache", "Age"})
    if (equal_ignoring_case(name, header))
      return false;
  return true;
}

std::uint64_t index_of(const header_list& headers) {
  for (const auto& [name, value] : headers)
    if (equal_ignoring_case(name, "X-Consul-Index"))
      return go_compat::parse_uint(value).value_or(0);
  return 0;
}

} // namespace

std::size_t cached_answers::answer::bytes() const {
  std::size_t n = body.size();
  for (const auto& [name, value] : headers)
    n += name.size() + value.size() + sizeof(header_list::value_type);
  return n;
}

/// A request to servers for an entry.
class cached_answers::question final : public answer_listener {
public:
  question(cached_answers& cache, key k) : of(std::move(k)), cache_(cache) {}

  void begin(relayed_request r) { call_ = cache_.servers_.begin(std::move(r), *this); }

  void on_head(int s, header_list headers) override {
    status = s;
    for (auto& [name, value] : headers)
      if (is_kept(name))
        came.headers.emplace_back(std::move(name), std::move(value));
    came.index = index_of(came.headers);
    if (!cache_.comes(*this, came.bytes()))
      cache_.too_large(*this);
  }
  void on_body(std::string_view bytes) override {
    if (!cache_.comes(*this, bytes.size()))
      return cache_.too_large(*this);
    came.body += bytes;
  }
  void on_end() override {
    if (status == 200)
      cache_.answered(*this);
    else
      cache_.refused(*this, status >= 500);
  }
  void on_failure(std::string text, bool nothing) override {
    failed = std::move(text);
    nothing_sent = nothing;
    cache_.refused(*this, true);
  }

  const key of;
  int status = 0; ///< 0: no answer; `failed` says why
  answer came;
  std::size_t counted = 0; ///< bytes of it in the cache's sum
  std::string failed;
  bool nothing_sent = false;

private:
  cached_answers& cache_;
  std::unique_ptr<relayed_call> call_;
};

/// A client that gets its answer from the cache.
class cached_answers::waiting final : public relayed_call {
public:
  waiting(cached_answers& cache, relayed_request r, answer_listener& listener)
      : request(std::move(r)), cache_(cache), listener_(listener) {}
  ~waiting() override { cache_.leave(*this); }

  void send_body(std::string_view, bool) override {} // reads have none
  std::size_t unsent() const override { return 0; }
  void let_come(bool wanted) override {
    if (passed_on_ != nullptr)
      passed_on_->let_come(wanted);
  }
  void end_wait() override {
    deadline = clock::time_point::min(); // for a first answer, servers are asked without a wait
    if (passed_on_ != nullptr)
      passed_on_->end_wait();
  }

  void pass_on() { passed_on_ = cache_.servers_.begin(std::move(request), listener_); }

  /// This object may be destroyed in any of these callbacks.
  void deliver(int status, header_list headers, std::shared_ptr<const answer> what) {
    auto& listener = listener_;
    const std::weak_ptr<const char> alive = alive_;
    listener.on_head(status, std::move(headers));
    if (!alive.expired() && !what->body.empty())
      listener.on_body(what->body);
    if (!alive.expired())
      listener.on_end();
  }
  void report_failure(std::string text, bool nothing_sent) { listener_.on_failure(std::move(text), nothing_sent); }
  std::weak_ptr<const char> alive() const { return alive_; }

  relayed_request request;
  clock::time_point deadline = clock::time_point::max(); ///< then it takes the current answer
  std::optional<entry_iterator> at;                      ///< nullopt: it no longer waits

private:
  cached_answers& cache_;
  answer_listener& listener_;
  std::unique_ptr<relayed_call> passed_on_;
  std::shared_ptr<const char> alive_ = std::make_shared<const char>();
};

cached_answers::cached_answers(request_relay& servers, cached_answers_settings settings)
    : servers_(servers), settings_(std::move(settings)) {}

cached_answers::~cached_answers() {
  for (auto& [k, e] : entries_)
    for (auto* w : e.waits)
      w->at.reset();
}

// ---- clients

std::unique_ptr<relayed_call> cached_answers::begin(relayed_request r, answer_listener& listener) {
  if (!r.cached)
    return servers_.begin(std::move(r), listener);
  const auto at = find_or_insert(r);
  if (!at)
    return servers_.begin(std::move(r), listener);
  auto& e = (*at)->second;
  e.used = settings_.now();
  auto w = std::make_unique<waiting>(*this, std::move(r), listener);
  if (const auto& options = *w->request.cached; serves(e, options)) {
    // The listener must not be called before this returns.
    servers_.later([w = w.get(), alive = w->alive(), kept = e.kept, headers = marked(e, *e.kept, true)]() mutable {
      if (!alive.expired())
        w->deliver(200, std::move(headers), std::move(kept));
    });
    return w;
  } else if (options.min_index > 0 && e.refreshed) {
    w->deadline = e.used + std::chrono::duration_cast<clock::duration>(options.wait);
  }
  w->at = *at;
  e.waits.push_back(w.get());
  if (e.asks == nullptr)
    ask(*at);
  return w;
}

bool cached_answers::serves(const entry& e, const http::cached_read& r) const {
  if (e.kept == nullptr)
    return false;
  if (e.refreshed)
    return r.min_index == 0 || r.min_index < e.kept->index;
  return !r.must_revalidate &&
         (!r.max_age || settings_.now() - e.fetched <= *r.max_age || MUTANT(cached_beyond_max_age));
}

/// As in Consul: an answer that a blocking query keeps current ages while no server answers.
header_list cached_answers::marked(const entry& e, const answer& a, bool hit) const {
  auto headers = a.headers;
  headers.emplace_back("X-Cache", hit ? "HIT" : "MISS");
  if (hit) {
    const auto now = settings_.now();
    const auto age = !e.refreshed ? now - e.fetched : e.lost_contact ? now - *e.lost_contact : clock::duration(0);
    headers.emplace_back("Age", std::to_string(std::chrono::duration_cast<std::chrono::seconds>(age).count()));
  }
  return headers;
}

void cached_answers::leave(waiting& w) {
  if (w.at) {
    const auto removed = (*w.at)->second.waits.remove(&w);
    INVARIANT(removed == 1);
  }
  w.at.reset();
}

/// None of them waits any more when the first one is answered.
void cached_answers::leave_all(const std::vector<delivery>& served) {
  for (const auto& d : served)
    leave(*d.to);
}

// ---- entries

/// @returns nullopt: there is no space for it
std::optional<cached_answers::entry_iterator> cached_answers::find_or_insert(const relayed_request& r) {
  const key k{r.secret, r.cached->target};
  if (const auto it = entries_.find(k); it != entries_.end())
    return it;
  const auto size = 2 * (k.first.size() + k.second.size()); // its request contains it again
  if (!free_space(nullptr, 1, size))
    return std::nullopt;
  bytes_ += size;
  const auto it = entries_.try_emplace(k).first;
  it->second.refreshed = r.cached->refreshed;
  return it;
}

/// Drops the least recently used entries, except those with waiting clients.
bool cached_answers::free_space(const entry* but_for, std::size_t entries, std::size_t bytes) {
  while (entries_.size() + entries > settings_.entries_max || bytes_ + bytes > settings_.bytes_max) {
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (&it->second != but_for && it->second.waits.empty() &&
          (oldest == entries_.end() || it->second.used < oldest->second.used))
        oldest = it;
    if (oldest == entries_.end())
      return false;
    forget(oldest);
  }
  return true;
}

void cached_answers::forget(entry_iterator at) {
  auto& e = at->second;
  PRECONDITION(e.waits.empty()); // a client that waits refers to the entry
  auto size = 2 * (at->first.first.size() + at->first.second.size());
  if (e.kept != nullptr)
    size += e.kept->bytes();
  if (e.asks != nullptr)
    size += e.asks->counted;
  INVARIANT(bytes_ >= size);
  bytes_ -= size;
  entries_.erase(at);
  INVARIANT(!entries_.empty() || bytes_ == 0); // else the cache shrinks until a restart
}

cached_answers::entry_iterator cached_answers::find_entry(const question& q) {
  const auto at = entries_.find(q.of);
  INVARIANT(at != entries_.end());
  INVARIANT(at->second.asks.get() == &q);
  return at;
}

// ---- servers

void cached_answers::ask(entry_iterator at) {
  auto& e = at->second;
  PRECONDITION(e.asks == nullptr);
  relayed_request r{"GET", at->first.second, {}, {}, false};
  if (!at->first.first.empty())
    r.headers.emplace_back("X-Consul-Token", http::token_header(at->first.first));
  // After a failure it is requested without a wait: the answer shows that a server is back.
  r.waits = e.refreshed && e.kept != nullptr && e.kept->index > 0 && !e.lost_contact;
  if (r.waits)
    r.target.append(r.target.find('?') == std::string::npos ? "?" : "&")
        .append("index=" + std::to_string(e.kept->index))
        .append("&wait=" + std::to_string(settings_.refresh_wait.count()) + "s");
  e.requested = settings_.now();
  e.asks = std::make_unique<question>(*this, at->first);
  e.asks->begin(std::move(r));
}

/// @returns false: there is no space for it
bool cached_answers::comes(question& q, std::size_t bytes) {
  const auto at = find_entry(q);
  if (q.counted + bytes > settings_.answer_bytes_max || !free_space(&at->second, 0, bytes))
    return false;
  q.counted += bytes;
  bytes_ += bytes;
  return true;
}

void cached_answers::answered(question& q) {
  const auto at = find_entry(q);
  auto& e = at->second;
  const auto keep = std::move(e.asks); // which is `q`
  const auto before = e.kept != nullptr ? e.kept->index : 0;
  if (e.kept != nullptr)
    bytes_ -= e.kept->bytes();
  INVARIANT(bytes_ >= q.counted);
  bytes_ -= q.counted;
  e.kept = std::make_shared<const answer>(std::move(q.came));
  bytes_ += e.kept->bytes();
  e.fetched = settings_.now();
  e.lost_contact.reset();
  e.pause = std::chrono::milliseconds(0);
  // Indexes that go back, as after a restore, are changes for all clients.
  const bool all = !e.refreshed || e.kept->index < before;
  std::vector<delivery> served;
  for (auto* w : e.waits)
    if (const auto min_index = w->request.cached->min_index; all || min_index == 0 || min_index < e.kept->index)
      served.push_back({w, w->alive(), e.kept, marked(e, *e.kept, false)});
  leave_all(served);
  if (e.refreshed && e.fetched - e.requested >= settings_.refresh_gap) // otherwise at the next tick
    ask(at);
  // A callback may end other waiting requests, or make new ones.
  for (auto& d : served)
    if (!d.alive.expired())
      d.to->deliver(200, std::move(d.headers), d.what);
}

/// The servers have sent no answer that may be kept. If they have failed, the kept answer stays.
void cached_answers::refused(question& q, bool has_failed) {
  const auto at = find_entry(q);
  auto& e = at->second;
  const auto keep = std::move(e.asks); // which is `q`
  INVARIANT(bytes_ >= q.counted);
  bytes_ -= q.counted;
  const auto now = settings_.now();
  const auto what = std::make_shared<const answer>(std::move(q.came));
  std::vector<delivery> served; // null: the rejection
  for (auto* w : e.waits) {
    const bool stale =
        has_failed && e.kept != nullptr && !e.refreshed && now - e.fetched < w->request.cached->stale_if_error;
    served.push_back({w, w->alive(), stale ? e.kept : nullptr, stale ? marked(e, *e.kept, true) : what->headers});
  }
  leave_all(served);
  if (!has_failed || e.kept == nullptr) {
    forget(at);
  } else {
    if (!e.lost_contact)
      e.lost_contact = now;
    e.pause = e.pause.count() == 0 ? settings_.retry_first : std::min(2 * e.pause, settings_.retry_at_last);
  }
  for (auto& d : served) {
    if (d.alive.expired())
      continue;
    if (d.what != nullptr)
      d.to->deliver(200, std::move(d.headers), d.what);
    else if (keep->status == 0)
      d.to->report_failure(keep->failed, keep->nothing_sent);
    else
      d.to->deliver(keep->status, std::move(d.headers), what);
  }
}

void cached_answers::too_large(question& q) {
  const auto at = find_entry(q);
  const auto waits = at->second.waits;
  for (auto* w : waits)
    leave(*w);
  const auto keep = std::move(at->second.asks);
  bytes_ -= keep->counted;
  forget(at);
  for (auto* w : waits) // no callback runs meanwhile
    w->pass_on();
}

void cached_answers::tick() {
  const auto now = settings_.now();
  std::vector<delivery> served;
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto at = it++;
    auto& e = at->second;
    for (auto* w : e.waits)
      if (w->deadline <= now && e.kept != nullptr)
        served.push_back({w, w->alive(), e.kept, marked(e, *e.kept, false)});
    if (e.waits.empty() && now - e.used > settings_.unused_limit) {
      forget(at);
      continue;
    }
    const auto gap = std::max(settings_.refresh_gap, e.pause);
    if (e.refreshed && e.kept != nullptr && e.asks == nullptr && now - e.requested >= gap &&
        !MUTANT(cached_list_left_old))
      ask(at);
  }
  leave_all(served);
  for (auto& d : served)
    if (!d.alive.expired())
      d.to->deliver(200, std::move(d.headers), d.what);
}

} // namespace belay::actors
