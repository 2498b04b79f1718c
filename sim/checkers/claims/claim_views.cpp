#include "sim/checkers/claims/claim_views.hpp"

#include "protocol/base/probe.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

using state::claim_space;

bool is_row(const state::claim_record& received, const modelled_claim& right) {
  return received.id == right.id && received.session == right.session && received.permits == right.permits &&
         (received.mode == state::claim_mode::shared) == right.shared && received.fence == right.fence &&
         (!right.held || view_of(received.value) == view_of(right.value));
}

bool is_queue(const state::claim_view& received, const modelled_resource* right) {
  const auto line = right == nullptr ? std::vector<const modelled_claim*>() : right->queue();
  return received.queue_length == line.size() && received.queue.size() == line.size() &&
         std::equal(received.queue.begin(), received.queue.end(), line.begin(), [&](const auto& row, const auto* c) {
           return is_row(*row.claim, *c) &&
                  row.position == static_cast<std::uint64_t>(&row - received.queue.data()) + 1;
         });
}

bool shows_resource(const state::claim_view& received, const modelled_resource* right) {
  if (right == nullptr)
    return !received.known;
  const auto holders = right->holders();
  const bool of_kind = received.known && received.kind == right->kind && received.limit == right->limit &&
                       received.pinned == right->pinned && received.holder_count == holders.size();
  return of_kind && is_queue(received, right) &&
         std::equal(received.holders.begin(), received.holders.end(), holders.begin(), holders.end(),
                    [](const auto& row, const auto* c) { return is_row(*row.claim, *c); }) &&
         received.delays.size() == right->ghosts.size() &&
         std::all_of(received.delays.begin(), received.delays.end(), [&](const state::claim_ghost& g) {
           const auto it = right->ghosts.find(g.fence);
           return it != right->ghosts.end() && g.session == it->second.session && g.permits == it->second.permits;
         });
}

/// Its lock delay is not checked: what remains of it depends on the time of the query.
bool shows_lock(const state::claim_view& received, const state::kv_entry_ptr& entry, const modelled_resource* queue) {
  const bool held = entry && !entry->session.empty();
  if (!held && queue == nullptr)
    return received.holders.empty() && received.queue.empty();
  const bool holder = !held ? received.holders.empty()
                            : received.holders.size() == 1 && received.holders[0].claim->session == entry->session &&
                                  received.holders[0].claim->fence == entry->fence;
  return received.known && holder && is_queue(received, queue);
}

bool shows_end(const kv_model& model, const std::string& id, const state::ended_session_rows& received, log_index s) {
  const auto& all = model.session_ends();
  const auto it =
      std::find_if(all.rbegin(), all.rend(), [&](const modelled_session_end& e) { return e.id == id && e.index <= s; });
  if (it == all.rend() || model.sessions().lived_at(id, s))
    return received.list.empty();
  if (received.list.size() != 1)
    return false;
  const auto& row = *received.list.front();
  return row.id == id && row.index == it->index && is_cause(row.cause, it->cause) && row.released == it->released &&
         row.on_end_done == it->done && row.on_end_refused == it->refused;
}

} // namespace

bool is_about_claims(const state::query& q) {
  return std::holds_alternative<state::claim_read>(q) || std::holds_alternative<state::guards_list>(q) ||
         std::holds_alternative<state::session_ended>(q);
}

/// A cause with a check or a token is compared by its beginning.
bool is_cause(std::string_view received, std::string_view right) {
  const bool begins = right.empty() || right.back() == ' ';
  return begins ? received.substr(0, right.size()) == right : received == right;
}

bool shows_claims(const kv_model& model, const state::query& q, const state::query_result& a, log_index s) {
  PROBE("claims: a read of them is judged");
  const auto then = model.claims_at(s);
  if (const auto* ended = std::get_if<state::session_ended>(&q)) {
    const auto* received = std::get_if<state::ended_session_rows>(&a.data);
    return received != nullptr && shows_end(model, ended->id, *received, s);
  }
  if (const auto* received = std::get_if<state::guard_rows>(&a.data))
    return std::holds_alternative<state::guards_list>(q) &&
           std::equal(received->list.begin(), received->list.end(), then->guards.begin(), then->guards.end(),
                      [](const auto& g, const auto& each) { return g.prefix == each.first && g.by == each.second; });
  const auto* read = std::get_if<state::claim_read>(&q);
  const auto* received = std::get_if<state::claim_view>(&a.data);
  if (read == nullptr || received == nullptr)
    return false;
  const auto* resource = then->find(read->of);
  if (read->of.space == claim_space::claims)
    return shows_resource(*received, resource);
  return model.doubtful(read->of.name, s) || shows_lock(*received, model.entry_at(read->of.name, s), resource);
}

} // namespace belay::sim
