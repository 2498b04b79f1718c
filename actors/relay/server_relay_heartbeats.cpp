// server_relay: the agent's own requests: its heartbeat, and the list of servers.

#include "actors/relay/relay_calls.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/check.hpp"
#include "protocol/go_compat/json_input.hpp"
#include "protocol/http/request_context.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

constexpr std::chrono::milliseconds beat_interval{1000};
constexpr std::chrono::seconds listing_interval{10};
// Log after this time without a heartbeat at the servers; 2 s later the agent counts as failed.
constexpr std::chrono::milliseconds unheard_limit{3000};
constexpr std::chrono::seconds complaint_interval{10};
constexpr int refused_status = 409; ///< if the name or ID belongs to another agent

} // namespace

void server_relay::beat(monotonic_time now) {
  if (beat_ != nullptr && now >= beat_due_) {
    beat_.reset();
    const auto why = last_failure_.empty() ? std::string(relay_limits::no_answer) : last_failure_;
    if (preferred_ < servers_.size())
      server_failed(servers_[preferred_].address, why);
    beaten(0, why);
  }
  if (beat_ != nullptr || now < next_beat_)
    return;
  next_beat_ = now + beat_interval;
  beat_due_ = now + relay_limits::beat_limit;
  const auto answered = [this](int status, const std::string& what) {
    const auto keep = std::move(beat_);
    if (status >= 500) // it is cut off from the others, perhaps forever
      leave(keep->server(), what);
    beaten(status, what);
  };
  beat_ = std::make_unique<question>(*this, "PUT", "/v1/internal/agent/alive", answered, proof_of_node());
}

header_list server_relay::proof_of_node() const {
  if (settings_.secret_of_node.empty())
    return {};
  return {{std::string(http::secret_of_node_header), settings_.secret_of_node}};
}

void server_relay::beaten(int status, const std::string& what) {
  const bool alive = status == 200;
  refused_ = status == refused_status;
  beat_failure_ = alive ? std::string() : what;
  if (alive)
    contact_at_ = loop_.now();
  complain(loop_.now());
  report_answers(alive);
  if (alive || refused_)
    respond_to_joins(beat_failure_);
}

void server_relay::complain(monotonic_time now) {
  if ((!refused_ && now - contact_at_ < unheard_limit) || now < next_complaint_)
    return;
  next_complaint_ = now + complaint_interval;
  if (refused_)
    return log::error(
        "relay", "client agent rejected by the cluster",
        {{"reason", beat_failure_}, {"advice", "set a unique node_name, or deregister the node that has the name"}});
  constexpr auto what = "servers not reached; the node becomes critical after 5 s";
  if (servers_.empty())
    return log::warn("relay", what,
                     {{"reason", "no server is configured"}, {"advice", "set retry_join, or use PUT /v1/agent/join"}});
  log::warn("relay", what, {{"reason", why_not_reached()}});
}

std::string server_relay::why_not_reached() const {
  const auto& why = last_failure_.empty() ? beat_failure_ : last_failure_;
  return why.empty() ? relay_limits::no_answer : why;
}

// ---- list of servers

void server_relay::report_servers() {
  if (!settings_.servers_changed)
    return;
  std::vector<std::string> all;
  for (const auto& s : servers_)
    all.push_back(s.address);
  settings_.servers_changed(all);
}

void server_relay::report_answers(bool answers) {
  if (answers_ == answers)
    return;
  answers_ = answers;
  if (answers)
    log::info("relay", "cluster reached again", {{"server", servers_.empty() ? "" : servers_[preferred_].address}});
  if (settings_.cluster_answers)
    settings_.cluster_answers(answers);
}

void server_relay::ask_for_servers() {
  next_listing_ = loop_.now() + listing_interval;
  listing_ = std::make_unique<question>(*this, "GET", "/v1/status/peers", [this](int status, const std::string& what) {
    const auto keep = std::move(listing_);
    if (status == 200)
      take_servers(what);
  });
}

void server_relay::take_servers(const std::string& json) {
  const auto list = go_compat::read_json(json, go_compat::server_json);
  if (!list || !list->is_array() || list->as_array().empty())
    return;
  const auto requested = preferred_ < servers_.size() ? servers_[preferred_].address : std::string();
  std::vector<server> next;
  for (const auto& each : list->as_array())
    if (each.is_string() && next.size() < relay_limits::servers_max)
      next.push_back({std::string(each.as_string()), {}, false});
  bool changed = false;
  for (const auto& old : servers_) {
    const auto it = std::find_if(next.begin(), next.end(), [&](const server& s) { return s.address == old.address; });
    if (it != next.end())
      *it = {old.address, old.not_before, old.named};
    else if (old.named)
      next.push_back(old);
    else
      changed = true;
  }
  changed = changed || next.size() != servers_.size();
  servers_ = std::move(next);
  preferred_ = 0;
  for (std::size_t i = 0; i < servers_.size(); ++i)
    if (servers_[i].address == requested)
      preferred_ = i;
  INVARIANT(servers_.empty() || preferred_ < servers_.size());
  if (changed)
    report_servers();
}

} // namespace belay::actors
