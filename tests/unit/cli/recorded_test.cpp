// What Consul 1.8.7 prints and returns, recorded by tools/record-cli, and what this program does
// with the same responses. Scripts depend on it.

#include "tests/unit/cli/output_texts.hpp"
#include "tests/unit/cli/replaying_node.hpp"
#include "tests/unit/cli/variables.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>
#include <catch2/catch.hpp>

#include <fstream>

using namespace belay::cli;
namespace json = boost::json;

namespace {

/// The files of tools/record-cli.
const std::pair<const char*, const char*> files[] = {
    {"web.json", R"({"service":{"name":"web","port":80,"tags":["a","b"],"meta":{"k":"v"}}})"},
    {"two.hcl", "services { name = \"x1\" port = 1 }\nservices { name = \"x2\" port = 2 tags = [\"t\"] check { ttl = "
                "\"10s\" } }\n"},
    {"rules.hcl", "key_prefix \"app/\" {\n  policy = \"write\"\n}\n"},
    {"import.json", R"([{"key":"i/a","flags":3,"value":"MQ=="},{"key":"i/b","flags":0,"value":""}])"},
    {"broken.snap", "not an archive"},
};

std::string text(const json::object& o, const char* name) {
  return o.at(name).is_string() ? std::string(o.at(name).as_string()) : std::string();
}

/// nullopt: a response is missing in the recording, because it is not text.
std::optional<std::vector<replaying_node::exchange>> exchanges_of(const json::object& recorded) {
  std::vector<replaying_node::exchange> out;
  for (const auto& one : recorded.at("exchanges").as_array()) {
    const auto& e = one.as_object();
    if (e.at("body").is_null())
      return std::nullopt;
    const auto target = text(e, "target");
    std::vector<std::pair<std::string, std::string>> headers;
    for (const auto& h : e.at("headers").as_object())
      headers.emplace_back(h.key(), h.value().as_string());
    out.push_back({text(e, "method"), target.substr(0, target.find('?')), json::value_to<unsigned>(e.at("status")),
                   text(e, "body"), std::move(headers)});
  }
  return out;
}

} // namespace

TEST_CASE("the output equals that of Consul's command line", "[recorded]") {
  working_directory here;
  for (const auto& [name, content] : files)
    std::ofstream(name) << content;
  std::ifstream in(BELAY_SOURCE_DIR "/tests/unit/cli/recorded/consul.jsonl");
  std::size_t cases = 0;
  for (std::string line; std::getline(in, line);) {
    const auto recorded = json::parse(line).as_object();
    auto exchanges = exchanges_of(recorded);
    if (!exchanges)
      continue;
    const auto words = json::value_to<arguments>(recorded.at("words"));
    std::string shown;
    for (const auto& w : words)
      shown += w + " ";
    INFO(shown);
    replaying_node node(std::move(*exchanges));
    const variables set({{"CONSUL_HTTP_ADDR", node.address()}});
    const auto s = run_cli(words);
    CHECK(s.code == json::value_to<int>(recorded.at("code")));
    ++cases;
    if (text(recorded, "remark").starts_with("BETTER"))
      continue;
    CHECK(s.out == text(recorded, "out"));
    CHECK(s.err.substr(0, s.err.find('\n')) == text(recorded, "err"));
  }
  CHECK(cases > 180);
}

TEST_CASE("a list of tokens shows node identities as such, which Consul's does not", "[recorded]") {
  std::ifstream in(BELAY_SOURCE_DIR "/tests/unit/cli/recorded/consul.jsonl");
  const std::string services = "Service Identities:\n   api (Datacenters: all)\n";
  std::size_t cases = 0;
  for (std::string line; std::getline(in, line);) {
    const auto recorded = json::parse(line).as_object();
    auto wanted = text(recorded, "out");
    const auto at = wanted.find(services + services);
    if (json::value_to<arguments>(recorded.at("words")) != arguments{"acl", "token", "list"} || at == wanted.npos)
      continue;
    wanted.replace(at + services.size(), services.size(), "Node Identities:\n   n2 (Datacenter: dc1)\n");
    replaying_node node(exchanges_of(recorded).value());
    const variables set({{"CONSUL_HTTP_ADDR", node.address()}});
    const auto s = run_cli({"acl", "token", "list"});
    CHECK(s.code == 0);
    CHECK(s.out == wanted);
    ++cases;
  }
  CHECK(cases == 1);
}
