// For all input of a client the router decides, decides the same again, and the decision can be
// written. Requests of the corpus are mutated from a fixed seed. A bug would show as a crash, an
// empty response, or a response whose head could be split by bytes of the request.

#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/subjects.hpp"

#include <algorithm>

using namespace belay;
using namespace belay::fuzz;

namespace {

/// A stored request: "METHOD target", header lines, an empty line, the body. fuzz_http reads the
/// same; here the parts are separate, so that mutations cannot end one of them.
struct sample {
  std::string method, target, body;
  std::vector<std::pair<std::string, std::string>> headers;
};

sample parse_sample(const std::string& text) {
  sample s;
  const auto head_end = text.find("\n\n");
  REQUIRE(head_end != std::string::npos);
  s.body = text.substr(head_end + 2);
  std::size_t begin = 0;
  while (begin < head_end) {
    const auto end = std::min(text.find('\n', begin), head_end);
    const auto line = text.substr(begin, end - begin);
    if (begin == 0) {
      s.method = line.substr(0, line.find(' '));
      s.target = line.substr(line.find(' ') + 1);
    } else
      s.headers.emplace_back(line.substr(0, line.find(": ")), line.substr(line.find(": ") + 2));
    begin = end + 1;
  }
  return s;
}

/// Stored requests; the streams stored beside them have other line ends.
corpus written_down() {
  auto all = read_corpus("http");
  std::erase_if(all, [](const auto& each) { return each.second.find("\n\n") == std::string::npos; });
  return all;
}

/// Pieces that are special to one of the parsers.
const std::vector<std::string> words{"%",
                                     "%2F",
                                     "%00",
                                     "%zz",
                                     "//",
                                     "/../",
                                     "/./",
                                     "?",
                                     "&",
                                     ";",
                                     "=",
                                     "+",
                                     "cas=",
                                     "keys",
                                     "raw",
                                     "stale",
                                     "index",
                                     "wait=",
                                     "-1",
                                     "1e999",
                                     "\"",
                                     "\\u0000",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     "null",
                                     "true",
                                     "\xFF",
                                     "\xC5\xBC",
                                     "\xE2\x80\xA8",
                                     "\r\n",
                                     "18446744073709551616",
                                     "1h",
                                     "\\ud800",
                                     "-9223372036854775808",
                                     "/v1/txn",
                                     "/v1/kv/",
                                     "pretty",
                                     "dc=x",
                                     ",",
                                     ":",
                                     "-2562047h47m16.9s"};

void mutate(std::string& text, seeded_random& random) {
  for (auto rounds = random.below(4) + 1; rounds > 0; --rounds) {
    const auto at = random.below(text.size() + 1);
    switch (random.below(6)) {
    case 0:
      text.insert(at, words[random.below(words.size())]);
      break;
    case 1:
      text.erase(at, random.below(8));
      break;
    case 2:
      if (at < text.size())
        text[at] = static_cast<char>(random.below(256));
      break;
    case 3:
      text.insert(at, text.substr(random.below(text.size() + 1), random.below(40)));
      break;
    case 4:
      text.resize(at);
      break;
    default:
      if (at < text.size())
        text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
    }
  }
}

http::parsed_request route(const sample& s) {
  http::raw_request r{s.method, s.target, {}, s.body, "127.0.0.1"};
  for (const auto& [name, value] : s.headers)
    r.headers.emplace_back(name, value);
  return check_routed(r);
}

} // namespace

TEST_CASE("http request: any request is decided, and decided the same again") {
  std::vector<sample> requests;
  for (const auto& [name, text] : written_down())
    requests.push_back(parse_sample(text));
  REQUIRE(requests.size() >= 10);
  seeded_random random(20261121);
  std::size_t answers = 0, reads = 0, writes = 0, local = 0;
  for (int i = 0; i < 40'000; ++i) {
    auto s = requests[random.below(requests.size())];
    switch (random.below(5)) {
    case 0:
      mutate(s.method, random);
      break;
    case 1:
    case 2:
      mutate(s.target, random);
      break;
    case 3:
      mutate(s.body, random);
      break;
    default:
      if (!s.headers.empty())
        mutate(s.headers[random.below(s.headers.size())].second, random);
      mutate(random.below(2) == 0 ? s.target : s.body, random);
    }
    INFO("round " << i << ": " << s.method << " " << s.target << "\n" << s.body);
    const auto routed = route(s);
    answers += std::holds_alternative<http::response>(routed.action) ? 1 : 0;
    reads += std::holds_alternative<http::read_request>(routed.action) ? 1 : 0;
    writes += std::holds_alternative<http::write_request>(routed.action) ? 1 : 0;
    local += std::holds_alternative<http::local_request>(routed.action) ? 1 : 0;
  }
  // The mutations are mild, so most requests are still routed.
  CHECK(answers > 1000);
  CHECK(reads > 1000);
  CHECK(writes > 1000);
  CHECK(local > 100);
}

TEST_CASE("http request: the stored requests are understood") {
  std::size_t refused = 0;
  for (const auto& [name, text] : written_down()) {
    INFO(name);
    const auto found = run_input(fuzz_http, text);
    CHECK(std::count(found.actions.begin(), found.actions.end(), 1) == 1);
    const auto p = route(parse_sample(text));
    const auto* answer = std::get_if<http::response>(&p.action);
    refused += answer && answer->status >= 400 ? 1 : 0;
  }
  CHECK(refused == 2); // conflicting flags, and a value that is too large
}

// Audit of November 2026, B1: a line break in a client's request split the request that the agent
// forwarded into two.
TEST_CASE("http request: a forwarded request of a client agent is one request, which servers parse like the client's") {
  std::size_t passed_on = 0, refused = 0;
  const auto pass_on = [&](const std::string& input) {
    const auto found = run_input(fuzz_passed_on, input);
    passed_on += found.passed_on;
    refused += found.refused;
  };
  const auto all = read_corpus("http");
  std::vector<std::string> inputs;
  for (const auto& [name, text] : all) {
    INFO(name);
    pass_on(text);
    inputs.push_back(text);
  }
  seeded_random random(20261128);
  for (int i = 0; i < 20'000; ++i) {
    auto text = inputs[random.below(inputs.size())];
    mutate(text, random);
    pass_on(text);
  }
  CHECK(passed_on > 1000);
  CHECK(refused > 0);
}
