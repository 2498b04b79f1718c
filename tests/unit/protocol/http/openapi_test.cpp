// Compares docs/reference/openapi.json with the table of routes.
#include "protocol/http/routes.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace belay::http {

namespace {

// Client agents use it with servers; no other client should.
constexpr std::string_view not_for_clients = "/v1/internal/agent/alive";

boost::json::object openapi() {
  std::ifstream in(BELAY_SOURCE_DIR "/docs/reference/openapi.json", std::ios::binary);
  return boost::json::parse(std::string{std::istreambuf_iterator<char>(in), {}}).as_object();
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

/// A path of the document with values for its `{what}`.
std::string filled_in(std::string_view path) {
  std::string out(path);
  const auto open = out.find('{');
  if (open != std::string::npos)
    out.replace(open, out.find('}') - open + 1, "x");
  return out;
}

void collect_references(const boost::json::value& v, std::set<std::string>& out) {
  if (const auto* list = v.if_array()) {
    for (const auto& each : *list)
      collect_references(each, out);
  } else if (const auto* members = v.if_object()) {
    for (const auto& [name, value] : *members)
      if (name == "$ref")
        out.insert(std::string(value.as_string()));
      else
        collect_references(value, out);
  }
}

} // namespace

TEST_CASE("each operation of docs/reference/openapi.json is one of a route") {
  const auto document = openapi();
  for (const auto& [path, operations] : document.at("paths").as_object()) {
    const auto* found = find_route(filled_in(path));
    INFO(path);
    REQUIRE(found != nullptr);
    for (const auto& [method, operation] : operations.as_object()) {
      INFO(method);
      CHECK((found->methods & method_bit(upper(method))) != 0);
      std::set<std::string_view> in_path;
      if (const auto* parameters = operation.as_object().if_contains("parameters"))
        for (const auto& p : parameters->as_array())
          if (p.at("in").as_string() == "path")
            in_path.insert(p.at("name").as_string());
      for (const auto name : in_path)
        CHECK(path.find("{" + std::string(name) + "}") != std::string_view::npos);
      CHECK(in_path.empty() == (path.find('{') == std::string_view::npos));
    }
  }
}

TEST_CASE("each method of each route has an operation in docs/reference/openapi.json") {
  std::set<std::pair<const route*, std::string>> received;
  const auto document = openapi();
  for (const auto& [path, operations] : document.at("paths").as_object())
    for (const auto& [method, operation] : operations.as_object())
      received.emplace(find_route(filled_in(path)), upper(method));
  for (const auto& r : all_routes())
    for (const auto method : method_names_of(r)) {
      INFO(r.pattern << " " << method);
      CHECK((r.pattern == not_for_clients || received.count({&r, std::string(method)}) == 1));
    }
}

TEST_CASE("names and references in docs/reference/openapi.json fit together") {
  const auto document = openapi();
  std::set<std::string> ids;
  for (const auto& [path, operations] : document.at("paths").as_object())
    for (const auto& [method, operation] : operations.as_object()) {
      INFO(path << " " << method);
      CHECK(ids.insert(std::string(operation.at("operationId").as_string())).second);
      CHECK_FALSE(operation.at("summary").as_string().empty());
      CHECK_FALSE(operation.at("responses").as_object().empty());
    }
  std::set<std::string> references;
  collect_references(document, references);
  CHECK(references.size() > 5);
  for (const auto& each : references) {
    boost::json::error_code ec;
    INFO(each);
    REQUIRE(each.starts_with("#/"));
    CHECK(boost::json::value(document).find_pointer(each.substr(1), ec) != nullptr);
  }
}

} // namespace belay::http
