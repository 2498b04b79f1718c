#pragma once
// The records of keys, sessions and the catalog: rows of the tables, immutable once
// stored and shared by pointer. The list of fields follows each record (fields.hpp).

#include "protocol/base/bytes.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/state/acl/requester.hpp"
#include "protocol/state/fields.hpp"
#include "protocol/state/keys/kv_entry.hpp"
#include "protocol/state/kv_op.hpp"
#include "protocol/state/tags.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belay::state {

/// A pointer by which rows share a record.
template <class Pointer>
concept record_pointer =
    std::is_same_v<Pointer, kv_entry_ptr> || std::is_same_v<Pointer, std::shared_ptr<typename Pointer::element_type>>;

using string_map = std::map<std::string, std::string>;

// ---- sessions

/// What happens to the session's keys when it ends.
enum class session_behavior : std::uint8_t { release = 0, remove = 1 };
template <>
inline constexpr auto names_of<session_behavior> = std::to_array<std::string_view>({"release", "delete"});
static_assert(count_of<session_behavior> == static_cast<std::size_t>(session_behavior::remove) + 1);

/// What a TTL guarantees.
enum class session_ttl_mode : std::uint8_t {
  lower_bound = 0, ///< as in Consul: the session ends between one and two TTLs after its last renewal
  exact = 1,       ///< `TTLMode: exact`: the session ends at its TTL (docs/reference/claims.md, rule 20)
};
template <>
inline constexpr auto names_of<session_ttl_mode> = std::to_array<std::string_view>({"", "exact"});
static_assert(count_of<session_ttl_mode> == static_cast<std::size_t>(session_ttl_mode::exact) + 1);

struct session_record {
  static constexpr table in = table::sessions;

  std::string id; ///< lower-case UUID
  std::string name;
  std::string node;
  std::int64_t lock_delay_ns = 0; ///< as requested; clamped to 60 s when it starts
  session_behavior behavior = session_behavior::release;
  std::string ttl;                                ///< as the client wrote it
  std::int64_t ttl_ns = 0;                        ///< 0: none
  std::optional<std::vector<std::string>> checks; ///< deprecated member, shown only if it was given
  std::optional<std::vector<std::string>> node_checks;
  std::optional<std::vector<std::string>> service_checks;
  log_index create_index;
  log_index modify_index;
  session_ttl_mode ttl_mode = session_ttl_mode::lower_bound;
  std::vector<kv_op> on_end; ///< operations run when it ends (docs/reference/claims.md, rule 19)
  requester by;              ///< who requested on_end; each operation is authorized again when the session ends
};
using session_ptr = std::shared_ptr<const session_record>;

template <>
inline constexpr auto fields_of<session_record> = std::tuple{
    field<&session_record::id, "ID">{},
    field<&session_record::name, "Name">{},
    field<&session_record::node, "Node">{},
    field<&session_record::lock_delay_ns, "LockDelay">{},
    field<&session_record::behavior, "Behavior">{},
    field<&session_record::ttl, "TTL">{},
    field<&session_record::ttl_ns>{},
    field<&session_record::checks, "Checks", as::omit_empty>{},
    field<&session_record::node_checks, "NodeChecks">{},
    field<&session_record::service_checks, "ServiceChecks", as::id_objects>{},
    field<&session_record::create_index, "CreateIndex">{},
    field<&session_record::modify_index, "ModifyIndex">{},
    field<&session_record::ttl_mode, "", as::later>{}, // shown only if they differ from Consul's defaults
    field<&session_record::on_end, "", as::later>{},
    field<&session_record::by, "", as::latest>{},
};

// ---- catalog

struct node_record {
  static constexpr table in = table::nodes;

  std::string id, node, address, datacenter;
  std::optional<string_map> tagged_addresses, meta;
  log_index create_index, modify_index;
};
using node_ptr = std::shared_ptr<const node_record>;

template <>
inline constexpr auto fields_of<node_record> = std::tuple{
    field<&node_record::id, "ID">{},
    field<&node_record::node, "Node">{},
    field<&node_record::address, "Address">{},
    field<&node_record::datacenter, "Datacenter">{},
    field<&node_record::tagged_addresses, "TaggedAddresses">{},
    field<&node_record::meta, "Meta">{},
    field<&node_record::create_index, "CreateIndex">{},
    field<&node_record::modify_index, "ModifyIndex">{},
};

struct service_address {
  std::string address;
  std::int64_t port = 0;
  bool operator==(const service_address&) const = default;
};
template <>
inline constexpr auto fields_of<service_address> = std::tuple{
    field<&service_address::address, "Address">{},
    field<&service_address::port, "Port">{},
};
using service_addresses = std::map<std::string, service_address>;

struct service_weights {
  std::int64_t passing = 1, warning = 1;
  bool operator==(const service_weights&) const = default;
};
template <>
inline constexpr auto fields_of<service_weights> = std::tuple{
    field<&service_weights::passing, "Passing">{},
    field<&service_weights::warning, "Warning">{},
};

struct service_record {
  static constexpr table in = table::services;

  std::string node; ///< owning node's name
  std::string kind, id, service, address;
  std::optional<std::vector<std::string>> tags;
  std::optional<service_addresses> tagged_addresses;
  std::optional<string_map> meta;
  std::int64_t port = 0;
  service_weights weights;
  bool enable_tag_override = false;
  std::string proxy_json, connect_json; ///< stored and returned as given; empty: none
  log_index create_index, modify_index;
};
using service_ptr = std::shared_ptr<const service_record>;

template <>
inline constexpr auto fields_of<service_record> = std::tuple{
    field<&service_record::node>{},
    field<&service_record::kind, "Kind", as::omit_empty>{},
    field<&service_record::id, "ID">{},
    field<&service_record::service, "Service">{},
    field<&service_record::address, "Address">{},
    field<&service_record::tags, "Tags">{},
    field<&service_record::tagged_addresses, "TaggedAddresses", as::omit_empty>{},
    field<&service_record::meta, "Meta">{},
    field<&service_record::port, "Port">{},
    field<&service_record::weights, "Weights">{},
    field<&service_record::enable_tag_override, "EnableTagOverride">{},
    field<&service_record::proxy_json, "Proxy", as::json>{},
    field<&service_record::connect_json, "Connect", as::json>{},
    field<&service_record::create_index, "CreateIndex">{},
    field<&service_record::modify_index, "ModifyIndex">{},
};

struct check_record {
  static constexpr table in = table::checks;

  std::string node, check_id, name, status, notes, output, service_id, service_name, type;
  std::optional<std::vector<std::string>> service_tags;
  std::string definition_json = "{}"; ///< normalized at registration
  log_index create_index, modify_index;
};
using check_ptr = std::shared_ptr<const check_record>;

template <>
inline constexpr auto fields_of<check_record> = std::tuple{
    field<&check_record::node, "Node">{},
    field<&check_record::check_id, "CheckID">{},
    field<&check_record::name, "Name">{},
    field<&check_record::status, "Status">{},
    field<&check_record::notes, "Notes">{},
    field<&check_record::output, "Output">{},
    field<&check_record::service_id, "ServiceID">{},
    field<&check_record::service_name, "ServiceName">{},
    field<&check_record::type, "Type">{},
    field<&check_record::service_tags, "ServiceTags">{},
    field<&check_record::definition_json, "Definition", as::json>{},
    field<&check_record::create_index, "CreateIndex">{},
    field<&check_record::modify_index, "ModifyIndex">{},
};

} // namespace belay::state
