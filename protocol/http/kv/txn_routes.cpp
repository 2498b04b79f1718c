// /v1/txn (docs/contract/05).

#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/discovery/catalog_input.hpp"
#include "protocol/http/reading/kv_op_input.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/record_input.hpp"
#include "protocol/http/render_parts.hpp"
#include "protocol/http/routes.hpp"

#include <boost/json/array.hpp>

#include <algorithm>

namespace belay::http {

namespace {

using boost::json::value;

constexpr std::size_t operations_max = 64; // docs/contract/05, section 4; later releases allow 128

/// One operation, and its errors that do not depend on the state.
struct operation {
  state::txn_op op;
  bool writes = false;
  std::string unknown_verb; ///< text of the error; empty: the verb is known
};

/// `check-fence` has the fencing token, and `Claim` or `Lock`.
operation decode_fence_op(go_compat::json_decoder& d, kv_op_input in) {
  if (in.fence_names > 1)
    d.fail("check-fence names a Claim or a Lock, not both");
  return {state::fence_op{std::move(in.fence)}, false, {}};
}

operation decode_kv(go_compat::json_decoder& d, const value& v) {
  auto in = decode_kv_op(d, v, "KVTxnOp.KV", "struct field TxnOp.KV of type api.KVTxnOp");
  if (in.verb == "check-fence")
    return decode_fence_op(d, std::move(in));
  if (in.names_fence())
    d.fail("Fence, Claim and Lock are members of check-fence only");
  if (const auto wrong = in.wrong_sum(); !wrong.empty())
    d.fail(std::string(wrong));
  auto& op = in.op;
  if (const auto known = state::named<state::kv_verb>(in.verb)) {
    op.verb = *known;
    return {std::move(op), state::writes_keys(*known), {}};
  }
  // docs/contract/05, section 3: it counts as a read, and has the form of a read's response.
  op.verb = state::kv_verb::get;
  return {std::move(op), false, "unknown KV verb " + go_compat::quoted(in.verb)};
}

/// Shared by nodes, services and checks. `kind` as in error texts.
template <class Op>
operation with_catalog_verb(Op op, const std::string& verb, std::string_view kind) {
  if (const auto known = state::named<state::catalog_verb>(verb)) {
    op.verb = *known;
    return {std::move(op), *known != state::catalog_verb::get, {}};
  }
  return {std::move(op), true, "unknown " + std::string(kind) + " verb " + go_compat::quoted(verb)};
}

operation decode_node_op(go_compat::json_decoder& d, const value& v, const route_settings& s) {
  state::node_op op;
  std::string verb;
  d.object(v, "struct field TxnOp.Node of type api.NodeTxnOp", [&](const std::string& name, const value& each) {
    if (name == "verb")
      d.text(each, {"NodeTxnOp.Node", "Verb"}, verb);
    else if (name == "node")
      decode_node(d, each, "Node.Node.Node", op.node);
    else
      return false;
    return true;
  });
  if (op.node.datacenter.empty())
    op.node.datacenter = s.datacenter;
  return with_catalog_verb(std::move(op), verb, "Node");
}

operation decode_service_op(go_compat::json_decoder& d, const value& v) {
  state::service_op op;
  std::string verb;
  d.object(v, "struct field TxnOp.Service of type api.ServiceTxnOp", [&](const std::string& name, const value& each) {
    if (name == "verb")
      d.text(each, {"ServiceTxnOp.Service", "Verb"}, verb);
    else if (name == "node")
      d.text(each, {"ServiceTxnOp.Service", "Node"}, op.service.node);
    else if (name == "service")
      decode_service(d, each, "AgentService.Service.Service", op.service, catalog_source::transaction);
    else
      return false;
    return true;
  });
  bound_tags(d, op.service);
  return with_catalog_verb(std::move(op), verb, "Service");
}

operation decode_check_op(go_compat::json_decoder& d, const value& v) {
  state::check_op op;
  std::string verb;
  d.object(v, "struct field TxnOp.Check of type api.CheckTxnOp", [&](const std::string& name, const value& each) {
    if (name == "verb")
      d.text(each, {"CheckTxnOp.Check", "Verb"}, verb);
    else if (name == "check")
      decode_check(d, each, "HealthCheck.Check.Check", op.check, catalog_source::transaction);
    else
      return false;
    return true;
  });
  return with_catalog_verb(std::move(op), verb, "Check");
}

/// If an element has several kinds, the first of KV, Node, Service, Check counts; if none, it is no
/// operation.
std::optional<operation> decode_operation(go_compat::json_decoder& d, const value& v, const route_settings& s) {
  std::optional<operation> kv, node, service, check;
  d.object(v, "value of type api.TxnOp", [&](const std::string& name, const value& each) {
    if (name != "kv" && name != "node" && name != "service" && name != "check")
      return false;
    if (each.is_null())
      return true;
    if (name == "kv")
      kv = decode_kv(d, each);
    else if (name == "node")
      node = decode_node_op(d, each, s);
    else if (name == "service")
      service = decode_service_op(d, each);
    else
      check = decode_check_op(d, each);
    return true;
  });
  return kv ? std::move(kv) : node ? std::move(node) : service ? std::move(service) : std::move(check);
}

response parse_failure(const std::string& why) {
  return error_response(400, "Failed to parse body: " + why);
}

refused decode_operations(const request_context& c, std::vector<operation>& out) {
  auto json = go_compat::read_json(c.request.body);
  if (!json)
    return parse_failure(json.error());
  go_compat::json_decoder d(c.request.body);
  const auto* list = json->if_array();
  if (!list && !json->is_null())
    d.wrong_type(*json, "value of type api.TxnOps");
  if (list)
    for (const auto& each : *list)
      if (auto op = decode_operation(d, each, c.settings))
        out.push_back(std::move(*op));
  if (!d.ok())
    return parse_failure(d.error());
  if (list && list->size() > operations_max)
    return error_response(413, "Transaction contains too many operations (" + std::to_string(list->size()) + " > " +
                                   std::to_string(operations_max) + ")");
  for (const auto& each : out)
    if (const auto* kv = std::get_if<state::kv_op>(&each.op); kv && kv->value->size() > c.settings.kv_max_value_size)
      return error_response(413, "Value for key " + go_compat::quoted(kv->key) + " is too large (" +
                                     std::to_string(kv->value->size()) + " > " +
                                     std::to_string(c.settings.kv_max_value_size) + " bytes)");
  return std::nullopt;
}

/// Arguments that the reference rejects in its first stage, before it checks the verb.
std::string argument_error(const state::kv_op& op) {
  return op.key.empty() && op.verb != state::kv_verb::remove_tree ? "Must provide key" : "";
}
std::string argument_error(const state::node_op& op) {
  return op.node.node.empty() ? "Must provide node" : "";
}
std::string argument_error(const state::service_op& op) {
  return op.service.service.empty() ? "Must provide service name with ID" : "";
}
std::string argument_error(const state::check_op&) {
  return "";
}
std::string argument_error(const state::fence_op& op) {
  return op.fence.of.name.empty() ? "Must provide the name of a claim or lock" : "";
}

/// Unknown verbs fail the transaction here, with the response that it would have had.
response refuse_unknown_verbs(const std::vector<operation>& ops, bool writes, const render_options& options) {
  state::txn_reply first_stage, second_stage;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    auto why = std::visit([](const auto& op) { return argument_error(op); }, ops[i].op);
    if (!why.empty())
      first_stage.errors.push_back({i, std::move(why)});
    else if (!ops[i].unknown_verb.empty())
      second_stage.errors.push_back({i, ops[i].unknown_verb});
  }
  const read_meta meta;
  return render_txn(first_stage.errors.empty() ? second_stage : first_stage, writes ? nullptr : &meta, options);
}

} // namespace

action txn_route(request_context& c) {
  if (c.request.unread_body_bytes ||
      c.request.body.size() > body_limit_of(c.request.method, c.request.target, c.settings).bytes_max)
    return body_too_large(c.request.target, c.request.unread_body_bytes.value_or(c.request.body.size()), c.settings);
  std::vector<operation> ops;
  if (auto r = decode_operations(c, ops))
    return std::move(*r);
  bool writes = false, unknown = false;
  for (const auto& each : ops) {
    writes = writes || each.writes;
    unknown = unknown || !each.unknown_verb.empty();
  }
  query_options o;
  if (!writes)
    if (auto r = read_query_options(c, o))
      return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  if (unknown)
    return refuse_unknown_verbs(ops, writes, c.options);
  state::txn txn;
  for (auto& each : ops)
    txn.ops.push_back(std::move(each.op));
  const auto is_fence = [](const state::txn_op& op) { return std::holds_alternative<state::fence_op>(op); };
  if (writes && std::any_of(txn.ops.begin(), txn.ops.end(), is_fence))
    return write_request{state::fenced_txn{std::move(txn)}};
  if (writes)
    return write_request{std::move(txn)};
  o.min_index = 0; // docs/contract/05, section 3: never blocks
  return make_read(state::txn_read{std::move(txn)}, o);
}

} // namespace belay::http
