// Whatever a client sends, the router decides something, decides the same again, and what it decides can be written.
// Requests of the corpus are mutated from a fixed seed; a mistake would show as a crash, an empty answer, or an answer
// whose head could be split by bytes of the request.

#include "protocol/base/random.hpp"
#include "protocol/http/render.hpp"
#include "protocol/http/request.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace belay;

namespace {

/// The corpus format: "METHOD target", header lines, an empty line, the body.
struct sample {
  std::string method, target, body;
  std::vector<std::pair<std::string, std::string>> headers;
};

sample read_sample(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
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

std::vector<sample> read_corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& f : std::filesystem::directory_iterator(BELAY_SOURCE_DIR "/tests/fuzz/corpus/http"))
    files.push_back(f.path());
  std::sort(files.begin(), files.end());
  std::vector<sample> corpus;
  for (const auto& f : files)
    corpus.push_back(read_sample(f));
  return corpus;
}

/// Pieces that mean something to some parser in there.
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

struct outcome {
  std::string kind;  ///< which action
  std::string bytes; ///< the answer, if the router gave one
  http::parsed_request parsed;
};

const http::route_settings& settings() {
  static const http::route_settings s = [] {
    http::route_settings made;
    made.node_name = "n1";
    made.kv_max_value_size = 512;
    made.txn_max_req_len = 4096;
    made.block_endpoints = {"/v1/agent/self"};
    made.allow_write_http_from = {"127.0.0.0/8", "fd00::/8"};
    return made;
  }();
  return s;
}

outcome front(const sample& s) {
  http::raw_request r{s.method, s.target, {}, s.body, "127.0.0.1"};
  for (const auto& [name, value] : s.headers)
    r.headers.emplace_back(name, value);
  outcome o;
  o.parsed = http::parse(r, settings(), [] { return std::string("5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01"); });
  o.kind = std::to_string(o.parsed.action.index());
  if (const auto* answer = std::get_if<http::response>(&o.parsed.action))
    http::serialize(*answer, "Sat, 21 Nov 2026 10:00:00 GMT", true, false, {}, o.bytes);
  return o;
}

/// A line break or control byte of the request inside the head would let a client forge headers.
bool head_is_sound(const std::string& bytes) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string::npos)
    return false;
  for (std::size_t i = 0; i < end; ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c == '\r' ? bytes[i + 1] != '\n' : c == '\n' ? bytes[i - 1] != '\r' : c < 0x20)
      return false;
  }
  return true;
}

void check_request(const http::parsed_request& p) {
  if (const auto* read = std::get_if<http::read_request>(&p.action)) {
    CHECK(read->wait.count() > 0);
    CHECK(read->wait <= settings().max_query_time);
  } else if (const auto* write = std::get_if<http::write_request>(&p.action)) {
    if (const auto* kv = std::get_if<state::kv_write>(&write->command)) {
      CHECK((!kv->op.key.empty() || kv->op.verb == state::kv_verb::remove_tree));
      CHECK((!kv->op.value || kv->op.value->size() <= settings().kv_max_value_size));
    } else if (const auto* txn = std::get_if<state::txn>(&write->command)) {
      CHECK(!txn->ops.empty());
      CHECK(txn->ops.size() <= 64);
    } else if (const auto* made = std::get_if<state::session_create>(&write->command)) {
      CHECK(made->session.ttl_ns >= 0);
      CHECK(!made->session.node.empty());
    } else if (const auto* registered = std::get_if<state::catalog_register>(&write->command)) {
      // Definitions and mesh settings are pasted into answers as they are: they must be JSON.
      boost::json::error_code wrong;
      for (const auto& c : registered->checks) {
        boost::json::parse(c.definition_json, wrong);
        CHECK_FALSE(wrong);
      }
      if (registered->service && !registered->service->proxy_json.empty()) {
        boost::json::parse(registered->service->proxy_json, wrong);
        CHECK_FALSE(wrong);
      }
    }
  }
}

} // namespace

TEST_CASE("http front: any request is decided, and decided the same again") {
  const auto corpus = read_corpus();
  REQUIRE(corpus.size() >= 10);
  seeded_random random(20261121);
  std::vector<std::size_t> kinds(5);
  for (int i = 0; i < 40'000; ++i) {
    auto s = corpus[random.below(corpus.size())];
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
    const auto first = front(s), again = front(s);
    INFO(s.method << " " << s.target << "\n" << s.body);
    CHECK(first.kind == again.kind);
    CHECK(first.bytes == again.bytes);
    if (first.parsed.action.index() == 0) {
      CHECK(head_is_sound(first.bytes));
      CHECK(std::get<http::response>(first.parsed.action).status >= 200);
    }
    check_request(first.parsed);
    ++kinds[first.parsed.action.index()];
  }
  // The mutations are mild enough to get through to every kind of action but the renewals the corpus has none of.
  CHECK(kinds[0] > 1000);
  CHECK(kinds[1] > 1000);
  CHECK(kinds[2] > 1000);
  CHECK(kinds[4] > 100);
}

TEST_CASE("http front: the corpus itself is understood") {
  std::size_t refused = 0;
  for (const auto& s : read_corpus()) {
    INFO(s.method << " " << s.target);
    const auto o = front(s);
    const auto* answer = std::get_if<http::response>(&o.parsed.action);
    refused += answer && answer->status >= 400 ? 1 : 0;
    check_request(o.parsed);
  }
  CHECK(refused == 2); // conflicting flags, and a value that is too large
}
