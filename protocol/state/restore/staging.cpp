#include "protocol/state/restore/staging.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/probe.hpp"

namespace belay::state {

namespace {

constexpr auto not_this_one = "the restore was given up or replaced by another one";

/// Padded to a fixed length, so that text order is number order.
std::string batch_key(std::string_view prefix, std::uint64_t number) {
  const auto digits = std::to_string(number);
  constexpr std::size_t digits_max = 20;
  return std::string(prefix) + std::string(digits_max - digits.size(), '0') + digits;
}

} // namespace

void staging::clear() {
  rows_.erase_under("", [this](const staged_ptr& each) { log_.let_go(each); });
  INVARIANT(rows_.size() == 0); // a batch that stays would be part of the next restore
}

void staging::begin(const std::string& id, log_index archive_index, cluster_time now) {
  // This entry is a late duplicate of the proposal: keep what was staged or committed since.
  if (const auto* h = head(); h != nullptr && h->id == id)
    return;
  clear();
  restore_head h;
  h.id = id;
  h.archive_index = archive_index;
  h.touched = now;
  put_head(std::move(h));
}

std::optional<std::string> staging::add(const std::string& id, std::uint64_t number, row_batch rows, cluster_time now) {
  const auto* h = head();
  if (h == nullptr || h->id != id || h->in_force)
    return not_this_one;
  if (number + 1 == h->batches)
    return std::nullopt; // a retry: its first response was lost
  if (number != h->batches)
    return "the restore lacks some of its rows";
  auto next = *h;
  ++next.batches;
  next.touched = now;
  put(std::make_shared<const staged_record>(staged_record{batch_key(batch_prefix, number), std::move(rows)}));
  put_head(std::move(next));
  return std::nullopt;
}

void staging::abort(const std::string& id) {
  if (const auto* h = head(); h != nullptr && h->id == id && !h->in_force)
    clear();
}

void staging::expire(cluster_time now) {
  if (rows_.size() == 0)
    return;
  const auto* h = head();
  if (h != nullptr && now.value - h->touched.value <= idle_ms_max)
    return;
  if (h != nullptr && !h->in_force)
    PROBE("state: restore forgotten because nobody went on with it");
  clear();
}

std::optional<std::string> staging::unfit(const std::string& id, std::uint64_t batches) const {
  const auto* h = head();
  if (h == nullptr || h->id != id)
    return not_this_one;
  if (!h->in_force && h->batches != batches)
    return "the restore lacks some of its rows";
  return std::nullopt;
}

void staging::note_in_force(const std::string& id, cluster_time now) {
  begin(id, {}, now);
  auto h = *head();
  h.in_force = true;
  put_head(std::move(h));
}

bool staging::busy_with_another(const std::string& id, cluster_time now) const {
  const auto* h = head();
  return h != nullptr && !h->in_force && h->id != id && now.value <= h->touched.value + fresh_ms_max;
}

const restore_head* staging::head() const {
  const auto* row = rows_.find(head_key);
  return row != nullptr ? std::get_if<restore_head>(&(*row)->part) : nullptr;
}

void staging::put_head(restore_head h) {
  put(std::make_shared<const staged_record>(staged_record{std::string(head_key), std::move(h)}));
}

void staging::put(staged_ptr row) {
  const std::string key = row->key;
  rows_.put(key, std::move(row));
}

} // namespace belay::state
