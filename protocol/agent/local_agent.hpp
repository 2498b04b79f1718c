#pragma once
// The agent part of a node: its services and checks, clients' requests, and the resulting actions.

#include "protocol/acl/authorizer.hpp"
#include "protocol/agent/check_schedule.hpp"
#include "protocol/agent/local_registry.hpp"
#include "protocol/agent/requests.hpp"

namespace belay::agent {

struct agent_settings {
  registry_settings registry;
  bool scripts_from_api = false;   ///< enable_script_checks
  bool scripts_from_files = false; ///< that, or enable_local_script_checks
  bool server = false;             ///< the node is a server, for which the leader maintains a service
};

/// A service or a check by its ID.
struct item {
  bool is_service = false;
  std::string id;

  auto operator<=>(const item&) const = default;
};

/// Counts of local registrations.
struct agent_counts {
  std::uint32_t services = 0, checks = 0;
  std::uint32_t ttls = 0;     ///< checks with a TTL
  std::uint32_t monitors = 0; ///< checks that run a script
};

/// What the disk stores of a registration made through the API.
struct stored_service {
  state::service_record service;
  std::string token = {}; ///< as service_definition::token
};
struct stored_check {
  check_definition definition;
  std::string status, output;
  std::int64_t valid_ns = 0; ///< for a TTL check: how long status and output are valid from now on
};
struct stored_change {
  item what;
  std::variant<std::monostate, stored_service, stored_check> now; ///< monostate: delete it
  bool durable = true; ///< a result may be lost in a crash; an acknowledged registration may not
};

/// Decides; its owner writes to the catalog and the disk, runs checks and passes the time.
class local_agent {
public:
  /// Interval of checks for services that were critical for too
  /// long, and the minimum for "too long". Both are Consul's.
  static constexpr std::chrono::seconds reap_interval{30};
  static constexpr std::chrono::seconds deregister_after_min{60};

  explicit local_agent(agent_settings s);

  // ---- from the configuration and from disk, before the first request

  status add_configured(service_definition d, local_time now);
  status add_configured(check_definition d, local_time now);
  /// @returns false: the configuration has it, or its service is missing: delete it
  bool restore(stored_service s);
  bool restore(stored_check c, local_time now);

  // ---- from the configuration, later

  /// Replaces the earlier configuration: removes what is no longer defined and keeps
  /// what is unchanged. Keeps what requests registered, unless its ID is defined here.
  /// @returns an error if a definition is wrong; then nothing has changed
  status reconfigure(configured_definitions defined, local_time now);

  // ---- clients

  /// @returns nullopt: no result yet; call again after a change, with `no_longer` at its deadline
  /// @param may of the requester; null: everything
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
  bool received(user_event e);

  // ---- actions collected since the last call

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
  /// Error if an ID is reserved for the agent or the leader. @pre name_checks() was called
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
    std::map<std::string, check_definition, folded_less> checks;     ///< outside of service definitions
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
  definitions_by_id configured_; ///< the last configuration
  std::vector<item> touched_;
  std::vector<stored_change> stored_;
  std::vector<user_event> fired_;
  std::optional<local_time> next_reap_;
};

/// Changes whenever any part of the service does; hex digits.
std::string content_hash(const state::service_record& s);

} // namespace belay::agent
