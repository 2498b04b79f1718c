// `belay diff`, `belay mirror`, `belay reconcile`: arguments, requests and tokens, output.

#include "cli/output/progress_line.hpp"
#include "tests/unit/cli/fake_node.hpp"
#include "tests/unit/cli/output_texts.hpp"
#include "tests/unit/cli/variables.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <thread>

using namespace belay::cli;

namespace {

fake_node::answer keys(const std::string& list) {
  return {200, list, {{"X-Consul-Index", "9"}}};
}

constexpr auto one_key = R"([{"LockIndex":0,"Key":"a/b","Flags":1,"Value":"eA==","CreateIndex":8,"ModifyIndex":9}])";
constexpr auto no_keys = "[]";

} // namespace

// None of these sends a request.
TEST_CASE("copies: calls that are wrong", "[copies]") {
  struct row {
    arguments words;
    int code;
    const char* complaint; ///< the beginning
  };
  const row rows[] = {
      {{"diff"},
       2,
       "Two servers are required, and at most one more prefix, of the copy (got 0 words)\nUsage: belay diff"},
      {{"diff", "a:1"}, 2, "Two servers are required"},
      {{"diff", "a:1", "b:1", "c", "d", "e"}, 2, "Two servers are required"},
      {{"diff", "", "b:1"}, 2, "A server must be HOST:PORT, "},
      {{"diff", "ftp://a", "b:1"}, 2, "Error connecting to the agent: unknown protocol scheme: ftp\n"},
      {{"diff", "a:1", "ftp://b"}, 2, "Error connecting to the agent: unknown protocol scheme: ftp\n"},
      {{"diff", "-settle=-1s", "a:1", "b:1"}, 2, "-settle and -timeout must be positive\n"},
      {{"diff", "-timeout=0s", "a:1", "b:1"}, 2, "-settle and -timeout must be positive\n"},
      {{"diff", "-settel=1s", "a:1", "b:1"}, 2, "flag provided but not defined: -settel\nDid you mean -settle?\n"},
      {{"diff", "-http-addr=x", "a:1", "b:1"}, 2, "flag provided but not defined: -http-addr\n"},
      {{"mirror", "a:1", "b:1"}, 1, "Two servers and a prefix are required"},
      {{"mirror", "a:1", "b:1", ""},
       1,
       "The mirror keeps its progress under mirrors/, which must be outside the keys of the copy: set -name\n"},
      {{"mirror", "-name=app/notes", "a:1", "b:1", "app/"},
       1,
       "The mirror keeps its progress under app/notes/, which must be outside the keys of the copy: set -name\n"},
      {{"mirror", "-name=app/notes", "a:1", "a:1", "app/", "b/"},
       1,
       "Both servers are the same. The mirror keeps its progress under app/notes/, which must be outside the keys of "
       "the "
       "original: set -name\n"},
      {{"mirror", "a:1", "a:1", "app/"},
       1,
       "Both servers are the same. Neither of the two prefixes may contain the other"},
      {{"mirror", "a:1", "a:1", "app/", "app/copy/"},
       1,
       "Both servers are the same. Neither of the two prefixes may contain the other"},
      {{"mirror", "a:1", "a:1", "", "copy/"},
       1,
       "Both servers are the same. Neither of the two prefixes may contain the other"},
      {{"mirror", "-repair", "a:1", "b:1", "app/"}, 1, "-repair requires -once\n"},
      {{"reconcile"}, 1, "PREFIX is required\n"},
      {{"reconcile", "app/"}, 1, "COMMAND is required; -dry-run shows the keys for which it would run\n"},
      {{"reconcile", "-workers=0", "app/", "true"}, 1, "-workers must be between 1 and 1024\n"},
      {{"reconcile", "-workers=2000", "app/", "true"}, 1, "-workers must be between 1 and 1024\n"},
      {{"reconcile", "-per-second=0", "app/", "true"}, 1, "-per-second must be between 1 and 1000000\n"},
      {{"reconcile", "-tries=0", "app/", "true"}, 1, "-tries must be between 1 and 4294967295\n"},
      {{"reconcile", "-every=0s", "app/", "true"}, 1, "-every must be positive\n"},
      {{"reconcile", "-limit=-1s", "app/", "true"}, 1, "-limit must be positive\n"},
      {{"reconcile", "-once", "-every=1m", "app/", "true"}, 1, "-every cannot be combined with -once or -dry-run"},
  };
  for (const auto& r : rows) {
    const auto s = run_cli(r.words);
    INFO(s.err);
    CHECK(s.code == r.code);
    CHECK(s.err.starts_with(r.complaint));
    CHECK(s.out.empty());
  }
}

TEST_CASE("diff: each server gets its own token", "[copies]") {
  for (const std::string copy_token : {"", "other"}) {
    fake_node original({keys(one_key), keys(one_key)}), copy({keys(no_keys), keys(no_keys)});
    arguments words = {"diff", "-settle=1ms", "-token=secret"};
    if (!copy_token.empty())
      words.push_back("-copy-token=" + copy_token);
    words.insert(words.end(), {original.address(), copy.address(), "/a/", "copy/"});
    const auto s = run_cli(words);
    CHECK(s.code == 1);
    CHECK(s.out == "PhantomUndelete  a/b\n");
    CHECK(s.err.empty());
    CHECK(original.requested() == std::vector<std::string>(2, "GET /v1/kv/a/?recurse&consistent"));
    CHECK(copy.requested() == std::vector<std::string>(2, "GET /v1/kv/copy/?recurse&consistent"));
    CHECK(original.token == "secret");
    CHECK(copy.token == copy_token);
  }
}

TEST_CASE("diff: as JSON, and nothing about equal keys", "[copies]") {
  fake_node original({keys(one_key)}), copy({keys(one_key)});
  const auto s = run_cli({"diff", "-format=json", original.address(), copy.address(), "a/"});
  CHECK(s.code == 0);
  CHECK(s.out == "[]\n");
}

TEST_CASE("diff: a screen shows the progress", "[copies]") {
  for (const bool screen : {true, false}) {
    fake_node original({keys(one_key), keys(one_key)}), copy({keys(no_keys), keys(no_keys)});
    const auto s = run_cli({"diff", "-settle=1500ms", original.address(), copy.address(), "a/"}, "", screen);
    CHECK(s.code == 1);
    CHECK(s.out.starts_with("\rComparing: 1 s") == screen);
    CHECK(s.out.ends_with("PhantomUndelete  a/b\n"));
  }
}

TEST_CASE("diff: the server that refuses is named", "[copies]") {
  fake_node original({keys(one_key)}), copy({{403, "Permission denied"}});
  const auto s = run_cli({"diff", original.address(), copy.address(), "a/"});
  CHECK(s.code == 2);
  CHECK(s.out.empty());
  CHECK(s.err == "Error comparing: the copy's server: Permission denied\n");
}

TEST_CASE("mirror: a server that refuses ends it", "[copies]") {
  fake_node original({}), copy({{403, "Permission denied"}});
  const auto s = run_cli({"mirror", "-once", "-name=mirrors/a", original.address(), copy.address(), "a/", "b/"});
  CHECK(s.code == 1);
  CHECK(s.err == "Error mirroring: the copy's server: Permission denied\n");
  CHECK(copy.requested() == std::vector<std::string>{"GET /v1/kv/mirrors/a/place?consistent"});
}

// If one prefix contains the other, each copied key is written below the copied prefix and copied
// again.
TEST_CASE("mirror: servers of one cluster with nested prefixes are refused, whatever their addresses", "[copies]") {
  const auto at = [](const std::string& cursor) {
    fake_node::answer a{200, "[]", {{"X-Consul-Index", "9"}}};
    if (!cursor.empty())
      a.headers.emplace_back("X-Belay-Cursor", cursor);
    return a;
  };
  const auto node = [](const std::string& id) { return fake_node::answer{200, R"([{"ID":")" + id + R"("}])", {}}; };
  const std::string ours = "9@9f3c2a1b00000000", restored = "12@9f3c2a1b00000005", other = "9@1234567800000000";
  const std::string one =
      "Error! Both servers belong to one cluster. Neither of the two prefixes may contain the other: "
      "choose another COPY_PREFIX\n";
  const auto run = [](std::vector<fake_node::answer> original_answers, std::vector<fake_node::answer> copy_answers) {
    fake_node original(std::move(original_answers)), copy(std::move(copy_answers));
    return run_cli({"mirror", "-once", original.address(), copy.address(), "app/", "app/copy/"});
  };
  for (const auto& s :
       {run({at(ours)}, {at(ours)}), run({at(ours)}, {at(restored)}), run({at(""), node("a")}, {at(""), node("a")}),
        run({at(ours), node("a")}, {at(""), node("a")})}) {
    CHECK(s.code == 1);
    CHECK(s.err == one);
    CHECK(s.out.empty());
  }
  // Consul's servers without IDs are indistinguishable.
  const auto unknown = run({at(""), {200, R"([{"ID":""}])", {}}}, {at(""), node("a")});
  CHECK(unknown.code == 1);
  CHECK(
      unknown.err.starts_with("Error! It is unknown whether both servers belong to one cluster. If they do: Neither"));
  // With the same prefix, the worst that can happen is that each key is copied onto itself.
  {
    fake_node original({at(""), node("")}), copy({at(""), node(""), {403, "no more"}});
    const auto s = run_cli({"mirror", "-once", original.address(), copy.address(), "app/"});
    CHECK(s.err == "Error mirroring: the copy's server: no more\n");
  }
  // With two clusters it continues, and requests what there is to copy.
  for (const auto& s : {run({at(ours)}, {at(other), {403, "no more"}}),
                        run({at(""), node("a")}, {at(""), node("b"), {403, "no more"}})}) {
    CHECK(s.code == 1);
    CHECK(s.err == "Error mirroring: the copy's server: no more\n");
  }
}

TEST_CASE("diff: keys that no list can name", "[copies]") {
  const auto list = [](const std::string& index) {
    return keys(R"([{"Key":"a/\ufffd","Flags":0,"Value":"eA==","CreateIndex":8,"ModifyIndex":)" + index + "}]");
  };
  const fake_node::answer absent{404, "", {{"X-Consul-Index", "9"}}};
  fake_node original({list("9"), absent, list("9"), absent}), copy({list("9"), list("9"), list("9"), list("9")});
  const auto s = run_cli({"diff", "-settle=1ms", original.address(), copy.address(), "a/"});
  CHECK(s.code == 1);
  CHECK(s.out.find("NotComparable") != std::string::npos);
  CHECK(original.requested()[1] == "GET /v1/kv/a/%EF%BF%BD?consistent");
}

TEST_CASE("reconcile: output and commands", "[copies]") {
  const working_directory here;
  {
    fake_node node({keys(one_key)});
    const auto s = run_cli({"reconcile", "-http-addr=" + node.address(), "-dry-run", "a/", "touch ran"});
    CHECK(s.code == 0);
    CHECK(s.out == "a/b\n");
    CHECK_FALSE(std::filesystem::exists("ran"));
  }
  {
    fake_node node({keys(one_key), keys(one_key)});
    const auto s = run_cli({"reconcile", "-http-addr=" + node.address(), "-once", "a/",
                            "echo $BELAY_KEY $BELAY_INDEX $BELAY_FLAGS $(cat) >ran"});
    CHECK(s.code == 0);
    CHECK(s.out == "Success! 1 key done\n");
    std::ifstream ran("ran");
    CHECK(std::string(std::istreambuf_iterator<char>(ran), {}) == "a/b 9 1 x\n");
    CHECK(node.requested() ==
          std::vector<std::string>{"GET /v1/kv/a/?recurse&consistent", "GET /v1/kv/a/b?consistent"});
  }
  fake_node node({{403, "Permission denied"}});
  const auto s = run_cli({"reconcile", "-http-addr=" + node.address(), "-once", "a/", "touch never"});
  CHECK(s.code == 1);
  CHECK(s.err == "Error reconciling: Permission denied\n");
  CHECK_FALSE(std::filesystem::exists("never"));
}

// Quick work shows nothing; and progress is only shown on a terminal.
TEST_CASE("a line of progress is for screens", "[copies]") {
  std::ostringstream screen, file;
  progress_line on_screen(screen, true), in_file(file, false);
  for (auto* line : {&on_screen, &in_file})
    line->show("at once");
  CHECK(screen.str().empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  for (auto* line : {&on_screen, &in_file}) {
    line->show("later");
    line->show("soon after");
    line->end();
    line->end();
  }
  CHECK(screen.str() == "\rlater\n");
  CHECK(file.str().empty());
}
