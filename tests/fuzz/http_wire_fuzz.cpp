// A client's bytes reach the reader in pieces of any size. Valid and damaged streams are cut in
// many ways: the requests found must be the same, and buffers of incomplete ones stay small.

#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/subjects.hpp"

#include <algorithm>
#include <cstdio>

using namespace belay;
using namespace belay::fuzz;

namespace {

std::string some_request(seeded_random& random) {
  const auto size = random.below(4) == 0 ? random.below(http_body_max + 200) : random.below(40);
  const std::string body(size, static_cast<char>('a' + random.below(26)));
  switch (random.below(7)) {
  case 0:
    return "GET /v1/kv/a?recurse HTTP/1.1\r\nHost: x\r\n\r\n";
  case 1:
    return "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  case 2:
    return "DELETE /v1/kv/%20 HTTP/1.1\r\nhost: [::1]:8500\r\nX-Consul-Token: \r\nTabbed: a\tb\r\nConnection: "
           "close\r\n\r\n";
  case 3: {
    std::string s = "PUT /v1/txn HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n";
    const auto half = body.size() / 2;
    char hex[32];
    for (const auto& part : {body.substr(0, half), body.substr(half)})
      if (!part.empty()) {
        std::snprintf(hex, sizeof hex, "%zx", part.size());
        s += std::string(hex) + (random.below(2) == 0 ? ";x=\"y\"" : "") + "\r\n" + part + "\r\n";
      }
    return s + "0\r\n" + (random.below(2) == 0 ? "Trailer: t\r\n" : "") + "\r\n";
  }
  case 4:
    return "\r\nPOST /v1/kv/x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
  default:
    return "PUT /v1/kv/key HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
}

const std::vector<std::string> odd_bytes{"\r\n",
                                         "\r",
                                         "\n",
                                         "\r\n\r\n",
                                         " ",
                                         ":",
                                         "HTTP/1.1",
                                         "0\r\n\r\n",
                                         "Content-Length: 7\r\n",
                                         "Transfer-Encoding: chunked\r\n",
                                         "Host: y\r\n",
                                         "\r\n ",
                                         " :",
                                         "HTTP/1.0",
                                         "ffffffffffffffff",
                                         "-1",
                                         ";",
                                         "\t",
                                         std::string(1, '\0'),
                                         "\xff",
                                         "Expect: 100-continue\r\n",
                                         "GET",
                                         std::string(5000, 'h')};

void damage(std::string& s, seeded_random& random) {
  const auto at = random.below(s.size() + 1);
  const auto length = std::min<std::size_t>(random.below(12), s.size() - at);
  switch (random.below(5)) {
  case 0:
    if (at < s.size())
      s[at] = static_cast<char>(random.below(256));
    break;
  case 1:
    s.insert(at, odd_bytes[random.below(odd_bytes.size())]);
    break;
  case 2:
    s.erase(at, length);
    break;
  case 3:
    s.insert(random.below(s.size() + 1), s.substr(at, length));
    break;
  default:
    s.resize(at);
    break;
  }
  if (s.empty())
    s = "G";
}

/// One of each kind of request that the reader treats differently, and ends of streams.
corpus http_samples() {
  const std::string chunked = "PUT /v1/txn HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  return {
      {"stream_pipelined", "GET /v1/kv/a?recurse HTTP/1.1\r\nHost: x\r\n\r\n\r\nPOST /v1/kv/x HTTP/1.1\r\nHost: "
                           "x\r\nContent-Length: 0\r\n\r\nPUT /v1/kv/key HTTP/1.1\r\nHost: x\r\nAccept: "
                           "*/*\r\nContent-Length: 5\r\n\r\nvalue"},
      {"stream_old", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"},
      {"stream_folded", "DELETE /v1/kv/%20 HTTP/1.1\r\nhost: [::1]:8500\r\nX-Consul-Token: \r\nFolded: a\r\n "
                        "b\r\nConnection: close\r\n\r\n"},
      {"stream_chunked", chunked + "3;x=\"y\"\r\n[{}\r\n1\r\n]\r\n0\r\nTrailer: t\r\n\r\n"},
      {"stream_session",
       "PUT /v1/session/create HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 30\r\n\r\n"
       "{\"TTL\":\"15s\",\"LockDelay\":\"1s\"}"},
      {"stream_too_large", "PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\n"},
      {"stream_cut", chunked + "ff\r\nabc"},
      {"stream_no_host", "GET / HTTP/1.1\r\nA: b\r\n\r\n"},
      {"stream_two_hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"},
      {"stream_old_chunked", "PUT /v1/kv/a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"},
      {"stream_two_lengths", "PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx"},
  };
}

} // namespace

TEST_CASE("http streams: one of each kind is stored, and read", "[corpus]") {
  check_stored("http", http_samples());
  std::size_t requests = 0, refused = 0;
  for (const auto& [name, stream] : http_samples()) {
    INFO(name);
    const auto f = run_input(fuzz_http, stream);
    requests += f.requests;
    refused += f.refused ? 1 : 0;
  }
  CHECK(requests == 6);
  CHECK(refused ==
        6); // too large, folded, without a host, with two, and two whose end would not be the same for every parser
}

TEST_CASE("http: stored inputs keep the property") {
  for (const auto& [name, bytes] : read_corpus("http")) {
    INFO(name);
    (void)run_input(fuzz_http, bytes);
  }
}

TEST_CASE("streams of requests are the same in any pieces", "[fuzz][http]") {
  seeded_random random(11);
  std::size_t complete = 0, refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string stream;
    for (auto n = 1 + random.below(4); n > 0; --n)
      stream += some_request(random);
    for (auto n = random.below(4); n > 0; --n)
      damage(stream, random);
    INFO("round " << round);
    const auto f = run_input(fuzz_http, stream);
    complete += f.requests;
    refused += f.refused ? 1 : 0;
  }
  // Both must occur often enough, or this test is useless.
  CHECK(complete > 1000);
  CHECK(refused > 300);
}

TEST_CASE("undamaged requests are all found", "[fuzz][http]") {
  seeded_random random(12);
  for (int round = 0; round < 300; ++round) {
    std::string stream;
    std::size_t sent = 0;
    while (sent < 4) {
      const auto next = some_request(random);
      if (next.size() > 1900) // bodies are within their limit then
        continue;
      stream += next;
      ++sent;
    }
    INFO("round " << round);
    const auto f = run_input(fuzz_http, stream);
    CHECK(f.requests == sent);
    CHECK_FALSE(f.refused);
  }
}

TEST_CASE("a header without end is dropped, a byte at a time or at once", "[fuzz][http]") {
  const std::string endless = "GET / HTTP/1.1\r\nHost: x\r\n";
  std::string many;
  for (int i = 0; i < 2000; ++i)
    many += "A: b\r\n";
  for (const auto& more : {"A: " + std::string(2 * http_header_max, 'b'), many})
    CHECK(run_input(fuzz_http, endless + more).refused);
}

TEST_CASE("trailers and chunk extensions without end are dropped", "[fuzz][http]") {
  const std::string head = "PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const auto& more : {"5;" + std::string(20000, 'x'), "0\r\nA: " + std::string(20000, 'x')})
    CHECK(run_input(fuzz_http, head + more).refused);
}
