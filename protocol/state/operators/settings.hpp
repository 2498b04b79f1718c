#pragma once
// Settings of operators: records that are replaced as a whole, each in a table of at most
// one row. A new one needs its struct, its list of fields, its numbers in tags.hpp, an entry
// in all_settings, and a path for clients (protocol/http/operators/operator_routes.cpp).
// From these derive the command that sets it, its query, row, hash, bytes and JSON.

#include "protocol/state/fields.hpp"
#include "protocol/state/tags.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace belay::state {

/// Autopilot's configuration (docs/contract/12). These are the
/// initial values, as if the first log entry had set them.
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
/// All settings.
using all_settings = settings_list<autopilot_settings>;

template <class T>
concept operator_settings = requires {
  T::set_by;
};

template <operator_settings Settings>
using settings_ptr = std::shared_ptr<const Settings>;
using autopilot_ptr = settings_ptr<autopilot_settings>;

/// A command: replaces the whole record. Replies with a bool.
template <operator_settings Settings>
struct settings_set {
  static constexpr command_tag tag = Settings::set_by;

  Settings wanted;                ///< its indexes are ignored
  std::optional<log_index> check; ///< replace only if this is its ModifyIndex
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

/// The variant with `Of<Settings>` of all settings appended.
template <class Variant, template <class> class Of>
using with_settings = typename detail::with_settings<Variant, Of, all_settings>::type;

} // namespace belay::state
