#pragma once
// The agent's part of a node: its services and checks, what clients ask of them, and what has to be done about it.

#include "protocol/acl/authorizer.hpp"
#include "protocol/agent/check_schedule.hpp"
#include "protocol/agent/local_registry.hpp"
#include "protocol/agent/requests.hpp"

namespace belay::agent {

struct agent_settings {
  registry_settings registry;
  bool scripts_from_api = false;   ///< enable_script_checks
  bool scripts_from_files = false; ///< that, or enable_local_script_checks
  bool server = false;             ///< the node is a server: the leader keeps a service of it
};

/// A service or a check by its ID.
struct item {
  bool is_service = false;
  std::string id;

  auto operator<=>(const item&) const = default;
};

/// Of what is registered here.
struct agent_counts {
  std::uint32_t services = 0, checks = 0;
  std::uint32_t ttls = 0;     ///< of the checks
  std::uint32_t monitors = 0; ///< of the checks: scripts
};

/// What the disk keeps of a registration made through the API.
struct stored_service {
  state::service_record service;
  std::string token = {}; ///< as service_definition::token
};
struct stored_check {
  check_definition definition;
  std::string status, output;
  std::int64_t valid_ns = 0; ///< of a TTL check: how long status and output hold from now on
};
struct stored_change {
  item what;
  std::variant<std::monostate, stored_service, stored_check> now; ///< monostate: forget it
  bool durable = true; ///< a result may be lost in a crash; a registration that was answered may not
};

/// Decides; whoever owns it writes to the catalog and the disk, runs the checks, and tells it the time.
class local_agent {
public:
  /// Between two looks for services that have been critical for too long, and the shortest time that counts as too
  /// long. Both are Consul's.
  static constexpr std::chrono::seconds reap_interval{30};
  static constexpr std::chrono::seconds deregister_after_min{60};

  explicit local_agent(agent_settings s);

  // ---- from the configuration and from the disk, before the first request

  status add_configured(service_definition d, local_time now);
  status add_configured(check_definition d, local_time now);
  /// @returns false: the configuration has it, or its service is gone: it is to be forgotten
  bool restore(stored_service s);
  bool restore(stored_check c, local_time now);

  // ---- from the configuration, later

  /// What it defines now, in place of what it defined before: the rest of that goes, what is unchanged goes on as it is, what came by requests
  /// stays unless it has the ID of something here.
  /// @returns what is wrong with a definition; then nothing has changed
  status reconfigure(configured_definitions defined, local_time now);

  // ---- clients

  /// @returns nullopt: nothing to tell yet; ask again when something has changed, with `no_longer` when its time is up
  /// @param may of whoever asks; null: everything
  std::optional<reply> handle(const request& r, local_time now, bool no_longer = false,
                              const acl::authorizer* may = nullptr);

  // ---- time and results

  struct probe {
    check_schedule::run run;
    check_definition definition;
  };
  /// Expires TTLs and removes services that were critical for too long. @returns checks to run now
  std::vector<probe> tick(local_time now);
  void finished(const check_schedule::run& r, std::string_view status, std::string_view output, local_time now);

  // ---- events

  /// Another node's event. @returns whether it is new here
  bool heard(user_event e);

  // ---- to be done, collected since the last call

  std::vector<item> take_touched() { return std::exchange(touched_, {}); }
  std::vector<stored_change> take_stored() { return std::exchange(stored_, {}); }
  std::vector<user_event> take_fired() { return std::exchange(fired_, {}); }

  agent_counts counts() const;
  local_registry& registry() { return registry_; }
  const local_registry& registry() const { return registry_; }

private:
  reply on(const list_services& r, local_time now);
  reply on(const list_checks& r, local_time now);
  reply on(const service_health& r, local_time now);
  reply on(const register_service& r, local_time now);
  reply on(const deregister_service& r, local_time now);
  reply on(const service_maintenance& r, local_time now);
  reply on(const node_maintenance& r, local_time now);
  reply on(const register_check& r, local_time now);
  reply on(const deregister_check& r, local_time now);
  reply on(const update_check& r, local_time now);
  reply on(const fire_event& r, local_time now);
  std::optional<reply> read(const read_service& r, bool no_longer, const acl::authorizer* may) const;
  std::optional<reply> read(const list_events& r, bool no_longer, const acl::authorizer* may) const;

  std::optional<std::string> refusal_of(const check_definition& d, bool allowed, origin from) const;
  /// What is wrong with an ID that belongs to the agent or to the leader. @pre name_checks() was called
  std::optional<std::string> reserved_id_in(const service_definition& d) const;
  static std::optional<std::string> reserved_id_in(const check_definition& d);
  void add_service(service_definition d, bool replace, origin from, local_time now);
  status add_check(check_definition d, origin from, local_time now);
  bool remove_service(const std::string& id);
  bool remove_check(const std::string& id);
  void set_maintenance(check_definition d, bool enable, local_time now);
  void store_service(const std::string& id);
  void store_check(const std::string& id, bool durable);
  void forget(item what);
  void forget_stored(item what) { stored_.push_back({std::move(what), std::monostate{}, true}); }

  // reconfiguration.cpp
  struct definitions_by_id {
    std::map<std::string, service_definition, folded_less> services; ///< complete, their checks named
    std::map<std::string, check_definition, folded_less> checks;     ///< of no service's definition
  };
  result<definitions_by_id> completed(configured_definitions d) const;
  void remove_what_is_left_out(const definitions_by_id& defined);
  void configure(const service_definition& s, local_time now);
  void configure(const check_definition& c, local_time now);
  bool is_configured_as(const service_definition& s) const;

  void reap(local_time now);

  agent_settings settings_;
  local_registry registry_;
  check_schedule schedule_;
  user_events events_;
  definitions_by_id configured_; ///< what the configuration said last
  std::vector<item> touched_;
  std::vector<stored_change> stored_;
  std::vector<user_event> fired_;
  std::optional<local_time> next_reap_;
};

/// Changes whenever something of the service does; hex digits.
std::string content_hash(const state::service_record& s);

} // namespace belay::agent
