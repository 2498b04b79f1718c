// `belay keyring`: its requests, output and exit codes, as of `consul keyring` 1.8.7.

#include "tests/unit/cli/fake_node.hpp"
#include "tests/unit/cli/output_texts.hpp"

#include <catch2/catch.hpp>

using namespace belay::cli;

namespace {

response call(arguments words, const std::string& address = "127.0.0.1:1") {
  words.insert(words.begin(), {"keyring", "-http-addr=" + address});
  return run_cli(words);
}

constexpr auto two_pools =
    R"([{"WAN":true,"Datacenter":"dc1","Segment":"","Keys":{"a+/=":3,"b":2},"PrimaryKeys":{"b":3},"NumNodes":3},)"
    R"({"WAN":false,"Datacenter":"dc1","Segment":"","Keys":{"a+/=":3,"b":2},"PrimaryKeys":{"b":3},"NumNodes":3}])";

} // namespace

TEST_CASE("keyring: requests and output", "[keyring]") {
  struct row {
    arguments words;
    fake_node::answer answer;
    const char* requested;
    int code;
    const char* out;
    const char* err;
  };
  const row rows[] = {
      {{"-list"},
       {200, two_pools},
       "GET /v1/operator/keyring",
       0,
       "==> Gathering installed encryption keys...\n\nWAN:\n  a+/= [3/3]\n  b [2/3]\n\ndc1 (LAN):\n  a+/= [3/3]\n"
       "  b [2/3]\n",
       ""},
      {{"-list-primary", "-local-only", "-relay-factor=2"},
       {200, R"([{"WAN":false,"Datacenter":"x","Segment":"","Keys":{"b":3},"PrimaryKeys":{"b":3},"NumNodes":3}])"},
       "GET /v1/operator/keyring?relay-factor=2&local-only=true",
       0,
       "==> Gathering installed primary encryption keys...\n\nx (LAN):\n  b [3/3]\n",
       ""},
      {{"-install", "a+/="},
       {200, ""},
       R"(POST /v1/operator/keyring {"Key":"a+/="})",
       0,
       "==> Installing new gossip encryption key...\n",
       ""},
      {{"-use=k"},
       {200, ""},
       R"(PUT /v1/operator/keyring {"Key":"k"})",
       0,
       "==> Changing primary gossip encryption key...\n",
       ""},
      {{"-remove=k"},
       {500, "2 errors occurred:\n\t* x\n"},
       R"(DELETE /v1/operator/keyring {"Key":"k"})",
       1,
       "==> Removing gossip encryption key...\n",
       "error: Unexpected response code: 500 (2 errors occurred:\n\t* x\n)\n"},
      {{"-list"},
       {200, R"([{"WAN":1}])"},
       "GET /v1/operator/keyring",
       1,
       "==> Gathering installed encryption keys...\n",
       "error: the response is not a list of keys\n"},
  };
  for (const auto& r : rows) {
    fake_node node({r.answer});
    const auto e = call(r.words, node.address());
    CHECK(e.code == r.code);
    CHECK(e.out == r.out);
    CHECK(e.err == r.err);
    CHECK(node.requested() == std::vector<std::string>{r.requested});
  }
}

TEST_CASE("keyring: rejected before any request", "[keyring]") {
  const std::pair<arguments, const char*> rows[] = {
      {{"-list", "-install=k"}, "Only a single action is allowed\n"},
      {{"-use=k", "-remove=k"}, "Only a single action is allowed\n"},
      {{"-list", "-list-primary"}, "Only a single action is allowed\n"},
      {{"-list", "-relay-factor=6"}, "Error parsing relay factor: Relay factor must be in range: [0, 5]\n"},
      {{"-list", "-relay-factor=-1"}, "Error parsing relay factor: Relay factor must be in range: [0, 5]\n"},
      {{"-install=k", "-local-only"}, "Error validating local-only: local-only can only be set for list requests\n"},
  };
  for (const auto& [words, complaint] : rows) {
    const auto e = call(words);
    CHECK(e.code == 1);
    CHECK(e.out.empty());
    CHECK(e.err == complaint);
  }
  const auto none = call({});
  CHECK(none.code == 1);
  CHECK(none.err.starts_with("Usage: belay keyring"));
}
