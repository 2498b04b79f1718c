// fsm: an archive was restored. Each server logs it and notifies its agent. The client that
// requested the restore gets its response when the catalog names the members of this cluster again.

#include "actors/tables/fsm.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/go_compat/timestamp.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

constexpr auto way_back = "if this was not intended, restore the archive that was saved before it";

} // namespace

std::string fsm::accessor_of(const state::command& c) const {
  if (!c.by)
    return "none";
  state::query q = state::permissions_read{};
  q.by = c.by;
  const auto found = machine_->evaluate(q);
  const auto* may = std::get_if<state::permissions>(&found.data);
  return may != nullptr && may->token != nullptr ? may->token->accessor : "none";
}

void fsm::on_restored(const raft::entry& e, const std::string& accessor) {
  const auto seconds = std::chrono::seconds(e.time.value / 1000);
  log::warn("fsm", "archive restored: all tables replaced, TTLs of sessions restarted",
            {{"index", e.index.value},
             {"keys", machine_->key_count()},
             {"accessor", accessor},
             {"at", go_compat::format_timestamp({std::chrono::sys_seconds{seconds}})}, // a restart applies it again
             {"advice", way_back}});
  if (node_actors_->health_checks)
    send(node_actors_->health_checks, tables_restored{e.index});
}

/// This server was so far behind that it got the whole state; the entry's content is unknown.
void fsm::on_restored_elsewhere() {
  log::warn("fsm", "archive restored while this server was behind: all tables replaced",
            {{"index", machine_->restored_at().value}, {"keys", machine_->key_count()}, {"advice", way_back}});
  if (node_actors_->health_checks)
    send(node_actors_->health_checks, tables_restored{machine_->restored_at()});
}

bool fsm::keep_restore_answer(const origin& to, state::reply& reply, log_index index) {
  if (settings_.mended_wait.count() == 0 || !view_.serving)
    return false;
  PROBE("fsm: answer to a restore kept until the catalog is mended");
  until_mended_.push_back({to, std::move(reply), index, now() + settings_.mended_wait});
  return true;
}

void fsm::answer_restores(bool mended) {
  if (until_mended_.empty())
    return;
  std::vector<write_result> own;
  forwarded_results forwarded;
  std::erase_if(until_mended_, [&](kept_answer& k) {
    if (!mended && now() < k.due)
      return false;
    if (k.to.node == view_.self)
      own.push_back({k.to.id, wire::call_outcome::done, std::move(k.reply), k.index, {}});
    else
      forwarded.list.emplace_back(
          k.to.node, wire::forward_reply{k.to.id, wire::call_outcome::done, k.index, wire::encode_reply(k.reply)});
    return true;
  });
  answer_writes(own);
  if (!forwarded.list.empty())
    send(node_actors_->raft_peer, std::move(forwarded));
}

} // namespace belay::actors
