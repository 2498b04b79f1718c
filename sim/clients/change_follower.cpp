#include "sim/clients/change_follower.hpp"

#include "protocol/base/probe.hpp"

#include <algorithm>
#include <charconv>

namespace belay::sim {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds pause_of_followers{400};
// Above those of readers of caches.
constexpr std::uint16_t first_follower_stream = 950;
constexpr const char* followed[] = {"k/", "", "k/0/", "l/"};

} // namespace

change_followers::change_followers(schedule& time, tape& choices, event_trace& trace, cluster& nodes,
                                   const kv_model& keys, const floor_checker& floors, std::size_t count,
                                   bool clocks_leap)
    : time_(time), tape_(choices), trace_(trace), nodes_(nodes), keys_(keys), floors_(floors),
      histories_(nodes, keys, clocks_leap) {
  for (std::size_t i = 0; i < count; ++i)
    followers_.push_back(
        {change_checker(keys, followed[i % std::size(followed)], [this, i](log_index index, auto history) {
          return histories_.named(followers_[i].node, index, history, time_.now());
        })});
}

void change_followers::start() {
  for (std::size_t i = 0; i < followers_.size(); ++i)
    time_.after(milliseconds(1500 + 83 * i), [this, i] { step(i); });
}

void change_followers::step(std::size_t i) {
  time_.after(pause_of_followers, [this, i] { step(i); });
  auto& f = followers_[i];
  constexpr std::uint64_t cuts = 12, sizes = 4000;
  const std::uint64_t node_count = nodes_.node_count();
  const auto drawn = tape_.choose({stream_kind::client, static_cast<std::uint16_t>(first_follower_stream + i)},
                                  cuts * sizes * node_count);
  const auto node = drawn % node_count;
  const auto kind = drawn / node_count % cuts;
  if (f.connection != 0) {
    if (kind != 1 || only_at_)
      return;
    PROBE("changes: a client left its stream");
    leave(f);
  }
  for (std::size_t n = 0; n < node_count; ++n)
    if (const auto at = (node + n) % node_count; may_ask(at))
      return connect(i, at, kind < 6 || only_at_ ? 0 : 1 + drawn / node_count / cuts);
}

void change_followers::leave(follower& f) {
  if (nodes_.state(f.node) != node_state::down)
    nodes_.gateway(f.node).hang_up(f.connection);
  f.connection = 0;
}

bool change_followers::may_ask(std::size_t node) const {
  return nodes_.state(node) != node_state::down &&
         (!only_at_ || std::find(only_at_->begin(), only_at_->end(), node) != only_at_->end());
}

void change_followers::stay_at(std::vector<std::size_t> nodes) {
  only_at_ = std::move(nodes);
  for (auto& f : followers_)
    if (f.connection != 0 && (f.bytes_left != 0 || !may_ask(f.node)))
      leave(f);
}

/// Sometimes a client resumes with a cursor in the form of 0.2.0, or with that of a cluster that
/// was lost. That cursor names another history, or names none and lies above everything written
/// here.
bool change_followers::choose_cursor(follower& f) {
  constexpr std::uint64_t far_above = 1'000'000;
  const auto& own = f.checker.last_id();
  const auto at = own.find('@');
  f.given = own;
  const bool of_nothing = own.empty() || own.starts_with('0'); // an interrupted snapshot, or one of index 0
  if (of_nothing || only_at_)
    return false;
  switch (connections_ % 10) {
  case 3:
    f.given = own.substr(0, at);
    PROBE("changes: a client does not name its history");
    return false;
  case 6:
    if (at == own.npos)
      return false;
    f.given[at + 1] = own[at + 1] == 'f' ? '0' : 'f';
    return true;
  case 9:
    f.given = std::to_string(keys_.applied().value + far_above) + ".0";
    return true;
  default:
    return false;
  }
}

void change_followers::connect(std::size_t i, std::size_t node, std::uint64_t bytes_left) {
  auto& f = followers_[i];
  f.connection = ++connections_;
  f.node = node;
  f.bytes_left = bytes_left;
  f.stream = {};
  f.checker.opened(choose_cursor(f));
  std::string request = std::string("GET /v1/kv/") + followed[i % std::size(followed)] + "?recurse&changes&snapshot" +
                        (connections_ % 3 == 0 ? "&stale" : "") +
                        " HTTP/1.1\r\nHost: 127.0.0.1:8500\r\nAccept: text/event-stream\r\n";
  if (!f.given.empty())
    request += "Last-Event-ID: " + f.given + "\r\n";
  trace_.add(f.connection << 8 | node);
  if (trace_.wanted())
    trace_.line(time_.now(), node,
                "follower " + std::to_string(i) + " goes on behind " + (f.given.empty() ? "nothing" : f.given));
  nodes_.gateway(node).send(f.connection, request + "\r\n");
}

void change_followers::on_node_gone(std::size_t node) {
  for (auto& f : followers_)
    if (f.node == node)
      f.connection = 0;
}

bool change_followers::on_bytes(connection_id c, std::string_view bytes, bool last) {
  const auto found =
      std::find_if(followers_.begin(), followers_.end(), [c](const follower& f) { return f.connection == c; });
  if (found == followers_.end())
    return false;
  auto& f = *found;
  const bool cut = f.bytes_left != 0 && bytes.size() >= f.bytes_left;
  if (cut)
    bytes = bytes.substr(0, f.bytes_left);
  if (f.bytes_left != 0)
    f.bytes_left -= bytes.size();
  const bool goes_on = f.stream.take(bytes);
  for (const auto& e : f.stream.take_events()) {
    if (trace_.wanted())
      trace_.line(time_.now(), f.node,
                  "follower " + std::to_string(found - followers_.begin()) + " is told " + e.id + ' ' + e.kind + ' ' +
                      e.data.substr(0, 60));
    const auto had = std::string_view(f.checker.last_id()).substr(0, f.checker.last_id().find('@'));
    auto wrong = e.kind == "reset" && !f.checker.waits_for_reset() ? floors_.reset(f.node, had) : std::nullopt;
    if (!wrong)
      wrong = f.checker.received(e);
    if (wrong && !complaint_)
      complaint_ = "follower " + std::to_string(found - followers_.begin()) + " at node " + std::to_string(f.node) +
                   ": " + *wrong;
  }
  if (goes_on && !cut && !last)
    return true;
  if (cut)
    PROBE("changes: a stream was cut in the middle");
  f.connection = 0;
  return false;
}

std::string change_followers::lacking(log_index i) const {
  for (std::size_t n = 0; n < followers_.size(); ++n)
    if (const auto& f = followers_[n]; f.checker.sent_up_to() < i)
      return "follower " + std::to_string(n) + " has been sent what there is up to " +
             to_string(f.checker.sent_up_to()) + ", and not up to " + to_string(i) + "; " +
             (f.connection == 0 ? "it has no stream" : "its stream is of node " + std::to_string(f.node));
  return {};
}

} // namespace belay::sim
