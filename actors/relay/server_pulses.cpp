#include "actors/relay/server_pulses.hpp"

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

// More than the second between two heartbeats of an agent, whose responses count, too.
constexpr std::chrono::milliseconds quiet_limit{2000};
// As long as a connection may be silent (set_peer_options()).
constexpr std::chrono::milliseconds probe_limit{3000};

} // namespace

struct server_pulses::pulse final : answer_listener {
  explicit pulse(monotonic_time now) : heard(now) {}
  ~pulse() override { end_probe(); }

  void end_probe() {
    if (connection != nullptr)
      connection->close();
    connection.reset();
  }
  void on_head(int, header_list) override { answered = over = true; }
  void on_body(std::string_view) override {}
  void on_end() override { over = true; }
  void on_failure(std::string, bool) override { over = true; }

  monotonic_time heard, asked{};
  std::shared_ptr<server_connection> connection; ///< null: no probe is pending
  bool sent = false, answered = false, over = false;
};

server_pulses::server_pulses(dialler dial) : dial_(std::move(dial)) {}

server_pulses::~server_pulses() = default;

void server_pulses::heard(const std::string& server, monotonic_time now) {
  if (const auto it = pulses_.find(server); it != pulses_.end())
    it->second->heard = now;
}

std::vector<std::string> server_pulses::look(monotonic_time now, const std::set<std::string>& owing) {
  std::erase_if(pulses_, [&](const auto& each) { return !owing.contains(each.first); });
  std::vector<std::string> silent;
  for (const auto& server : owing) {
    auto& p = pulses_[server];
    if (p == nullptr)
      p = std::make_unique<pulse>(now);
    if (p->connection != nullptr && p->answered)
      p->heard = now;
    if (p->connection != nullptr && (p->over || p->heard > p->asked))
      p->end_probe();
    if (p->connection == nullptr) {
      if (now - std::max(p->heard, p->asked) >= quiet_limit)
        probe(server, *p, now);
    } else if (now - p->asked >= probe_limit) {
      silent.push_back(server);
      pulses_.erase(server);
    }
  }
  return silent;
}

void server_pulses::probe(const std::string& server, pulse& p, monotonic_time now) {
  p.asked = now;
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
