#pragma once
// The services and checks of this node's agent, and how far the catalog agrees with them (anti-entropy: docs/contract/09).

#include "protocol/agent/definitions.hpp"
#include "protocol/agent/folded_ids.hpp"
#include "protocol/base/random.hpp"
#include "protocol/base/result.hpp"

#include <functional>
#include <map>
#include <set>
#include <string_view>

namespace belay::agent {

struct registry_settings {
  state::node_record node;                                           ///< as the catalog shall show it
  std::int64_t output_bytes_max = 4096;                              ///< check_output_max_size
  std::chrono::nanoseconds update_interval{std::chrono::minutes(5)}; ///< check_update_interval: changes of output alone
  std::uint64_t seed = 1;
};

/// A command that brings the catalog closer. Give it back to settled() when its fate is known.
struct sync_step {
  state::command command;
  std::vector<std::pair<std::string, std::uint64_t>> services, checks; ///< IDs and versions it carries
  std::optional<std::uint64_t> node;                                   ///< version
  std::string token;                                                   ///< as check_definition::token
};

/// IDs are compared without regard to case, as in the catalog. Rows are shared and never change; a change makes new ones.
class local_registry {
public:
  explicit local_registry(registry_settings s) : settings_(std::move(s)), random_(settings_.seed) {}

  // ---- registrations

  /// Replaces a service of that ID. Checks that were there before keep their status and output.
  /// @pre complete() had no complaint, name_checks() and spell_as_registered() were called
  void add_service(service_definition d, bool replace_existing_checks, origin from);
  /// With its checks. @returns false: unknown
  bool remove_service(const std::string& id);
  /// A check of that ID keeps its status and output. @pre spell_as_registered() was called
  /// @returns a failure if its service is not there
  status add_check(check_definition d, origin from);
  /// @returns false: unknown
  bool remove_check(const std::string& id);
  /// The output of a TTL check, cut to the limit of that check. Probes cut theirs, and keep the end.
  std::string shown_output(const std::string& id, std::string_view output) const;
  /// A known check's result. @returns false: unknown
  bool set_status(const std::string& id, std::string_view status, std::string_view output, local_time now);

  void set_node_meta(state::string_map meta);

  /// The ID as it was registered, if something is registered whose ID differs in case only; else `id`.
  std::string registered_service_id(const std::string& id) const;
  std::string registered_check_id(const std::string& id) const;
  /// Replaces IDs by registered ones. Of two checks of one definition with the same ID the second takes the spelling of the first.
  void spell_as_registered(service_definition& d) const;
  void spell_as_registered(check_definition& d) const;

  // ---- what is there

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
  std::vector<state::service_ptr> services() const; ///< in order of their IDs, as those that follow
  std::vector<state::check_ptr> checks() const;
  void for_each_check(const std::function<void(const std::string& id, const check_entry&)>& visit) const;

  // ---- the catalog

  /// What the catalog lacks or has too much, as far as it is not on its way.
  std::vector<sync_step> unsynced(local_time now);
  /// `done` false: it is tried again with the first unsynced() that is not before `again`, or when it changes.
  void settled(const sync_step& step, bool done, local_time again = local_time{0});
  /// Nothing is missing, wrong or on its way.
  bool in_sync() const;
  /// The catalog knows of this service as it is now, or of its absence.
  bool service_in_sync(const std::string& id) const;
  bool check_in_sync(const std::string& id) const;
  /// The catalog's rows of this node: what differs is not in sync any more, what nobody registered here has to go.
  /// `node` null: the catalog does not have it.
  void compare(const state::node_ptr& node, const std::vector<state::service_ptr>& services,
               const std::vector<state::check_ptr>& checks);

private:
  struct sync_state {
    bool in_sync = false, deleted = false, in_flight = false;
    std::uint64_t version = 0;
    local_time not_before{0}; ///< the catalog has refused it

    bool waits(local_time now) const { return !in_sync && !in_flight && not_before <= now; }
  };
  struct held_service : service_entry, sync_state {};
  struct held_check : check_entry, sync_state {
    std::optional<local_time> output_due; ///< when a change of output alone goes to the catalog
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
  void refresh_aliases();
  /// Status and output an alias check takes over.
  std::pair<std::string, std::string> aliased(const check_definition& d) const;
  using checks_by_owner = std::multimap<std::string_view, std::pair<const std::string, held_check>*>;
  sync_step step_for(const std::string& id, held_service& s, const checks_by_owner& waiting);
  sync_step step_for(const std::string& id, held_check& c);
  state::catalog_register registration() const;

  registry_settings settings_;
  seeded_random random_;
  sync_state node_{true}; // the leader registers its members, but knows nothing of their metadata
  std::map<std::string, held_service, folded_less> services_;
  std::map<std::string, held_check, folded_less> checks_;
  std::set<std::string, folded_less> aliases_; ///< IDs of checks that are aliases, and perhaps of some that were
  std::uint64_t versions_ = 0;
};

/// Worst status of checks, or `maintenance` (docs/contract/09).
std::string aggregated(const std::vector<state::check_ptr>& checks);

/// Checks that maintenance mode adds.
inline constexpr std::string_view node_maintenance_id = "_node_maintenance";
inline constexpr std::string_view service_maintenance_prefix = "_service_maintenance:";

} // namespace belay::agent
