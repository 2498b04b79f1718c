#pragma once
// A node with keys, locks and sessions in memory, as far as `belay lock` and `belay watch` use
// them: tests these commands without a server.

#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace belay::cli {

class small_node {
public:
  struct row {
    std::string value, session;
    std::uint64_t flags = 0, modify_index = 0, fence = 0;
  };

  small_node() : acceptor_(loop_, {boost::asio::ip::make_address("127.0.0.1"), 0}), thread_([this] { serve(); }) {}
  ~small_node() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    boost::system::error_code ec;
    boost::asio::io_context loop;
    boost::asio::ip::tcp::socket farewell(loop);
    farewell.connect(acceptor_.local_endpoint(), ec); // wakes accept()
    farewell.close(ec);
    thread_.join();
    for (auto& c : connections_)
      c.join();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

  row at(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return rows_.contains(key) ? rows_[key] : row{};
  }
  bool has(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return rows_.contains(key);
  }
  void put(const std::string& key, row r) {
    const std::lock_guard lock(mutex_);
    r.modify_index = ++index_;
    rows_[key] = std::move(r);
    changed_.notify_all();
  }
  std::size_t sessions() {
    const std::lock_guard lock(mutex_);
    return sessions_.size();
  }
  /// From now on every request except renewals gets a 500.
  void fail() {
    const std::lock_guard lock(mutex_);
    failing_ = true;
    changed_.notify_all();
  }

  /// After this many more requests it reads what is sent, and never responds.
  void hang_after(std::size_t requests) {
    const std::lock_guard lock(mutex_);
    answers_left_ = requests;
  }

private:
  struct answer {
    unsigned status = 200;
    std::string body;
    std::uint64_t index = 0, fence = 0;
  };

  void serve() {
    while (!ended_) {
      boost::system::error_code ec;
      auto socket = std::make_shared<boost::asio::ip::tcp::socket>(loop_);
      acceptor_.accept(*socket, ec);
      if (!ec)
        connections_.emplace_back([this, socket] { serve_one(*socket); });
    }
  }

  void serve_one(boost::asio::ip::tcp::socket& socket) {
    namespace http = boost::beast::http;
    boost::system::error_code ec;
    boost::beast::flat_buffer buffer;
    http::request<http::string_body> request;
    http::read(socket, buffer, request, ec);
    if (ec)
      return;
    const auto a = answer_to(std::string(request.method_string()), std::string(request.target()), request.body());
    http::response<http::string_body> response(http::int_to_status(a.status), 11);
    response.keep_alive(false);
    if (a.index != 0)
      response.set("X-Consul-Index", std::to_string(a.index));
    if (a.fence != 0)
      response.set("X-Belay-Fence", std::to_string(a.fence));
    response.body() = a.body;
    response.prepare_payload();
    http::write(socket, response, ec);
  }

  answer answer_to(const std::string& method, const std::string& target, const std::string& body) {
    const auto query_at = std::min(target.find('?'), target.size());
    const auto path = target.substr(0, query_at);
    go_compat::query_string query;
    query.parse(query_at < target.size() ? std::string_view(target).substr(query_at + 1) : std::string_view());
    std::unique_lock lock(mutex_);
    const auto behind = [&](std::string_view prefix) { return path.substr(prefix.size()); };
    if (answers_left_ == 0) {
      changed_.wait(lock, [this] { return ended_.load(); });
      return {500, "too late"};
    }
    --answers_left_;
    if (path.starts_with("/v1/session/renew/"))
      return sessions_.contains(behind("/v1/session/renew/")) ? answer{200, "[]"} : answer{404, "no such session"};
    if (failing_)
      return {500, "No cluster leader"};
    if (path == "/v1/status/leader")
      return {200, "\"127.0.0.1:8300\""};
    if (path == "/v1/session/create") {
      const auto id = "session-" + std::to_string(++made_);
      sessions_.insert(id);
      return {200, "{\"ID\":\"" + id + "\"}"};
    }
    if (path.starts_with("/v1/session/destroy/")) {
      sessions_.erase(behind("/v1/session/destroy/"));
      return {200, "true"};
    }
    if (!path.starts_with("/v1/kv/"))
      return {404, "unknown path"};
    const auto key = behind("/v1/kv/");
    return method == "GET" ? read(key, query, lock) : write(method, key, query, body);
  }

  answer read(const std::string& key, const go_compat::query_string& query, std::unique_lock<std::mutex>& lock) {
    if (const auto index = query.get("index"); !index.empty()) {
      const auto seen = std::stoull(std::string(index));
      changed_.wait_for(lock, std::chrono::seconds(10), [&] { return index_ > seen || ended_ || failing_; });
    }
    std::string out;
    std::uint64_t fence = 0;
    for (const auto& [name, r] : rows_) {
      if (query.has("recurse") ? !name.starts_with(key) : name != key)
        continue;
      fence = r.session.empty() ? 0 : r.fence;
      out += (out.empty() ? "{" : ",{") + std::string("\"Key\":\"") + name + "\",\"Flags\":" + std::to_string(r.flags) +
             ",\"Value\":\"" + go_compat::base64(r.value) + "\",\"ModifyIndex\":" + std::to_string(r.modify_index) +
             (r.session.empty() ? std::string() : ",\"Session\":\"" + r.session + "\"") + "}";
    }
    return {out.empty() ? 404u : 200u, out.empty() ? "" : "[" + out + "]", index_, fence};
  }

  answer write(const std::string& method, const std::string& key, const go_compat::query_string& query,
               const std::string& body) {
    const bool there = rows_.contains(key);
    if (query.has("cas") && std::to_string(there ? rows_[key].modify_index : 0) != query.get("cas"))
      return {200, "false"};
    if (method == "DELETE") {
      rows_.erase(key);
    } else {
      const auto acquire = std::string(query.get("acquire")), release = std::string(query.get("release"));
      if (!acquire.empty() && there && !rows_[key].session.empty() && rows_[key].session != acquire)
        return {200, "false"};
      if (!release.empty() && (!there || rows_[key].session != release))
        return {200, "false"};
      auto& r = rows_[key];
      r.value = body;
      r.flags = query.has("flags") ? std::stoull(std::string(query.get("flags"))) : 0;
      r.session = !acquire.empty() ? acquire : !release.empty() ? "" : r.session;
      r.modify_index = index_ + 1;
      r.fence = acquire.empty() ? r.fence : 1000 + r.modify_index;
    }
    ++index_;
    changed_.notify_all();
    return {200, "true", 0, query.has("acquire") ? rows_[key].fence : 0};
  }

  boost::asio::io_context loop_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, row> rows_;
  std::set<std::string> sessions_;
  std::uint64_t index_ = 10, made_ = 0;
  std::atomic<bool> ended_{false}, failing_{false};
  std::size_t answers_left_ = SIZE_MAX;
  std::list<std::thread> connections_;
  std::thread thread_;
};

} // namespace belay::cli
