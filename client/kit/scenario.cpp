#include "client/kit/kit_process.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace belay {
inline namespace v0 {
namespace sim {

namespace {

struct rule {
  std::string name;
  std::function<bool()> holds;
};
struct wanted_client {
  std::string name;
  std::function<task<>(process&)> main;
};

constexpr milliseconds longest_run{600'000};
constexpr std::size_t servers_min = 3, servers_max = 5;

/// Mistakes in a scenario are reported before anything runs.
[[noreturn]] void give_up(const std::string& text) {
  std::cerr << "scenario: " << text << std::endl;
  std::exit(64);
}

struct named_body {
  std::string name;
  void (*body)(scenario&);
};
std::vector<named_body>& all_bodies() {
  static std::vector<named_body> all;
  return all;
}

} // namespace

class scenario::parts {
public:
  explicit parts(const belay_ground::stage& on) : stage(on) {}

  const belay_ground::stage& stage;
  belay_ground::plan plan;
  run_parts run;
  std::vector<wanted_client> clients;
  std::vector<rule> always, eventually;
  std::set<std::string> client_faults_off;
  std::vector<std::unique_ptr<kit_process>> processes;

  void begin(belay_ground::ground& g) {
    run.stands_on = &g;
    if (plan.any_faults)
      run.faults = client_faults::drawn(g, client_faults_off);
    else
      run.healed = true;
    if (g.traces() && !run.faults.words().empty())
      g.add_line("", "faults of clients:" + run.faults.words());
    for (auto& c : clients)
      processes.push_back(std::make_unique<kit_process>(run, processes.size(), c.name, c.main));
    for (auto& p : processes)
      p->begin();
  }

  std::optional<belay_ground::broken_rule> look() {
    for (const auto& r : always)
      if (!run.broken && !r.holds())
        run.fail("always", r.name);
    return run.broken;
  }

  std::optional<belay_ground::broken_rule> owed() const {
    for (const auto& r : eventually)
      if (!r.holds())
        return belay_ground::broken_rule{"eventually", r.name};
    return std::nullopt;
  }
};

void scenario::servers(std::size_t n) {
  if (n < servers_min || n > servers_max)
    give_up("the number of servers must be 3 to 5, not " + std::to_string(n));
  parts_.plan.servers = n;
}

void scenario::client(std::string name, std::function<task<>(process&)> main) {
  parts_.clients.push_back({std::move(name), std::move(main)});
}

void scenario::service(std::string path, std::function<answer(const request&)> answers) {
  parts_.run.services.push_back({std::move(path), std::move(answers)});
}

void scenario::always(std::string what, std::function<bool()> holds) {
  parts_.always.push_back({std::move(what), std::move(holds)});
}

void scenario::eventually(std::string what, std::function<bool()> holds) {
  parts_.eventually.push_back({std::move(what), std::move(holds)});
}

void scenario::fail(std::string what) {
  parts_.run.fail("fail", std::move(what));
}

void scenario::add_line(std::string_view who, const std::string& text) {
  if (parts_.run.stands_on != nullptr && parts_.run.stands_on->traces())
    parts_.run.stands_on->add_line(who, text);
}

void scenario::without_faults() {
  parts_.plan.any_faults = false;
}

void scenario::without(const std::string& fault) {
  const auto of_servers = belay_ground::fault_names();
  if (client_faults::names().contains(fault))
    parts_.client_faults_off.insert(fault);
  else if (std::find(of_servers.begin(), of_servers.end(), fault) != of_servers.end())
    parts_.plan.without.insert(fault);
  else
    give_up("unknown fault: " + fault);
}

void scenario::with(const std::string& fault) {
  if (fault != "machine-stop" && fault != "clock-wild")
    give_up("not an optional fault: " + fault);
  parts_.plan.with.insert(fault);
}

void scenario::run(milliseconds faults, milliseconds calm) {
  if (faults <= milliseconds(0) || calm <= milliseconds(0) || faults > longest_run || calm > longest_run)
    give_up("run() takes up to 10 minutes, and as long without faults");
  auto& p = parts_;
  p.plan.faults = faults;
  p.run.faults_end = faults;
  p.plan.calm = calm;
  p.plan.begin = [&p](belay_ground::ground& g) { p.begin(g); };
  p.plan.look = [&p] { return p.look(); };
  p.plan.heal = [&p] {
    p.run.healed = true;
    for (auto& each : p.processes)
      each->heal();
  };
  p.plan.owed = [&p] { return p.owed(); };
  p.plan.session_over = [&p](const std::string& id) {
    if (const auto found = p.run.sessions.extract(id))
      p.run.stands_on->add_line("", "the servers have ended the session of " + found.mapped());
  };
  p.plan.end = [&p] {
    for (auto& each : p.processes)
      each->end();
  };
  p.stage(p.plan, p.run.counts);
  p.processes.clear();
}

registered::registered(std::string name, void (*body)(scenario& scenario)) {
  all_bodies().push_back({std::move(name), body});
}

int run_program(int argc, char** argv) {
  std::vector<belay_ground::named_scenario> all;
  for (const auto& each : all_bodies())
    all.push_back({each.name, [body = each.body](const belay_ground::stage& on) {
                     scenario::parts p(on);
                     scenario made(p);
                     body(made);
                   }});
  return belay_ground::run_program(argc, argv, all);
}

} // namespace sim
} // namespace v0
} // namespace belay
