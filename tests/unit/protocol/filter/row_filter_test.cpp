// Which rows pass a filter, and the errors for filters that do not fit the rows.

#include "protocol/filter/row_filter.hpp"
#include "tests/unit/protocol/filter/rows.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::filter;

namespace {

row full() {
  row r;
  r.name = "web-1";
  r.port = -80;
  r.flags = 18446744073709551615U;
  r.enabled = true;
  r.tags = text_list{"v1", "blue"};
  r.meta = text_map{{"env", "prod"}, {"a-b", "x y"}, {"none", ""}};
  r.owner = std::make_shared<owner>(owner{"n1", text_map{{"rack", "7"}}});
  r.checks = {std::make_shared<check>(check{"passing", text_list{"t"}}), std::make_shared<check>(check{"warning", {}})};
  r.addresses = std::map<std::string, address>{{"lan", {"10.0.0.1", 8080}}};
  r.proxy =
      R"({"Name":"p","Native":true,"Upstreams":[{"Name":"u1","Port":1},{"Name":"u2"}],"Gateway":{"Mode":"local"}})";
  return r;
}

bool lets_through(std::string_view text, const row& r) {
  INFO(text);
  auto f = row_filter::compile(text, row_fields);
  if (!f)
    INFO(f.error());
  REQUIRE(f);
  filter_work work;
  return f->accepts(&r, work);
}

std::string filter_complaint(std::string_view text) {
  INFO(text);
  const auto f = row_filter::compile(text, row_fields);
  REQUIRE(!f);
  return f.error();
}

} // namespace

TEST_CASE("expressions and rows") {
  struct line {
    std::string_view text;
    bool of_full, of_empty;
  };
  const row filled = full(), empty;
  for (const auto& l : {
           line{"Name == `web-1`", true, false},
           line{"Name != `web-1`", false, true},
           line{"eb in Name", true, false},
           line{"Name contains eb", true, false},
           line{"eb not in Name", false, true},
           line{"Name matches `^web-[0-9]$`", true, false},
           line{"Name matches `eb`", true, false},
           line{"Name not matches `^w`", false, true},
           line{"Name matches ``", true, true},
           line{"Name == \"\"", false, true},
           line{"Port == -80", true, false},
           line{"Port != -80", false, true},
           line{"Port == \"-0x50\"", true, false},
           line{"Flags == 18446744073709551615", true, false},
           line{"Flags == 0", false, true},
           line{"Enabled == true", true, false},
           line{"Enabled != true", false, true},
           line{"Enabled == 0", false, true},
           line{"blue in Tags", true, false},
           line{"lue in Tags", false, false},
           line{"Tags not contains blue", false, true},
           line{"Tags is empty", false, true},
           line{"Tags is not empty", true, false},
           line{"Meta.env == prod", true, false},
           line{"Meta[\"a-b\"] == \"x y\"", true, false},
           line{"Meta.env != prod", false, true},
           line{"Meta.none == \"\"", true, false},
           line{"env in Meta", true, false},
           line{"prod in Meta", false, false},
           line{"env not in Meta", false, true},
           line{"Meta is empty", false, true},
           line{"pro in Meta.env", true, false},
           line{"pro not in Meta.env", false, true},
           line{"Meta.env matches `^p`", true, false},
           line{"Meta.env not matches `^p`", false, true},
           line{"Owner.Name == n1", true, false},
           line{"Owner.Meta.rack == 7", true, false},
           line{"Checks.Status == warning", true, false},
           line{"Checks.Status != passing", true, false}, // one of them is not
           line{"not Checks.Status == passing", false, true},
           line{"Checks.Status != warning and Checks.Status != passing", true, false},
           line{"Checks.Status == critical", false, false},
           line{"t in Checks.Tags", true, false},
           line{"Checks.Tags is empty", true, false},
           line{"Checks is empty", false, true},
           line{"Checks is not empty", true, false},
           line{"Addresses.lan.Port == 8080", true, false},
           line{"Addresses.lan.Host matches `^10`", true, false},
           line{"Addresses.wan.Port == 8080", false, false},
           line{"Addresses.wan.Port != 8080", true, true},
           line{"lan in Addresses", true, false},
           line{"wan not in Addresses", true, true},
           line{"Addresses is empty", false, true},
           line{"Proxy.Name == p", true, false},
           line{"Proxy.Name == \"\"", false, true},
           line{"Proxy.Native == true", true, false},
           line{"Proxy.Upstreams.Name == u2", true, false},
           line{"Proxy.Upstreams.Port == 0", true, false}, // u2 does not set it
           line{"Proxy.Upstreams is empty", false, true},
           line{"Proxy.Gateway.Mode != local", false, true},
           line{"not == `web-1`", true, false},
           line{"Name == x or Port == -80 and Enabled == true", true, false},
           line{"(Name == x or Port == -80) and Enabled == false", false, false},
           line{"not Name == `web-1` or Port == -80", true, true},
           line{"not (Name == `web-1` or Port == -80)", false, true},
       }) {
    INFO(l.text);
    CHECK(lets_through(l.text, filled) == l.of_full);
    CHECK(lets_through(l.text, empty) == l.of_empty);
  }
}

TEST_CASE("a missing key is equal to nothing and matched by nothing") {
  const row r = full();
  struct line {
    std::string_view text;
    bool accepted;
  };
  for (const auto& l : {line{"Meta.gone == x", false}, line{"Meta.gone != x", true}, line{"x in Meta.gone", false},
                        line{"x not in Meta.gone", true}, line{"Meta.gone matches `.*`", false},
                        line{"Meta.gone not matches `.*`", true}, line{"Meta.gone == \"\"", false}}) {
    INFO(l.text);
    CHECK(lets_through(l.text, r) == l.accepted);
  }
}

TEST_CASE("JSON that cannot be read has no fields") {
  row r;
  for (const auto* text : {"", "{", "[1]", "3", R"({"Name":3,"Native":"true","Upstreams":{"Name":"u"}})"}) {
    r.proxy = text;
    INFO(text);
    CHECK(lets_through("Proxy.Name == \"\" and Proxy.Native == false and Proxy.Upstreams is empty", r));
    CHECK(!lets_through("Proxy.Upstreams.Name != u", r));
  }
}

TEST_CASE("filters that do not fit the rows") {
  const std::vector<std::pair<std::string_view, std::string>> table = {
      {"Foo == 1", R"(Selector "Foo" is not valid)"},
      {"name == 1", R"(Selector "name" is not valid)"},
      {"Name == 1 and Owner.Foo.Bar == 1", R"(Selector "Owner.Foo" is not valid)"},
      {"Name.x == 1", R"(Selector "Name.x" is not valid)"},
      {"Tags.x == 1", R"(Selector "Tags.x" is not valid)"},
      {"Meta.x.y == 1", R"(Selector "Meta.x.y" is not valid)"},
      {"Addresses.lan.Nope == 1", R"(Selector "Addresses.lan.Nope" is not valid)"},
      {"Proxy.Nope == 1", R"(Selector "Proxy.Nope" is not valid)"},
      {"Owner[\"a\\\"b\"] == 1",
       "1:7 (6): rule \"string\": invalid syntax\n1:11 (10): rule \"index\": Unclosed index expression"},
      {"Owner[`a\"b`] == 1", R"(Selector "Owner.a\"b" is not valid)"},
      {"x in Owner", R"(Invalid match operator "In" for selector "Owner")"},
      {"Owner is empty", R"(Invalid match operator "Is Empty" for selector "Owner")"},
      {"Name is not empty", R"(Invalid match operator "Is Not Empty" for selector "Name")"},
      {"Tags == x", R"(Invalid match operator "Equal" for selector "Tags")"},
      {"Tags matches x", R"(Invalid match operator "Matches" for selector "Tags")"},
      {"Meta != x", R"(Invalid match operator "Not Equal" for selector "Meta")"},
      {"Meta.env is empty", R"(Invalid match operator "Is Empty" for selector "Meta.env")"},
      {"Port not matches x", R"(Invalid match operator "Not Matches" for selector "Port")"},
      {"1 not in Port", R"(Invalid match operator "Not In" for selector "Port")"},
      {"Addresses.lan == x", R"(Invalid match operator "Equal" for selector "Addresses.lan")"},
      {"Port == x", R"(Failed to coerce value "x" for selector "Port": strconv.ParseInt: parsing "x": invalid syntax)"},
      {"Port == 9223372036854775808", R"(Failed to coerce value "9223372036854775808" for selector "Port": )"
                                      R"(strconv.ParseInt: parsing "9223372036854775808": value out of range)"},
      {"Flags == -1",
       R"(Failed to coerce value "-1" for selector "Flags": strconv.ParseUint: parsing "-1": invalid syntax)"},
      {"Enabled == yes",
       R"(Failed to coerce value "yes" for selector "Enabled": strconv.ParseBool: parsing "yes": invalid syntax)"},
      {"Name matches `a(b`",
       "Failed to compile regular expression \"a(b\": error parsing regexp: missing closing ): `a(b`"},
      {"Name matches `*`", "Failed to compile regular expression \"*\": error parsing regexp: missing argument to "
                           "repetition operator: `*`"},
      {"Name ==", R"(1:8 (7): no match found, expected: "-", "0", "\"", "`", [ \t\r\n], [1-9] or [a-zA-Z])"},
  };
  for (const auto& [text, response] : table) {
    INFO(text);
    CHECK(filter_complaint(text) == response);
  }
}

// A pattern for which backtracking matchers need exponential time.
TEST_CASE("patterns take linear time, and not much memory") {
  row r;
  r.name = std::string(100'000, 'a') + "!";
  CHECK(!lets_through("Name matches `^(a+)+$`", r));
  CHECK(!lets_through("Name matches `^(a|a)*$`", r));
  CHECK(filter_complaint("Name matches `((a{100}){100}){100}`").find("invalid repeat count") != std::string::npos);
  CHECK(filter_complaint("Name matches `" + std::string(pattern_bytes_max + 1, 'a') + "`") ==
        "regular expression is longer than 512 bytes");
  std::string many = "Name matches a";
  for (std::size_t i = 1; i < patterns_max; ++i)
    many += " or Name matches a";
  CHECK(lets_through(many, r));
  CHECK(filter_complaint(many + " or Name matches a") == "expression has more than 16 regular expressions");
}

TEST_CASE("a filter can be moved and owns its fields") {
  auto f = row_filter::compile("Port == 1", row_fields);
  REQUIRE(f);
  auto moved = std::move(f).value();
  row r;
  filter_work work;
  CHECK(!moved.accepts(&r, work));
  r.port = 1;
  CHECK(moved.accepts(&r, work));
  CHECK(moved.bound_to().data() == fields(row_fields).data());
}
