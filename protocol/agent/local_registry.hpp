#pragma once
// Services and checks of this node's agent; anti-entropy with the catalog (docs/contract/09).

#include "protocol/agent/definitions.hpp"
#include "protocol/agent/folded_ids.hpp"
#include "protocol/base/random.hpp"
#include "protocol/base/result.hpp"

#include <functional>
#include <map>
#include <string_view>

namespace belay::agent {

struct registry_settings {
  state::node_record node;                                           ///< as the catalog must show it
  std::int64_t output_bytes_max = 4096;                              ///< check_output_max_size
  std::chrono::nanoseconds update_interval{std::chrono::minutes(5)}; ///< check_update_interval: changes of output alone
  std::uint64_t seed = 1;
};

/// A command that brings the catalog closer. Pass it to settled() when its outcome is known.
struct sync_step {
  state::command command;
  std::vector<std::pair<std::string, std::uint64_t>> services, checks; ///< IDs and versions it carries
  std::optional<std::uint64_t> node;                                   ///< version
  std::string token;                                                   ///< as check_definition::token
};

/// Ignores the case of IDs, as the catalog does. Rows are immutable; a change makes new ones.
class local_registry {
public:
  explicit local_registry(registry_settings s) : settings_(std::move(s)), random_(settings_.seed) {}

  // ---- registrations

  /// Replaces a service with that ID. Existing checks keep their status and output.
  /// @pre complete() returned no error, name_checks() and spell_as_registered() were called
  void add_service(service_definition d, bool replace_existing_checks, origin from);
  /// With its checks. @returns false: unknown
  bool remove_service(const std::string& id);
  /// A check with that ID keeps its status and output. @pre spell_as_registered() was called
  /// @returns an error if its service is missing
  status add_check(check_definition d, origin from);
  /// @returns false: unknown
  bool remove_check(const std::string& id);
  /// Output of a TTL check, truncated to its limit. Probes truncate theirs, and keep the end.
  std::string shown_output(const std::string& id, std::string_view output) const;
  /// Bytes of output that a check keeps: its own limit only lowers the agent's, as in Consul.
  std::int64_t output_limit(const check_definition& d) const;
  /// A known check's result. @returns false: unknown
  bool set_status(const std::string& id, std::string_view status, std::string_view output, local_time now);

  void set_node_meta(state::string_map meta);

  /// Aliases adopt what has changed since the last call. Call it after changes, before the
  /// contents are read; unsynced() does.
  void refresh_aliases();

  /// The registered spelling of the ID if they differ only in case; else `id`.
  std::string registered_service_id(const std::string& id) const;
  std::string registered_check_id(const std::string& id) const;
  /// Replaces IDs by registered spellings. Checks of one definition with equal IDs get the first's.
  void spell_as_registered(service_definition& d) const;
  void spell_as_registered(check_definition& d) const;

  // ---- contents

  struct check_entry {
    check_definition definition;
    state::check_ptr row;
    origin from = origin::api;
    std::optional<local_time> critical_since; ///< a result made it critical
  };
  struct service_entry {
    state::service_ptr row;
    origin from = origin::api;
    std::string token;
  };
  const service_entry* service(const std::string& id) const;
  const check_entry* check(const std::string& id) const;
  std::vector<state::service_ptr> services() const; ///< in order of their IDs, like the next two
  std::vector<state::check_ptr> checks() const;
  void for_each_check(const std::function<void(const std::string& id, const check_entry&)>& visit) const;

  // ---- the catalog

  /// The differences from the catalog that are not in transit.
  std::vector<sync_step> unsynced(local_time now);
  /// The result of a step. `done` false: unsynced() returns it again at `again` or later, or when
  /// the row changes.
  void settled(const sync_step& step, bool done, local_time again = local_time{0});
  /// Whether nothing is missing, wrong or in transit.
  bool in_sync() const;
  /// Whether the catalog has this service as it is now, or lacks it if it was removed.
  bool service_in_sync(const std::string& id) const;
  bool check_in_sync(const std::string& id) const;
  /// Compares with the catalog's rows of this node: marks differences, removes unregistered rows.
  /// `node` null: the catalog does not have it.
  void compare(const state::node_ptr& node, const std::vector<state::service_ptr>& services,
               const std::vector<state::check_ptr>& checks);

private:
  struct sync_state {
    bool in_sync = false, deleted = false, in_flight = false;
    std::uint64_t version = 0;
    local_time not_before{0}; ///< the catalog has rejected it

    bool waits(local_time now) const { return !in_sync && !in_flight && not_before <= now; }
  };
  struct held_service : service_entry, sync_state {};
  struct held_check : check_entry, sync_state {
    std::optional<local_time> output_due; ///< when a change of output alone is written to the catalog
  };

  void changed(sync_state& s) {
    s.in_sync = s.deleted = false;
    s.version = ++versions_;
    s.not_before = local_time{0};
  }
  void gone(sync_state& s) {
    s.in_sync = false;
    s.deleted = true;
    s.version = ++versions_;
    s.not_before = local_time{0};
  }
  void put_check(check_definition d, const held_service* service, origin from);
  using checks_by_owner = std::multimap<std::string_view, std::pair<const std::string, held_check>*>;
  sync_step step_for(const std::string& id, held_service& s, const checks_by_owner& waiting);
  sync_step step_for(const std::string& id, held_check& c);
  state::catalog_register registration() const;

  registry_settings settings_;
  seeded_random random_;
  sync_state node_{true}; // the leader registers its members, but does not know their metadata
  std::map<std::string, held_service, folded_less> services_;
  std::map<std::string, held_check, folded_less> checks_;
  bool has_aliases_ = false;   ///< of this node; possibly former ones
  bool aliases_stale_ = false; ///< refresh_aliases() has work
  std::uint64_t versions_ = 0;
};

/// Worst status of checks, or `maintenance` (docs/contract/09).
std::string aggregated(const std::vector<state::check_ptr>& checks);

/// Checks that maintenance mode adds.
inline constexpr std::string_view node_maintenance_id = "_node_maintenance";
inline constexpr std::string_view service_maintenance_prefix = "_service_maintenance:";

} // namespace belay::agent
