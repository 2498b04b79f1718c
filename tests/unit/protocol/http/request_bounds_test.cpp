// A client without a token sent 4 MB of JSON: `{"Checks":[{},{},...]}`. Each `{}` took half a
// kilobyte before the token was checked, so four requests of 17 MB in all took 5 GB. Now every list
// has a bound, which the rejection names. The paths come from the table of routes, so new routes
// are tested, too.

#include "protocol/go_compat/json_input.hpp"
#include "protocol/http/reading/filtering.hpp"
#include "protocol/http/routes.hpp"
#include "tests/harness/cpu_time.hpp"
#include "tests/unit/protocol/http/filtered_rows.hpp"

#include <functional>

using namespace belay;
using namespace belay::http;

namespace {

route_settings settings_with_acls() {
  auto s = usual_settings();
  s.acl_enabled = true;
  return s;
}

std::string target_of_route(const route& r) {
  return std::string(r.pattern) + (r.pattern.back() == '/' ? "x" : "");
}

/// The router's own response, or an empty text.
std::string router_text(std::string_view method, const std::string& target, const std::string& body) {
  const auto p = ask(method, target, body, {}, settings_with_acls());
  const auto* r = std::get_if<response>(&p.action);
  return r != nullptr ? std::to_string(r->status) + " " + r->body : "";
}

/// Calls f for each path and method whose handler parses the body as JSON.
void for_each_json_reader(const std::function<void(std::string_view method, const std::string& path)>& f) {
  for (const auto& r : all_routes())
    for (const auto method : method_names_of(r))
      if (router_text(method, target_of_route(r), "[{").find("unexpected EOF") != std::string::npos)
        f(method, target_of_route(r));
}

std::string comma_list(const std::string& element, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i)
    out += (i == 0 ? "" : ",") + element;
  return out;
}

} // namespace

TEST_CASE("every path that reads JSON refuses lists and bodies beyond the bounds, and names them", "[B2]") {
  std::size_t readers = 0;
  const auto long_list = comma_list("{}", go_compat::client_json.elements_max + 1);
  std::string many_values;
  for (std::size_t i = 0; i * 1000 < go_compat::client_json.values_max; ++i)
    many_values += (i == 0 ? "[" : ",[") + comma_list("1", 1000) + "]";
  for_each_json_reader([&](std::string_view method, const std::string& path) {
    INFO(method << " " << path);
    ++readers;
    for (const auto& body :
         {"[" + long_list + "]", "{\"Checks\":[" + long_list + "]}", "{\"x\":{\"y\":[" + long_list + "]}}"}) {
      const auto answer = router_text(method, path, body);
      CHECK(answer.substr(0, 4) == "400 ");
      CHECK(answer.find("a list or object has more than 8192 elements") != std::string::npos);
    }
    const auto answer = router_text(method, path, "[" + many_values + "]");
    CHECK(answer.substr(0, 4) == "400 ");
    CHECK(answer.find("more than 65536 values") != std::string::npos);
  });
  CHECK(readers >= 12); // sessions, transactions, catalog, agent, ACLs, operators: or the search above is broken
}

TEST_CASE("usual requests are far below the bounds") {
  std::string ids = "[";
  for (int i = 0; i < 4096; ++i)
    ids += (i == 0 ? "\"" : ",\"") + fresh_uuid + "\"";
  CHECK(std::holds_alternative<session_renew_list>(ask("PUT", "/v1/session/renew", ids + "]").action));
  const auto tags = R"({"Node":"n","Address":"a","Service":{"Service":"s","Tags":[)" + comma_list("\"tag\"", 1800) +
                    "]}}"; // their bytes are bounded, too
  CHECK(std::holds_alternative<write_request>(ask("PUT", "/v1/catalog/register", tags).action));
  // Commas and brackets in texts are not elements.
  const auto text = R"({"Node":"n","Address":"a","NodeMeta":{"k":")" + std::string(20'000, ',') + R"(\"[[")" + "}}";
  CHECK(std::holds_alternative<write_request>(ask("PUT", "/v1/catalog/register", text).action));
  // What follows the first value is ignored, as in Go.
  CHECK(std::holds_alternative<write_request>(
      ask("PUT", "/v1/catalog/register", R"({"Node":"n","Address":"a"})" + std::string(20'000, ',')).action));
}

TEST_CASE("a service has at most 512 checks, under whatever names") {
  const auto body = [](std::size_t n) {
    return R"({"Name":"web","Checks":[)" + comma_list(R"({"TTL":"5s"})", n) + "]}";
  };
  CHECK(std::holds_alternative<agent_request>(ask("PUT", "/v1/agent/service/register", body(512)).action));
  const auto no = refusal_to("PUT", "/v1/agent/service/register", body(513));
  CHECK(no.status == 400);
  CHECK(no.body == "Request decode failed: ServiceDefinition.Checks has more than 512 elements");
  const auto list = "[" + comma_list("{}", 8000) + "]";
  const auto in_cases = R"({"Node":"n","Address":"a","Checks":)" + list + R"(,"checks":)" + list + "}";
  CHECK(refusal_to("PUT", "/v1/catalog/register", in_cases).body ==
        "Request decode failed: RegisterRequest.Checks has more than 8192 elements");
}

TEST_CASE("the memory of a request is known, for the budget of bytes in flight", "[B2][B8]") {
  const auto small = ask("PUT", "/v1/session/create", R"({"Node":"n"})");
  CHECK(small.memory < 1024);
  const auto checks = ask("PUT", "/v1/session/create", R"({"Node":"n","Checks":[)" + comma_list("\"a\"", 8000) + "]}");
  CHECK(checks.memory >= 8000 * sizeof(std::string));
  // 64 prefixes of a stream, and the name of a key in a blocking query.
  std::string prefixes;
  for (int i = 0; i < 64; ++i)
    prefixes += "&prefix=" + std::string(200, 'a') + std::to_string(i);
  const auto target = "/v1/kv/?recurse&changes" + prefixes;
  CHECK(ask("GET", target, {}, {{"Accept", "text/event-stream"}}).memory >= 4 * target.size());
  CHECK(ask("GET", "/v1/kv/" + std::string(5000, 'k') + "?index=7").memory >= 5000);
  CHECK(ask("GET", "/v1/kv/" + std::string(5000, 'k')).memory == 0);
}

TEST_CASE("every path refuses parameters beyond the bounds, and names them", "[B7]") {
  for (const auto& r : all_routes())
    for (const auto method : method_names_of(r)) {
      INFO(method << " " << r.pattern);
      for (const auto& bound : parameter_bounds()) {
        std::string target = target_of_route(r) + "?x";
        for (std::size_t i = 0; i < bound.times_max; ++i)
          target += "&" + std::string(bound.name) + "=set";
        const auto words = "Invalid " + std::string(bound.name) + ": more than " + std::to_string(bound.times_max);
        CHECK(router_text(method, target, {}).find(words) == std::string::npos);
        CHECK(router_text(method, target + "&" + std::string(bound.name) + "=set", {}) == "400 " + words);
      }
      std::string many = target_of_route(r) + "?a";
      for (std::size_t i = 1; i < parameters_max; ++i)
        many += "&a";
      CHECK(router_text(method, many, {}).find("parameters") == std::string::npos);
      CHECK(router_text(method, many + "&a", {}) == "400 Invalid query: more than 512 parameters");
    }
}

TEST_CASE("prefixes of a stream have a bound of their bytes; one alone may be as long as a key", "[B8]") {
  const auto target = [](std::size_t n, std::size_t bytes) {
    std::string out = "/v1/kv/?recurse&changes";
    for (std::size_t i = 0; i < n; ++i)
      out += "&prefix=" + std::string(bytes, 'a');
    return out;
  };
  CHECK(std::holds_alternative<read_request>(ask("GET", target(64, 256)).action));
  CHECK(std::holds_alternative<read_request>(ask("GET", target(1, 20'000)).action));
  const auto no = refusal_to("GET", target(64, 257));
  CHECK(no.status == 400);
  CHECK(no.body == "Invalid prefix: more than 16384 bytes in all");
}

// A filter with 1,000 `contains` over 30 MB of values took 12 s, and no other request was answered
// meanwhile. Now other requests are served between slices, whose length many rows or many
// comparisons of one row do not increase.
TEST_CASE("a filter proceeds in slices, with the result of a single pass", "[B7]") {
  state::kv_entries rows;
  for (int i = 0; i < 40; ++i) {
    state::kv_draft e;
    e.key = "t/" + std::to_string(i);
    e.value = make_payload(std::string(i == 20 ? 1'000'000 : 20'000, 'z') + std::to_string(i));
    rows.entries.push_back(e);
  }
  std::string many = "not (Value contains `zy0`";
  for (int i = 1; i < 50; ++i)
    many += " or Value contains `zy" + std::to_string(i) + "`";
  for (const std::string& filter : {many + ")", many + " or Value contains `z2`)", std::string("Value contains `z1`"),
                                    std::string("Key == `t/3` or Value matches `z[45]$`")}) {
    INFO(filter);
    const auto p = ask("GET", target("/v1/kv/t?recurse", filter));
    const auto& query = std::get<read_request>(p.action).query;
    const auto all = std::make_shared<const state::query_result>(state::query_result{log_index{42}, rows});
    const auto left = [&](std::size_t slice, std::size_t& slices) {
      row_sieve sieve(p.options.filter, query, all);
      for (slices = 1; !sieve.go_on(slice); ++slices) {
      }
      std::string keys;
      const auto kept = sieve.take();
      for (const auto& e : std::get<state::kv_entries>(kept->data).entries)
        keys += std::string(e.key()) + " ";
      return keys;
    };
    std::size_t one = 0, some = 0, most = 0;
    const auto at_once = left(SIZE_MAX, one);
    CHECK_FALSE(at_once.empty());
    CHECK(one == 1);
    CHECK(left(1'500'000, some) == at_once);
    CHECK(left(1, most) == at_once); // one comparison in each
    if (filter.starts_with(
            "not")) { // 50 comparisons of 1.8 MB; a slice is as long as it may be, and by one comparison longer at most
      CHECK(some >= 35);
      CHECK(some <= 70);
      CHECK(most >= 40 * 50);
    }
  }
}

TEST_CASE("a filter that examines too much is refused with the bound", "[B7]") {
  const auto answered = [](const std::string& filter, const state::kv_entries& rows) {
    const auto p = ask("GET", target("/v1/kv/t?recurse", filter));
    REQUIRE(std::holds_alternative<read_request>(p.action));
    return answer_read(std::get<read_request>(p.action), {log_index{42}, rows}, {}, p.options);
  };
  state::kv_entries rows;
  for (int i = 0; i < 30; ++i) {
    state::kv_draft e;
    e.key = "t/" + std::to_string(i);
    e.value = make_payload(std::string(1'000'000, 'z'));
    rows.entries.push_back(e);
  }
  std::string many = "Value contains `zy0`";
  for (int i = 1; i < 1000; ++i)
    many += " or Value contains `zy" + std::to_string(i) + "`";
  const auto no = answered(many, rows);
  CHECK(no.status == 413);
  CHECK(no.body.find(std::to_string(filter::filter_work_max)) != std::string::npos);
  CHECK(answered("not (" + many + ")", rows).status == 413); // rows that were not examined are not accepted either
  CHECK(answered("Value contains `zy` or Value contains `yz` or Key == `t/3`", rows).status == 200);
}

// The text of an error shows a number as the client wrote it, which is searched in all of the body.
TEST_CASE("a body with many errors costs little more than one without", "[B2]") {
  constexpr std::size_t numbers = 8000;
  const auto ones = comma_list("1", numbers);
  const auto with_value = [&](const std::string& list) {
    return R"([{"KV":{"Verb":"set","Key":"a","Value":[)" + ones + R"(]}},{"KV":{"Verb":"set","Key":"b","Value":[)" +
           list + "]}}]";
  };
  const auto with_port = [&](const std::string& port) {
    std::string addresses;
    for (std::size_t i = 0; i < numbers / 4; ++i)
      addresses += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"Port":)" + port + "}";
    return R"({"Name":"x","TaggedAddresses":{)" + addresses + "}}";
  };
  const auto least = [](const std::string& path, const std::string& body) {
    return harness::least_cpu_time([&] { (void)ask("PUT", path, body); });
  };
  CHECK(harness::holds_once([&] {
    return least("/v1/txn", with_value(comma_list("1.5", numbers))) < 20 * least("/v1/txn", with_value(ones));
  }));
  CHECK(harness::holds_once([&] {
    return least("/v1/agent/service/register", with_port("1.5")) <
           20 * least("/v1/agent/service/register", with_port("1"));
  }));
}

// Each check had a copy: 3 MB of tags and a thousand checks took gigabytes in every server.
TEST_CASE("the tags of a service have a bound in bytes, also with all of its checks", "[B2]") {
  const auto tags = [](std::size_t n, std::size_t bytes) {
    return R"("Tags":[)" + comma_list("\"" + std::string(bytes, 't') + "\"", n) + "]";
  };
  const auto in_agent = [&](const std::string& more) {
    return router_text("PUT", "/v1/agent/service/register", R"({"Name":"x",)" + more + "}");
  };
  const auto in_catalog = [&](const std::string& of_service, const std::string& more) {
    return router_text("PUT", "/v1/catalog/register",
                       R"({"Node":"n","Address":"a","Service":{"Service":"x",)" + of_service + "}" + more + "}");
  };
  const auto in_transaction = [&](const std::string& more) {
    return router_text("PUT", "/v1/txn",
                       R"([{"Service":{"Verb":"set","Node":"n","Service":{"Service":"x",)" + more + "}}}]");
  };
  for (const auto& fits : {tags(1000, 10), tags(1, 60'000)}) {
    CHECK(in_agent(fits).empty());
    CHECK(in_catalog(fits, "").empty());
    CHECK(in_transaction(fits).empty());
  }
  for (const auto& large : {tags(2000, 10), tags(1, 66'000), tags(2100, 0)}) {
    const std::string why = "400 Request decode failed: Service.Tags has more than 65536 bytes";
    CHECK(in_agent(large) == why);
    CHECK(in_catalog(large, "") == why);
    CHECK(in_transaction(large).find("Service.Tags has more than 65536 bytes") != std::string::npos);
  }
  const auto checks = [](std::size_t n) { return R"(,"Checks":[)" + comma_list(R"({"Name":"c"})", n) + "]"; };
  CHECK(in_catalog(tags(1, 60'000), checks(1000)).empty());
  CHECK(in_catalog(tags(1, 60'000), checks(2000)).find("67108864 bytes in all checks") != std::string::npos);
}
