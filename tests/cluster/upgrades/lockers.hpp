#pragma once
// Clients that share one lock, whatever the servers' versions.

#include "tests/harness/server_cluster.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace belay::harness {

/// Clients that take turns with the lock of one key, each through its own server, or the next one.
/// They use `wait`: servers without queues wait for lock delays only, or answer `false`.
class lockers {
public:
  lockers(std::vector<std::uint16_t> ports, std::size_t count) : ports_(std::move(ports)), grants_(count) {
    for (std::size_t i = 0; i < count; ++i)
      threads_.emplace_back([this, i] { resume_all(i); });
  }
  ~lockers() { stop(); }
  lockers(const lockers&) = delete;
  lockers& operator=(const lockers&) = delete;

  void stop() {
    stopping_ = true;
    for (auto& t : threads_)
      if (t.joinable())
        t.join();
  }
  /// Whether each of them acquires the lock this many more times.
  bool each_gets_on(int times) {
    std::vector<int> before(grants_.begin(), grants_.end());
    return eventually(milliseconds{60000}, [&] {
      for (std::size_t i = 0; i < grants_.size(); ++i)
        if (grants_[i] < before[i] + times)
          return false;
      return true;
    });
  }
  int two_at_once() const { return two_at_once_; }
  int failed() const { return failed_; }

private:
  http_reply ask(std::size_t& port, const std::string& target, const std::string& body) {
    for (;;) {
      auto r = http_put(ports_[port % ports_.size()], target, body, milliseconds{20000});
      if (r.ok() || stopping_)
        return r;
      ++port;
      std::this_thread::sleep_for(milliseconds{50});
    }
  }

  void resume_all(std::size_t i) {
    std::size_t port = i;
    const auto made = ask(port, "/v1/session/create", R"({"Checks":[],"LockDelay":"0s"})");
    if (!made.ok())
      return;
    const std::string session(boost::json::parse(made.body).at("ID").as_string());
    while (!stopping_) {
      const auto acquired = ask(port, "/v1/kv/turns?acquire=" + session + "&queue=2s&wait=2s", std::to_string(i));
      if (!acquired.body.starts_with("true")) {
        std::this_thread::sleep_for(milliseconds{5});
        continue;
      }
      if (inside_.exchange(true))
        ++two_at_once_;
      ++grants_[i];
      std::this_thread::sleep_for(milliseconds{2});
      inside_ = false;
      if (!ask(port, "/v1/kv/turns?release=" + session, "").ok() && !stopping_)
        ++failed_;
    }
  }

  std::vector<std::uint16_t> ports_;
  std::vector<std::atomic<int>> grants_;
  std::atomic<bool> stopping_{false}, inside_{false};
  std::atomic<int> two_at_once_{0}, failed_{0};
  std::vector<std::thread> threads_;
};

} // namespace belay::harness
