// A configuration in HCL means the same as in JSON.

#include "actors/node/config/hcl.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>

#include <initializer_list>
#include <string>
#include <variant>

using namespace belay;
using namespace belay::actors;

namespace {

/// The result as compact JSON, or the error.
std::string read(std::string_view text) {
  const auto read = parse_config_hcl(text);
  const auto* response = std::get_if<config_text>(&read);
  return response ? boost::json::serialize(response->values) : std::get<config_text_error>(read).text;
}

struct row {
  const char *text, *comes_out;
};

void check(std::initializer_list<row> rows) {
  for (const auto& r : rows) {
    CAPTURE(r.text);
    CHECK(read(r.text) == r.comes_out);
  }
}

} // namespace

TEST_CASE("configurations in HCL, and the same in JSON") {
  check({
      row{"", "{}"},
      row{"# nothing\n", "{}"},
      row{"server = true\nbootstrap_expect = 3\nnode_name = \"a\" // here",
          R"({"server":true,"bootstrap_expect":3,"node_name":"a"})"},
      row{"ports { http = 8500, grpc = -1 }", R"({"ports":{"http":8500,"grpc":-1}})"},
      row{"ports = { http = 0x10 }", R"({"ports":{"http":16}})"},
      row{"ports = [{ http = 1 }]", R"({"ports":{"http":1}})"},
      row{"retry_join = [\"a\", \"b\",]", R"({"retry_join":["a","b"]})"},
      row{"retry_join = []", R"({"retry_join":[]})"},
      row{"acl { enabled = true tokens { master = \"x\" } }", R"({"acl":{"enabled":true,"tokens":{"master":"x"}}})"},
      row{"node_meta { rack = \"r\" }\nnode_meta = { rack = \"s\" }",
          "At 2:1: node_meta is defined twice: merge both into one block"},
      row{"log_level = \"INFO\"\nlog_level = \"WARN\"", R"({"log_level":"WARN"})"},
      row{"telemetry { rate = 1.5 }", R"({"telemetry":{"rate":1.5E0}})"},
      // Lists of objects: each block is one of them.
      row{"services { id = \"a\" }\nservices { id = \"b\" }", R"({"services":[{"id":"a"},{"id":"b"}]})"},
      row{"services = [{ id = \"a\" }, { id = \"b\" }]", R"({"services":[{"id":"a"},{"id":"b"}]})"},
      row{"checks { id = \"a\" }", R"({"checks":[{"id":"a"}]})"},
      row{"service { name = \"w\" checks = [{ ttl = \"5s\" }] check { ttl = \"6s\" } }",
          R"({"service":{"name":"w","checks":[{"ttl":"5s"}],"check":{"ttl":"6s"}}})"},
      row{"service { name = \"w\" header { X = [\"1\", \"2\"] } }",
          R"({"service":{"name":"w","header":{"X":["1","2"]}}})"},
      row{"service \"web\" { port = 1 }", R"({"service":{"web":{"port":1}}})"},
      // JSON, which HCL 1 accepts, too.
      row{" {\"server\": true, \"data_dir\": null}", R"({"server":true,"data_dir":null})"},
  });
}

TEST_CASE("texts that are not HCL, and HCL that a configuration cannot contain") {
  check({
      row{"ports {", "At 1:9: object expected closing RBRACE got: EOF"},
      row{"ports = [{ http = 1 }, { http = 2 }]", "At 1:9: ports is a list of 2 objects; exactly one is allowed"},
      row{"bootstrap_expect = 08", "At 1:20: strconv.ParseInt: parsing \"08\": invalid syntax"},
      row{"{\"server\": tru}", "invalid character '}' in literal true (expecting 'e')"},
  });
}

TEST_CASE("places of keys and elements, in HCL and in JSON") {
  const auto location_in = [](std::string_view text, std::initializer_list<std::string_view> path) {
    const auto read = parse_config_hcl(text);
    const auto* at = &std::get<config_text>(read).locations;
    for (const auto step : path) {
      at = step[0] == '#' ? at->element(std::stoul(std::string(step.substr(1)))) : at->member(step);
      if (at == nullptr)
        return std::string("none");
    }
    return std::to_string(at->at.line) + ":" + std::to_string(at->at.column);
  };
  const auto* hcl = "server = true\nports {\n  http = 1\n}\nservices { id = \"a\" }\n  services { id = \"b\" }\njoin = "
                    "[\"ü\",\n \"y\"]";
  CHECK(location_in(hcl, {"server"}) == "1:1");
  CHECK(location_in(hcl, {"ports"}) == "2:1");
  CHECK(location_in(hcl, {"ports", "http"}) == "3:3");
  CHECK(location_in(hcl, {"services", "#1", "id"}) == "6:14");
  CHECK(location_in(hcl, {"join", "#1"}) == "8:2");
  CHECK(location_in(hcl, {"join", "#2"}) == "none");
  const auto* json = "{\"ü\": {\"a\": 1}, \"b\": [\n  {\"c\": 2}, 3],\n\t\"d\": null, \"b\": 4}";
  CHECK(location_in(json, {"ü"}) == "1:2");
  CHECK(location_in(json, {"ü", "a"}) == "1:8");
  CHECK(location_in(json, {"d"}) == "3:2");
  CHECK(location_in(json, {"b"}) == "3:13"); // the last one counts
  CHECK(location_in(json, {"b", "#0"}) == "none");
  CHECK(location_in("{\"a\": [\n  {\"c\": 2}, 3]}", {"a", "#1"}) == "2:13");
  CHECK(location_in("{\"\\u0061\": 1}", {"a"}) == "none"); // written with an escape
}

// Values after the last source location have none: memory does not grow with the file.
TEST_CASE("a text has a limited number of positions") {
  std::string text = "{\"a\":[";
  for (std::size_t i = 0; i < file_locations_max + 10; ++i)
    text += "1,";
  const auto read = parse_config_hcl(text + "1],\"b\":2}");
  const auto& response = std::get<config_text>(read);
  CHECK(response.values.at("b").as_int64() == 2);
  CHECK(response.locations.member("a")->elements.size() == file_locations_max - 1);
  CHECK(response.locations.member("b") == nullptr);
}
