#pragma once
// Settings of operators: records that are replaced as a whole, each in a table of its own that has one row or none.
// A new one is its struct, its list of fields, its numbers in tags.hpp, its place in all_settings, and a path under which
// clients read and write it (protocol/http/operators/operator_routes.cpp). The command that sets it, the query that reads
// it, its row, its hash, its bytes and its JSON follow from that.

#include "protocol/state/fields.hpp"
#include "protocol/state/tags.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace belay::state {

/// What operators want of the set of servers (docs/contract/12). Until it is set it has these values, and the first entry
/// of the log is the one that made it.
struct autopilot_settings {
  static constexpr table in = table::operators;
  static constexpr command_tag set_by = command_tag::autopilot_set;
  static constexpr std::string_view row_key = "autopilot";

  bool cleanup_dead_servers = true;
  std::int64_t last_contact_threshold_ns = 200'000'000;
  std::uint64_t max_trailing_logs = 250;
  std::uint64_t min_quorum = 0;
  std::int64_t server_stabilization_ns = 10'000'000'000;
  std::string redundancy_zone_tag;
  bool disable_upgrade_migration = false;
  std::string upgrade_version_tag;
  log_index create_index{1}, modify_index{1};
};
template <>
inline constexpr auto fields_of<autopilot_settings> = std::tuple{
    field<&autopilot_settings::cleanup_dead_servers, "CleanupDeadServers">{},
    field<&autopilot_settings::last_contact_threshold_ns, "LastContactThreshold", as::duration>{},
    field<&autopilot_settings::max_trailing_logs, "MaxTrailingLogs">{},
    field<&autopilot_settings::min_quorum, "MinQuorum">{},
    field<&autopilot_settings::server_stabilization_ns, "ServerStabilizationTime", as::duration>{},
    field<&autopilot_settings::redundancy_zone_tag, "RedundancyZoneTag">{},
    field<&autopilot_settings::disable_upgrade_migration, "DisableUpgradeMigration">{},
    field<&autopilot_settings::upgrade_version_tag, "UpgradeVersionTag">{},
    field<&autopilot_settings::create_index, "CreateIndex">{},
    field<&autopilot_settings::modify_index, "ModifyIndex">{},
};

template <class... Settings>
struct settings_list {};
/// All there are.
using all_settings = settings_list<autopilot_settings>;

template <class T>
concept operator_settings = requires {
  T::set_by;
};

template <operator_settings Settings>
using settings_ptr = std::shared_ptr<const Settings>;
using autopilot_ptr = settings_ptr<autopilot_settings>;

/// A command: replaces the whole record. Answers a bool.
template <operator_settings Settings>
struct settings_set {
  static constexpr command_tag tag = Settings::set_by;

  Settings wanted;                ///< its indexes do not matter
  std::optional<log_index> check; ///< only if that is its ModifyIndex
};
template <class Settings>
inline constexpr auto fields_of<settings_set<Settings>> = std::tuple{
    field<&settings_set<Settings>::wanted>{},
    field<&settings_set<Settings>::check>{},
};
using autopilot_set = settings_set<autopilot_settings>;

/// A query for the record. Never waits.
template <operator_settings Settings>
struct settings_get {};
using autopilot_get = settings_get<autopilot_settings>;

namespace detail {
template <class Variant, template <class> class Of, class List>
struct with_settings;
template <class... Others, template <class> class Of, class... Settings>
struct with_settings<std::variant<Others...>, Of, settings_list<Settings...>> {
  using type = std::variant<Others..., Of<Settings>...>;
};
} // namespace detail

/// The variant with `Of<Settings>` of all settings behind what it has.
template <class Variant, template <class> class Of>
using with_settings = typename detail::with_settings<Variant, Of, all_settings>::type;

} // namespace belay::state
