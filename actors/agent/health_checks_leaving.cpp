// health_checks: this server leaves its cluster (docs/contract/09, section 4).

#include "actors/agent/health_checks.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/wire/operator_codec.hpp"

namespace belay::actors {

namespace {

status outcome_of(const write_result& r) {
  if (r.outcome != wire::call_outcome::done)
    return failure{r.text};
  if (const auto* no = std::get_if<state::refusal>(&r.reply))
    return failure{no->text};
  return done{};
}

} // namespace

void health_checks::on_leave(leave_cluster& l) {
  if (leaving_)
    return l.then(failure{"this server is already leaving"});
  leaving_.emplace(leaving{std::move(l.then), {}, {}});
  tick_soon();
  go_on_leaving();
}

void health_checks::go_on_leaving() {
  if (!leaving_)
    return;
  std::vector<node_id> reachable;
  for (const auto& [id, alive] : reachable_.list)
    if (alive && reachable_.term == view_.soft.term)
      reachable.push_back(id);
  const auto step = leaving_->how.next({view_.self, view_.soft.leader, view_.serving, view_.config, reachable}, now());
  std::visit(
      overloaded{
          [](const forward::departure::wait&) {},
          [this](const forward::departure::transfer& h) { send(node_actors_->raft_peer, leadership_transfer{h.to}); },
          [this](const forward::departure::ask_leader&) {
            leaving_->requested = ids_.next();
            const forward::let_leave ask{settings_.agent.registry.node.id};
            send(node_actors_->raft_peer,
                 propose_write{leaving_->requested, make_payload(wire::encode_operator_call(ask)),
                               wire::call_kind::remove_member});
          },
          [this](const forward::departure::over& o) {
            left_ = o.how.ok();
            const auto then = std::move(leaving_->then);
            leaving_.reset();
            then(o.how);
          },
      },
      step);
}

bool health_checks::on_leave_answered(const write_result& r) {
  if (!leaving_ || leaving_->requested.is_zero() || r.id != leaving_->requested)
    return false;
  leaving_->how.answered(outcome_of(r));
  go_on_leaving();
  return true;
}

} // namespace belay::actors
