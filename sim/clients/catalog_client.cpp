#include "sim/clients/catalog_client.hpp"

#include "protocol/base/overloaded.hpp"
#include "sim/chance/drawn_parts.hpp"
#include "sim/checkers/models/catalog_model.hpp"

namespace belay::sim {

using state::catalog_verb;

namespace {

constexpr std::uint64_t operations_max = 4;

enum class row_kind : std::uint8_t { node, service, check };
constexpr share<row_kind> row_kinds[] = {{row_kind::service, 4}, {row_kind::node, 2}, {row_kind::check, 3}};
constexpr share<catalog_verb> verbs[] = {{catalog_verb::set, 8},
                                         {catalog_verb::cas, 3},
                                         {catalog_verb::get, 2},
                                         {catalog_verb::remove, 2},
                                         {catalog_verb::remove_cas, 1}};

/// Splits a large number into small ones.
class digits {
public:
  explicit digits(std::uint64_t all) : left_(all * 0x9E3779B97F4A7C15) {}
  std::uint64_t next(std::uint64_t n) {
    const auto digit = (left_ >> 32) % n;
    left_ = left_ * 6364136223846793005 + 1442695040888963407;
    return digit;
  }
  template <class Action, std::size_t N>
  Action next(const share<Action> (&shares)[N]) {
    return action_of(shares, next(numbers_of(shares)));
  }

private:
  std::uint64_t left_;
};

std::string name_of(const state::txn_op& op) {
  return std::visit(overloaded{[](const state::kv_op&) { return std::string(); },
                               [](const state::fence_op&) { return std::string(); },
                               [](const state::node_op& o) { return o.node.node; },
                               [](const state::service_op& o) { return o.service.node + "/s/" + o.service.id; },
                               [](const state::check_op& o) { return o.check.node + "/c/" + o.check.check_id; }},
                    op);
}

} // namespace

log_index catalog_client::seen(const std::string& row) const {
  const auto it = seen_.find(row);
  return it == seen_.end() ? log_index{} : it->second;
}

state::txn catalog_client::next(std::uint64_t drawn, std::uint64_t fresh) const {
  digits of(drawn);
  state::txn t;
  const auto node = std::string(catalog_of_transactions) + std::to_string(of.next(2));
  const auto text = std::to_string(fresh);
  const auto add_node = [&](catalog_verb verb) {
    state::node_op o;
    o.verb = verb;
    o.node.node = node;
    o.node.address = "10.1." + std::to_string(fresh / 256 % 256) + "." + std::to_string(fresh % 256);
    t.ops.push_back(std::move(o));
  };
  const auto add_service = [&](catalog_verb verb) {
    state::service_op o;
    o.verb = verb;
    o.service.node = node;
    o.service.id = "s-" + std::to_string(of.next(2));
    o.service.service = "s";
    o.service.port = static_cast<std::int64_t>(fresh % 65536);
    t.ops.push_back(std::move(o));
  };
  const auto add_check = [&](catalog_verb verb) {
    constexpr const char* states[] = {"passing", "warning", "critical"};
    state::check_op o;
    o.verb = verb;
    const auto number = of.next(3); // the first is one of the node
    o.check.node = node;
    o.check.check_id = "c-" + std::to_string(number);
    o.check.name = "c";
    o.check.status = states[of.next(3)];
    o.check.output = text;
    o.check.service_id = number == 0 ? "" : "s-" + std::to_string(number - 1);
    t.ops.push_back(std::move(o));
  };
  if (of.next(2) == 0)
    add_node(catalog_verb::set);
  const auto count = 1 + of.next(operations_max - 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto kind = of.next(row_kinds);
    const auto verb = t.ops.empty() ? catalog_verb::set : of.next(verbs);
    if (kind == row_kind::node)
      add_node(verb);
    else if (kind == row_kind::service)
      add_service(verb);
    else
      add_check(verb);
  }
  for (auto& each : t.ops) {
    const auto index = seen(name_of(each));
    std::visit(overloaded{[](state::kv_op&) {}, [](state::fence_op&) {},
                          [&](state::node_op& o) { o.node.modify_index = index; },
                          [&](state::service_op& o) { o.service.modify_index = index; },
                          [&](state::check_op& o) { o.check.modify_index = index; }},
               each);
  }
  return t;
}

void catalog_client::learn(const operation& o) {
  const auto* requested = o.write ? std::get_if<state::txn>(&*o.write) : nullptr;
  const auto* received = std::get_if<state::txn_reply>(&o.reply);
  if (requested == nullptr || received == nullptr)
    return;
  for (const auto& r : received->results)
    std::visit(overloaded{[](const state::kv_entry_ptr&) {},
                          [&](const state::node_ptr& n) { seen_[n->node] = n->modify_index; },
                          [&](const state::service_ptr& s) {
                            // The response names no node; a transaction has only one.
                            for (const auto& each : requested->ops)
                              if (const auto* wanted = std::get_if<state::service_op>(&each))
                                seen_[wanted->service.node + "/s/" + s->id] = s->modify_index;
                          },
                          [&](const state::check_ptr& c) { seen_[c->node + "/c/" + c->check_id] = c->modify_index; }},
               r.row);
}

} // namespace belay::sim
