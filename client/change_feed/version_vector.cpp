#include <belay/version_vector.hpp>

#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

version_vector& version_vector::count(const std::string& site) {
  ++seen_[site];
  return *this;
}

std::uint64_t version_vector::of(const std::string& site) const {
  auto found = seen_.find(site);
  return found == seen_.end() ? 0 : found->second;
}

version_order version_vector::compare(const version_vector& other) const {
  bool less = false;
  bool more = false;
  for (const auto& [site, n] : seen_) {
    less = less || n < other.of(site);
    more = more || n > other.of(site);
  }
  for (const auto& [site, n] : other.seen_)
    less = less || n > of(site);
  if (less && more)
    return CLIENT_MUTANT(concurrent_is_later) ? version_order::after : version_order::concurrent;
  if (less)
    return version_order::before;
  return more ? version_order::after : version_order::equal;
}

version_vector version_vector::merged(const version_vector& other) const {
  version_vector out = *this;
  for (const auto& [site, n] : other.seen_) {
    auto& mine = out.seen_[site];
    mine = CLIENT_MUTANT(histories_added) ? mine + n : std::max(mine, n);
    if (CLIENT_MUTANT(own_history_kept) && of(site) > 0)
      mine = of(site);
  }
  return out;
}

std::string version_vector::text() const {
  std::string out;
  for (const auto& [site, n] : seen_)
    out += (out.empty() ? "" : ",") + site + "=" + std::to_string(n);
  return out;
}

std::optional<version_vector> version_vector::parse(std::string_view text) {
  version_vector out;
  while (!text.empty()) {
    auto comma = text.find(',');
    auto part = text.substr(0, comma);
    auto equals = part.find('=');
    if (equals == part.npos || equals == 0 || comma == text.size() - 1)
      return std::nullopt;
    auto n = detail::number_in(part.substr(equals + 1));
    bool known = out.seen_.count(std::string(part.substr(0, equals))) > 0;
    if (!n || *n == 0 || known)
      return std::nullopt;
    out.seen_[std::string(part.substr(0, equals))] = *n;
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return out;
}

} // namespace v0
} // namespace belay
