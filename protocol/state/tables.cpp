#include "protocol/state/tables.hpp"

namespace belay::state {

void tables::restore(dirty_row row) {
  switch (row.table) {
  case table::kv:
    if (auto* r = std::get_if<kv_entry_ptr>(&row.row))
      kv.put(std::move(*r));
    else
      kv.erase(row.key);
    return;
  case table::tombstones:
    if (auto* r = std::get_if<tombstone>(&row.row))
      graves.put(std::move(*r));
    else
      graves.erase(row.key);
    return;
  case table::sessions:
    if (auto* r = std::get_if<session_ptr>(&row.row))
      sessions.put(std::move(*r));
    else
      sessions.erase(row.key);
    return;
  case table::lock_delays:
    if (auto* r = std::get_if<lock_delay_record>(&row.row))
      delays.put(std::move(*r));
    else
      delays.erase(row.key);
    return;
  case table::nodes:
    if (auto* r = std::get_if<node_ptr>(&row.row))
      catalog.put(std::move(*r));
    else
      catalog.erase_node(row.key);
    return;
  case table::services:
    if (auto* r = std::get_if<service_ptr>(&row.row))
      catalog.put(std::move(*r));
    else
      catalog.erase_service(row.key);
    return;
  case table::checks:
    if (auto* r = std::get_if<check_ptr>(&row.row))
      catalog.put(std::move(*r));
    else
      catalog.erase_check(row.key);
    return;
  case table::counters:
    if (auto* r = std::get_if<counter>(&row.row))
      marks.put(std::move(*r));
    else
      marks.erase(row.key);
    return;
  case table::staging:
    if (auto* r = std::get_if<staged_ptr>(&row.row))
      stage.put(std::move(*r));
    else
      stage.erase(row.key);
    return;
  case table::operators:
    if (auto* r = std::get_if<autopilot_ptr>(&row.row))
      autopilot.put(autopilot_key, std::move(*r));
    else
      autopilot.erase(autopilot_key);
    return;
  }
}

void tables::undo() {
  for (auto& row : journal.stop_recording())
    restore(std::move(row));
}

std::vector<dirty_row> tables::all_rows() const {
  std::vector<dirty_row> out;
  out.reserve(kv.size());
  kv.rows().append_rows(out);
  graves.rows().append_rows(out);
  sessions.rows().append_rows(out);
  delays.rows().append_rows(out);
  catalog.nodes().append_rows(out);
  catalog.services().append_rows(out);
  catalog.checks().append_rows(out);
  marks.append_rows(out);
  stage.rows().append_rows(out);
  autopilot.append_rows(out);
  return out;
}

std::vector<dirty_row> tables::take_dirty() {
  return journal.take_dirty();
}

std::uint64_t tables::recompute_digest() const {
  return kv.rows().recompute_digest() + graves.rows().recompute_digest() + sessions.rows().recompute_digest() +
         delays.rows().recompute_digest() + catalog.nodes().recompute_digest() + catalog.services().recompute_digest() +
         catalog.checks().recompute_digest() + marks.recompute_digest() + stage.rows().recompute_digest() +
         autopilot.recompute_digest();
}

} // namespace belay::state
