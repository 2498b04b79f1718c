// Old names of commands, options, printed members and variables (protocol/base/renamed_names.hpp),
// and servers of 0.2.0, which send only old names.

#include "cli/commands/all.hpp"
#include "cli/commands/watching/change_lines.hpp"
#include "cli/commands/watching/watch_handler.hpp"
#include "protocol/base/renamed_names.hpp"
#include "tests/unit/cli/fake_node.hpp"
#include "tests/unit/cli/output_texts.hpp"
#include "tests/unit/cli/variables.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <map>

using namespace belay::cli;
using belay::name_kind;
using belay::renamed_name;

namespace {

const std::string some_session = "84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2";

const std::string old_ending =
    R"({"ID":"84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2","Name":"w","Node":"n1","Cause":"ttl","Index":8,"AgoMs":61500,)"
    R"("Released":[],"ReleasedCount":0,"OnEndDone":0,"OnEndRefused":0})";

arguments words_of_name(std::string_view name, const arguments& more) {
  arguments out;
  for (std::size_t at = 0; at < name.size();) {
    const auto end = std::min(name.find(' ', at), name.size());
    out.emplace_back(name.substr(at, end - at));
    at = end + 1;
  }
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

/// What each renamed command gets from a server, and the rest of its call.
struct prepared_call {
  fake_node::answer answer;
  arguments more;
};
const std::map<std::string_view, prepared_call> calls_of_renamed = {
    {"outcome cancel", {{200, R"({"State":"cancelled","Index":9})"}, {"order-1"}}},
    {"session explain", {{200, old_ending}, {some_session}}},
};

bool is_command(std::string_view name) {
  const auto& all = all_commands();
  return std::any_of(all.begin(), all.end(), [&](const command& c) { return c.name == name; });
}

void check_command(const renamed_name& row) {
  CHECK(is_command(row.name));
  CHECK_FALSE(is_command(row.old_name));
  const auto found = calls_of_renamed.find(row.name);
  REQUIRE(found != calls_of_renamed.end());
  const auto call = [&](std::string_view name) {
    fake_node node({found->second.answer});
    arguments more{"-http-addr=" + node.address()};
    more.insert(more.end(), found->second.more.begin(), found->second.more.end());
    auto made = run_cli(words_of_name(name, more));
    return std::pair(made, node.requested());
  };
  const auto [now, requested_now] = call(row.name);
  const auto [old, requested_old] = call(row.old_name);
  CHECK(now.code == 0);
  CHECK(now.err.empty());
  CHECK(old.code == now.code);
  CHECK(old.out == now.out);
  CHECK(requested_old == requested_now);
  CHECK(old.err == old_name_warning(row) + "\n");
  CHECK(run_cli(words_of_name(row.old_name, {"-h"})).out == run_cli(words_of_name(row.name, {"-h"})).out);
}

void check_option(const renamed_name& row) {
  const auto flag = [](std::string_view name, const std::string& value) {
    return "-" + std::string(name) + "=" + value;
  };
  const auto& all = all_commands();
  std::size_t commands = 0;
  for (const auto& c : all) {
    CHECK(find_flag(all_flags(c), row.old_name) == nullptr);
    commands += find_flag(all_flags(c), row.name) != nullptr ? 1 : 0;
  }
  CHECK(commands > 0);
  if (row.name != "cursor-file")
    FAIL("add a call with this option");
  const working_directory here;
  std::ofstream("empty");
  const auto now = run_cli({"watch", "-changes", flag(row.name, "empty")});
  const auto old = run_cli({"watch", "-changes", flag(row.old_name, "empty")});
  CHECK(old.code == now.code);
  CHECK(old.err == old_name_warning(row) + "\n" + now.err);
  const auto same = run_cli({"watch", "-changes", flag(row.old_name, "empty"), flag(row.name, "empty")});
  CHECK(same.err == old.err);
  for (const auto& two : {std::pair(row.old_name, row.name), std::pair(row.name, row.old_name)}) {
    const auto other = run_cli({"watch", "-changes", flag(two.first, "a"), flag(two.second, "b")});
    CHECK(other.code == 1);
    CHECK(other.err.find(" have different values\n") != std::string::npos);
  }
}

void check_printed(const renamed_name& row) {
  boost::json::object shown;
  if (row.name == "Cursor") {
    shown = boost::json::parse(line_of_void("gap", "4.1")).as_object();
  } else {
    REQUIRE(row.name == "TTLRemainingMs");
    fake_node node({{200, "[]", {{"X-Belay-Session-Ttl-Ms", "5000"}}}});
    shown = boost::json::parse(
                run_cli({"session", "renew", "-http-addr=" + node.address(), "-format=json", some_session}).out)
                .as_object();
  }
  CHECK(shown.at(row.name) == shown.at(row.old_name));
}

} // namespace

TEST_CASE("every old name of the command line does what the new one does", "[cli]") {
  std::size_t rows = 0;
  for (const auto& row : belay::renamed_names) {
    INFO(row.old_name);
    ++rows;
    if (row.kind == name_kind::command) {
      check_command(row);
    } else if (row.kind == name_kind::option) {
      check_option(row);
    } else if (row.kind == name_kind::printed) {
      check_printed(row);
    } else if (row.kind == name_kind::variable) {
      std::map<std::string, std::string> given;
      for (const auto& [name, value] : cursor_variables("12.0"))
        given[name] = value;
      CHECK(given.at(std::string(row.name)) == "12.0");
      CHECK(given.at(std::string(row.old_name)) == "12.0");
    } else {
      --rows; // of servers
    }
  }
  CHECK(rows > 0);
}

TEST_CASE("a write is cancelled by a server of 0.2.0, too", "[cli]") {
  fake_node node({{405, "method PUT not allowed"}, {200, R"({"State":"void","Index":9})"}});
  const auto made = run_cli({"outcome", "cancel", "-http-addr=" + node.address(), "order-1"});
  CHECK(made.code == 0);
  CHECK(made.out == "State: cancelled\nIndex: 9\n");
  CHECK(made.err.empty());
  CHECK(node.requested() == std::vector<std::string>{"PUT /v1/outcome/order-1/cancel", "DELETE /v1/outcome/order-1"});
}

TEST_CASE("responses of 0.2.0 are shown like those of a newer server", "[cli]") {
  const auto shown = [](const arguments& words, std::string body) {
    fake_node node({{200, std::move(body)}});
    auto all = words;
    all.insert(all.begin() + 2, "-http-addr=" + node.address());
    return run_cli(all).out;
  };
  const std::string list =
      R"([{"Claim":"n","State":"held","ID":"i","Session":"s","Node":"n1","Mode":"exclusive","Permits":1,"Fence":7,)"
      R"("Value":null,"SinceMs":61500}])";
  CHECK(shown({"claims", "list"}, list).find("1m1s") != std::string::npos);
  CHECK(shown({"session", "explain", some_session}, old_ending).find("1m1.5s") != std::string::npos);
  const std::string graph =
      R"({"Edges":[{"Session":"a","ID":"i","Hidden":true,"Blocker":"b","BlockerHolds":true}],"Cut":false})";
  CHECK(shown({"claims", "graph"}, graph) == "a waits for a redacted name, held by b\n");
}
