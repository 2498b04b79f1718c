#include "sim/checkers/answer_times.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

// In a blocking query's time is up to a sixteenth that the server adds (docs/contract/02, section 4).
virtual_time longest_wait(const http::read_request& r) {
  return r.min_index > 0 ? r.wait + r.wait / 16 : virtual_time::zero();
}

std::string in_ms(virtual_time t) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(t).count()) + " ms";
}

const char* kind_of(const operation& op) {
  if (op.write)
    return "write";
  if (op.renewal)
    return "renewal";
  return op.read->min_index > 0 ? "blocking query" : "read";
}

} // namespace

void answer_time_checker::begun(const operation& op) {
  auto allowed = rules_.hold + op.lock_wait;
  if (op.read)
    allowed = std::max(allowed, longest_wait(*op.read));
  allowed += rules_.slack;
  waiting_[op.id] = {op.client, op.node, kind_of(op), allowed, nodes_[op.node].passed + allowed};
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
      return std::string(r.what) + " " + std::to_string(id) + " of client " + std::to_string(r.client) + " at node " +
             std::to_string(node) + " is without an answer after " + in_ms(r.allowed) + " (hold time " +
             in_ms(rules_.hold) + ")";
  return std::nullopt;
}

} // namespace belay::sim
