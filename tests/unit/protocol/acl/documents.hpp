#pragma once
// Short notation for policies, and for documents as the HCL parser makes them.

#include "protocol/acl/authorizer.hpp"
#include "protocol/acl/rules.hpp"
#include "protocol/hcl/document.hpp"

#include <string>
#include <utility>
#include <vector>

namespace belay::acl {

inline hcl::position at(std::uint32_t line, std::uint32_t column) {
  return {line, column};
}

inline hcl::value text(std::string s, hcl::position where = {1, 1}) {
  return {where, std::move(s)};
}

inline hcl::value block(std::vector<hcl::item> items, hcl::position where = {1, 1}) {
  return {where, hcl::object{std::move(items)}};
}

inline hcl::value list_of(std::vector<hcl::value> elements, hcl::position where = {1, 1}) {
  return {where, std::move(elements)};
}

inline hcl::item item(std::vector<std::string> keys, hcl::value v, hcl::position where = {1, 1}) {
  return {where, std::move(keys), std::move(v)};
}

/// { policy = "..." }
inline hcl::value policy(std::string word) {
  return block({item({"policy"}, text(std::move(word)))});
}

/// Combines several policies of one token, each in a line of rules.
inline authorizer pooled(const std::vector<rules>& policies, default_policy otherwise = default_policy::deny) {
  std::vector<const rules*> all;
  for (const auto& p : policies)
    all.push_back(&p);
  return authorizer(all, otherwise);
}

inline rules saying(std::vector<rule> named) {
  return {std::move(named), {}, {}, {}};
}
inline rule key(std::string name, permission a) {
  return {resource::key, match::exact, std::move(name), a};
}
inline rule key_prefix(std::string name, permission a) {
  return {resource::key, match::prefix, std::move(name), a};
}

} // namespace belay::acl
