#include "tests/cluster/changes/change_follower.hpp"

#include "tests/harness/base64.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <stdexcept>

namespace belay::harness {

event_stream::event_stream(std::uint16_t port, const std::string& target, const std::string& last_id)
    : connection_(port) {
  http_request r{"GET", target, {{"Accept", "text/event-stream"}}, std::nullopt};
  if (!last_id.empty())
    r.headers.emplace_back("Last-Event-ID", last_id);
  ok_ = connection_.send(r, milliseconds{10000}).empty();
}

bool event_stream::read(milliseconds limit, std::size_t bytes_max) {
  if (!ok_)
    return false;
  pollfd p{connection_.descriptor(), POLLIN, 0};
  if (::poll(&p, 1, static_cast<int>(limit.count())) <= 0)
    return true;
  std::string buffer(bytes_max, '\0');
  const auto n = ::recv(connection_.descriptor(), buffer.data(), buffer.size(), 0);
  if (n <= 0)
    return ok_ = false;
  return ok_ = reader_.take(std::string_view(buffer).substr(0, static_cast<std::size_t>(n)));
}

void follower::read(milliseconds limit, std::size_t bytes_max) {
  if (stream_ == nullptr)
    return;
  const bool goes_on = stream_->read(limit, bytes_max);
  for (const auto& e : stream_->take_events())
    checker_.take(e);
  if (!goes_on)
    cut();
}

known_state read_all(std::uint16_t port, const std::string& prefix) {
  known_state out;
  const auto r = http_get(port, "/v1/kv/" + prefix + "?recurse&consistent");
  if (r.status == 404)
    return out;
  if (!r.ok())
    throw std::runtime_error("keys below " + prefix + " could not be read: " + r.error + r.body);
  const auto rows = boost::json::parse(r.body);
  for (const auto& each : rows.as_array()) {
    const auto* value = each.at("Value").if_string();
    out[std::string(each.at("Key").as_string())] = {value != nullptr ? base64_decoded(*value) : "",
                                                    each.at("ModifyIndex").to_number<std::uint64_t>()};
  }
  return out;
}

} // namespace belay::harness
