// raft_peer: what operators ask of the leader about the set of servers (contract 12). Forwarded to it like a write:
//   remove_member    "id <node ID>" or "address <host:port>"; answered true when the configuration lacks the server
//   describe_health  "<LastContactThreshold in ns> <MaxTrailingLogs> <version>"; answered with the JSON of
//   autopilot/health

#include "actors/consensus/raft_peer.hpp"
#include "protocol/golang/duration.hpp"
#include "protocol/golang/json_output.hpp"
#include "protocol/golang/quoting.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>
#include <ctime>
#include <sstream>

namespace belay::actors {

namespace {

/// The configuration without that server; nullopt: it is not in it.
std::optional<raft::configuration> without(const raft::configuration& now, const std::string& which) {
  const auto space = std::min(which.find(' '), which.size());
  const auto kind = which.substr(0, space), name = which.substr(std::min(space + 1, which.size()));
  const auto found = std::find_if(now.members.begin(), now.members.end(),
                                  [&](const raft::member& m) { return (kind == "id" ? m.uuid : m.address) == name; });
  if (found == now.members.end())
    return std::nullopt;
  const auto id = found->id;
  auto next = now;
  std::erase_if(next.members, [id](const raft::member& m) { return m.id == id; });
  std::erase(next.voters, id);
  std::erase(next.learners, id);
  return next;
}

std::string not_found(const std::string& which) {
  const auto space = which.find(' ');
  return which.substr(0, space) + " " + golang::quoted(which.substr(space + 1)) +
         " was not found in the Raft configuration";
}

std::string as_rfc3339(std::uint64_t ms) {
  const auto t = static_cast<std::time_t>(ms / 1000);
  std::tm utc{};
  gmtime_r(&t, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

} // namespace

/// The answer of the leader itself, not of an entry of the log.
void raft_peer::answer_decided(const origin& to, state::reply reply) {
  if (to.id.is_zero())
    return;
  schedule_flush();
  if (to.node != self_.id) {
    queue_frame(to.node, wire::forward_reply{to.id, wire::call_outcome::done, {}, wire::encode_reply(reply)});
    return;
  }
  answer_here({to.id, wire::call_outcome::done, std::move(reply), {}, {}});
}

void raft_peer::begin_removal(held_write w) {
  const auto next = without(core_.config(), *w.bytes);
  if (!next)
    return answer_decided(w.from, state::refusal{not_found(*w.bytes)});
  if (next->voters.empty())
    return answer_decided(w.from, state::refusal{"need at least one voter in configuration: {[]}"});
  // Not now (another change is under way): with the next tick again.
  const bool begun = !core_.config().joint() && !core_.propose_configuration(*next, settings_.wall_clock());
  removals_.push_back({std::move(w), begun, core_.last_index()});
}

/// With every tick.
void raft_peer::follow_removals() {
  for (auto& r : std::exchange(removals_, {})) {
    const bool there = core_.config().joint() || without(core_.config(), *r.write.bytes);
    if (r.begun && !there && core_.commit_index() >= r.entry)
      answer_decided(r.write.from, true); // once the second half is there, the first one is committed for good
    else if (!leading())
      answer(r.write.from, wire::call_outcome::unknown, "leadership lost while committing log");
    else if (r.write.deadline <= now())
      answer(r.write.from, wire::call_outcome::unknown, "timed out enqueuing operation");
    else if (r.begun)
      removals_.push_back(std::move(r));
    else
      begin_removal(std::move(r.write));
  }
}

std::string raft_peer::health_json(const std::string& rules) const {
  std::int64_t threshold_ns = 0;
  std::uint64_t trailing_max = 0;
  std::string version;
  std::istringstream(rules) >> threshold_ns >> trailing_max >> version;
  const auto& config = core_.config();
  const auto progress = core_.progress();
  std::string servers;
  std::size_t healthy_voters = 0;
  bool all_healthy = true;
  for (const auto& m : config.members) {
    const bool self = m.id == self_.id;
    const bool connected = self || connected_.contains(m.id);
    std::chrono::nanoseconds contact{0};
    auto last = core_.last_index();
    for (const auto& p : progress)
      if (!self && p.id == m.id) {
        contact = p.silent_ticks * std::chrono::nanoseconds(settings_.limits.tick);
        last = p.match;
      }
    const auto since = connected_since_ms_.find(m.id);
    const bool healthy =
        connected && contact.count() <= threshold_ns && last.value + trailing_max >= core_.last_index().value;
    const bool voter = config.is_voter(m.id);
    all_healthy = all_healthy && healthy;
    healthy_voters += healthy && voter ? 1 : 0;
    servers += servers.empty() ? "{\"ID\":" : ",{\"ID\":";
    golang::append_json_string(servers, m.uuid);
    servers += ",\"Name\":";
    golang::append_json_string(servers, m.name);
    servers += ",\"Address\":";
    golang::append_json_string(servers, m.address);
    servers += connected ? ",\"SerfStatus\":\"alive\",\"Version\":" : ",\"SerfStatus\":\"failed\",\"Version\":";
    golang::append_json_string(servers, version);
    servers += ",\"Leader\":";
    golang::append_bool(servers, self);
    servers += ",\"LastContact\":";
    golang::append_json_string(servers, golang::format_duration(contact));
    servers += ",\"LastTerm\":";
    golang::append_number(servers, core_.term_at(last).value);
    servers += ",\"LastIndex\":";
    golang::append_number(servers, last);
    servers += ",\"Healthy\":";
    golang::append_bool(servers, healthy);
    servers += ",\"Voter\":";
    golang::append_bool(servers, voter);
    servers += ",\"StableSince\":";
    golang::append_json_string(
        servers,
        as_rfc3339(since == connected_since_ms_.end() ? led_since_ms_ : std::max(led_since_ms_, since->second)));
    servers += '}';
  }
  const auto quorum = config.voters.size() / 2 + 1;
  std::string out = all_healthy ? "{\"Healthy\":true" : "{\"Healthy\":false";
  out += ",\"FailureTolerance\":" + std::to_string(healthy_voters > quorum ? healthy_voters - quorum : 0);
  return out + ",\"Servers\":[" + servers + "]}";
}

} // namespace belay::actors
