#pragma once
// A local agent, and a catalog controlled by the test.

#include "protocol/agent/local_agent.hpp"

#include <catch2/catch.hpp>

namespace belay::agent {

using namespace std::chrono_literals;

inline agent_settings usual_agent() {
  agent_settings s;
  s.registry.node.node = "n1";
  s.registry.node.id = "5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01";
  s.registry.node.address = "10.0.0.1";
  s.registry.node.meta = state::string_map{{"consul-network-segment", ""}};
  return s;
}

inline check_definition ttl_check(std::string id, std::chrono::nanoseconds ttl, std::string service = {}) {
  check_definition d;
  d.id = std::move(id);
  d.name = d.id;
  d.ttl_ns = ttl.count();
  d.service_id = std::move(service);
  return d;
}

inline check_definition tcp_check(std::string id, std::chrono::nanoseconds interval) {
  check_definition d;
  d.id = std::move(id);
  d.name = d.id;
  d.tcp = "127.0.0.1:1";
  d.interval_ns = interval.count();
  return d;
}

inline service_definition service_named(std::string name, std::vector<check_definition> checks = {}) {
  service_definition d;
  d.service.service = std::move(name);
  d.checks = std::move(checks);
  return d;
}

struct agent_driver {
  local_agent agent{usual_agent()};
  local_time now{1h};
  std::map<std::string, state::service_record> services; ///< the catalog's
  std::map<std::string, state::check_record> checks;
  int writes = 0;

  template <class Reply = accepted>
  Reply ask(const request& r) {
    auto reply = agent.handle(r, now);
    REQUIRE(reply);
    if (const auto* no = std::get_if<refused>(&*reply))
      INFO(no->status << " " << no->text);
    REQUIRE(std::holds_alternative<Reply>(*reply));
    return std::get<Reply>(*reply);
  }
  std::string status_of(const std::string& check) const {
    const auto* c = agent.registry().check(check);
    return c == nullptr ? "(none)" : c->row->status;
  }
  std::string output_of(const std::string& check) const { return agent.registry().check(check)->row->output; }

  void apply(const sync_step& step) {
    ++writes;
    if (const auto* r = std::get_if<state::catalog_register>(&step.command)) {
      if (r->service)
        services[r->service->id] = *r->service;
      for (const auto& c : r->checks)
        checks[c.check_id] = c;
    } else if (const auto* d = std::get_if<state::catalog_deregister>(&step.command)) {
      if (d->service_id.empty())
        checks.erase(d->check_id);
      else {
        services.erase(d->service_id);
        std::erase_if(checks, [&](const auto& c) { return c.second.service_id == d->service_id; });
      }
    }
  }
  /// Writes everything that is due.
  void sync() {
    for (const auto& step : agent.registry().unsynced(now)) {
      apply(step);
      agent.registry().settled(step, true);
    }
  }
  void compare() {
    auto node = std::make_shared<const state::node_record>(usual_agent().registry.node);
    std::vector<state::service_ptr> s;
    for (const auto& [id, row] : services)
      s.push_back(std::make_shared<const state::service_record>(row));
    std::vector<state::check_ptr> c;
    for (const auto& [id, row] : checks)
      c.push_back(std::make_shared<const state::check_record>(row));
    agent.registry().compare(node, s, c);
  }
};

} // namespace belay::agent
