#include "tests/cluster/changes/change_checker.hpp"

#include "tests/harness/base64.hpp"

#include <boost/json.hpp>

namespace belay::harness {

change_position cursor_of(const std::string& id) {
  const auto dot = id.find('.');
  return {std::stoull(id), dot == std::string::npos ? UINT64_MAX : std::stoull(id.substr(dot + 1))};
}

void change_checker::take(const sim::stream_event& e) {
  const auto data = boost::json::parse(e.data).as_object();
  if (!e.id.empty())
    last_id_ = e.id;
  if (e.kind == "snapshot" || e.kind == "reset") {
    resets_ += e.kind == "reset" ? 1 : 0;
    known_.clear();
    in_snapshot_ = true;
    return check(e.id == "0", "a snapshot that begins with id " + e.id);
  }
  if (e.kind == "progress") {
    const auto at = cursor_of(e.id);
    check(in_snapshot_ || at >= cursor_, "progress went back to " + e.id);
    cursor_ = at;
    progress_ = at.first;
    in_snapshot_ = false;
    return;
  }
  if (!data.contains("Key"))
    return check(false, "an event without a key: " + e.kind + ' ' + e.id + ' ' + e.data);
  const std::string key(data.at("Key").as_string());
  const auto index = data.at("Index").to_number<std::uint64_t>();
  const auto* value = data.at("Value").if_string();
  const auto text = value != nullptr ? base64_decoded(*value) : std::string();
  if (in_snapshot_) {
    check(e.kind == "set" && e.id.empty(), "a row of a snapshot is " + e.kind + ' ' + e.id);
    known_[key] = {text, index};
    return;
  }
  ++changes_;
  const auto at = cursor_of(e.id);
  check(at > cursor_ && at.first == index,
        "change " + e.id + " came when all up to " + std::to_string(cursor_.first) + " was there");
  cursor_ = at;
  const auto had = known_.find(key);
  check(data.at("PreviousIndex").to_number<std::uint64_t>() == (had == known_.end() ? 0 : had->second.index),
        "change " + e.id + " of " + key + " follows another one than was told");
  if (e.kind == "set")
    known_[key] = {text, index};
  else
    known_.erase(key);
}

} // namespace belay::harness
