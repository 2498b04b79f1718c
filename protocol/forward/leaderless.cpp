#include "protocol/forward/leaderless.hpp"

#include <algorithm>

namespace belay::forward {

using raft::configuration;
using raft::formation;
using raft::handshake;

namespace {

/// `a, b, c`; `nobody` if empty.
std::string listed(const std::vector<std::string>& all) {
  std::string out;
  for (const auto& each : all)
    out += (out.empty() ? "" : ", ") + each;
  return out.empty() ? "none" : out;
}

std::string description_of(const handshake& p, const handshake& own) {
  auto text = p.self.name + " at " + p.self.address;
  if (p.datacenter != own.datacenter)
    return text + " (of datacenter " + p.datacenter + ")";
  if (p.cluster_id != 0)
    return text + " (of an existing cluster)";
  text += " (bootstrap_expect " + std::to_string(p.expect);
  if (p.expect != own.expect)
    text += ", not " + std::to_string(own.expect);
  return text + (p.has_log ? ", has a log)" : ")");
}

std::string why_there_is_no_cluster(const formation& f, const std::vector<std::string>& named) {
  const auto own = f.own();
  std::vector<std::string> reachable, contact_at, missing;
  std::size_t fitting = 1;
  bool cluster = false;
  for (const auto& p : f.connected()) {
    reachable.push_back(description_of(p, own));
    contact_at.push_back(p.self.address);
    cluster = cluster || (p.cluster_id != 0 && p.datacenter == own.datacenter);
    fitting += p.cluster_id == 0 && p.expect == own.expect && p.datacenter == own.datacenter ? 1 : 0;
  }
  for (const auto& address : named) // also of other datacenters: they are connected, although useless
    if (address != own.self.address && std::find(contact_at.begin(), contact_at.end(), address) == contact_at.end())
      missing.push_back(address);
  std::string out;
  if (cluster)
    out = "there is a cluster that has not admitted this server";
  else if (own.has_log)
    out = "this server has a log, but has not found its cluster";
  else if (own.expect == 0)
    out = "bootstrap_expect is not set: this server waits for a cluster to admit it";
  else if (fitting < own.expect)
    out = std::to_string(own.expect) + " servers with the same bootstrap_expect must discover each other, and " +
          std::to_string(fitting) + " have, including this one";
  else
    out = "the servers are agreeing on the first configuration";
  out += "; heard: " + listed(reachable);
  if (!missing.empty())
    out += "; not heard: " + listed(missing);
  return out;
}

} // namespace

std::string why_leaderless(const formation& f, const configuration& config, const std::set<node_id>& connected,
                           const std::vector<std::string>& named, bool disk_full) {
  const auto self = f.own().self.id;
  if (config.empty())
    return why_there_is_no_cluster(f, named);
  std::vector<std::string> missing, full;
  std::size_t there = 0;
  for (const auto id : config.voters) {
    const auto* m = config.find(id);
    if (const auto* sent = f.find(id); sent != nullptr && sent->disk_full && connected.contains(id))
      full.push_back(sent->self.name);
    if (id == self || connected.contains(id))
      ++there;
    else
      missing.push_back(m != nullptr ? m->name + " at " + m->address : to_string(id));
  }
  const auto needed = config.voters.size() / 2 + 1;
  auto out = std::to_string(needed) + " of the " + std::to_string(config.voters.size()) + " voters are needed, and " +
             std::to_string(there) + " can be reached";
  if (config.is_voter(self))
    out += ", including this one";
  if (!missing.empty())
    out += "; missing: " + listed(missing);
  if (disk_full)
    full.insert(full.begin(), "this one");
  if (!full.empty())
    out += "; disk full: " + listed(full);
  if (!config.contains(self))
    out += "; this server is no longer a member of its cluster";
  else if (there >= needed)
    out += "; an election is in progress";
  return out;
}

} // namespace belay::forward
