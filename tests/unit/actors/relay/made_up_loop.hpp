#pragma once
// Simulated time, sockets and servers for a client agent's relay: everything happens in run_for().

#include "actors/relay/relay_loop.hpp"

#include "actors/names/socket_endpoint.hpp"

#include <boost/asio/error.hpp>

#include <netinet/in.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace belay::relay_test {

using namespace belay::actors;
using std::chrono::milliseconds;

/// A server on one port. It records its requests.
struct made_up_server {
  enum class way { refuses, hangs, accepts };
  struct requested {
    std::string method, target, body;
  };
  struct response {
    int status = 200;
    std::string body;
    std::string behind{}; ///< bytes that belong to no response
  };

  way accepts = way::accepts;
  std::size_t connections_max = 4096; ///< further ones are accepted and closed
  int closed = 0;                     ///< for this limit
  /// nullopt: no response for now, but the connection stays.
  std::function<std::optional<response>(const requested&)> answer = [](const requested&) {
    return response{200, "true"};
  };
  /// The response after the agent has closed its side; then the connection ends. nullopt: none
  std::function<std::optional<response>()> answer_at_end = [] { return std::nullopt; };
  std::vector<requested> received;
  int ends = 0; ///< connections on which the agent has closed its side

  std::size_t times(const std::string& method, const std::string& target) const {
    std::size_t n = 0;
    for (const auto& a : received)
      n += a.method == method && a.target == target ? 1 : 0;
    return n;
  }
};

class made_up_loop final : public relay_loop {
public:
  explicit made_up_loop(std::size_t hello_bytes) : hello_bytes_(hello_bytes) {}

  monotonic_time now() override { return now_; }
  std::unique_ptr<relay_socket> open_socket() override { return std::make_unique<socket>(*this); }
  timer after(milliseconds d, std::function<void()> what) override {
    auto token = std::make_shared<char>();
    events_.emplace(std::make_pair(now_ + d, ++order_), event{token, true, std::move(what)});
    return token;
  }
  void post(std::function<void()> what) override {
    events_.emplace(std::make_pair(now_, ++order_), event{{}, false, std::move(what)});
  }

  void run_for(milliseconds d) {
    const auto until = now_ + d;
    while (!events_.empty() && events_.begin()->first.first <= until) {
      auto next = events_.extract(events_.begin());
      now_ = std::max(now_, next.key().first);
      if (!next.mapped().timed || !next.mapped().token.expired())
        next.mapped().what();
    }
    now_ = until;
  }

  made_up_server& server(std::uint16_t port) { return servers_[port]; }
  /// Closes all connections to it.
  void cut(std::uint16_t port) {
    for (const auto& each : std::vector<std::weak_ptr<wire>>(connections_))
      if (const auto w = each.lock(); w && w->port == port)
        end(w, boost::asio::error::eof);
  }

private:
  struct event {
    std::weak_ptr<void> token;
    bool timed = false;
    std::function<void()> what;
  };
  struct wire {
    std::uint16_t port = 0;
    bool open = false, waits = false;
    std::string to_server, to_agent;
    std::size_t hello_left = 0;
    std::string* into = nullptr;
    relay_socket::transferred reads;
  };

  class socket final : public relay_socket {
  public:
    explicit socket(made_up_loop& loop) : loop_(loop) { loop.connections_.push_back(wire_); }
    void connect(const socket_endpoint& to, done then) override {
      sockaddr_in a{};
      std::memcpy(&a, &to.bytes, sizeof a);
      wire_->port = ntohs(a.sin_port);
      wire_->hello_left = loop_.hello_bytes_;
      // No server listens on IPv6.
      const bool listens = to.bytes.ss_family == AF_INET;
      const auto how = listens ? loop_.servers_[wire_->port].accepts : made_up_server::way::refuses;
      if (how == made_up_server::way::hangs)
        return;
      wire_->open = how == made_up_server::way::accepts;
      loop_.post([then = std::move(then), open = wire_->open] {
        then(open ? boost::system::error_code() : boost::asio::error::connection_refused);
      });
      if (auto& server = loop_.servers_[wire_->port]; loop_.open_at(wire_->port) > server.connections_max) {
        ++server.closed;
        loop_.post([&loop = loop_, w = wire_] { loop.end(w, boost::asio::error::eof); });
      }
    }
    void write(const std::string& bytes, done then) override {
      if (wire_->open) {
        wire_->to_server += bytes;
        loop_.post([&loop = loop_, w = wire_] { loop.serve(w); });
      }
      loop_.post([then = std::move(then)] { then({}); });
    }
    void read(std::string& into, transferred then) override {
      wire_->into = &into;
      wire_->reads = std::move(then);
      loop_.post([&loop = loop_, w = wire_] { loop.deliver(w); });
    }
    void end_output() override {
      loop_.post([&loop = loop_, w = wire_] { loop.end_wait(w); });
    }
    void close() override {
      wire_->open = false;
      wire_->reads = nullptr;
    }

  private:
    made_up_loop& loop_;
    std::shared_ptr<wire> wire_ = std::make_shared<wire>();
  };

  std::size_t open_at(std::uint16_t port) const {
    return static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(), [port](const auto& each) {
      const auto w = each.lock();
      return w && w->port == port && w->open;
    }));
  }
  void deliver(const std::shared_ptr<wire>& w) {
    if (!w->open || !w->reads || w->to_agent.empty())
      return;
    const auto n = std::min(w->to_agent.size(), w->into->size());
    std::memcpy(w->into->data(), w->to_agent.data(), n);
    w->to_agent.erase(0, n);
    std::exchange(w->reads, nullptr)({}, n);
  }
  void end_wait(const std::shared_ptr<wire>& w) {
    if (!w->open)
      return;
    auto& s = servers_[w->port];
    ++s.ends;
    if (const auto response = w->waits ? s.answer_at_end() : std::nullopt)
      feed(w, *response);
    post([this, w] { end(w, boost::asio::error::eof); });
  }
  void feed(const std::shared_ptr<wire>& w, const made_up_server::response& what) {
    w->waits = false;
    w->to_agent += "HTTP/1.1 " + std::to_string(what.status) +
                   " X\r\nContent-Length: " + std::to_string(what.body.size()) + "\r\n\r\n" + what.body + what.behind;
    deliver(w);
  }
  void end(const std::shared_ptr<wire>& w, boost::system::error_code why) {
    w->open = false;
    if (w->reads)
      post([then = std::exchange(w->reads, nullptr), why] { then(why, 0); });
  }
  /// The requests of the agent have no chunks.
  void serve(const std::shared_ptr<wire>& w) {
    const auto skipped = std::min(w->hello_left, w->to_server.size());
    w->hello_left -= skipped;
    w->to_server.erase(0, skipped);
    for (auto head = w->to_server.find("\r\n\r\n"); w->open && head != std::string::npos;
         head = w->to_server.find("\r\n\r\n")) {
      std::size_t length = 0;
      if (const auto at = w->to_server.find("Content-Length: "); at < head)
        length = std::stoul(w->to_server.substr(at + 16));
      if (w->to_server.size() < head + 4 + length)
        return;
      made_up_server::requested a;
      const auto space = w->to_server.find(' ');
      a.method = w->to_server.substr(0, space);
      a.target = w->to_server.substr(space + 1, w->to_server.find(' ', space + 1) - space - 1);
      a.body = w->to_server.substr(head + 4, length);
      w->to_server.erase(0, head + 4 + length);
      auto& s = servers_[w->port];
      s.received.push_back(a);
      w->waits = true;
      if (const auto response = s.answer(a))
        feed(w, *response);
    }
  }

  std::size_t hello_bytes_;
  monotonic_time now_{std::chrono::hours(1)};
  std::uint64_t order_ = 0;
  std::map<std::pair<monotonic_time, std::uint64_t>, event> events_;
  std::map<std::uint16_t, made_up_server> servers_;
  std::vector<std::weak_ptr<wire>> connections_;
};

} // namespace belay::relay_test
