// server_relay: joins (PUT /v1/agent/join), answered when the servers have registered this agent.

#include "actors/relay/relay_calls.hpp"
#include "protocol/base/host_port.hpp"

namespace belay::actors {

namespace {

// Starts when the connection is up. A request may wait for 7 s (rpc_hold_timeout).
constexpr std::chrono::milliseconds join_limit{4500};

} // namespace

void server_relay::join(const std::string& address, std::function<void(std::string)> then) {
  const auto where = split_host_port(address);
  const auto to = names_.find(where.host, where.number());
  if (!lists(address) && servers_.size() >= relay_limits::servers_max)
    return then("this agent has the maximum number of servers");
  if (!to)
    return then("lookup " + where.host + ": no such host, or not resolved yet");
  const auto limit = std::make_shared<relay_loop::timer>();
  const auto end = [this, limit, then = std::move(then)](server_connection& c, const std::string& why) {
    std::shared_ptr<server_connection> kept;
    for (const auto& each : joining_)
      if (each.get() == &c)
        kept = each;
    if (kept == nullptr)
      return;
    joining_.remove(kept);
    kept->close();
    const auto keep = std::exchange(*limit, nullptr); // it may be the caller
    if (!why.empty())
      names_.failed(split_host_port(kept->server()).host);
    if (!why.empty() || stopping_)
      return then(why.empty() ? "this agent is stopping" : why);
    if (!lists(kept->server())) {
      servers_.push_back({kept->server(), {}, true});
      report_servers();
      if (answers_ != true)
        preferred_ = servers_.size() - 1;
    }
    wait_until_received(then);
  };
  server_connection::events events;
  events.ready = [end](server_connection& c) { end(c, {}); };
  events.closed = [end](server_connection& c, const std::string& why) { end(c, why); };
  auto c = std::make_shared<server_connection>(loop_, address, settings_.credentials->now(), std::move(events));
  joining_.push_back(c);
  *limit = loop_.after(relay_limits::dial_limit, [end, weak = std::weak_ptr<server_connection>(c)] {
    if (const auto strong = weak.lock())
      end(*strong, "dial tcp " + strong->server() + ": i/o timeout");
  });
  c->dial(*to, hello_);
}

void server_relay::wait_until_received(std::function<void(std::string)> then) {
  if (answers_ == true)
    return then({});
  joined_.push_back({std::move(then), loop_.now() + join_limit});
  if (beat_ == nullptr)
    next_beat_ = loop_.now();
  later([this] { serve_waiting(); });
}

void server_relay::respond_to_joins(const std::string& why) {
  for (const auto& j : std::exchange(joined_, {}))
    j.then(why);
}

void server_relay::give_up_joins(monotonic_time now) {
  std::vector<joined> late;
  std::erase_if(joined_, [&](joined& j) {
    if (now < j.deadline)
      return false;
    late.push_back(std::move(j));
    return true;
  });
  for (const auto& j : late)
    j.then("the servers were not reached: " + why_not_reached());
}

} // namespace belay::actors
