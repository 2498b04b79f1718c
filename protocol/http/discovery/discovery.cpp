#include "protocol/http/discovery/discovery.hpp"

#include <algorithm>

namespace belay::http {

namespace {

/// `?node-meta=key:value`, all must match; without a colon the value is empty.
state::string_map read_node_meta(const go_compat::query_string& query) {
  state::string_map wanted;
  for (const auto& pair : query.all("node-meta")) {
    const auto colon = std::min(pair.find(':'), pair.size());
    wanted[pair.substr(0, colon)] = pair.substr(std::min(colon + 1, pair.size()));
  }
  return wanted;
}

} // namespace

refused read_discovery(const request_context& c, const discovery_rules& rules, discovery_read& out) {
  if (rules.namespaces_refused)
    if (auto r = refuse_namespace(c))
      return r;
  if (auto r = read_query_options(c, out.options))
    return r;
  if (!rules.argument_missing.empty() && c.argument.empty())
    return error_response(400, std::string(rules.argument_missing));
  if (auto r = refuse_datacenter(c))
    return with_unknown_meta(std::move(*r));
  out.node_meta = read_node_meta(c.query);
  out.near = c.query.get("near");
  if (out.near == "_agent")
    out.near = node_of_agent(c);
  return std::nullopt;
}

} // namespace belay::http
