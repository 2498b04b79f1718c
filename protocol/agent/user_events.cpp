#include "protocol/agent/user_events.hpp"

#include "protocol/base/hex.hpp"
#include "protocol/go_compat/error_list.hpp"
#include "protocol/go_compat/regular_expression.hpp"

#include <algorithm>

namespace belay::agent {

namespace {

std::optional<std::string> pattern_complaint(const std::string& pattern) {
  if (pattern.empty())
    return std::nullopt;
  const auto compiled = go_compat::regular_expression::compile(pattern);
  return compiled ? std::nullopt : std::optional("error parsing regexp: " + compiled.error());
}

/// A filter of an event, compiled once for all comparisons.
class event_filter {
public:
  explicit event_filter(const std::string& pattern) : everything_(pattern.empty()) {
    if (everything_)
      return;
    if (auto compiled = go_compat::regular_expression::compile(pattern))
      compiled_ = std::move(*compiled);
  }

  bool matches_everything() const { return everything_; }
  /// A peer's expression that does not compile matches nothing.
  bool matches(std::string_view text) const { return everything_ || (compiled_ && compiled_->matches(text)); }

private:
  bool everything_;
  std::optional<go_compat::regular_expression> compiled_;
};

} // namespace

std::optional<std::string> complaint_of(const user_event& e) {
  if (!e.tag_filter.empty() && e.service_filter.empty())
    return "Cannot provide tag filter without service filter";
  if (auto why = pattern_complaint(e.node_filter))
    return "Invalid node filter: " + *why;
  if (auto why = pattern_complaint(e.service_filter))
    return "Invalid service filter: " + *why;
  if (auto why = pattern_complaint(e.tag_filter))
    return "Invalid tag filter: " + *why;
  if (e.name.size() + e.payload.size() > event_bytes_max)
    return go_compat::error_list({"error broadcasting event to segment \"\": user event exceeds configured limit of " +
                                  std::to_string(event_bytes_max) + " bytes before encoding"});
  return std::nullopt;
}

bool concerns(const user_event& e, std::string_view node, const std::vector<state::service_ptr>& services) {
  if (!event_filter(e.node_filter).matches(node))
    return false;
  const event_filter service(e.service_filter);
  if (service.matches_everything())
    return true;
  const event_filter tag(e.tag_filter);
  return std::any_of(services.begin(), services.end(), [&](const state::service_ptr& s) {
    if (!service.matches(s->service))
      return false;
    return tag.matches_everything() || (s->tags && std::any_of(s->tags->begin(), s->tags->end(),
                                                               [&](const std::string& t) { return tag.matches(t); }));
  });
}

bool user_events::received(const user_event& e) {
  clock_ = std::max(clock_, e.time);
  if (std::find(received_.begin(), received_.end(), e.id) != received_.end())
    return false;
  received_.push_back(e.id);
  if (received_.size() > kept_max)
    received_.pop_front();
  return true;
}

void user_events::keep(user_event e) {
  kept_.push_back(std::move(e));
  if (kept_.size() > kept_max)
    kept_.pop_front();
}

user_events::listing user_events::find(std::string_view name) const {
  listing l;
  for (const auto& e : kept_)
    if (name.empty() || e.name == name)
      l.list.push_back(e);
  if (!l.list.empty())
    l.index = index_of(l.list.back().id);
  return l;
}

std::uint64_t index_of(std::string_view uuid) {
  std::uint64_t half[2] = {0, 0};
  int digits = 0;
  for (const char c : uuid) {
    if (c == '-')
      continue;
    const int v = hex_value(c);
    if (v < 0 || digits == 32)
      return 1;
    auto& h = half[digits++ / 16];
    h = h << 4 | static_cast<std::uint64_t>(v);
  }
  return digits == 32 ? half[0] ^ half[1] : 1;
}

} // namespace belay::agent
