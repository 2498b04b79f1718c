// `belay watch -changes` against a prepared node: requests, output, cursor, invalid options.

#include "cli/commands/watching/change_lines.hpp"
#include "tests/unit/cli/fake_node.hpp"
#include "tests/unit/cli/output_texts.hpp"
#include "tests/unit/cli/variables.hpp"

#include <catch2/catch.hpp>

#include <fstream>

using namespace belay::cli;

namespace {

const fake_node::answer no_more = {403, "Permission denied"};

std::string stored_cursor() {
  std::ifstream in("place");
  return {std::istreambuf_iterator<char>(in), {}};
}

fake_node::answer answered(const std::string& list, const std::string& cursor) {
  return {200, list, {{"X-Consul-Index", cursor}}};
}

constexpr auto written_event =
    R"({"ID":"12.0","Event":"set","Key":"a/b","Value":"eA==","Flags":7,"Session":"","PreviousIndex":0,"Index":12})";
constexpr auto deleted =
    R"({"ID":"13.1","Event":"delete","Key":"a/b","Value":null,"Flags":0,"Session":"","PreviousIndex":12,"Index":13})";
constexpr auto as_it_is =
    R"({"Event":"set","Key":"a/b","Value":"eA==","Flags":7,"Session":"","PreviousIndex":0,"Index":12})";

} // namespace

TEST_CASE("watch -changes: lines are those of the server", "[watch]") {
  belay::v0::key_change c;
  c.cursor = "12.0@9f3c2a1b00000000";
  c.key = "a/b";
  c.value = "x";
  c.flags = 7;
  c.index = 12;
  CHECK(line_of(c) == std::string(written_event) + "\n");
  c.cursor.clear();
  CHECK(line_of(c) == std::string(as_it_is) + "\n");
  CHECK(line_of_void("gap", "4.1") == "{\"Event\":\"gap\",\"Cursor\":\"4.1\",\"Place\":\"4.1\"}\n");
}

TEST_CASE("watch -changes: continues at the cursor in the file, and stores its cursor there", "[watch]") {
  const working_directory here;
  std::ofstream("place") << "11\n";
  fake_node node({answered(std::string("[") + written_event + "," + deleted + "]", "13"), no_more});
  const auto s = run_cli({"watch", "-http-addr=" + node.address(), "-changes", "-prefix=/a/", "-cursor-file=place"});
  CHECK(s.code == 1);
  CHECK(s.out == std::string(written_event) + "\n" + deleted + "\n");
  CHECK(s.err == "Error watching changes: Permission denied\n");
  CHECK(stored_cursor() == "13\n");
  const auto requested = node.requested();
  REQUIRE(requested.size() == 2);
  CHECK(requested[0] == "GET /v1/kv/a/?recurse&changes&wait=60000ms&index=11");
  CHECK(requested[1] == "GET /v1/kv/a/?recurse&changes&wait=60000ms&index=13");
}

TEST_CASE("watch -changes: the history is stored in the file, and passed to the command", "[watch]") {
  const working_directory here;
  const auto named = [](const std::string& list, const std::string& cursor) {
    auto a = answered(list, cursor);
    a.headers.emplace_back("X-Belay-Cursor", cursor + "@9f3c2a1b00000000");
    return a;
  };
  std::ofstream("place") << "11\n";
  for (const std::string requested : {"11", "13%409f3c2a1b00000000"}) {
    fake_node node({named(std::string("[") + written_event + "," + deleted + "]", "13"), no_more});
    const auto s = run_cli({"watch", "-http-addr=" + node.address(), "-changes", "-prefix=/a/", "-cursor-file=place",
                            "echo $BELAY_CURSOR >told; cat >line"});
    CHECK(s.code == 1);
    CHECK(node.requested()[0] == "GET /v1/kv/a/?recurse&changes&wait=60000ms&index=" + requested);
    CHECK(stored_cursor().starts_with("13\n"));
    CHECK(stored_cursor().find_first_not_of("13\n ") == std::string::npos);
    std::ifstream received("told"), line("line");
    CHECK(std::string(std::istreambuf_iterator<char>(received), {}) == "13.1@9f3c2a1b00000000\n");
    CHECK(std::string(std::istreambuf_iterator<char>(line), {}) == std::string(deleted) + "\n");
  }
}

// The changes after the cursor are gone: that is reported, and the present keys follow.
TEST_CASE("watch -changes: a gap", "[watch]") {
  const working_directory here;
  std::ofstream("place") << "4.1\n";
  fake_node node({{410, "gone", {{"X-Belay-Floor", "9"}}}, answered(std::string("[") + as_it_is + "]", "12"), no_more});
  const auto s = run_cli(
      {"watch", "-http-addr=" + node.address(), "-datacenter=dc1", "-changes", "-prefix=a/", "-cursor-file=place"});
  CHECK(s.out == std::string("{\"Event\":\"gap\",\"Cursor\":\"4.1\",\"Place\":\"4.1\"}\n") + as_it_is + "\n");
  CHECK(stored_cursor() == "12\n");
  const auto requested = node.requested();
  REQUIRE(requested.size() == 3);
  CHECK(requested[1] == "GET /v1/kv/a/?recurse&changes&wait=60000ms&snapshot&consistent&dc=dc1");
}

// Consul has no change feed, so the command lists the keys when one differs. What happened in
// between is unknown.
TEST_CASE("watch -changes: with Consul each change is a gap", "[watch]") {
  const working_directory here;
  std::ofstream("place") << "5\n";
  const auto listed = R"([{"LockIndex":0,"Key":"a/b","Flags":7,"Value":"eA==","CreateIndex":12,"ModifyIndex":12}])";
  fake_node node({answered(listed, "12"), no_more});
  const auto s = run_cli({"watch", "-http-addr=" + node.address(), "-changes", "-prefix=a/", "-cursor-file=place"});
  CHECK(s.out == std::string("{\"Event\":\"gap\",\"Cursor\":\"5\",\"Place\":\"5\"}\n") + as_it_is + "\n");
  CHECK(stored_cursor() == "12\n");
}

TEST_CASE("watch -changes: a command that fails leaves its change to the next call", "[watch]") {
  const working_directory here;
  std::ofstream("place") << "11\n";
  fake_node node({answered(std::string("[") + written_event + "," + deleted + "]", "13")});
  const auto s = run_cli({"watch", "-http-addr=" + node.address(), "-changes", "-prefix=a/", "-cursor-file=place",
                          "echo $BELAY_CURSOR >>told; grep -q eA=="});
  CHECK(s.code == 1);
  CHECK(s.err == "Error executing handler: exit status 1\n");
  CHECK(stored_cursor() == "12.0\n");
  std::ifstream received("told");
  CHECK(std::string(std::istreambuf_iterator<char>(received), {}) == "12.0\n13.1\n");
}

TEST_CASE("watch -changes: a server that fails is reported once, and retried", "[watch]") {
  const working_directory here;
  fake_node node({{500, "No cluster leader"}, {500, "No cluster leader"}, answered("[]", "5"), no_more});
  const auto s = run_cli({"watch", "-http-addr=" + node.address(), "-changes", "-prefix=a/"});
  CHECK(s.code == 1);
  CHECK(s.err == "Watch (changes) errored: Unexpected response code: 500 (No cluster leader); retrying until it "
                 "responds\nError watching changes: Permission denied\n");
  CHECK(s.out.empty());
}

// None of these sends a request.
TEST_CASE("watch: options that exclude each other", "[watch]") {
  const working_directory here;
  std::ofstream("empty");
  struct row {
    arguments more;
    const char* complaint; ///< the beginning
  };
  const row rows[] = {
      {{"-changes", "-type=key"}, "-changes and -type cannot be combined\nUsage: belay watch"},
      {{"-changes", "-stale"}, "-changes and -stale cannot be combined: "},
      {{"-changes", "-retry=1s"}, "-retry requires -group=<name>\n"},
      {{"-changes", "-tries=1"}, "-tries requires -group=<name>\n"},
      {{"-changes", "-cursor-file=empty"}, "Error! the file has no cursor: empty\n"},
      {{"-changes", "-cursor-file=."}, "Error! .: Is a directory\n"},
      {{"-changes", "-cursor-file=empty/below"}, "Error! empty/below: Not a directory\n"},
      {{"-changes", "-cursor-file=/dev/zero"}, "Error! /dev/zero: it is not a regular file\n"},
      {{"-type=key", "-key=a", "-cursor-file=p"}, "-cursor-file requires -changes\n"},
      {{"-type=key", "-key=a", "-group=g"}, "-group requires -changes\n"},
      {{"-type=key", "-key=a", "-prefix=b", "-tag=t"}, "Invalid parameters: [prefix tag]\n"},
      {{"-type=nodes", "-service=web"}, "Invalid parameters: [service]\n"},
      {{"-type=checks", "-service=web", "-name=a"}, "Invalid parameters: [name]\n"},
      {{"-changes", "-prefix=a/", "-group=g"},
       "-group requires a command: a change is acknowledged when the command succeeds\n"},
      {{"-changes", "-prefix=a/", "-group=g", "-cursor-file=p", "true"},
       "-group and -cursor-file cannot be combined: a group stores its own cursor, and starts with the present keys\n"},
      {{"-changes", "-prefix=a/", "-group=g", "-snapshot", "true"}, "-group and -snapshot cannot be combined: "},
      {{"-changes", "-prefix=a/", "-group=/", "true"}, "-group must not be empty\n"},
      {{"-changes", "-prefix=a/", "-group=a/g", "true"},
       "The group stores its own keys under a/g/, which must not be under -prefix\n"},
      {{"-changes", "-group=g", "true"}, "The group stores its own keys under g/, which must not be under -prefix\n"},
      {{"-changes", "-prefix=a/", "-group=g", "-retry=0s", "true"}, "-retry must be positive\n"},
      {{"-changes", "-prefix=a/", "-group=g", "-tries=0", "true"}, "-tries must be at least 1\n"},
  };
  for (const auto& r : rows) {
    arguments words = {"watch", "-http-addr=127.0.0.1:1"};
    words.insert(words.end(), r.more.begin(), r.more.end());
    const auto s = run_cli(words);
    INFO(s.err);
    CHECK(s.code == 1);
    CHECK(s.err.starts_with(r.complaint));
  }
}
