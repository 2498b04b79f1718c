#pragma once
// A node that replays a recording: each request gets the next response to its method and path.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/parse.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace belay::cli {

class replaying_node {
public:
  struct exchange {
    std::string method, path; ///< without the query
    unsigned status;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
    bool used = false;
  };

  explicit replaying_node(std::vector<exchange> exchanges)
      : acceptor_(loop_, {boost::asio::ip::make_address("127.0.0.1"), 0}), exchanges_(std::move(exchanges)),
        thread_([this] { serve(); }) {}
  ~replaying_node() {
    ended_ = true;
    boost::system::error_code ec;
    boost::asio::io_context loop;
    boost::asio::ip::tcp::socket farewell(loop);
    farewell.connect(acceptor_.local_endpoint(), ec); // wakes accept()
    farewell.close(ec);
    thread_.join();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

private:
  void serve() {
    namespace http = boost::beast::http;
    while (!ended_) {
      boost::system::error_code ec;
      boost::asio::ip::tcp::socket socket(loop_);
      acceptor_.accept(socket, ec);
      boost::beast::flat_buffer buffer;
      http::request<http::string_body> request;
      http::read(socket, buffer, request, ec);
      if (ec)
        continue;
      const auto answer =
          answer_to(std::string(request.method_string()), std::string(request.target()), request.body());
      http::response<http::string_body> response(http::int_to_status(answer.status), 11);
      for (const auto& [name, value] : answer.headers)
        response.set(name, value);
      response.keep_alive(false);
      response.body() = answer.body;
      response.prepare_payload();
      http::write(socket, response, ec);
    }
  }

  exchange answer_to(const std::string& method, const std::string& target, const std::string& body) {
    const auto path = target.substr(0, target.find('?'));
    exchange* last = nullptr;
    for (auto& e : exchanges_)
      if (e.method == method && e.path == path) {
        last = &e;
        if (!e.used)
          break;
      }
    if (last != nullptr) {
      last->used = true;
      return *last;
    }
    if (path == "/v1/status/leader") // the request that Belay sends where Consul sends /v1/agent/self
      return {method, path, 200, "\"127.0.0.1:8300\"", {}};
    if (path == "/v1/txn") { // Belay's import: succeeds if each of its writes did alone
      const auto refused = first_refused(body);
      if (!refused)
        return {method, path, 200, R"({"Results":[],"Errors":null})", {}};
      return {method, path, 599, "not in the recording: a write of " + *refused, {}};
    }
    return {method, path, 599, "not in the recording: " + method + " " + target, {}};
  }

  /// @returns the first key of a transaction without a recorded successful write; nullopt: none
  std::optional<std::string> first_refused(const std::string& operations) {
    const auto list = boost::json::parse(operations);
    for (const auto& one : list.as_array()) {
      const std::string key(one.at("KV").at("Key").as_string());
      const auto written = answer_to("PUT", "/v1/kv/" + key, "");
      if (written.status != 200 || written.body != "true")
        return key;
    }
    return std::nullopt;
  }

  boost::asio::io_context loop_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<exchange> exchanges_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

} // namespace belay::cli
