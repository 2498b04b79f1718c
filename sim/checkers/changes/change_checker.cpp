#include "sim/checkers/changes/change_checker.hpp"

#include "protocol/base/probe.hpp"
#include "protocol/go_compat/base64.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace belay::sim {

namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(n) : std::nullopt;
}

std::uint64_t number_in(const boost::json::object& o, const char* name) {
  const auto* member = o.if_contains(name);
  return member == nullptr ? 0 : member->to_number<std::uint64_t>();
}
std::string text_in(const boost::json::object& o, const char* name) {
  const auto* member = o.if_contains(name);
  return member == nullptr || !member->is_string() ? std::string() : std::string(member->as_string());
}

} // namespace

broken change_checker::received(const stream_event& e) {
  boost::json::error_code wrong;
  const auto parsed = boost::json::parse(e.data, wrong);
  if (wrong || !parsed.is_object())
    return "event " + e.kind + " has the data " + e.data;
  const auto& data = parsed.as_object();
  const log_index index{number_in(data, "Index")};
  if (e.kind == "cut" || e.kind == "refused" || e.kind == "leaderless")
    return std::nullopt;
  const auto reason = text_in(data, "Reason");
  if (strange_ && (e.kind != "reset" || reason != "history"))
    return "a cursor of another history is answered with " + e.kind + ' ' + e.data;
  if (std::exchange(strange_, false))
    PROBE("changes: a cursor of another history was rejected");
  if (!e.id.empty())
    last_id_ = e.id;
  const auto at = std::min(e.id.find('@'), e.id.size());
  const auto position = std::string_view(e.id).substr(0, at);
  if (!e.id.empty() && e.id != "0")
    if (auto wrong = named_(index, std::string_view(e.id).substr(std::min(at + 1, e.id.size()))))
      return wrong;
  if (e.kind == "snapshot" || e.kind == "reset")
    return begin_snapshot(e, index, reason);
  if (e.kind == "progress")
    return take_progress(position, index);
  if (e.kind != "set" && e.kind != "delete" && e.kind != "expired")
    return "event of an unknown kind: " + e.kind;
  const auto key = text_in(data, "Key");
  if (!key.starts_with(prefix_))
    return "change of " + key + ", which is not below " + prefix_;
  const auto value = go_compat::decode_base64(text_in(data, "Value"));
  if (!value)
    return "change of " + key + " with the value " + text_in(data, "Value");
  row current{*value, text_in(data, "Session"), number_in(data, "Flags"), index};
  if (in_snapshot_)
    return take_row(e, key, std::move(current));
  return take_change(position, key, std::move(current), log_index{number_in(data, "PreviousIndex")}, e.kind == "set");
}

broken change_checker::begin_snapshot(const stream_event& e, log_index index, const std::string& reason) {
  if (e.id != "0")
    return "a " + e.kind + " begins with the id " + e.id;
  if (e.kind == "reset")
    PROBE("changes: a stream began anew");
  if (e.kind == "reset" && reason != "not-retained" && reason != "history")
    return "a stream starts over because of " + reason;
  in_snapshot_ = has_state_ = true;
  snapshot_ = index;
  known_.clear();
  return std::nullopt;
}

broken change_checker::take_row(const stream_event& e, const std::string& key, row now) {
  if (e.kind != "set" || !e.id.empty())
    return "a snapshot has " + e.kind + " with the id " + e.id;
  if (now.index > snapshot_)
    return "a snapshot as of " + to_string(snapshot_) + " has " + key + " as of " + to_string(now.index);
  known_[key] = std::move(now);
  return std::nullopt;
}

broken change_checker::take_change(std::string_view position, const std::string& key, row now, log_index previous,
                                   bool sets) {
  const std::string id(position);
  const auto dot = position.find('.');
  const auto index = number_of(position.substr(0, dot));
  const auto effect = dot == std::string::npos ? std::nullopt : number_of(position.substr(dot + 1));
  if (!index || !effect || log_index{*index} != now.index)
    return "change of " + key + " with index " + to_string(now.index) + " has the id " + id;
  const stream_position to{*index, *effect};
  if (to <= at_)
    return "change " + id + " came when " + std::to_string(at_.index) + '.' + std::to_string(at_.effect) +
           " had been sent";
  at_ = to;
  const auto had = known_.find(key);
  if (has_state_ && previous != (had == known_.end() ? log_index{} : had->second.index))
    return "change " + id + " of " + key + " follows the one of " + to_string(previous) +
           ", but the client had received " +
           (had == known_.end() ? "no such key" : "that of " + to_string(had->second.index));
  if (sets)
    known_[key] = std::move(now);
  else if (had != known_.end())
    known_.erase(had);
  return std::nullopt;
}

broken change_checker::take_progress(std::string_view position, log_index index) {
  const std::string id(position);
  if (number_of(position) != index.value)
    return "progress up to " + to_string(index) + " has the id " + id;
  if (in_snapshot_ && index != snapshot_)
    return "a snapshot as of " + to_string(snapshot_) + " ends with progress up to " + to_string(index);
  const stream_position to{index.value, UINT64_MAX};
  if (!in_snapshot_ && to < at_)
    return "progress went back from " + std::to_string(at_.index) + " to " + id;
  in_snapshot_ = false;
  at_ = to;
  if (index > keys_.applied())
    return "progress up to " + id + ", and only " + to_string(keys_.applied()) + " is committed";
  return has_state_ ? compare_with(index) : std::nullopt;
}

broken change_checker::compare_with(log_index at) const {
  if (keys_.doubtful_under(prefix_, at))
    return std::nullopt;
  PROBE("changes: what a stream has told was compared with the state");
  std::map<std::string, row> now;
  for (const auto& e : keys_.entries_at(prefix_, at))
    now[std::string(e->key)] = {std::string(*e->value), std::string(e->session), e->flags, e->modify_index};
  if (now == known_)
    return std::nullopt;
  const auto differs = std::find_if(now.begin(), now.end(), [&](const auto& each) {
    const auto there = known_.find(each.first);
    return there == known_.end() || there->second != each.second;
  });
  if (differs != now.end()) {
    const auto there = known_.find(differs->first);
    return "progress up to " + to_string(at) + ": " + differs->first + " has changed at " +
           to_string(differs->second.index) + ", but the client has received " +
           (there == known_.end() ? "no such key" : "that of " + to_string(there->second.index));
  }
  const auto left =
      std::find_if(known_.begin(), known_.end(), [&](const auto& each) { return !now.contains(each.first); });
  return "progress up to " + to_string(at) + ": " + left->first + " was deleted, but the client did not receive that";
}

} // namespace belay::sim
