#include "sim/checkers/models/catalog_model.hpp"

#include "protocol/base/overloaded.hpp"

#include <memory>

namespace belay::sim {

namespace {

using state::catalog_verb;

std::string described(const state::node_record& n) {
  return "node \"" + n.node + "\"";
}
std::string described(const state::service_record& s) {
  return "service \"" + s.id + "\" on node \"" + s.node + "\"";
}
std::string described(const state::check_record& c) {
  return "check \"" + c.check_id + "\" on node \"" + c.node + "\"";
}

bool has_same_content(const state::node_record& a, const state::node_record& b) {
  return a.address == b.address;
}
bool has_same_content(const state::service_record& a, const state::service_record& b) {
  return a.service == b.service && a.port == b.port;
}
bool has_same_content(const state::check_record& a, const state::check_record& b) {
  return a.name == b.name && a.status == b.status && a.output == b.output && a.service_id == b.service_id &&
         a.service_name == b.service_name;
}

template <class Row, class Key>
auto row_in(const std::map<Key, Row>& rows, const Key& name) {
  const auto it = rows.find(name);
  return it == rows.end() ? Row() : it->second;
}

/// @returns why the verb fails; empty: this row does not make it fail
template <class Record>
std::string refusal(catalog_verb verb, const Record& wanted, const std::shared_ptr<const Record>& known) {
  const auto index = known ? known->modify_index : log_index{};
  if (verb == catalog_verb::get && !known)
    return described(wanted) + " doesn't exist";
  if (verb == catalog_verb::cas && wanted.modify_index != index)
    return "failed to set " + described(wanted) + ", index is stale";
  if (verb == catalog_verb::remove_cas && (!known || wanted.modify_index != index))
    return "failed to delete " + described(wanted) + ", index is stale";
  return {};
}

/// A write of what is already there changes nothing.
template <class Record>
std::shared_ptr<const Record> written(Record wanted, const std::shared_ptr<const Record>& known, log_index at) {
  if (known && has_same_content(*known, wanted))
    return known;
  wanted.create_index = known ? known->create_index : at;
  wanted.modify_index = at;
  return std::make_shared<const Record>(std::move(wanted));
}

bool is_own_node(std::string_view name) {
  return name.starts_with(catalog_of_transactions);
}

bool removes(catalog_verb verb) {
  return verb == catalog_verb::remove || verb == catalog_verb::remove_cas;
}

} // namespace

bool catalog_model::is_modelled(const state::txn_op& op) {
  return std::visit(overloaded{
                        [](const state::kv_op&) { return false; },
                        [](const state::fence_op&) { return false; },
                        [](const state::node_op& o) { return is_own_node(o.node.node); },
                        [](const state::service_op& o) {
                          return is_own_node(o.service.node) && !o.service.id.empty() && !o.service.service.empty();
                        },
                        [](const state::check_op& o) {
                          return is_own_node(o.check.node) && !o.check.check_id.empty() && !o.check.status.empty();
                        },
                    },
                    op);
}

catalog_model::step catalog_model::run(const state::txn_op& op, log_index at) {
  return std::visit([&](const auto& o) { return run_op(o, at); }, op);
}

catalog_model::step catalog_model::run_op(const state::node_op& op, log_index at) {
  const auto known = row_in(now_.nodes, op.node.node);
  if (auto why = refusal(op.verb, op.node, known); !why.empty())
    return {std::move(why), {}};
  if (op.verb == catalog_verb::get)
    return {{}, state::txn_result{known, true}};
  if (removes(op.verb)) {
    take_away(op.node);
    return {};
  }
  const auto row = now_.nodes[op.node.node] = written(op.node, known, at);
  return {{}, state::txn_result{row, true}};
}

catalog_model::step catalog_model::run_op(const state::service_op& op, log_index at) {
  const auto known = row_in(now_.services, row_name(op.service.node, op.service.id));
  if (auto why = refusal(op.verb, op.service, known); !why.empty())
    return {std::move(why), {}};
  if (op.verb == catalog_verb::get)
    return {{}, state::txn_result{known, true}};
  if (removes(op.verb)) {
    take_away(op.service);
    return {};
  }
  if (now_.nodes.count(op.service.node) == 0)
    return {"Missing node registration", {}};
  const auto row = now_.services[{op.service.node, op.service.id}] = written(op.service, known, at);
  return {{}, state::txn_result{row, true}};
}

catalog_model::step catalog_model::run_op(const state::check_op& op, log_index at) {
  const auto known = row_in(now_.checks, row_name(op.check.node, op.check.check_id));
  if (auto why = refusal(op.verb, op.check, known); !why.empty())
    return {std::move(why), {}};
  if (op.verb == catalog_verb::get)
    return {{}, state::txn_result{known, true}};
  if (removes(op.verb)) {
    take_away(op.check);
    return {};
  }
  if (now_.nodes.count(op.check.node) == 0)
    return {"Missing node registration", {}};
  auto wanted = op.check;
  if (!wanted.service_id.empty()) {
    const auto service = row_in(now_.services, row_name(wanted.node, wanted.service_id));
    if (!service)
      return {"Missing service registration", {}};
    wanted.service_name = service->service;
  }
  const auto row = now_.checks[{wanted.node, wanted.check_id}] = written(wanted, known, at);
  return {{}, state::txn_result{row, true}};
}

void catalog_model::take_away(const state::node_record& n) {
  now_.nodes.erase(n.node);
  std::erase_if(now_.services, [&](const auto& each) { return each.first.first == n.node; });
  std::erase_if(now_.checks, [&](const auto& each) { return each.first.first == n.node; });
}

void catalog_model::take_away(const state::service_record& s) {
  if (now_.services.erase({s.node, s.id}) != 0)
    std::erase_if(now_.checks,
                  [&](const auto& each) { return each.first.first == s.node && each.second->service_id == s.id; });
}

void catalog_model::keep(log_index at) {
  kept_ = now_;
  since_[at] = now_;
}

void catalog_model::go_back(log_index archive, log_index at) {
  const auto later = since_.upper_bound(archive);
  now_ = later == since_.begin() ? rows{} : std::prev(later)->second;
  keep(at);
}

} // namespace belay::sim
