#include "protocol/agent/user_events.hpp"

#include "protocol/base/hex.hpp"

#include <boost/regex.hpp>

#include <algorithm>
#include <exception>

namespace belay::agent {

namespace {

// Boost's matcher keeps its stack on the heap and gives up on expressions that would take for ever, by an exception.

std::string go_complaint(const std::string& pattern, const boost::regex_error& e) {
  const auto from = [&](char c) { return pattern.substr(std::min(pattern.find(c), pattern.size())); };
  std::string what;
  switch (e.code()) {
  case boost::regex_constants::error_brack:
    what = "missing closing ]: `" + from('[') + "`";
    break;
  case boost::regex_constants::error_paren:
    what = pattern.find('(') == std::string::npos ? "unexpected ): `" + pattern + "`"
                                                  : "missing closing ): `" + pattern + "`";
    break;
  case boost::regex_constants::error_badrepeat:
    what = "missing argument to repetition operator: `" +
           pattern.substr(std::min(pattern.find_first_of("*+?"), pattern.size()), 1) + "`";
    break;
  case boost::regex_constants::error_escape:
    what = "invalid escape sequence: `" + from('\\').substr(0, 2) + "`";
    break;
  default:
    what = "invalid or unsupported syntax: `" + pattern + "`";
  }
  return "error parsing regexp: " + what;
}

std::optional<std::string> pattern_complaint(const std::string& pattern) {
  if (pattern.empty())
    return std::nullopt;
  try {
    const boost::regex compiled(pattern);
    return std::nullopt;
  } catch (const boost::regex_error& e) {
    return go_complaint(pattern, e);
  } catch (const std::exception&) { // too large
    return "error parsing regexp: expression too large: `" + pattern + "`";
  }
}

/// An expression from a peer that cannot be evaluated matches nothing.
bool matches(const std::string& pattern, std::string_view text) {
  try {
    return boost::regex_search(text.begin(), text.end(), boost::regex(pattern));
  } catch (const std::exception&) {
    return false;
  }
}

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
    return "1 error occurred:\n\t* error broadcasting event to segment \"\": user event exceeds configured limit of " +
           std::to_string(event_bytes_max) + " bytes before encoding\n\n";
  return std::nullopt;
}

bool concerns(const user_event& e, std::string_view node, const std::vector<state::service_ptr>& services) {
  if (!e.node_filter.empty() && !matches(e.node_filter, node))
    return false;
  if (e.service_filter.empty())
    return true;
  return std::any_of(services.begin(), services.end(), [&](const state::service_ptr& s) {
    if (!matches(e.service_filter, s->service))
      return false;
    if (e.tag_filter.empty())
      return true;
    return s->tags && std::any_of(s->tags->begin(), s->tags->end(),
                                  [&](const std::string& tag) { return matches(e.tag_filter, tag); });
  });
}

bool user_events::heard(const user_event& e) {
  clock_ = std::max(clock_, e.time);
  if (std::find(heard_.begin(), heard_.end(), e.id) != heard_.end())
    return false;
  heard_.push_back(e.id);
  if (heard_.size() > kept_max)
    heard_.pop_front();
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
