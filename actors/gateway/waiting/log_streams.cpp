#include "actors/gateway/waiting/log_streams.hpp"

#include <iterator>
#include <utility>

namespace belay::actors {

void log_streams::begin(exchange& e, const http::local_request& r) {
  const auto level = log::level_named(r.text);
  if (!level) { // Consul's text
    e.answer = http::error_response(400, "Bad request: Unknown log level: " + r.text);
    return;
  }
  if (streams_.size() >= streams_max) {
    e.answer = http::error_response(429, "too many clients read the log of this server: at most " +
                                             std::to_string(streams_max));
    return;
  }
  e.transfer = std::make_unique<snapshot_transfer>();
  e.transfer->archive = pending_.unclaimed_id();
  e.transfer->streaming = true;
  e.transfer->ended = finished_;
  e.answer.emplace();
  if (!finished_)
    streams_.emplace(e.transfer->archive,
                     stream{std::make_unique<log::tap>(*level, r.log_json, lines_bytes_max), request_id{}});
}

bool log_streams::has(const exchange& e) const {
  const auto* r = std::get_if<http::local_request>(&e.what);
  return r != nullptr && r->kind == http::local_kind::agent_monitor;
}

void log_streams::next_piece(exchange& e) {
  const auto found = streams_.find(e.transfer->archive);
  if (found == streams_.end())
    return;
  e.transfer->requested = true;
  found->second.waits = pending_.add(e); // tick() checks whether there are any
}

void log_streams::close(const exchange& e) {
  streams_.erase(e.transfer->archive);
}

void log_streams::tick() {
  for (auto it = streams_.begin(); it != streams_.end();) {
    auto& s = it->second;
    auto* e = s.waits.is_zero() ? nullptr : pending_.find(s.waits);
    const bool ends = finished_ || s.ends || s.lines == nullptr;
    auto lines = e != nullptr && s.lines != nullptr ? s.lines->take() : std::string();
    if (e == nullptr || (lines.empty() && !ends)) {
      ++it;
      continue;
    }
    pending_.settle(std::exchange(s.waits, request_id{}));
    e->transfer->requested = false;
    e->transfer->piece = std::move(lines);
    e->transfer->ended = ends;
    it = ends ? streams_.erase(it) : std::next(it);
  }
}

void log_streams::end(const exchange& e) {
  const auto found = streams_.find(e.transfer->archive);
  if (found != streams_.end())
    found->second.lines = nullptr;
  tick();
}

void log_streams::end_wait(const exchange& e) {
  const auto found = streams_.find(e.transfer->archive);
  if (found != streams_.end())
    found->second.ends = true;
  tick();
}

void log_streams::finish() {
  finished_ = true;
  tick();
}

} // namespace belay::actors
