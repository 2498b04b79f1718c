// `belay kv import`: transactions, large entries, and errors that name the first missing key.

#include "cli/commands/keys/kv_transfer.hpp"
#include "tests/unit/cli/fake_node.hpp"
#include "tests/unit/cli/output_texts.hpp"
#include "tests/unit/cli/variables.hpp"

#include <catch2/catch.hpp>

#include <fstream>

using namespace belay::cli;

namespace {

std::string export_of(std::size_t count, std::size_t value_bytes = 1) {
  std::vector<exported_key> keys;
  for (std::size_t i = 0; i < count; ++i)
    keys.push_back({"k" + std::to_string(i), i, std::string(value_bytes, 'v')});
  return write_export(keys);
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++n;
  return n;
}

const fake_node::answer fine = {200, R"({"Results":[],"Errors":null})"}, written = {200, "true"};

} // namespace

TEST_CASE("an import travels in transactions of 64 keys", "[import]") {
  fake_node node({fine, fine, written});
  const auto s = run_cli({"kv", "import", "-http-addr=" + node.address(), "-"}, export_of(129));
  CHECK(s.code == 0);
  CHECK(count_of(s.out, "Imported: k") == 129);
  CHECK(s.out.starts_with("Imported: k0\nImported: k1\n"));
  const auto requested = node.requested();
  REQUIRE(requested.size() == 3);
  CHECK(requested[0].starts_with(R"(PUT /v1/txn [{"KV":{"Verb":"set","Key":"k0","Value":"dg==","Flags":0}},)"));
  CHECK(count_of(requested[0], "\"Verb\"") == 64);
  CHECK(count_of(requested[1], "\"Verb\"") == 64);
  CHECK(requested[2] == "PUT /v1/kv/k128?flags=128 v");
}

TEST_CASE("values that do not fit into one transaction go in several, too large ones alone", "[import]") {
  const auto large = [](char c, std::size_t bytes) { return std::string(bytes, c); };
  const std::vector<exported_key> keys = {{"a", 0, large('a', 200'000)},
                                          {"b", 0, large('b', 200'000)},
                                          {"c", 0, large('c', 500'000)},
                                          {"d", 0, ""},
                                          {"e", 0, ""}};
  fake_node node({written, written, written, fine});
  const auto s = run_cli({"kv", "import", "-http-addr=" + node.address(), "-"}, write_export(keys));
  CHECK(s.err == "");
  CHECK(s.code == 0);
  const auto requested = node.requested();
  REQUIRE(requested.size() == 4);
  CHECK(requested[0].starts_with("PUT /v1/kv/a "));
  CHECK(requested[1].starts_with("PUT /v1/kv/b "));
  CHECK(requested[2].starts_with("PUT /v1/kv/c "));
  CHECK(count_of(requested[3], "\"Verb\"") == 2);
}

TEST_CASE("a rejected transaction is written key by key, up to the rejected one", "[import]") {
  fake_node node({{409, R"({"Results":null,"Errors":[{"OpIndex":1,"What":"Permission denied"}]})"},
                  written,
                  {403, "Permission denied"}});
  const auto s = run_cli({"kv", "import", "-http-addr=" + node.address(), "-"}, export_of(3));
  CHECK(s.code == 1);
  CHECK(s.out == "Imported: k0\n");
  CHECK(s.err == "Error! Failed writing data for key k1: Unexpected response code: 403 (Permission denied)\n");
  CHECK(node.requested().size() == 3);
}

TEST_CASE("an import that cannot continue names the first key that is not known to be written", "[import]") {
  fake_node node({fine, {500, "No cluster leader"}});
  const auto s = run_cli({"kv", "import", "-http-addr=" + node.address(), "-"}, export_of(128));
  CHECK(s.code == 1);
  CHECK(count_of(s.out, "Imported: ") == 64);
  CHECK(s.err == "Error! Failed writing data for key k64: Unexpected response code: 500 (No cluster leader)\n");
}

// `belay kv import kv.json` without the @: a syntax error alone would hide what is missing.
TEST_CASE("an import reports when a file was probably meant, and why a file cannot be read", "[import]") {
  const working_directory here;
  std::ofstream("kv.json") << "[]";
  const auto forgotten = run_cli({"kv", "import", "kv.json"}, "");
  CHECK(forgotten.code == 1);
  CHECK(forgotten.err ==
        "Cannot unmarshal data: invalid character 'k' looking for beginning of value (to read the file of that "
        "name, write @kv.json)\n");
  const auto response_of = [](const std::string& text) { return run_cli({"kv", "import", "-"}, text).err; };
  CHECK(response_of("[{\"key\": nix}]") == "Cannot unmarshal data: invalid character 'n' in JSON at byte 10\n");
  CHECK(response_of("[] x") == "Cannot unmarshal data: invalid character 'x' after top-level value\n");
  for (const auto* cut : {"", "[", "[{\"key\":\"a"})
    CHECK(response_of(cut) == "Cannot unmarshal data: unexpected end of JSON input\n");
  CHECK(run_cli({"kv", "import", "@nofile"}, "").err ==
        "Error! Failed to read file: open nofile: no such file or directory\n");
  CHECK(run_cli({"kv", "put", "k", "@."}, "").err == "Error! Failed to read file: read .: is a directory\n");
}

// Consul's client rejects a key that begins with a slash. Keys before it are written.
TEST_CASE("an import stops at a key that begins with a slash", "[import]") {
  const auto entry = [](const std::string& key) { return R"({"key":")" + key + R"(","flags":0,"value":"MQ=="})"; };
  const std::string refused =
      "Error! Failed writing data for key /lead: Invalid key. Key must not begin with a '/': /lead\n";
  {
    fake_node node({fine});
    const auto s = run_cli({"kv", "import", "-http-addr=" + node.address(), "-"},
                           "[" + entry("a") + "," + entry("b") + "," + entry("/lead") + "," + entry("c") + "]");
    CHECK(s.code == 1);
    CHECK(s.out == "Imported: a\nImported: b\n");
    CHECK(s.err == refused);
    const auto requested = node.requested();
    REQUIRE(requested.size() == 1);
    CHECK(count_of(requested[0], "\"Verb\"") == 2);
  }
  fake_node node({written}); // which is never requested
  const auto s = run_cli({"kv", "import", "-http-addr=" + node.address(), "-"}, "[" + entry("/lead") + "]");
  CHECK(s.code == 1);
  CHECK(s.err == refused);
  CHECK(node.requested().empty());
}

TEST_CASE("an import of truncated text is reported as by Consul", "[import]") {
  for (const auto* text : {"", " \n", "[{", "[{\"key\":\"a"}) {
    INFO(text);
    const auto s = run_cli({"kv", "import", "-"}, text);
    CHECK(s.code == 1);
    CHECK(s.err == "Cannot unmarshal data: unexpected end of JSON input\n");
  }
  CHECK(run_cli({"kv", "import", ""}).err == "Error! Empty DATA argument\n");
}

TEST_CASE("on a screen an import has one line, for programs an object", "[import]") {
  {
    fake_node node({fine});
    const auto s = run_cli({"kv", "import", "-http-addr=" + node.address(), "-"}, export_of(2), true);
    CHECK(s.out == "\rImported 2 of 2 keys\n");
  }
  fake_node node({fine});
  const auto s = run_cli({"kv", "import", "-format=json", "-http-addr=" + node.address(), "-"}, export_of(2));
  CHECK(s.out == "{\n    \"Success\": true,\n    \"Imported\": 2\n}\n");
}

// Go and this server write U+FFFD for a byte that is not UTF-8: an export would contain another
// key.
TEST_CASE("kv export: keys that no list can contain are left out, and reported", "[kv]") {
  const auto row = [](const std::string& key, int index) {
    return R"({"Key":")" + key + R"(","Flags":0,"Value":"eA==","CreateIndex":1,"ModifyIndex":)" +
           std::to_string(index) + "}";
  };
  const std::string exact = "a/\xEF\xBF\xBD";
  fake_node node({{200, "[" + row("a/b", 1) + "," + row(exact, 2) + "," + row(exact, 3) + "]"},
                  {200, "[" + row(exact, 2) + "]"},
                  {200, "[" + row(exact, 2) + "]"}});
  const auto s = run_cli({"kv", "export", "-http-addr=" + node.address(), "a/"});
  CHECK(s.code == 1);
  CHECK(s.out == write_export({{"a/b", 0, "x"}, {exact, 0, "x"}}));
  CHECK(s.err == "Error! Not exported: " + exact + ": its name is not UTF-8, so that no list of keys can contain it\n");
  CHECK(node.requested()[1] == "GET /v1/kv/a/%EF%BF%BD");
  fake_node gone({{200, "[" + row(exact, 2) + "]"}, {404, ""}});
  const auto none = run_cli({"kv", "export", "-http-addr=" + gone.address(), "a/"});
  CHECK(none.code == 1);
  CHECK(none.out == "[]\n");
}

// JavaScript and Python write these for invalid text: Consul's client reads both as U+FFFD.
TEST_CASE("an import reads half of a surrogate pair, and bytes that are not UTF-8, as U+FFFD", "[import]") {
  fake_node node({fine});
  const auto s = run_cli(
      {"kv", "import", "-http-addr=" + node.address(), "-"},
      "[{\"key\":\"a\\ud83d\",\"flags\":0,\"value\":\"MQ==\"},{\"key\":\"b\xff\",\"flags\":0,\"value\":\"MQ==\"}]");
  CHECK(s.err == "");
  CHECK(s.code == 0);
  const auto requested = node.requested();
  REQUIRE(requested.size() == 1);
  CHECK(requested[0].find("\"a\xEF\xBF\xBD\"") != std::string::npos);
  CHECK(requested[0].find("\"b\xEF\xBF\xBD\"") != std::string::npos);
}
