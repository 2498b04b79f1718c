#include "sim/checkers/answer_times.hpp"

#include <algorithm>
#include <utility>

namespace belay::sim {

namespace {

// The server adds up to a sixteenth to the wait of a blocking query (docs/contract/02, section 4).
virtual_time longest_wait(const http::read_request& r) {
  return r.min_index > 0 ? r.wait + r.wait / 16 : virtual_time::zero();
}

const char* kind_of(const operation& op) {
  if (op.write)
    return "write";
  if (op.renewal)
    return "renewal";
  return op.read->min_index > 0 ? "blocking query" : "read";
}

} // namespace

std::string answer_time_checker::rendered(const operation& op) {
  return std::string(kind_of(op)) + " " + std::to_string(op.id) + " of client " + std::to_string(op.client);
}

virtual_time answer_time_checker::longest(const operation& op) const {
  const auto held = rules_.queue_timeout + op.lock_wait;
  const auto there = op.read ? std::max(held, longest_wait(*op.read)) : held;
  return op.through_agent ? rules_.through_agent(there, op.read.has_value()) : there;
}

void answer_time_checker::begun(std::uint64_t id, std::size_t node, std::string what, virtual_time longest) {
  const auto allowed = longest + rules_.slack;
  waiting_[id] = {node, std::move(what), allowed, nodes_[node].passed + allowed};
}

broken answer_time_checker::look(std::size_t node, bool running, virtual_time now, virtual_time own) {
  auto& n = nodes_[node];
  if (n.running && running)
    n.passed += std::min(now - n.now, own - n.own);
  n.running = running;
  n.now = now;
  n.own = own;
  for (const auto& [id, r] : waiting_)
    if (r.node == node && r.due < n.passed)
      return r.what + " at node " + std::to_string(node) + " is without an answer after " + in_ms(r.allowed) +
             " (hold time " + in_ms(rules_.queue_timeout) + ")";
  return std::nullopt;
}

} // namespace belay::sim
