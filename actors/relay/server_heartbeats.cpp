#include "actors/relay/server_heartbeats.hpp"

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

// Longer than the second between two heartbeats of an agent; responses to them count as contact,
// too.
constexpr std::chrono::milliseconds quiet_limit{2000};
// How long a connection may be silent (set_peer_options()).
constexpr std::chrono::milliseconds probe_limit{3000};

} // namespace

struct server_heartbeats::heartbeat final : answer_listener {
  explicit heartbeat(monotonic_time now) : received(now) {}
  ~heartbeat() override { end_probe(); }

  void end_probe() {
    if (connection != nullptr)
      connection->close();
    connection.reset();
  }
  void on_head(int, header_list) override { answered = over = true; }
  void on_body(std::string_view) override {}
  void on_end() override { over = true; }
  void on_failure(std::string, bool) override { over = true; }

  monotonic_time received, requested{};
  std::shared_ptr<server_connection> connection; ///< null: no probe is pending
  bool sent = false, answered = false, over = false;
};

server_heartbeats::server_heartbeats(dialler dial) : dial_(std::move(dial)) {}

server_heartbeats::~server_heartbeats() = default;

void server_heartbeats::received(const std::string& server, monotonic_time now) {
  if (const auto it = heartbeats_.find(server); it != heartbeats_.end())
    it->second->received = now;
}

std::vector<std::string> server_heartbeats::check(monotonic_time now, const std::set<std::string>& awaited) {
  std::erase_if(heartbeats_, [&](const auto& each) { return !awaited.contains(each.first); });
  std::vector<std::string> silent;
  for (const auto& server : awaited) {
    auto& p = heartbeats_[server];
    if (p == nullptr)
      p = std::make_unique<heartbeat>(now);
    if (p->connection != nullptr && p->answered)
      p->received = now;
    if (p->connection != nullptr && (p->over || p->received > p->requested))
      p->end_probe();
    if (p->connection == nullptr) {
      if (now - std::max(p->received, p->requested) >= quiet_limit)
        probe(server, *p, now);
    } else if (now - p->requested >= probe_limit) {
      silent.push_back(server);
      heartbeats_.erase(server);
    }
  }
  return silent;
}

void server_heartbeats::probe(const std::string& server, heartbeat& p, monotonic_time now) {
  p.requested = now;
  p.sent = p.answered = p.over = false;
  server_connection::events then;
  then.ready = [&p](server_connection& c) {
    if (!std::exchange(p.sent, true))
      c.carry({"GET", "/v1/status/leader", {}, {}, false}, p);
  };
  then.closed = [&p](server_connection&, const std::string&) { p.over = true; };
  p.connection = dial_(server, std::move(then));
}

} // namespace belay::actors
