#include "actors/consensus/peer_queue.hpp"

namespace belay::actors {

namespace {

bool is_bulk(const wire::frame& f) {
  return std::holds_alternative<wire::forward_call>(f) || std::holds_alternative<wire::forward_reply>(f) ||
         std::holds_alternative<agent::user_event>(f) || std::holds_alternative<wire::coordinate_news>(f);
}

// A larger buffer is freed: it was one unusual batch.
constexpr std::size_t kept_bytes_max = 256u << 10;

} // namespace

bool peer_queue::push(const wire::frame& f, std::size_t unsent) {
  if (!is_bulk(f)) {
    if (unsent + urgent_.size() > bytes_max_)
      return false;
    wire::encode_frame(f, urgent_);
    return true;
  }
  if (unsent + bulk_bytes_ > bytes_max_)
    return false;
  // Small frames share a string, because there are many of them.
  if (bulk_.empty() || bulk_.back().size() >= bulk_window / 4)
    bulk_.emplace_back();
  const auto before = bulk_.back().size();
  wire::encode_frame(f, bulk_.back());
  bulk_bytes_ += bulk_.back().size() - before;
  return true;
}

void peer_queue::take(std::size_t unsent, std::string& out) {
  unsent += urgent_.size();
  out += urgent_;
  if (urgent_.capacity() > kept_bytes_max)
    urgent_ = {};
  urgent_.clear();
  while (!bulk_.empty() && unsent < bulk_window) {
    unsent += bulk_.front().size();
    bulk_bytes_ -= bulk_.front().size();
    out += bulk_.front();
    bulk_.pop_front();
  }
  INVARIANT(!bulk_.empty() || bulk_bytes_ == 0); // or its limit would be reached without anything in it
}

void peer_queue::clear() {
  urgent_.clear();
  bulk_.clear();
  bulk_bytes_ = 0;
}

} // namespace belay::actors
