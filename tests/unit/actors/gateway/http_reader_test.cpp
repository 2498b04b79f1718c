// Rejected requests that an intermediary might parse differently (RFC 9112, section 11.2).

#include "actors/gateway/http_reader.hpp"
#include "protocol/go_compat/quoting.hpp"
#include "tests/harness/cpu_time.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace belay::actors;
using read_outcome = http_reader::outcome;

namespace {

http_reader_rules usual_rules() {
  http_reader_rules rules;
  rules.body_limit = [](std::string_view, std::string_view) { return belay::http::body_limit{1000}; };
  return rules;
}

/// The result of reading the first request of `bytes`, in pieces of that size.
read_outcome outcome_of(std::string_view bytes, std::size_t piece, std::string* body = nullptr) {
  const auto rules = usual_rules();
  http_reader reader(rules);
  std::string waiting;
  while (true) {
    std::size_t used = 0;
    const auto v = reader.read(waiting, used);
    waiting.erase(0, used);
    if (v == read_outcome::complete && body != nullptr)
      *body = reader.request().body;
    if (v != read_outcome::more || bytes.empty())
      return v;
    waiting += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
}

read_outcome outcome_of(std::string_view bytes) {
  const auto whole = outcome_of(bytes, bytes.size());
  for (const std::size_t piece : {1, 2, 7})
    CHECK(outcome_of(bytes, piece) == whole);
  return whole;
}

} // namespace

TEST_CASE("http_reader: every server must find the same end of a request") {
  const std::string line = "PUT /v1/kv/a HTTP/1.1\r\n", old_line = "PUT /v1/kv/a HTTP/1.0\r\n", host = "Host: x\r\n";
  const std::string chunks = "\r\n1\r\nx\r\n0\r\n\r\n";
  const auto bad = read_outcome::bad_request, good = read_outcome::complete;
  const std::vector<std::pair<std::string, read_outcome>> rows{
      {line + host + "Content-Length: 1\r\n\r\nx", good},
      {line + host + "Content-Length:\t1 \t\r\n\r\nx", good},
      {line + host + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", bad},
      {line + host + "Content-Length: 1\r\ncontent-length: 2\r\n\r\nxx", bad},
      {line + host + "Content-Length: 1, 1\r\n\r\nx", bad},
      {line + host + "Content-Length: 1,2\r\n\r\nx", bad},
      {line + host + "Content-Length: +1\r\n\r\nx", bad},
      {line + host + "Content-Length: -1\r\n\r\nx", bad},
      {line + host + "Content-Length: 0x1\r\n\r\nx", bad},
      {line + host + "Content-Length: 1 1\r\n\r\nx", bad},
      {line + host + "Content-Length:\r\n\r\n", bad},
      {line + host + "Content-Length: 99999999999999999999\r\n\r\n", bad},
      {line + host + "Transfer-Encoding: chunked\r\n" + chunks, good},
      {line + host + "Transfer-Encoding: Chunked\r\n" + chunks, good},
      {line + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" + chunks, bad},
      {line + host + "Transfer-Encoding: chunked, chunked\r\n" + chunks, bad},
      {line + host + "Transfer-Encoding: gzip, chunked\r\n" + chunks, bad},
      {line + host + "Transfer-Encoding: identity\r\n\r\n", bad},
      {line + host + "Transfer-Encoding:\r\n\r\n", bad},
      {line + host + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n" + chunks, bad},
      {line + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n" + chunks, bad},
      {line + host + "Transfer-Encoding : chunked\r\n" + chunks, bad},
      {line + host + "Transfer-Encoding\r\n: chunked\r\n" + chunks, bad},
      {line + host + "Transfer-Encoding:\r\n chunked\r\n" + chunks, bad},
      {old_line + "Content-Length: 1\r\n\r\nx", good},
      {old_line + host + "Transfer-Encoding: chunked\r\n" + chunks, bad},
      {line + host + "A: b\r\n c\r\n\r\n", bad},
      {line + host + "A: b\r\n\tc\r\n\r\n", bad},
      {line + " A: b\r\n" + host + "\r\n", bad},
      {line + host + "A : b\r\n\r\n", bad},
      {line + host + "A: b\rc\r\n\r\n", bad},
      {line + host + "A: b\nContent-Length: 1\r\n\r\nx", good},
      {line + host + "A: b\n\nC: d\r\n\r\n", good}, // what follows is another request
      {line + host + "A: b\n c\n\n", bad},
      {line + host + "A: b\rc\n\n", bad},
      {line + host + "Transfer-Encoding: chunked\n\n1;a\nx\n0\n\n", bad},
      {line + host + ": b\r\n\r\n", bad},
      {line + host + std::string("A: b\0c\r\n\r\n", 10), bad},
      {"PUT /v1/kv/a HTTP/1.1\n" + host + "\r\n", good},
      {"\n\r\nPUT /v1/kv/a HTTP/1.1\nHost: x\n\n", good},
      {"PUT /v1/kv/a\n\n", bad},
      {"PUT  /v1/kv/a HTTP/1.1\r\n" + host + "\r\n", bad},
      {"PUT /v1/kv/a b HTTP/1.1\r\n" + host + "\r\n", bad},
      {"PUT /v1/kv/a\r HTTP/1.1\r\n" + host + "\r\n", bad},
      {"PUT /v1/kv/a HTTP/2.0\r\n" + host + "\r\n", bad},
  };
  for (const auto& [bytes, wanted] : rows) {
    INFO(belay::go_compat::quoted(bytes));
    CHECK(outcome_of(bytes) == wanted);
  }
}

TEST_CASE("http_reader: lines may end in LF alone, and the body begins where the head ends") {
  for (const auto* head : {"PUT /v1/kv/a HTTP/1.1\nHost: x\nContent-Length: 6\n\n",
                           "PUT /v1/kv/a HTTP/1.1\r\nHost: x\nContent-Length: 6\r\n\n",
                           "PUT /v1/kv/a HTTP/1.1\nHost: x\r\nContent-Length: 6\n\r\n"})
    for (const std::size_t piece : {1, 2, 3, 7, 1000}) {
      std::string body;
      CHECK(outcome_of(head + std::string("a\n\nb\r\n"), piece, &body) == read_outcome::complete);
      CHECK(body == "a\n\nb\r\n");
    }
}

TEST_CASE("http_reader: one host, as Go demands it") {
  const std::string line = "GET / HTTP/1.1\r\n", old_line = "GET / HTTP/1.0\r\n";
  const std::vector<std::pair<std::string, read_outcome>> rows{
      {line + "Host: x\r\n\r\n", read_outcome::complete},
      {line + "Host: [::1]:8500\r\n\r\n", read_outcome::complete},
      {line + "Host:\r\n\r\n", read_outcome::complete},
      {line + "\r\n", read_outcome::no_host},
      {line + "Host: x\r\nHost: x\r\n\r\n", read_outcome::many_hosts},
      {line + "Host: x\r\nA: b\r\nhOST: y\r\n\r\n", read_outcome::many_hosts},
      {line + "Host: x y\r\n\r\n", read_outcome::malformed_host},
      {line + "Host: x/y\r\n\r\n", read_outcome::malformed_host},
      {line + "Host: x@y\r\n\r\n", read_outcome::malformed_host},
      {old_line + "\r\n", read_outcome::complete},
      {old_line + "Host: x\r\nHost: y\r\n\r\n", read_outcome::many_hosts},
  };
  for (const auto& [bytes, wanted] : rows) {
    INFO(belay::go_compat::quoted(bytes));
    CHECK(outcome_of(bytes) == wanted);
  }
}

TEST_CASE("http_reader: chunks") {
  const auto with = [](const std::string& chunks) {
    return "PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks;
  };
  std::string body;
  for (const auto* good : {"5\r\nhello\r\n0\r\n\r\n", "5;a=b;c\r\nhello\r\n00\r\nT: x\r\n\r\n",
                           "005 \t\r\nhello\r\n0 ;a\r\n\r\n", "1\r\nh\r\n4\r\nello\r\n0\r\n\r\n"}) {
    INFO(good);
    body.clear();
    CHECK(outcome_of(with(good)) == read_outcome::complete);
    outcome_of(with(good), 1000, &body);
    CHECK(body == "hello");
  }
  for (const auto* bad :
       {"+5\r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n",
        "5 6\r\nhello\r\n0\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n", "5\rhello\r\n0\r\n\r\n",
        "5\r\nhellox\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5;a\nb\r\nhello\r\n0\r\n\r\n", ";a\r\n\r\n", "\r\n",
        "0000000000000005\r\nhello\r\n0\r\n\r\n", "ffffffffffffffff1\r\n"}) {
    INFO(bad);
    CHECK(outcome_of(with(bad)) == read_outcome::bad_request);
  }
  CHECK(outcome_of(with("5" + std::string(20'000, ' ') + "\r\n")) == read_outcome::bad_request);
  CHECK(outcome_of(with("3e9\r\n")) == read_outcome::body_too_large);
}

// With one byte in each packet a client made a server search all bytes of the head before it again.
TEST_CASE("http_reader: a long head that arrives byte by byte costs little more than one that arrives in one piece") {
  // After the first piece the parser waits for the end of the head, and takes nothing.
  const auto cost = [](const std::string& line_end, int single_bytes) {
    std::string rest = line_end;
    while (rest.size() < 600'000)
      rest += "a" + line_end;
    return belay::harness::least_cpu_time(
        [&] {
          const auto rules = usual_rules();
          http_reader reader(rules);
          std::string waiting;
          const auto receive = [&](std::string_view piece) {
            waiting += piece;
            std::size_t used = 0;
            CHECK(reader.read(waiting, used) == read_outcome::more);
            waiting.erase(0, used);
          };
          receive("GET / HTTP/1.1\r\nX: a");
          receive(rest);
          for (int i = 0; i < single_bytes; ++i)
            receive("a");
        },
        2);
  };
  for (const std::string line_end : {"\r\n", "\n"})
    CHECK(belay::harness::holds_once([&] { return cost(line_end, 300) < 10 * cost(line_end, 0); }));
}

TEST_CASE("http_reader: the end of a head is found wherever it is cut") {
  for (const std::string end : {"\n\n", "\r\n\r\n", "\n\r\n", "\r\n\n"}) {
    const std::string request = "GET /v1/kv/a HTTP/1.1\nHost: x\nX: y" + end;
    for (std::size_t first = 1; first < request.size(); ++first)
      for (std::size_t second = first; second < request.size(); ++second) {
        INFO(first << " " << second);
        const auto rules = usual_rules();
        http_reader reader(rules);
        std::string waiting;
        auto v = read_outcome::more;
        for (const auto& piece :
             {request.substr(0, first), request.substr(first, second - first), request.substr(second)}) {
          waiting += piece;
          std::size_t used = 0;
          REQUIRE(v == read_outcome::more);
          v = reader.read(waiting, used);
          waiting.erase(0, used);
        }
        CHECK(v == read_outcome::complete);
      }
  }
}
