#pragma once
// Rows with every kind of field, small enough to see at a glance.

#include "protocol/filter/field.hpp"

#include <memory>
#include <string>

namespace belay::filter {

struct address {
  std::string host;
  std::int64_t port = 0;
};

struct check {
  std::string status;
  std::optional<text_list> tags;
};

struct owner {
  std::string name;
  std::optional<text_map> meta;
};

struct row {
  std::string name;
  std::int64_t port = 0;
  std::uint64_t flags = 0;
  bool enabled = false;
  std::optional<text_list> tags;
  std::optional<text_map> meta;
  std::shared_ptr<const filter::owner> owner = std::make_shared<filter::owner>();
  std::vector<std::shared_ptr<const check>> checks;
  std::optional<std::map<std::string, address>> addresses;
  std::string proxy;
};

inline constexpr field address_fields[] = {member<&address::host>("Host"), member<&address::port>("Port")};
inline constexpr field check_fields[] = {member<&check::status>("Status"), member<&check::tags>("Tags")};
inline constexpr field owner_fields[] = {member<&owner::name>("Name"), member<&owner::meta>("Meta")};
inline constexpr field upstream_fields[] = {json_member("Name", field_kind::text),
                                            json_member("Port", field_kind::integer)};
inline constexpr field mode_fields[] = {json_member("Mode", field_kind::text)};
inline constexpr field proxy_fields[] = {json_member("Name", field_kind::text),
                                         json_member("Native", field_kind::boolean),
                                         json_member("Upstreams", field_kind::objects, upstream_fields),
                                         json_member("Gateway", field_kind::object, mode_fields)};
inline constexpr field row_fields[] = {
    member<&row::name>("Name"),
    member<&row::port>("Port"),
    member<&row::flags>("Flags"),
    member<&row::enabled>("Enabled"),
    member<&row::tags>("Tags"),
    member<&row::meta>("Meta"),
    object<&row::owner>("Owner", owner_fields),
    objects<&row::checks>("Checks", check_fields),
    object_map<&row::addresses>("Addresses", address_fields),
    json<&row::proxy>("Proxy", proxy_fields),
    member<&row::name>("not"), // a field may have the name of a keyword
};

} // namespace belay::filter
