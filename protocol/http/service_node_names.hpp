#pragma once
// /v1/catalog/service shows a node and one of its services as one object.
// These are the names of the members there, for responses and for filters.

#include "protocol/state/records.hpp"

#include <array>

namespace belay::http {

/// Names of the node's members.
struct node_names {
  template <class Field>
  static constexpr std::string_view name() {
    return Field::name == "Meta" ? "NodeMeta" : Field::name;
  }
};

/// Names of the service's members: "ServiceTags"; and "ServiceName" for "Service".
struct service_names {
  template <class Field>
  static constexpr std::string_view name() {
    return Field::name == "Service" ? std::string_view("ServiceName")
                                    : std::string_view(prefixed<Field>.data(), prefixed<Field>.size());
  }

private:
  static constexpr std::string_view prefix = "Service";
  template <class Field>
  static constexpr auto prefixed = [] {
    std::array<char, prefix.size() + Field::name.size()> text{};
    for (std::size_t i = 0; i < text.size(); ++i)
      text[i] = i < prefix.size() ? prefix[i] : Field::name[i - prefix.size()];
    return text;
  }();
};

} // namespace belay::http
