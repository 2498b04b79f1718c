// The fields of rows that filters can select, from records' lists
// (protocol/state/fields.hpp). Names and kinds are those of Consul's structures: no indexes
// and no definitions of checks in its rows. Rows that Consul does not filter have all fields.

#include "protocol/http/reading/filtering.hpp"
#include "protocol/http/service_node_names.hpp"

#include <array>

namespace belay::http {

namespace {

using filter::field;
using filter::field_kind;
using filter::json_member;
using state::check_record;
using state::kv_entry;
using state::node_record;
using state::service_instance;
using state::service_record;
using state::session_record;

// ---- members stored as JSON

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

// ---- fields from a record's list

struct own_names {
  template <class Field>
  static constexpr std::string_view name() {
    return Field::name;
  }
};

/// Consul's rows: no indexes, and of JSON only what has fields here.
struct as_in_consul {
  template <class Field>
  static constexpr bool selects() {
    return !Field::name.empty() && !std::is_same_v<typename Field::type, log_index> && Field::name != "Definition";
  }
};
struct all_fields {
  template <class Field>
  static constexpr bool selects() {
    return !Field::name.empty();
  }
};

template <class T>
inline constexpr bool is_part_map = false;
template <state::listed Record>
inline constexpr bool is_part_map<std::optional<std::map<std::string, Record>>> = true;

template <class Record>
constexpr filter::fields parts();

filter::field_value text_itself(const void* row) {
  return std::string_view(*static_cast<const std::string*>(row));
}
constexpr field id_fields[] = {{"ID", field_kind::text, text_itself}};

filter::row_ref text_at(const void* list, std::size_t i) {
  return {&(*static_cast<const filter::text_list*>(list))[i]};
}

template <class Field>
const auto& member_of_row(const void* row) {
  return static_cast<const typename Field::record*>(row)->*Field::member;
}

/// `Path` leads to the record.
template <class Field, class Names, auto... Path>
constexpr field field_for() {
  constexpr auto name = Names::template name<Field>();
  using type = typename Field::type;
  constexpr bool computed = Field::is(state::as::id_objects) || state::named_enum<type>;
  static_assert(!computed || sizeof...(Path) == 0, "read from the row itself");
  if constexpr (Field::is(state::as::json))
    return filter::json<Path..., Field::member>(name, Field::name == "Proxy" ? filter::fields(proxy_fields)
                                                                             : filter::fields(connect_fields));
  else if constexpr (Field::is(state::as::id_objects))
    return {name, field_kind::objects,
            [](const void* row) -> filter::field_value {
              const auto& ids = member_of_row<Field>(row);
              return ids ? filter::row_list{&*ids, ids->size(), text_at} : filter::row_list{};
            },
            id_fields};
  else if constexpr (is_part_map<type>)
    return filter::object_map<Path..., Field::member>(name, parts<typename type::value_type::mapped_type>());
  else if constexpr (state::listed<type>)
    return filter::object<Path..., Field::member>(name, parts<type>());
  else if constexpr (state::named_enum<type>)
    return {name, field_kind::text,
            [](const void* row) -> filter::field_value { return name_of(member_of_row<Field>(row)); }};
  else
    return filter::member<Path..., Field::member>(name);
}

template <class Record, class Choice>
constexpr std::size_t selected_count() {
  std::size_t n = 0;
  state::for_each_field<Record>([&]<class Field>(Field) { n += Choice::template selects<Field>() ? 1 : 0; });
  return n;
}

template <class Record, class Choice, class Names = own_names, auto... Path>
constexpr auto fields_for() {
  std::array<field, selected_count<Record, Choice>()> out;
  state::for_each_field<Record>([&, i = std::size_t{0}]<class Field>(Field) mutable {
    if constexpr (Choice::template selects<Field>())
      out[i++] = field_for<Field, Names, Path...>();
  });
  return out;
}

template <class Record>
constexpr auto part_fields = fields_for<Record, all_fields>();
template <class Record>
constexpr filter::fields parts() {
  return part_fields<Record>;
}

template <std::size_t N, std::size_t M>
constexpr std::array<field, N + M> joined(const std::array<field, N>& a, const std::array<field, M>& b) {
  std::array<field, N + M> all;
  for (std::size_t i = 0; i < N + M; ++i)
    all[i] = i < N ? a[i] : b[i - N];
  return all;
}

// ---- rows

constexpr auto node_fields = fields_for<node_record, as_in_consul>();
constexpr auto check_fields = fields_for<check_record, as_in_consul>();
/// Fields of a service below its node, and of one of the agent's.
constexpr auto service_fields = fields_for<service_record, as_in_consul>();

/// Fields for /v1/catalog/service, where node and service are one object.
constexpr auto service_node_fields =
    joined(fields_for<node_record, as_in_consul, node_names, &service_instance::node>(),
           fields_for<service_record, as_in_consul, service_names, &service_instance::service>());

/// Fields for /v1/health/service.
constexpr field instance_fields[] = {
    filter::object<&service_instance::node>("Node", node_fields),
    filter::object<&service_instance::service>("Service", service_fields),
    filter::objects<&service_instance::checks>("Checks", check_fields),
};

// Not in Consul. A key's `Value` is what was stored, not its base64.
constexpr auto session_fields = fields_for<session_record, all_fields>();
constexpr auto key_fields = fields_for<kv_entry, all_fields>();

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
