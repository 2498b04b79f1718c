#include "protocol/state/counters.hpp"

namespace belay::state {

namespace {

constexpr const auto& names = names_of<index_kind>;
constexpr std::string_view service_prefix = "service/";

std::string service_row(std::string_view name) {
  return std::string(service_prefix) + folded(name);
}

} // namespace

void counters::set_slot(std::size_t i, std::uint64_t value) {
  auto& s = indexes_[i];
  if (s.value == value)
    return;
  if (log_.recording())
    log_.remember(table::counters, names[i],
                  s.value == 0 ? row_value() : row_value(counter{std::string(names[i]), s.value}));
  auto now = value == 0 ? row_value() : row_value(counter{std::string(names[i]), value});
  const auto hash = value == 0 ? 0 : row_hash(std::get<counter>(now));
  log_.row_changed(table::counters, names[i], s.index_kind, std::move(now), s.hash, hash);
  s.value = value;
  s.hash = hash;
}

void counters::set(index_kind m, log_index index) {
  set_slot(static_cast<std::size_t>(m), index.value);
}

log_index counters::of_service(std::string_view name) const {
  const auto* row = services_.find(service_row(name));
  return row ? log_index{row->value} : log_index{};
}

void counters::set_service(std::string_view name, log_index index) {
  auto row = service_row(name);
  services_.put(row, counter{row, index.value});
}

void counters::drop_service(std::string_view name) {
  services_.erase(service_row(name));
}

void counters::put(counter row) {
  if (const auto m = named<index_kind>(row.name))
    set(*m, log_index{row.value});
  else {
    const std::string name = row.name;
    services_.put(name, std::move(row));
  }
}

void counters::erase(std::string_view name) {
  if (const auto m = named<index_kind>(name))
    set(*m, {});
  else
    services_.erase(name);
}

void counters::append_rows(std::vector<dirty_row>& out) const {
  for (std::size_t i = 0; i < indexes_.size(); ++i)
    if (indexes_[i].value != 0)
      out.push_back({table::counters, std::string(names[i]), counter{std::string(names[i]), indexes_[i].value}});
  services_.append_rows(out);
}

std::optional<std::string> counters::recount() const {
  for (std::size_t i = 0; i < indexes_.size(); ++i)
    if (indexes_[i].hash != (indexes_[i].value == 0 ? 0 : row_hash(counter{std::string(names[i]), indexes_[i].value})))
      return "the hash of row " + std::string(names[i]);
  return services_.recount();
}

std::uint64_t counters::recompute_digest() const {
  std::uint64_t sum = services_.recompute_digest();
  for (std::size_t i = 0; i < indexes_.size(); ++i)
    if (indexes_[i].value != 0)
      sum += row_hash(counter{std::string(names[i]), indexes_[i].value});
  return sum;
}

} // namespace belay::state
