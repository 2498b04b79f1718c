#include "protocol/http/request_class.hpp"

#include "protocol/base/overloaded.hpp"

#include <algorithm>

namespace belay::http {

namespace {

using forward::request_class;

bool begins_something(const state::txn_op& op) {
  const auto* kv = std::get_if<state::kv_op>(&op);
  if (kv != nullptr)
    return state::writes_keys(kv->verb) && kv->verb != state::kv_verb::unlock;
  const auto verb_begins = [](state::catalog_verb v) {
    return v == state::catalog_verb::set || v == state::catalog_verb::cas;
  };
  return std::visit(overloaded{[](const state::kv_op&) { return true; }, [](const state::fence_op&) { return false; },
                               [&](const auto& of_catalog) { return verb_begins(of_catalog.verb); }},
                    op);
}

} // namespace

request_class class_of(const state::command& c) {
  return std::visit(overloaded{
                        [](const state::kv_write& w) {
                          return w.op.verb == state::kv_verb::unlock ? request_class::vital : request_class::write;
                        },
                        [](const state::txn& t) {
                          return std::any_of(t.ops.begin(), t.ops.end(), begins_something) ? request_class::write
                                                                                           : request_class::vital;
                        },
                        [](const state::fenced_txn& t) {
                          return std::any_of(t.body.ops.begin(), t.body.ops.end(), begins_something)
                                     ? request_class::write
                                     : request_class::vital;
                        },
                        [](const state::fenced_write& w) {
                          return w.op.verb == state::kv_verb::unlock ? request_class::vital : request_class::write;
                        },
                        [](const state::kv_acquire&) { return request_class::write; },
                        [](const state::claim_ask&) { return request_class::write; },
                        [](const state::session_create&) { return request_class::write; },
                        [](const state::session_begin&) { return request_class::write; },
                        [](const state::catalog_register&) { return request_class::write; },
                        // Ends of sessions or services, settings, restores, internal upkeep.
                        [](const auto&) { return request_class::vital; },
                    },
                    c);
}

request_class class_of(const read_request&) {
  return request_class::read;
}

request_class class_of(const agent_request& r) {
  return std::visit(overloaded{
                        [](const agent::register_service&) { return request_class::write; },
                        [](const agent::register_check&) { return request_class::write; },
                        [](const agent::fire_event&) { return request_class::write; },
                        [](const agent::list_services&) { return request_class::read; },
                        [](const agent::list_checks&) { return request_class::read; },
                        [](const agent::read_service&) { return request_class::read; },
                        [](const agent::service_health&) { return request_class::read; },
                        [](const agent::list_events&) { return request_class::read; },
                        // Check updates, deregistrations, maintenance.
                        [](const auto&) { return request_class::vital; },
                    },
                    r.what);
}

response overloaded_response() {
  auto r = error_response(500, overloaded_text);
  r.headers.emplace_back("Retry-After", "1");
  return r;
}

} // namespace belay::http
