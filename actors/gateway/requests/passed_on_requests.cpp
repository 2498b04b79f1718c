#include "actors/gateway/requests/passed_on_requests.hpp"

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/renamed_names.hpp"

#include <algorithm>
#include <array>

namespace belay::actors {

namespace {

// A server answers what does not wait within the hold time; the answer is here this much later.
constexpr std::chrono::milliseconds answer_grace{1200};
// Bytes of an upload that the client has sent and the server has not taken.
constexpr std::size_t upload_ahead_max = 1u << 20;

constexpr const auto& oldest_index_header = renamed(name_kind::header, "X-Belay-Oldest-Index");
/// Headers of answers to return: http::response has static texts for names and types.
constexpr auto shown_headers = std::to_array<std::string_view>({"Cache-Control",
                                                                "X-Accel-Buffering",
                                                                "X-Consul-Index",
                                                                "X-Consul-Knownleader",
                                                                "X-Consul-Lastcontact",
                                                                "X-Consul-Effective-Consistency",
                                                                "X-Consul-Translate-Addresses",
                                                                "X-Consul-ContentHash",
                                                                "X-Consul-Reason",
                                                                "X-Cache",
                                                                "Age",
                                                                "Location",
                                                                "Allow",
                                                                "Retry-After",
                                                                "X-Content-Type-Options",
                                                                "Content-Security-Policy",
                                                                "X-Belay-Cursor",
                                                                "X-Belay-Fence",
                                                                "X-Belay-Holder",
                                                                "X-Belay-Index",
                                                                "X-Belay-Lock-Delay-Ms",
                                                                "X-Belay-Next",
                                                                oldest_index_header.name,
                                                                oldest_index_header.old_name,
                                                                "X-Belay-Reason",
                                                                "X-Belay-Replayed",
                                                                "X-Belay-Retry-After-Ms",
                                                                "X-Belay-Session-Ttl-Ms"});
constexpr std::string_view event_stream = "text/event-stream";
constexpr auto shown_types = std::to_array<std::string_view>(
    {"application/json", "text/plain; charset=utf-8", "text/plain", "application/octet-stream",
     "text/html; charset=utf-8", event_stream, "application/x-gzip", "application/gzip",
     "text/plain; version=0.0.4; charset=utf-8"});

template <std::size_t N>
std::string_view same_text(const std::array<std::string_view, N>& texts, std::string_view wanted) {
  const auto it =
      std::find_if(texts.begin(), texts.end(), [&](std::string_view t) { return equal_ignoring_case(t, wanted); });
  return it == texts.end() ? std::string_view() : *it;
}

http::response head_of(int status, const header_list& headers) {
  http::response r;
  r.status = status;
  r.vary = false;
  for (const auto& [name, value] : headers) {
    if (equal_ignoring_case(name, "Content-Type"))
      r.content_type = same_text(shown_types, value);
    else if (equal_ignoring_case(name, "Vary"))
      r.vary = true;
    else if (const auto shown = same_text(shown_headers, name); !shown.empty())
      r.headers.emplace_back(shown, value);
  }
  return r;
}

} // namespace

/// One request that was sent to a server.
class passed_on_requests::passage final : public answer_listener {
public:
  passage(passed_on_requests& owner, exchange& e, request_id id) : owner_(owner), e_(e), id_(id) {}

  void begin(request_relay& relay, relayed_request r) {
    call_ = relay.begin(std::move(r), *this);
    upload();
  }

  void upload() {
    auto* t = e_.transfer.get();
    if (t == nullptr || t->streaming || upload_ended_ || call_ == nullptr)
      return;
    // The connection reads more while `body` is small.
    if (call_->unsent() > upload_ahead_max && !t->body_complete)
      return;
    upload_ended_ = t->body_complete;
    t->starved = !t->body_complete;
    call_->send_body(std::exchange(t->body, {}), t->body_complete);
  }

  void next_piece() {
    e_.transfer->requested = true;
    id_ = owner_.pending_.add(e_);
    if (came_.empty() && !ended_)
      return;
    // Not at once: the connection is about to write.
    owner_.relay_->later([this, alive = std::weak_ptr<const char>(alive_)] {
      if (alive.expired())
        return;
      auto& pending = owner_.pending_;
      deliver();
      pending.progress();
    });
  }

  void end_wait() {
    if (call_ != nullptr)
      call_->end_wait();
  }

  // answer_listener
  void on_head(int status, header_list headers) override {
    answer_ = head_of(status, headers);
    if (answer_.content_type != event_stream)
      return;
    begin_streaming(); // its client waits for the head; pieces come when there are any
    e_.transfer->requested = false;
    auto& pending = owner_.pending_;
    if (settle())
      pending.progress();
  }

  void on_body(std::string_view bytes) override {
    came_ += bytes;
    if (!streaming_ && came_.size() > owner_.limits_.whole_bytes_max)
      begin_streaming();
    if (streaming_) {
      call_->let_come(came_.size() < owner_.limits_.ahead_bytes_max);
      auto& pending = owner_.pending_;
      deliver();
      pending.progress();
    }
  }

  void on_end() override {
    ended_ = true;
    if (!streaming_)
      answer_.body = std::move(came_);
    end();
  }

  void on_failure(std::string text, bool) override {
    failed_ = ended_ = true;
    if (!streaming_)
      answer_ = http::error_response(500, std::move(text));
    end();
  }

private:
  void begin_streaming() {
    streaming_ = true;
    if (e_.transfer == nullptr)
      e_.transfer = std::make_unique<snapshot_transfer>();
    e_.transfer->streaming = true;
    e_.transfer->requested = true;
    e_.answer = std::move(answer_);
  }

  /// @returns false: its client is gone
  bool settle() { return owner_.pending_.settle(id_) != nullptr; }

  /// This object may be destroyed afterwards.
  void deliver() {
    auto& t = *e_.transfer;
    if (!t.requested || (came_.empty() && !ended_) || !settle())
      return;
    t.requested = false;
    t.piece = std::exchange(came_, {});
    t.ended = ended_ && !failed_;
    t.failed = failed_;
    if (ended_)
      owner_.ended(*this);
    else
      call_->let_come(true);
  }

  /// The server's answer has ended. This object may be destroyed afterwards.
  void end() {
    auto& pending = owner_.pending_;
    if (streaming_) {
      deliver();
    } else {
      if (settle())
        e_.answer = std::move(answer_);
      owner_.ended(*this);
    }
    pending.progress();
  }

  passed_on_requests& owner_;
  exchange& e_;
  request_id id_;
  std::unique_ptr<relayed_call> call_;
  http::response answer_;
  std::string came_; ///< body bytes not passed to the client
  bool streaming_ = false, ended_ = false, failed_ = false, upload_ended_ = false;
  std::shared_ptr<const char> alive_ = std::make_shared<const char>(); ///< for callbacks that run later
};

passed_on_requests::passed_on_requests(request_relay* relay, pending_requests& pending, answer_times times,
                                       passed_on_limits limits)
    : relay_(relay), pending_(pending), times_(times), limits_(limits) {}

passed_on_requests::~passed_on_requests() = default;

void passed_on_requests::begin(exchange& e, monotonic_time now) {
  auto& p = std::get<passed_on_request>(e.what);
  const auto id = pending_.add(e, times_.due(now) + p.wait);
  if (e.transfer != nullptr) {
    p.request.body_follows = true;
    e.deadline = monotonic_time::max(); // the connection closes if the client stalls
  }
  auto& entry = passages_[&e];
  entry = std::make_unique<passage>(*this, e, id);
  entry->begin(*relay_, std::move(p.request));
}

void passed_on_requests::body_arrived(exchange& e) {
  if (const auto it = passages_.find(&e); it != passages_.end())
    it->second->upload();
}

/// Servers of earlier versions let some requests wait.
void passed_on_requests::end_wait(exchange& e, monotonic_time now) {
  const auto it = passages_.find(&e);
  if (it == passages_.end())
    return;
  if (!e.answer && std::get<passed_on_request>(e.what).wait.count() > 0)
    e.deadline = std::min(e.deadline, now + times_.queue_timeout + answer_grace);
  it->second->end_wait();
}

void passed_on_requests::next_piece(exchange& e) {
  if (const auto it = passages_.find(&e); it != passages_.end())
    it->second->next_piece();
}

void passed_on_requests::forget(const exchange& e) {
  if (const auto it = passages_.find(&e); it != passages_.end() && e.disconnected && !e.answer)
    it->second->end_wait(); // the server has to know whether the client or this agent is gone
  passages_.erase(&e);
}

void passed_on_requests::ended(const passage& p) {
  for (auto it = passages_.begin(); it != passages_.end(); ++it)
    if (it->second.get() == &p) {
      passages_.erase(it);
      return;
    }
}

} // namespace belay::actors
