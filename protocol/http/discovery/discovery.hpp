#pragma once
// What reads of catalog and health have in common (docs/contract/07, docs/contract/08).

#include "protocol/http/reading/query_options.hpp"

namespace belay::http {

struct discovery_read {
  query_options options;
  state::string_map node_meta;
  std::string near; ///< name of a node; empty: none

  /// The query, sorted by distance if requested.
  template <class Question>
  state::query sorted(Question q) const {
    state::query out{std::move(q)};
    out.near = near;
    return out;
  }
};

struct discovery_rules {
  std::string_view argument_missing = {}; ///< error if the path ends at the route's slash; empty: no argument
  bool namespaces_refused = true;
};

/// In the reference's order: namespace, options, argument, datacenter.
refused read_discovery(const request_context& c, const discovery_rules& rules, discovery_read& out);

} // namespace belay::http
