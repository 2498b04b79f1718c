#pragma once
// A hostile HTTP client: silent and unfinished connections, requests with every error that a server
// must detect, bodies that are too large, and readers that do not read.

#include "bench/hostile/traffic.hpp"

#include <deque>
#include <vector>

namespace belay::hostile {

inline std::string request(const target& at, const std::string& line, const std::string& body = {},
                           const std::string& more = {}) {
  return line + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + more +
         (at.token.empty() ? "" : "X-Consul-Token: " + at.token + "\r\n") +
         (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" + body;
}

/// Opens connections. The newest hundred stay open, most of them in the middle of a request.
inline void open_connections(const target& at, double a_second, counts& counted) {
  const std::vector<std::string> words{"",
                                       "GET /v1/kv/a HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
                                       "PUT /v1/kv/slow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500000\r\n\r\nx",
                                       "GET /v1/kv/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                                       "PUT /v1/kv/a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
                                       "GET /" + std::string(20000, 'a'),
                                       std::string("\x16\x03\x01\x02\x00\x01", 6) + std::string(300, 'x'),
                                       request(at, "GET /v1/kv/none?index=1000000000&wait=10m")};
  std::deque<connection> silent;
  pace steady_pace(a_second);
  for (std::size_t i = 0; !at.over(); ++i, steady_pace.wait()) {
    connection c(at, counted);
    c.send(words[i % words.size()]);
    silent.push_back(std::move(c));
    if (silent.size() > 100)
      silent.pop_front();
  }
}

/// Sends requests whose contents must be rejected.
inline void pester(const target& at, double a_second, counts& counted) {
  const std::vector<std::string> wrong{
      request(at, "GET /v1/kv/a?index=x"),
      request(at, "GET /v1/kv/%zz"),
      request(at, "GET /v1/kv/" + std::string(4000, 'k')),
      request(at, "DELETE /v1/status/leader"),
      request(at, "GET /nothing/here"),
      request(at, "PUT /v1/session/create", "{\"TTL\":"),
      request(at, "PUT /v1/session/create", "{\"TTL\":\"9223372036854775807s\",\"Checks\":[]}"),
      request(at, "PUT /v1/txn", "[" + std::string(2000, '[')),
      request(at, "PUT /v1/agent/check/register",
              "{\"Name\":\"a\",\"HTTP\":\"http://a/\\r\\nX: y\",\"Interval\":\"1s\"}"),
      request(at, "GET /v1/catalog/services?filter=" + std::string(500, '(')),
      request(at, "PUT /v1/event/fire/a?service=" + std::string(200, '(') + "a*)*b"),
      request(at, "PUT /v1/snapshot", std::string("\x1f\x8b") + std::string(2000, 'x')),
      request(at, "PUT /v1/catalog/register", "{\"Node\":\"\\u0000\",\"Address\":\"\"}"),
      request(at, "PUT /v1/outcome/unknown/cancel"),
      request(at, "PUT /v1/acl/bootstrap"),
      request(at, "PUT /v1/session/destroy/00000000-0000-0000-0000-000000000000"),
      request(at, "GET /v1/kv/a", {}, "X-Consul-Token: " + std::string(3000, 't') + "\r\n")};
  pace steady_pace(a_second);
  connection c;
  for (std::size_t i = 0; !at.over(); ++i, steady_pace.wait()) {
    if (!c.open())
      c = connection(at, counted);
    if (c.send(wrong[i % wrong.size()]))
      ++counted.messages;
    c.receive(milliseconds{0});
  }
}

inline std::string repeated(const std::string& text, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i)
    out += text;
  return out;
}

/// Sends requests that cost more than their bytes (docs/operate/security.md, "What a request may cost").
inline void amplify(const target& at, double a_second, counts& counted) {
  const std::vector<std::string> costly{
      request(at, "PUT /v1/agent/service/register",
              "{\"Name\":\"a\",\"Checks\":[" + repeated("{},", 1'390'000) + "{}]}"),
      request(at, "PUT /v1/catalog/register", "{\"Node\":\"a\",\"Checks\":[" + repeated("{},", 1'390'000) + "{}]}"),
      request(at, "PUT /v1/session/create", "{\"OnEnd\":[" + repeated("{},", 1'390'000) + "{}]}"),
      request(at, "GET /v1/health/service/consul?" + repeated("&tag=t", 60'000)),
      request(at, "GET /v1/kv/bench/?recurse&filter=Value+contains+%22zzzzz%22" +
                      repeated("+or+Value+contains+%22zzzzz%22", 999)),
      request(at, "GET /v1/kv/bench/?recurse&filter=Value+matches+%22z.*y$%22" +
                      repeated("+or+Value+matches+%22z.*y$%22", 15)),
      request(at, "PUT /v1/txn",
              "[" + repeated(R"({"KV":{"Verb":"get-tree","Key":"bench/"}},)", 63) +
                  R"({"KV":{"Verb":"get-tree","Key":"bench/"}}])"),
      request(at, "PUT /v1/txn",
              "[" + repeated(R"({"KV":{"Verb":"get-tree","Key":"bench/"}},)", 4) +
                  R"({"KV":{"Verb":"set","Key":"bench/hostile","Value":""}}])"),
      request(at, "GET /v1/kv/?keys&separator=9"),
      request(at, "GET /v1/kv/?recurse&changes" + repeated("&prefix=" + std::string(14'000, 'p'), 64), {},
              "Accept: text/event-stream\r\n")};
  pace steady_pace(a_second);
  for (std::size_t i = 0; !at.over(); ++i, steady_pace.wait()) {
    connection c(at, counted);
    if (c.send(costly[i % costly.size()]))
      ++counted.messages;
    c.receive(milliseconds{100});
  }
}

/// Sends values that are too large, and requests a large tree without reading it.
inline void flood(const target& at, double bytes_a_second, counts& counted) {
  const std::string chunk(65536, 'x');
  const std::string head = "PUT /v1/kv/large HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 600000000\r\n\r\n";
  std::deque<connection> readers;
  pace steady_pace(bytes_a_second / static_cast<double>(chunk.size()));
  connection c;
  for (std::size_t round = 0; !at.over(); ++round, steady_pace.wait()) {
    if (!c.open()) {
      c = connection(at, counted);
      c.send(head);
    }
    c.send(chunk);
    if (round % 400 == 0) {
      readers.emplace_back(at, counted);
      readers.back().send(request(at, "GET /v1/kv/bench/?recurse"));
      if (readers.size() > 20)
        readers.pop_front();
    }
  }
}

} // namespace belay::hostile
