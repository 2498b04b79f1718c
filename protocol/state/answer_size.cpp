#include "protocol/state/answer_size.hpp"

#include "protocol/state/outcomes/outcome_records.hpp"

#include <map>
#include <string_view>

namespace belay::state {

namespace {

// Typical sizes, without texts that clients choose.
constexpr std::size_t check_bytes = 300, instance_bytes = 800, shown_key_bytes = 160, shown_row_bytes = 400;

} // namespace

std::size_t shown_bytes(const check_record& c) {
  auto bytes = check_bytes;
  for (const auto* text :
       {&c.node, &c.check_id, &c.name, &c.notes, &c.output, &c.service_id, &c.service_name, &c.definition_json})
    bytes += text->size();
  if (c.service_tags)
    for (const auto& tag : *c.service_tags)
      bytes += tag.size() + 3;
  return bytes;
}

std::size_t shown_bytes(const std::vector<check_ptr>& checks) {
  std::size_t bytes = 0;
  for (const auto& c : checks)
    bytes += shown_bytes(*c);
  return bytes;
}

void health_answer_size::add_instance(std::size_t of_node, std::size_t own) {
  bytes_ += instance_bytes + of_node + own;
}

std::optional<std::string> health_answer_size::refusal() const {
  if (bytes_ <= health_answer_bytes_max)
    return std::nullopt;
  return "Answer too large: every instance is shown with all checks of its node, about " + std::to_string(bytes_) +
         " bytes; max size: " + std::to_string(health_answer_bytes_max) + " bytes.";
}

std::size_t shown_bytes(const txn_result& r) {
  const auto* key = std::get_if<kv_entry_ptr>(&r.row);
  if (key == nullptr)
    return shown_row_bytes + outcome_bytes(txn_reply{{r}, {}});
  return shown_key_bytes + (*key)->key.size() + (r.with_value ? (*key)->value->size() * 4 / 3 : 0); // base64
}

std::optional<std::string> refused_txn_size(std::size_t rows, std::size_t bytes) {
  if (rows > txn_answer_rows_max)
    return "Answer too large: a transaction reads more than " + std::to_string(txn_answer_rows_max) + " rows";
  if (bytes > txn_answer_bytes_max)
    return "Answer too large: a transaction reads about " + std::to_string(bytes) +
           " bytes; max size: " + std::to_string(txn_answer_bytes_max) + " bytes.";
  return std::nullopt;
}

std::optional<std::string> refused_for_size(const txn_reply& found) {
  std::size_t bytes = 0;
  for (const auto& each : found.results)
    bytes += shown_bytes(each);
  return refused_txn_size(found.results.size(), bytes);
}

std::optional<std::string> refused_for_size(const service_instances& found) {
  health_answer_size size;
  std::map<std::string_view, std::size_t> bytes_of_nodes;
  for (const auto& each : found.list) {
    const auto [at, fresh] = bytes_of_nodes.try_emplace(each.node->node);
    if (const auto& of_node = each.checks.of_node(); fresh && of_node)
      at->second = shown_bytes(*of_node);
    size.add_instance(at->second, shown_bytes(each.checks.own()));
  }
  return size.refusal();
}

} // namespace belay::state
