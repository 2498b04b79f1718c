#pragma once
// A node with prepared responses: tests requests and output of commands without a server.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace belay::cli {

/// Serves as many requests as it has responses, one after another, on a free port of 127.0.0.1.
class fake_node {
public:
  struct answer {
    unsigned status;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers = {};
  };

  /// @param tls null: without TLS
  explicit fake_node(std::vector<answer> answers, std::unique_ptr<boost::asio::ssl::context> tls = nullptr)
      : tls_(std::move(tls)), acceptor_(loop_, {boost::asio::ip::make_address("127.0.0.1"), 0}),
        answers_(std::move(answers)), thread_([this] { serve(); }) {}
  ~fake_node() { join(); }

  std::string address() const { return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

  /// `METHOD target` and the body, for each request. Waits until every response was sent.
  std::vector<std::string> requested() {
    join();
    return requested_;
  }
  std::string token;

private:
  void serve() {
    for (const auto& a : answers_) {
      boost::system::error_code ec;
      boost::asio::ip::tcp::socket socket(loop_);
      acceptor_.accept(socket, ec);
      if (tls_ == nullptr) {
        if (!serve_one(socket, a))
          return;
        continue;
      }
      boost::asio::ssl::stream<boost::asio::ip::tcp::socket&> stream(socket, *tls_);
      stream.handshake(boost::asio::ssl::stream_base::server, ec);
      if (ec || !serve_one(stream, a))
        return;
    }
  }

  /// @returns false: there was no request (the destructor's connection)
  template <class Stream>
  bool serve_one(Stream& socket, const answer& a) {
    namespace http = boost::beast::http;
    boost::system::error_code ec;
    boost::beast::flat_buffer buffer;
    http::request_parser<http::string_body> parser;
    parser.body_limit(boost::none);
    http::read(socket, buffer, parser, ec);
    const auto& request = parser.get();
    if (ec)
      return false;
    requested_.push_back(std::string(request.method_string()) + " " + std::string(request.target()) +
                         (request.body().empty() ? "" : " " + request.body()));
    token = std::string(request["X-Consul-Token"]);
    http::response<http::string_body> response(http::int_to_status(a.status), 11);
    for (const auto& [name, value] : a.headers)
      response.set(name, value);
    response.keep_alive(false);
    response.body() = a.body;
    response.prepare_payload();
    http::write(socket, response, ec);
    return true;
  }

  void join() {
    if (!thread_.joinable())
      return;
    // Ends an accept that no client will use, so that a failed test ends.
    boost::system::error_code ec;
    boost::asio::io_context loop;
    boost::asio::ip::tcp::socket farewell(loop);
    farewell.connect(acceptor_.local_endpoint(), ec);
    farewell.close(ec);
    thread_.join();
  }

  std::unique_ptr<boost::asio::ssl::context> tls_;
  boost::asio::io_context loop_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<answer> answers_;
  std::vector<std::string> requested_;
  std::thread thread_;
};

} // namespace belay::cli
