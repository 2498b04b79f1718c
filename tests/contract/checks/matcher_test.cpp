// Tests the replayer's comparisons: what each matcher accepts, and that it rejects the rest.

#include "tests/contract/matcher.hpp"

#include <catch2/catch.hpp>

using namespace belay::contract;

namespace {

const variables env = {{"p", "x1/"}, {"dot", "a.b"}, {"i", std::uint64_t{18446744073709551614u}}, {"n", 7}};

bool matches(const char* expected, const char* got) {
  matcher m(10);
  return m.value(parse_json(expected), parse_json(got), env).empty();
}

struct row {
  const char* expected;
  const char* got;
  bool holds;
};

} // namespace

TEST_CASE("values are compared by value and type") {
  const row rows[] = {
      {"1", "1", true},
      {"1", "2", false},
      {"1", "1.0", false}, // a server that prints integers as fractions breaks clients
      {"1", "true", false},
      {"1", "\"1\"", false},
      {"18446744073709551615", "18446744073709551615", true},
      {"18446744073709551615", "18446744073709551614", false},
      {"9223372036854775808", "9223372036854775809", false},
      {"-1", "18446744073709551615", false},
      {"null", "null", true},
      {"null", "[]", false},
      {"[]", "null", false},
      {"\"a\"", "\"A\"", false},
      {"[1,2]", "[1,2]", true},
      {"[1,2]", "[2,1]", false},
      {"[1,2]", "[1,2,3]", false},
      {R"({"a":1,"b":2})", R"({"b":2,"a":1})", true},
      {R"({"a":1})", R"({"a":1,"b":2})", false},
      {R"({"a":1,"b":2})", R"({"a":1})", false},
      {R"({"${p}k":1})", R"({"x1/k":1})", true},
      {"\"${i+1}\"", "18446744073709551615", true},
      {"\"${n-1}\"", "6", true},
      {"\"${n}\"", "\"7\"", false},
      {"\"<${n+1}>\"", "\"<8>\"", true},
  };
  for (const auto& r : rows) {
    CAPTURE(r.expected, r.got);
    CHECK(matches(r.expected, r.got) == r.holds);
  }
}

TEST_CASE("matchers accept what they describe and nothing else") {
  const row rows[] = {
      {"\"~any\"", "null", true},
      {"{\"a\":\"~any\"}", "{}", false},
      {"\"~uuid\"", "\"6d1f1c5e-2d0b-4c0c-9a8a-51f0f3a4b7c9\"", true},
      {"\"~uuid\"", "\"6d1f1c5e-2d0b-4c0c-9a8a-51f0f3a4b7c\"", false},
      {"\"~time\"", "\"2021-02-03T04:05:06.789Z\"", true},
      {"\"~time\"", "\"2021-02-03 04:05:06\"", false},
      {"\"~has:${p}\"", "\"key x1/a\"", true},
      {"\"~has:${p}\"", "\"key x2/a\"", false},
      {"\"~re:${dot}[0-9]+\"", "\"a.b12\"", true},
      {"\"~re:${dot}[0-9]+\"", "\"axb12\"", false}, // variables are not patterns
      {"\"~re:[0-9]+\"", "\"a12\"", false},         // the whole text must match
      {"\"~lit:~any\"", "\"~any\"", true},
      {"\"~lit:~any\"", "\"x\"", false},
      {R"({"~fields":{"a":1}})", R"({"a":1,"b":2})", true},
      {R"({"~fields":{"a":1}})", R"({"b":2})", false},
      {R"({"~contains":[2,1]})", "[1,2,3]", true},
      {R"({"~contains":[1,1]})", "[1,2,3]", false}, // each needs an element of its own
      {R"({"~unordered":[2,1]})", "[1,2]", true},
      {R"({"~unordered":[2,1]})", "[1,2,3]", false},
      {R"({"~lacks":[4]})", "[1,2]", true},
      {R"({"~lacks":[2]})", "[1,2]", false},
      {R"({"~lacks":["a"]})", R"({"b":1})", true},
      {R"({"~lacks":["a"]})", R"({"a":1})", false},
      {R"({"~lacks":["a"]})", "null", false},
      {"\"~idx:old\"", "10", true},
      {"\"~idx:old\"", "11", false},
      {"\"~idx:1\"", "11", true},
      {"\"~idx:1\"", "\"11\"", true},
      {"\"~idx:1\"", "10", false},
      {"\"~idx:1\"", "\"\"", false},
      {R"(["~idx:1","~idx:2","~idx:1"])", "[11,15,11]", true},
      {R"(["~idx:1","~idx:2","~idx:1"])", "[11,15,12]", false},
      {R"(["~idx:1","~idx:2"])", "[11,11]", false},
      {R"(["~idx:2","~idx:1"])", "[11,12]", false},
  };
  for (const auto& r : rows) {
    CAPTURE(r.expected, r.got);
    CHECK(matches(r.expected, r.got) == r.holds);
  }
  CHECK_THROWS_AS(matches("\"~idex:1\"", "1"), problem);
  CHECK_THROWS_AS(matches("\"${unknown}\"", "1"), problem);
}

TEST_CASE("every part of an expected answer counts") {
  belay::harness::http_reply got;
  got.status = 404;
  got.headers = {{"x-consul-index", "12"}, {"content-type", "text/plain"}};
  got.body = "null";
  const std::pair<const char*, bool> rows[] = {
      {R"({})", true},
      {R"({"status":404})", true},
      {R"({"status":200})", false},
      {R"({"headers":{"X-Consul-Index":"~idx:1","X-Other":null}})", true},
      {R"({"headers":{"X-Consul-Index":"13"}})", false},
      {R"({"headers":{"X-Consul-Index":null}})", false},
      {R"({"headers":{"X-Other":"~any"}})", false},
      {R"({"json":null})", true},
      {R"({"json":[]})", false},
      {R"({"text":"null"})", true},
      {R"({"text":"nul"})", false},
      {R"({"b64":"bnVsbA=="})", true},
      {R"({"b64":"bnVsbAo="})", false},
      {R"({"size":4})", true},
      {R"({"size":5})", false},
  };
  for (const auto& [expected, holds] : rows) {
    CAPTURE(expected);
    matcher m(10);
    CHECK(m.reply(parse_json(expected).as_object(), got, env).empty() == holds);
  }
  got.error = "timed out";
  matcher m(10);
  CHECK_FALSE(m.reply({}, got, env).empty());
}
