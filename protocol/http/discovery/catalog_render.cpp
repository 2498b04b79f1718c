#include "protocol/http/record_json.hpp"
#include "protocol/http/render_parts.hpp"
#include "protocol/http/service_node_names.hpp"

namespace belay::http {

namespace {

using state::check_record;
using state::node_record;
using state::service_record;

template <class T>
constexpr bool is_index = std::is_same_v<T, log_index>;

constexpr auto check_order = order_of<check_record>(std::to_array<moved>({{"Type", "ServiceTags"}}));

// ---- services

constexpr auto service_order = order_of<service_record>(std::to_array<moved>({{"Address", "Tags"}}));

/// Mesh settings that were not given still have members.
struct service_view : record_view {
  template <class Field, class T>
  void append(std::string& out, Field f, const T& v) const {
    if (Field::name == "Proxy" && is_empty_text(v))
      out += "{\"MeshGateway\":{},\"Expose\":{}}";
    else
      record_view::append(out, f, v);
  }

private:
  template <class T>
  static bool is_empty_text(const T& v) {
    if constexpr (std::is_same_v<T, std::string>)
      return v.empty();
    else
      return false;
  }
};

constexpr auto agent_service_order =
    order_of<service_record>(std::to_array<moved>({{"Address", "Port"}, {"TaggedAddresses", "Address"}}));

/// Without indexes, and without mesh settings that were not given.
struct agent_service_view : record_view {
  std::string_view hash;

  template <class Field, class T>
  static bool shows(Field f, const T& v) {
    if constexpr (is_index<T>)
      return false;
    else if constexpr (Field::is(state::as::json))
      return !v.empty();
    else
      return record_view::shows(f, v);
  }
  template <class Field, class T>
  void append(std::string& out, Field f, const T& v) const {
    record_view::append(out, f, v);
    if (Field::name == "EnableTagOverride" && !hash.empty()) {
      out += ",\"ContentHash\":";
      go_compat::append_json_string(out, hash);
    }
  }
};

// ---- a node and one of its services as one object

struct node_of_service_view : record_view {
  template <class Field>
  static constexpr std::string_view name() {
    return node_names::name<Field>();
  }
  template <class Field, class T>
  static bool shows(Field f, const T& v) {
    return !is_index<T>; // the object has the service's
  }
};

constexpr auto service_of_node_order =
    order_of<service_record>(std::to_array<moved>({{"Address", "Tags"}, {"Weights", "TaggedAddresses"}}));

struct service_of_node_view : service_view {
  template <class Field>
  static constexpr std::string_view name() {
    return is_index<typename Field::type> ? Field::name : service_names::name<Field>();
  }
  template <class Field, class T>
  static bool shows(Field f, const T& v) {
    return Field::name == "Kind" || record_view::shows(f, v);
  }
};

// ---- a check in the health of an agent's service

constexpr std::string_view definition_of_nothing =
    R"({"Interval":"0s","Timeout":"0s","DeregisterCriticalServiceAfter":"0s","HTTP":"","Header":null,"Method":"",)"
    R"("Body":"","TLSSkipVerify":false,"TCP":""})";

struct agent_health_check_view : record_view {
  template <class Field, class T>
  void append(std::string& out, Field f, const T& v) const {
    if constexpr (Field::name == "Type")
      out += "\"\"";
    else if constexpr (Field::name == "Definition")
      out += definition_of_nothing;
    else
      record_view::append(out, f, v);
  }
};

} // namespace

void append_agent_health_check(std::string& out, const check_record& c) {
  append_object<check_record, check_order>(out, c, agent_health_check_view{});
}

void append_node(std::string& out, const node_record& n) {
  append_object(out, n);
}

void append_service(std::string& out, const service_record& s, absent_tags tags) {
  append_object<service_record, service_order>(out, s, service_view{{.empty_lists = tags == absent_tags::empty}});
}

void append_agent_service(std::string& out, const service_record& s, std::string_view hash) {
  append_object<service_record, agent_service_order>(
      out, s, agent_service_view{{.empty_lists = true, .empty_maps = true}, hash});
}

void append_service_node(std::string& out, const node_record& n, const service_record& s) {
  const auto begin = out.size();
  append_members<node_record, list_order<node_record>>(out, n, node_of_service_view{});
  append_members<service_record, service_of_node_order>(
      out, s, service_of_node_view{{{.empty_lists = true, .empty_maps = true}}});
  close_object(out, begin);
}

void append_check(std::string& out, const check_record& c, absent_tags tags) {
  append_object<check_record, check_order>(out, c, record_view{.empty_lists = tags == absent_tags::empty});
}

} // namespace belay::http
