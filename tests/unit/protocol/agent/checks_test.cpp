#include "protocol/agent/alias_health.hpp"
#include "protocol/agent/probe_request.hpp"
#include "protocol/base/random.hpp"
#include "tests/harness/cpu_time.hpp"
#include "tests/unit/protocol/agent/agent_driver.hpp"

using namespace belay::agent;

TEST_CASE("a TTL check that is not renewed turns critical, once, and not before its time") {
  agent_driver d;
  auto c = ttl_check("c", 10s);
  c.status = "passing";
  d.ask(register_check{c});
  d.now += 10s - 1ms;
  CHECK(d.agent.tick(d.now).empty());
  CHECK(d.status_of("c") == "passing");
  d.now += 1ms;
  d.agent.tick(d.now);
  CHECK(d.status_of("c") == "critical");
  CHECK(d.output_of("c") == "TTL expired");

  // Its owner returns: each update restarts the TTL, whatever its status.
  d.ask(update_check{"c", "warning", "hot"});
  d.now += 9s;
  d.agent.tick(d.now);
  CHECK(d.status_of("c") == "warning");
  d.ask(update_check{"c", "warning", "hot"});
  d.now += 9s;
  d.agent.tick(d.now);
  CHECK(d.status_of("c") == "warning");
  d.now += 1s;
  d.agent.tick(d.now);
  CHECK(d.status_of("c") == "critical");
  CHECK(d.output_of("c") == "TTL expired (last output before timeout follows): hot");
}

TEST_CASE("only TTL checks can be updated") {
  agent_driver d;
  d.ask(register_check{tcp_check("t", 10s)});
  for (const char* id : {"t", "nope"}) {
    const auto no = d.ask<refused>(update_check{id, "passing", ""});
    CHECK(no.status == 500);
    CHECK(no.text == "CheckID \"" + std::string(id) + "\" does not have associated TTL");
  }
  CHECK(d.status_of("t") == "critical");
}

TEST_CASE("output is cut to its limit, and marked") {
  agent_driver d;
  d.ask(register_check{ttl_check("c", 10s)});
  d.ask(update_check{"c", "passing", std::string(4096, 'a')});
  CHECK(d.output_of("c") == std::string(4096, 'a'));
  d.ask(update_check{"c", "passing", std::string(5000, 'b')});
  CHECK(d.output_of("c") == std::string(4096, 'b') + " ... (captured 4096 of 5000 bytes)");
  auto small = ttl_check("s", 10s);
  small.output_bytes_max = 3;
  d.ask(register_check{small});
  d.ask(update_check{"s", "passing", "abcd"});
  CHECK(d.output_of("s") == "abc ... (captured 3 of 4 bytes)");
}

// 512 aliases of a check with 4 MB of output took 2 GB.
TEST_CASE("a check's own limit of output only lowers the agent's, as in Consul") {
  agent_driver d;
  auto large = ttl_check("c", 10s);
  large.output_bytes_max = 4'000'000;
  d.ask(register_check{large});
  d.ask(update_check{"c", "passing", std::string(5000, 'b')});
  const auto cut = std::string(4096, 'b') + " ... (captured 4096 of 5000 bytes)";
  CHECK(d.output_of("c") == cut);

  for (const auto limit : {std::int64_t{0}, std::int64_t{7}, std::int64_t{4'000'000}}) {
    auto probed = tcp_check("t", 10s);
    probed.output_bytes_max = limit;
    d.ask(register_check{probed});
    const auto probes = d.agent.tick(d.now += 10s);
    REQUIRE(probes.size() == 1);
    CHECK(probes[0].definition.output_bytes_max == (limit == 7 ? 7 : 4096));
    CHECK(d.agent.registry().check("t")->definition.output_bytes_max == limit);
  }
  // 0.2.0 has stored more; what is within the limit, with its remark, is not cut again.
  agent_driver later;
  REQUIRE(later.agent.restore(stored_check{large, "passing", std::string(3'900'000, 'b'), 1'000'000'000}, later.now));
  CHECK(later.output_of("c") == std::string(4096, 'b') + " ... (captured 4096 of 3900000 bytes)");
  large.id = "d";
  REQUIRE(later.agent.restore(stored_check{large, "passing", cut, 1'000'000'000}, later.now));
  CHECK(later.output_of("d") == cut);
}

// `Captured 4096 of 5004 bytes` and the output's end, which has the error, are the probe's.
TEST_CASE("the output of a probe is not cut again") {
  agent_driver d;
  d.ask(register_check{tcp_check("t", 10s)});
  d.agent.tick(d.now);
  const auto probes = d.agent.tick(d.now += 10s);
  REQUIRE(probes.size() == 1);
  const auto output = "Captured 4096 of 5004 bytes\n...\n" + std::string(4093, 'x') + "END";
  d.agent.finished(probes[0].run, "critical", output, d.now);
  CHECK(d.output_of("t") == output);
}

// The schedule kept the output for the expiry at full length: 4 MiB for each check.
TEST_CASE("of output that is too long the cut one is kept for the expiry") {
  agent_driver d;
  d.ask(register_check{ttl_check("c", 10s)});
  d.ask(update_check{"c", "passing", std::string(1 << 20, 'b')});
  const auto cut = std::string(4096, 'b') + " ... (captured 4096 of 1048576 bytes)";
  CHECK(d.output_of("c") == cut);
  d.now += 11s;
  d.agent.tick(d.now);
  CHECK(d.output_of("c") == "TTL expired (last output before timeout follows): " + cut);
}

TEST_CASE("a check that this node runs: first within an interval, then an interval after each result") {
  agent_driver d;
  d.ask(register_check{tcp_check("t", 10s)});
  const auto began = d.now;
  std::vector<local_agent::probe> probes;
  while (probes.empty() && d.now <= began + 10s) {
    probes = d.agent.tick(d.now);
    d.now += 100ms;
  }
  REQUIRE(probes.size() == 1);
  CHECK(probes[0].definition.tcp == "127.0.0.1:1");
  // While it runs it is not started again, however long that takes.
  d.now += 1min;
  CHECK(d.agent.tick(d.now).empty());
  d.agent.finished(probes[0].run, "passing", "fine", d.now);
  CHECK(d.status_of("t") == "passing");
  CHECK(d.output_of("t") == "fine");
  CHECK(d.agent.tick(d.now + 10s - 1ms).empty());
  CHECK(d.agent.tick(d.now + 10s).size() == 1);
}

TEST_CASE("intervals below a second are a second") {
  check_schedule s(1, "n1");
  s.begin("t", tcp_check("t", 1ms), 0s);
  const auto first = s.due(1s);
  REQUIRE(first.runs.size() == 1);
  CHECK(s.finished(first.runs[0], "passing", 1s));
  CHECK(s.due(2s - 1ns).runs.empty());
  CHECK(s.due(2s).runs.size() == 1);
}

TEST_CASE("a result of an earlier definition does not count for the new one") {
  agent_driver d;
  d.ask(register_check{tcp_check("t", 1s)});
  const auto old = d.agent.tick(d.now + 1s);
  REQUIRE(old.size() == 1);
  d.ask(register_check{tcp_check("t", 1s)});
  d.agent.finished(old[0].run, "passing", "late", d.now + 2s);
  CHECK(d.status_of("t") == "critical");
  d.ask(deregister_check{"t"});
  d.agent.finished(old[0].run, "passing", "later", d.now + 3s);
  CHECK(d.status_of("t") == "(none)");
}

TEST_CASE("results count when there are enough of them in a row") {
  agent_driver d;
  auto c = tcp_check("t", 1s);
  c.success_before_passing = 2;
  c.failures_before_critical = 3;
  d.ask(register_check{c});
  const auto run = [&](const char* status) {
    d.now += 1s;
    const auto probes = d.agent.tick(d.now);
    REQUIRE(probes.size() == 1);
    d.agent.finished(probes[0].run, status, "", d.now);
    return d.status_of("t");
  };
  CHECK(run("passing") == "critical");
  CHECK(run("critical") == "critical"); // and the count starts again
  CHECK(run("passing") == "critical");
  CHECK(run("passing") == "passing");
  CHECK(run("critical") == "passing");
  CHECK(run("critical") == "passing");
  CHECK(run("critical") == "critical");
}

TEST_CASE("a service whose check stays critical for too long is removed, but not within the first minute") {
  agent_driver d;
  auto c = ttl_check("", 1s);
  c.name.clear();
  c.deregister_after_ns = std::chrono::nanoseconds(5s).count();
  c.status = "passing";
  d.ask(register_service{service_named("web", {c})});
  d.ask(register_service{service_named("other", {ttl_check("o", 1s)})});
  d.now += 1s;
  d.agent.tick(d.now); // critical from here on
  CHECK(d.status_of("service:web") == "critical");
  for (int s = 0; s < 60; ++s) {
    d.now += 1s;
    d.agent.tick(d.now);
    CHECK(d.agent.registry().service("web") != nullptr);
  }
  d.now += local_agent::reap_interval;
  d.agent.tick(d.now);
  CHECK(d.agent.registry().service("web") == nullptr);
  CHECK(d.status_of("service:web") == "(none)");
  CHECK(d.agent.registry().service("other") != nullptr); // unrelated to that
}

TEST_CASE("required members of a check") {
  struct row {
    const char* why;
    std::function<void(check_definition&)> spoil;
  };
  for (const auto& [why, spoil] : {
           row{"TTL must be > 0 for TTL checks", [](auto& c) { c.ttl_ns = 0; }},
           row{"Interval and TTL cannot both be specified", [](auto& c) { c.interval_ns = 1; }},
           row{"Interval must be > 0 for Script, HTTP, or TCP checks", [](auto& c) { c.tcp = "x:1"; }},
           row{"Interval must be > 0 for Script, HTTP, or TCP checks", [](auto& c) { c.http = "http://x"; }},
           row{"TTL must be not be set for Alias checks", [](auto& c) { c.alias_service = "web"; }},
       }) {
    agent_driver d;
    auto c = ttl_check("c", 1s);
    spoil(c);
    const auto no = d.ask<refused>(register_check{c});
    CHECK(no.status == 400);
    CHECK(no.text == std::string("Invalid check: ") + why);
    CHECK(d.status_of("c") == "(none)");
  }
}

TEST_CASE("programs are run only where that is allowed") {
  auto script = tcp_check("s", 10s);
  script.tcp.clear();
  script.args = {"/bin/true"};
  agent_driver d;
  CHECK(d.ask<refused>(register_check{script}).text.rfind("Scripts are disabled on this agent from remote calls", 0) ==
        0);
  CHECK(d.ask<refused>(register_service{service_named("web", {script})}).status == 500);
  CHECK(d.agent.registry().service("web") == nullptr);
  CHECK_FALSE(d.agent.add_configured(script, d.now).ok());

  auto settings = usual_agent();
  settings.scripts_from_files = true;
  local_agent from_files(settings);
  CHECK(from_files.add_configured(script, d.now).ok());
  script.id = "from-the-api";
  CHECK(std::holds_alternative<refused>(*from_files.handle(register_check{script}, d.now)));
}

TEST_CASE("an alias check follows the service it names") {
  agent_driver d;
  d.ask(register_service{service_named("web", {ttl_check("w", 10s)})});
  check_definition alias;
  alias.id = alias.name = "a";
  alias.alias_service = "web";
  d.ask(register_check{alias});
  CHECK(d.status_of("a") == "critical");
  CHECK(d.output_of("a") == "Aliased check \"w\" failing: ");
  d.ask(update_check{"w", "passing", ""});
  CHECK(d.status_of("a") == "passing");
  CHECK(d.output_of("a") == "All checks passing.");
  d.ask(deregister_service{"web"});
  CHECK(d.status_of("a") == "critical");
}

TEST_CASE("an alias keeps 8 KiB of output") {
  agent_driver d;
  auto named = ttl_check("w", 10s);
  named.name = std::string(100'000, 'w');
  d.ask(register_service{service_named("web", {named})});
  check_definition alias;
  alias.id = alias.name = "a";
  alias.alias_service = "web";
  d.ask(register_check{alias});
  CHECK(d.output_of("a") == "Aliased check \"" + std::string(8192 - 15, 'w') + " ... (captured 8192 of 100026 bytes)");
}

// Each change of a status took aliases times checks on the HTTP thread: 3 s with 10,000 of each.
TEST_CASE("a change of a status costs aliases and checks together, not their product") {
  using belay::harness::least_cpu_time;
  const auto measured = [](int count) {
    agent_driver d;
    std::vector<check_definition> checks, aliases;
    for (int i = 0; i < count; ++i) {
      auto c = ttl_check("c" + std::to_string(i), 10s);
      c.status = "passing";
      checks.push_back(c);
      check_definition alias;
      alias.id = alias.name = "a" + std::to_string(i);
      alias.alias_service = "web";
      aliases.push_back(alias);
    }
    d.ask(register_service{service_named("web", std::move(checks))});
    d.ask(register_service{service_named("other", std::move(aliases))});
    bool up = false;
    const auto flip = least_cpu_time([&] {
      d.ask(update_check{"c0", up ? "passing" : "critical", ""});
      up = !up;
    });
    CHECK(d.status_of("a1") == (up ? "critical" : "passing"));
    d.now += 9s;
    d.ask(update_check{"c0", "passing", ""});
    d.now += 2s;
    const auto expire = least_cpu_time([&] { d.agent.tick(d.now); }, 1); // all but one
    CHECK(d.output_of("a1") == "Aliased check \"c1\" failing: TTL expired");
    return std::array{flip, expire};
  };
  // 10 times of both; the square of that is 100.
  CHECK(belay::harness::holds_once([&] {
    const auto few = measured(500), many = measured(5000);
    return many[0] < 30 * few[0] && many[1] < 30 * few[1];
  }));
}

TEST_CASE("an alias of another node is looked up every second, and follows its health") {
  agent_driver d;
  d.ask(register_service{service_named("web", {ttl_check("w", 10s)})});
  check_definition alias;
  alias.id = alias.name = "a";
  alias.alias_node = "other";
  alias.alias_service = "web"; // not the local one
  d.ask(register_check{alias});
  CHECK(d.output_of("a") == "");
  const auto runs = [&] {
    auto due = d.agent.tick(d.now);
    CHECK(due.size() <= 1);
    return due;
  };
  d.now += 1s;
  auto due = runs();
  REQUIRE(due.size() == 1);
  CHECK(due[0].definition.alias_node == "other");
  d.agent.finished(due[0].run, "warning", "Aliased check \"c\" failing: x", d.now);
  CHECK(d.status_of("a") == "warning");
  d.ask(update_check{"w", "passing", ""}); // local changes do not concern it
  CHECK(d.status_of("a") == "warning");
  d.now += 900ms;
  CHECK(runs().empty());
  d.now += 100ms;
  CHECK(runs().size() == 1);

  alias.alias_node = "N1"; // the local one: names of nodes are case-insensitive
  d.ask(register_check{alias});
  CHECK(d.status_of("a") == "passing");
  d.now += 5s;
  CHECK(runs().empty());
}

// Texts of Consul 1.8.7, by experiment.
TEST_CASE("an alias sums up the checks of a node and of one of its services") {
  check_definition alias;
  alias.alias_node = "other";
  alias.alias_service = "web";
  const auto check = [](const char* name, const char* service, const char* status) {
    belay::state::check_record c;
    c.name = name;
    c.service_id = service;
    c.status = status;
    c.output = "out";
    return c;
  };
  alias_health none(alias);
  CHECK(none.status() == "passing");
  CHECK(none.output() == "No checks found.");
  none.add(check("d", "db", "critical"));
  CHECK(none.output() == "No checks found.");
  none.add(check("n", "", "passing"));
  CHECK(none.output() == "All checks passing.");
  none.add(check("w1", "web", "warning"));
  CHECK(none.status() == "warning");
  CHECK(none.output() == "Aliased check \"w1\" failing: out");
  none.add(check("w2", "web", "passing"));
  none.add(check("w3", "web", "warning"));
  CHECK(none.output() == "Aliased check \"w1\" failing: out");
  none.add(check("n2", "", "critical"));
  none.add(check("w4", "web", "critical"));
  CHECK(none.status() == "critical");
  CHECK(none.output() == "Aliased check \"n2\" failing: out");
  CHECK(alias_not_found(alias, "other") == "Service web could not be found on node other");
}

// Many checks are looked up in groups; alias_health adds them one by one.
TEST_CASE("aliases of this node sum up the same checks as those of another node, without themselves") {
  belay::seeded_random random(GENERATE(range(1, 40)));
  const auto any = [&](std::initializer_list<const char*> of) {
    return std::string(*(of.begin() + static_cast<std::ptrdiff_t>(random.below(of.size()))));
  };
  grouped_checks grouped;
  std::vector<check_definition> aliases;
  std::vector<belay::state::check_ptr> rows;
  for (std::size_t i = 0; i < 12; ++i) {
    auto row = std::make_shared<belay::state::check_record>();
    row->name = std::to_string(i);
    row->service_id = any({"", "web", "WEB", "db"});
    row->status = any({"passing", "passing", "passing", "warning", "critical"});
    aliases.emplace_back().alias_service = any({"", "web", "Db"});
    rows.push_back(row);
    CHECK(grouped.add(row) == i);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    alias_health expected(aliases[i]);
    for (std::size_t other = 0; other < rows.size(); ++other)
      if (other != i)
        expected.add(*rows[other]);
    CHECK(grouped.health_of(aliases[i], i) == std::pair(expected.status(), expected.output()));
    auto row = std::make_shared<belay::state::check_record>(*rows[i]);
    row->status = expected.status();
    rows[i] = row;
    grouped.replace(i, row);
  }
}

TEST_CASE("an HTTP check whose request could not be sent, or would be two, is rejected at registration") {
  const std::string longest(request_part_bytes_max - 1, 'a'), too_long(request_part_bytes_max, 'a');
  struct row {
    const char* what;
    std::string method, url, name, value;
    std::string refusal; ///< empty: it is accepted
  };
  const auto rows = {
      row{"usual", "POST", "http://127.0.0.1:1/a b?c", "X-Mine", "seven\t7 \xc3\xa9", ""},
      row{"longest", longest, "http://127.0.0.1/" + longest.substr(17), longest, longest, ""},
      row{"method", "GET / HTTP/1.1\r\nX: y", "http://127.0.0.1:1/", "a", "b",
          "Method contains characters that no HTTP method has"},
      row{"long method", too_long, "http://127.0.0.1:1/", "a", "b", "Method must be shorter than 65536 bytes"},
      row{"URL", "GET", "http://127.0.0.1:1/\r\nX: y", "a", "b", "HTTP contains a control character"},
      row{"long URL", "GET", "http://127.0.0.1/" + too_long, "a", "b", "HTTP must be shorter than 65536 bytes"},
      row{"name", "GET", "http://127.0.0.1:1/", "a: b\r\nc", "d",
          "Header contains a name with characters that no header field has"},
      row{"no name", "GET", "http://127.0.0.1:1/", "", "d",
          "Header contains a name with characters that no header field has"},
      row{"long name", "GET", "http://127.0.0.1:1/", too_long, "d", "name in Header must be shorter than 65536 bytes"},
      row{"value", "GET", "http://127.0.0.1:1/", "a", "b\r\nc: d", "value of Header 'a' contains a control character"},
      row{"NUL", "GET", "http://127.0.0.1:1/", "a", std::string("b\0c", 3),
          "value of Header 'a' contains a control character"},
      row{"long value", "GET", "http://127.0.0.1:1/", "a", too_long,
          "value of Header 'a' must be shorter than 65536 bytes"},
  };
  for (const auto& r : rows) {
    INFO(r.what);
    auto c = tcp_check("h", 10s);
    c.tcp.clear();
    c.http = r.url;
    c.method = r.method;
    c.header[r.name] = {"first", r.value};
    agent_driver d;
    if (r.refusal.empty()) {
      d.ask(register_check{c});
      d.ask(register_service{service_named("web", {c}), false});
      continue;
    }
    const auto alone = d.ask<refused>(register_check{c});
    CHECK(alone.status == 400);
    CHECK(alone.text == "Invalid check: " + r.refusal);
    CHECK(d.ask<refused>(register_service{service_named("web", {c}), false}).text == alone.text);
    CHECK_FALSE(d.agent.add_configured(c, d.now));
    CHECK(d.status_of("h") == "(none)");
  }
}

TEST_CASE("the header of an HTTP check has a limit in all") {
  agent_driver d;
  auto c = tcp_check("h", 10s);
  c.tcp.clear();
  c.http = "http://127.0.0.1:1/";
  c.header["a"] = std::vector<std::string>(17, std::string(request_part_bytes_max - 2, 'v'));
  CHECK(d.ask<refused>(register_check{c}).text == "Invalid check: Header must not be larger than 1048576 bytes");
  c.header["a"].pop_back();
  d.ask(register_check{c});
}

TEST_CASE("the longest interval and TTL that can be written are not over at once") {
  check_schedule s(1, "n1");
  s.begin("ttl", ttl_check("ttl", std::chrono::nanoseconds::max()), 24h);
  s.begin("tcp", tcp_check("tcp", std::chrono::nanoseconds::max()), 24h);
  const auto due = s.due(48h);
  CHECK(due.expired.empty());
  CHECK(due.runs.empty());
}
