// The fields of Consul's rows that filters can select: names and kinds are those of its structures, which is why
// indexes and definitions of checks cannot be selected there. Rows that Consul does not filter have all their fields.

#include "protocol/http/reading/filtering.hpp"

namespace belay::http {

namespace {

using filter::field;
using filter::field_kind;
using filter::json;
using filter::json_member;
using filter::member;
using filter::object;
using filter::object_map;
using filter::objects;
using state::check_record;
using state::kv_entry;
using state::node_record;
using state::service_instance;
using state::service_record;
using state::session_record;

constexpr field node_fields[] = {
    member<&node_record::id>("ID"),
    member<&node_record::node>("Node"),
    member<&node_record::address>("Address"),
    member<&node_record::datacenter>("Datacenter"),
    member<&node_record::tagged_addresses>("TaggedAddresses"),
    member<&node_record::meta>("Meta"),
};

constexpr field check_fields[] = {
    member<&check_record::node>("Node"),
    member<&check_record::check_id>("CheckID"),
    member<&check_record::name>("Name"),
    member<&check_record::status>("Status"),
    member<&check_record::notes>("Notes"),
    member<&check_record::output>("Output"),
    member<&check_record::service_id>("ServiceID"),
    member<&check_record::service_name>("ServiceName"),
    member<&check_record::service_tags>("ServiceTags"),
    member<&check_record::type>("Type"),
};

constexpr field address_fields[] = {
    member<&state::service_address::address>("Address"),
    member<&state::service_address::port>("Port"),
};

constexpr field weight_fields[] = {
    member<&service_record::weight_passing>("Passing"),
    member<&service_record::weight_warning>("Warning"),
};

constexpr field gateway_fields[] = {json_member("Mode", field_kind::text)};

constexpr field upstream_fields[] = {
    json_member("DestinationType", field_kind::text),
    json_member("DestinationNamespace", field_kind::text),
    json_member("DestinationName", field_kind::text),
    json_member("Datacenter", field_kind::text),
    json_member("LocalBindAddress", field_kind::text),
    json_member("LocalBindPort", field_kind::integer),
    json_member("MeshGateway", field_kind::object, gateway_fields),
};

constexpr field exposed_path_fields[] = {
    json_member("ListenerPort", field_kind::integer),    json_member("Path", field_kind::text),
    json_member("LocalPathPort", field_kind::integer),   json_member("Protocol", field_kind::text),
    json_member("ParsedFromCheck", field_kind::boolean),
};

constexpr field expose_fields[] = {
    json_member("Checks", field_kind::boolean),
    json_member("Paths", field_kind::objects, exposed_path_fields),
};

constexpr field proxy_fields[] = {
    json_member("DestinationServiceName", field_kind::text),
    json_member("DestinationServiceID", field_kind::text),
    json_member("LocalServiceAddress", field_kind::text),
    json_member("LocalServicePort", field_kind::integer),
    json_member("Upstreams", field_kind::objects, upstream_fields),
    json_member("MeshGateway", field_kind::object, gateway_fields),
    json_member("Expose", field_kind::object, expose_fields),
};

constexpr field connect_fields[] = {json_member("Native", field_kind::boolean)};

/// Of a service below its node, and of one of the agent's.
constexpr field service_fields[] = {
    member<&service_record::kind>("Kind"),
    member<&service_record::id>("ID"),
    member<&service_record::service>("Service"),
    member<&service_record::tags>("Tags"),
    member<&service_record::address>("Address"),
    object_map<&service_record::tagged_addresses>("TaggedAddresses", address_fields),
    member<&service_record::meta>("Meta"),
    member<&service_record::port>("Port"),
    object<>("Weights", weight_fields),
    member<&service_record::enable_tag_override>("EnableTagOverride"),
    json<&service_record::proxy_json>("Proxy", proxy_fields),
    json<&service_record::connect_json>("Connect", connect_fields),
};

/// Of /v1/catalog/service, where node and service are one object.
constexpr field service_node_fields[] = {
    member<&service_instance::node, &node_record::id>("ID"),
    member<&service_instance::node, &node_record::node>("Node"),
    member<&service_instance::node, &node_record::address>("Address"),
    member<&service_instance::node, &node_record::datacenter>("Datacenter"),
    member<&service_instance::node, &node_record::tagged_addresses>("TaggedAddresses"),
    member<&service_instance::node, &node_record::meta>("NodeMeta"),
    member<&service_instance::service, &service_record::kind>("ServiceKind"),
    member<&service_instance::service, &service_record::id>("ServiceID"),
    member<&service_instance::service, &service_record::service>("ServiceName"),
    member<&service_instance::service, &service_record::tags>("ServiceTags"),
    member<&service_instance::service, &service_record::address>("ServiceAddress"),
    object_map<&service_instance::service, &service_record::tagged_addresses>("ServiceTaggedAddresses", address_fields),
    object<&service_instance::service>("ServiceWeights", weight_fields),
    member<&service_instance::service, &service_record::meta>("ServiceMeta"),
    member<&service_instance::service, &service_record::port>("ServicePort"),
    member<&service_instance::service, &service_record::enable_tag_override>("ServiceEnableTagOverride"),
    json<&service_instance::service, &service_record::proxy_json>("ServiceProxy", proxy_fields),
    json<&service_instance::service, &service_record::connect_json>("ServiceConnect", connect_fields),
};

/// Of /v1/health/service.
constexpr field instance_fields[] = {
    object<&service_instance::node>("Node", node_fields),
    object<&service_instance::service>("Service", service_fields),
    objects<&service_instance::checks>("Checks", check_fields),
};

// ---- beyond Consul's

filter::field_value behavior_of(const void* row) {
  const auto behavior = static_cast<const session_record*>(row)->behavior;
  return std::string_view(behavior == state::session_behavior::remove ? "delete" : "release");
}

filter::field_value service_checks_of(const void* row) {
  const auto& ids = static_cast<const session_record*>(row)->service_checks;
  if (!ids)
    return filter::row_list{};
  return filter::row_list{&*ids, ids->size(), [](const void* list, std::size_t i) {
                            return filter::row_ref{&(*static_cast<const filter::text_list*>(list))[i]};
                          }};
}

filter::field_value text_itself(const void* row) {
  return std::string_view(*static_cast<const std::string*>(row));
}

constexpr field service_check_fields[] = {{"ID", field_kind::text, text_itself}};

constexpr field session_fields[] = {
    member<&session_record::id>("ID"),
    member<&session_record::name>("Name"),
    member<&session_record::node>("Node"),
    member<&session_record::lock_delay_ns>("LockDelay"),
    {"Behavior", field_kind::text, behavior_of},
    member<&session_record::ttl>("TTL"),
    member<&session_record::node_checks>("NodeChecks"),
    {"ServiceChecks", field_kind::objects, service_checks_of, service_check_fields},
    member<&session_record::checks>("Checks"),
    member<&session_record::create_index>("CreateIndex"),
    member<&session_record::modify_index>("ModifyIndex"),
};

/// `Value` is what was stored, not its base64.
constexpr field key_fields[] = {
    member<&kv_entry::lock_index>("LockIndex"),
    member<&kv_entry::key>("Key"),
    member<&kv_entry::flags>("Flags"),
    member<&kv_entry::value>("Value"),
    member<&kv_entry::session>("Session"),
    member<&kv_entry::create_index>("CreateIndex"),
    member<&kv_entry::modify_index>("ModifyIndex"),
};

struct fields_of_query {
  filter::fields operator()(const state::catalog_nodes&) const { return node_fields; }
  filter::fields operator()(const state::catalog_service&) const { return service_node_fields; }
  filter::fields operator()(const state::catalog_node&) const { return service_fields; }
  filter::fields operator()(const state::health_node&) const { return check_fields; }
  filter::fields operator()(const state::health_checks&) const { return check_fields; }
  filter::fields operator()(const state::health_state&) const { return check_fields; }
  filter::fields operator()(const state::health_service&) const { return instance_fields; }
  filter::fields operator()(const state::session_list&) const { return session_fields; }
  filter::fields operator()(const state::kv_list&) const { return key_fields; }
  template <class Other>
  filter::fields operator()(const Other&) const {
    return {};
  }
};

} // namespace

filter::fields filter_fields(const state::query& q) {
  return std::visit(fields_of_query{}, q);
}

filter::fields filter_fields(const agent::request& r) {
  if (std::holds_alternative<agent::list_services>(r))
    return service_fields;
  if (std::holds_alternative<agent::list_checks>(r))
    return check_fields;
  return {};
}

} // namespace belay::http
