// A client's bytes reach the reader in whatever pieces the network makes of them. Valid and damaged streams are cut in
// many ways: the requests found must be the same ones, and what is kept of an incomplete one must stay small.

#include "actors/http_reader.hpp"
#include "protocol/base/random.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using namespace belay;
using actors::http_reader;
using actors::http_reader_rules;
using verdict = actors::http_reader::verdict;

namespace {

constexpr std::size_t header_max = 4096;
constexpr std::size_t body_max = 2000;

const http_reader_rules rules{
    header_max, [](std::string_view method, std::string_view) { return method == "GET" ? 100 : body_max; }};

/// Everything a gateway would learn from a stream.
struct found {
  std::vector<std::string> requests;
  verdict end = verdict::more; ///< of the last request, which is not complete
  bool in_request = false;
  std::size_t kept_max = 0; ///< bytes that had to be given again
};

std::string described(const http_reader& r) {
  const auto& q = r.request();
  std::string s = std::string(q.method) + " " + std::string(q.target) + "\n";
  for (const auto& [name, value] : q.headers)
    s += std::string(name) + ": " + std::string(value) + "\n";
  return s + (r.keep_alive() ? "keep" : "close") + (r.old_version() ? " old\n" : "\n") + std::string(q.body);
}

/// Reads the stream in pieces that end at `cuts` (rising), as a connection does.
found read_stream(const std::string& stream, const std::vector<std::size_t>& cuts) {
  found f;
  http_reader reader(rules);
  std::string waiting;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const auto to = i < cuts.size() ? cuts[i] : stream.size();
    waiting.append(stream, from, to - from);
    from = to;
    for (;;) {
      std::size_t used = 0;
      f.end = reader.read(waiting, used);
      REQUIRE(used <= waiting.size());
      waiting.erase(0, used);
      if (f.end != verdict::complete)
        break;
      REQUIRE(reader.request().body.size() <= body_max);
      f.requests.push_back(described(reader));
      reader.reset();
    }
    if (f.end != verdict::more)
      return f;
    f.kept_max = std::max(f.kept_max, waiting.size());
  }
  f.in_request = reader.in_request();
  return f;
}

verdict kind(verdict v) {
  return v == verdict::header_too_large ? verdict::bad_request : v;
}

/// `a` was read in one piece. A stream that breaks off may be found broken sooner in one piece than in many: then it is
/// only known to be incomplete. A line that is too long as well as wrong is refused for what is noticed first. Requests
/// never differ.
void same(const found& a, const found& b) {
  REQUIRE(a.requests == b.requests);
  if (a.end != verdict::more && b.end != verdict::more)
    REQUIRE(kind(a.end) == kind(b.end));
  else
    REQUIRE((a.end != verdict::more || a.in_request) == (b.end != verdict::more || b.in_request));
  REQUIRE(b.kept_max <= header_max);
}

std::string some_request(seeded_random& random) {
  const auto size = random.below(4) == 0 ? random.below(body_max + 200) : random.below(40);
  const std::string body(size, static_cast<char>('a' + random.below(26)));
  switch (random.below(7)) {
  case 0:
    return "GET /v1/kv/a?recurse HTTP/1.1\r\nHost: x\r\n\r\n";
  case 1:
    return "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  case 2:
    return "DELETE /v1/kv/%20 HTTP/1.1\r\nhost: [::1]:8500\r\nX-Consul-Token: \r\nFolded: a\r\n b\r\nConnection: "
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

const std::vector<std::string> words{"\r\n",
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
    s.insert(at, words[random.below(words.size())]);
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

std::vector<std::size_t> some_cuts(std::size_t size, seeded_random& random) {
  std::vector<std::size_t> cuts(random.below(8));
  for (auto& c : cuts)
    c = random.below(size + 1);
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

std::vector<std::size_t> every_byte(std::size_t size) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < size; ++i)
    cuts.push_back(i);
  return cuts;
}

} // namespace

TEST_CASE("streams of requests are the same in any pieces", "[fuzz][http]") {
  seeded_random random(11);
  std::size_t complete = 0, refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string stream;
    for (auto n = 1 + random.below(4); n > 0; --n)
      stream += some_request(random);
    for (auto n = random.below(4); n > 0; --n)
      damage(stream, random);
    INFO("round " << round << ":\n" << stream);
    const auto whole = read_stream(stream, {});
    complete += whole.requests.size();
    refused += whole.end != verdict::more ? 1 : 0;
    same(whole, read_stream(stream, every_byte(stream.size())));
    for (int i = 0; i < 4; ++i)
      same(whole, read_stream(stream, some_cuts(stream.size(), random)));
  }
  // Damage must leave enough of both, or this test looks at nothing.
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
    const auto f = read_stream(stream, some_cuts(stream.size(), random));
    INFO(stream);
    CHECK(f.requests.size() == sent);
    CHECK(f.end == verdict::more);
    CHECK_FALSE(f.in_request);
  }
}

TEST_CASE("a header without end is given up, a byte at a time or at once", "[fuzz][http]") {
  const std::string endless = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (const auto& more : {"A: " + std::string(2 * header_max, 'b'), [] {
                             std::string s;
                             for (int i = 0; i < 2000; ++i)
                               s += "A: b\r\n";
                             return s;
                           }()}) {
    const auto stream = endless + more;
    CHECK(read_stream(stream, {}).end == verdict::header_too_large);
    CHECK(read_stream(stream, every_byte(stream.size())).end == verdict::header_too_large);
  }
}

TEST_CASE("trailers and chunk extensions without end are given up", "[fuzz][http]") {
  const std::string head = "PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const auto& more : {"5;" + std::string(100000, 'x'), "0\r\nA: " + std::string(100000, 'x')}) {
    const auto stream = head + more;
    CHECK(read_stream(stream, {}).end == verdict::bad_request);
    std::vector<std::size_t> cuts;
    for (std::size_t at = 1000; at < stream.size(); at += 1000)
      cuts.push_back(at);
    const auto f = read_stream(stream, cuts);
    CHECK(f.end == verdict::bad_request);
    CHECK(f.kept_max == 0);
  }
}
