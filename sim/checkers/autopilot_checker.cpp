#include "sim/checkers/autopilot_checker.hpp"

#include "protocol/wire/operator_codec.hpp"

#include <caf/send.hpp>

namespace belay::sim {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Autopilot's defaults (docs/contract/12).
constexpr milliseconds last_contact_threshold{200};
constexpr std::uint64_t max_trailing_logs = 250;
// Pause between a wrong response and the next request.
constexpr milliseconds ask_again_after{250};

} // namespace

std::vector<member_truth> autopilot_checker::truth() const {
  std::vector<member_truth> all;
  const auto leader = nodes_.leader();
  if (!leader)
    return all;
  const auto& config = nodes_.view(*leader).config;
  for (const auto& m : config.members) {
    const auto at = nodes_.node_of(m.id); // none: that disk is lost
    all.push_back({m, at && well_.contains(*at), m.id == nodes_.id_of(*leader), config.is_voter(m.id)});
  }
  return all;
}

void autopilot_checker::expect(std::set<std::size_t> well, std::optional<std::size_t> full) {
  well_ = std::move(well);
  full_ = full;
  questions_.clear();
  for (const auto i : well_)
    ask(i);
  if (full_)
    ask(*full_);
}

void autopilot_checker::ask(std::size_t node) {
  if (!nodes_.running(node))
    return;
  auto& q = questions_[node];
  q.id = nodes_.next_request(node);
  q.life = nodes_.life(node);
  q.requested = time_.now();
  const forward::describe_health rules{nanoseconds(last_contact_threshold).count(), max_trailing_logs, "simulated"};
  caf::anon_send(
      nodes_.handles(node).raft_peer,
      actors::propose_write{q.id, make_payload(wire::encode_operator_call(rules)), wire::call_kind::describe_health});
}

bool autopilot_checker::take(std::size_t node, int life, const client_answer& a) {
  const auto* w = std::get_if<actors::write_result>(&a);
  const auto it = questions_.find(node);
  if (w == nullptr || it == questions_.end() || it->second.id != w->id || it->second.life != life)
    return false;
  const auto* received = std::get_if<std::string>(&w->reply);
  it->second.answer = w->outcome == wire::call_outcome::done && received != nullptr ? *received : w->text;
  it->second.right = w->outcome == wire::call_outcome::done && received != nullptr && !check_health(*received, truth());
  return true;
}

broken autopilot_checker::wrong() {
  broken found;
  for (auto& [node, q] : questions_) {
    if (q.right)
      continue;
    if (!found)
      found =
          "n" + std::to_string(node) + ": " +
          (q.answer ? check_health(*q.answer, truth()).value_or("the report was wrong when it was sent: " + *q.answer)
                    : "no answer");
    if (q.answer && time_.now() - q.requested >= ask_again_after)
      ask(node);
  }
  return found;
}

} // namespace belay::sim
