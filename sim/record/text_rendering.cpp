#include "sim/record/text_rendering.hpp"

#include "protocol/base/overloaded.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

std::string shortened(payload_ref value) {
  constexpr std::size_t shown_max = 24;
  return std::string(value->substr(0, shown_max)) + (value->size() > shown_max ? "..." : "");
}

std::string words_of(const state::kv_op& op) {
  std::string text(name_of(op.verb));
  text += " " + op.key;
  if (op.value != nullptr && !op.value->empty())
    text += " = " + shortened(op.value);
  if (!op.index.is_zero())
    text += " if at " + to_string(op.index);
  if (!op.session.empty())
    text += " by " + op.session;
  return text;
}

std::string words_of(state::catalog_verb verb, const std::string& what, log_index index) {
  return std::string(name_of(verb)) + " " + what + " (" + to_string(index) + ")";
}
std::string words_of(const state::node_op& op) {
  return words_of(op.verb, "node " + op.node.node, op.node.modify_index);
}
std::string words_of(const state::service_op& op) {
  return words_of(op.verb, "service " + op.service.id + " of " + op.service.node, op.service.modify_index);
}
std::string words_of(const state::check_op& op) {
  return words_of(op.verb, "check " + op.check.check_id + " of " + op.check.node, op.check.modify_index);
}

std::string words_of(const state::resource_name& of) {
  return std::string(name_of(of.space)) + " " + of.name;
}
std::string words_of(const state::fence_op& op) {
  return "check-fence " + std::to_string(op.fence.fence) + " of " + words_of(op.fence.of);
}

std::string words_of(const std::vector<state::acl_link>& links) {
  std::string text;
  for (const auto& l : links)
    text += " " + (l.id.empty() ? l.name : l.id);
  return text;
}

std::string words_of_ends(const std::vector<std::string>& sessions, const std::string& cause) {
  return "end " + std::to_string(sessions.size()) + " session(s), first " +
         (sessions.empty() ? "none" : sessions.front()) + " (" + cause + ")";
}

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ';');
  return text;
}

} // namespace

std::string rendered(const state::command& c) {
  return std::visit(
      overloaded{
          [](const state::kv_write& w) { return words_of(w.op); },
          [](const state::txn& t) {
            std::string text = "transaction";
            for (const auto& op : t.ops)
              text += " [" + std::visit([](const auto& each) { return words_of(each); }, op) + "]";
            return text;
          },
          [](const state::session_create& s) {
            return "create session " + s.session.id + " at " + s.session.node + " ttl " + s.session.ttl;
          },
          [](const state::session_destroy& s) { return words_of_ends(s.ids, s.cause); },
          [](const state::session_expire& s) {
            return words_of_ends(s.ids, "ttl") + ", unless restored after entry " + to_string(s.restored_at);
          },
          [](const state::catalog_register& r) {
            std::string text = "register node " + r.node.node;
            for (const auto& c : r.checks)
              text += ", check " + c.check_id + " " + c.status;
            return text;
          },
          [](const state::catalog_deregister& d) { return "deregister node " + d.node; },
          [](const state::tombstone_reap& t) { return "forget tombstones up to " + to_string(t.up_to); },
          [](const state::restore_begin& r) {
            return "begin restore " + r.id + " of index " + to_string(r.archive_index);
          },
          [](const state::restore_rows& r) {
            return "restore " + r.id + ", batch " + std::to_string(r.number) + " of " + std::to_string(r.rows->size()) +
                   " rows";
          },
          [](const state::restore_commit& r) {
            return "commit restore " + r.id + " of " + std::to_string(r.batches) + " batches";
          },
          [](const state::restore_abort& r) { return "give up restore " + r.id; },
          [](const state::acl_initialize&) { return std::string("begin with ACLs"); },
          [](const state::acl_policy_set& p) {
            return std::string(p.fresh ? "make" : "change") + " policy " + p.policy.name + " " + p.policy.id + ": " +
                   in_one_line(p.policy.rules);
          },
          [](const state::acl_policy_delete& d) { return "delete policy " + d.id; },
          [](const state::acl_role_set& r) {
            return std::string(r.fresh ? "make" : "change") + " role " + r.role.name + " " + r.role.id +
                   words_of(r.policies);
          },
          [](const state::acl_role_delete& d) { return "delete role " + d.id; },
          [](const state::acl_token_set& t) {
            return std::string(t.fresh ? "make" : "change") + " token " + t.token.accessor + " " + t.token.secret +
                   words_of(t.policies) + words_of(t.roles) +
                   (t.lives_ns == 0
                        ? ""
                        : " for " + std::to_string(static_cast<std::uint64_t>(t.lives_ns / 1'000'000)) + " ms");
          },
          [](const state::acl_token_delete& d) { return "delete token " + d.accessor; },
          [](const state::fenced_txn& t) {
            std::string text = "transaction with fences";
            for (const auto& op : t.body.ops)
              text += " [" + std::visit([](const auto& each) { return words_of(each); }, op) + "]";
            return text;
          },
          [](const state::fenced_write& w) { return words_of(w.op) + ", " + words_of(state::fence_op{w.fence}); },
          [](const state::kv_acquire& a) { return words_of(a.op) + ", waits " + std::to_string(a.wait_ms) + " ms"; },
          [](const state::session_begin& s) {
            return "create session " + s.session.id + " ttl " + s.session.ttl + " " + std::string(name_of(s.ttl_mode)) +
                   ", leaves " + std::to_string(s.on_end.size()) + " operation(s)";
          },
          [](const state::claim_ask& a) {
            return "ask for " + a.name + (a.id.empty() ? "" : " as " + a.id) + " by " + a.session +
                   (a.permits ? ", permits " + std::to_string(*a.permits) : "") +
                   (a.limit ? ", limit " + std::to_string(*a.limit) : "") +
                   (a.mode ? ", " + std::string(name_of(*a.mode)) : "") +
                   (a.priority == 0 ? "" : ", priority " + std::to_string(a.priority)) +
                   (a.deadline_ms == 0 ? "" : ", deadline " + std::to_string(a.deadline_ms) + " ms") +
                   (a.refuse_deadlock ? ", refuses deadlock" : "");
          },
          [](const state::claim_release& r) { return "release " + r.id + " of " + r.name; },
          [](const state::claim_transfer& h) {
            return "hand " + h.name + " over from " + h.id + (h.to.empty() ? "" : " to " + h.to);
          },
          [](const state::claim_mode_set& m) {
            return "mode of " + m.id + " of " + m.name + " becomes " + std::string(name_of(m.mode));
          },
          [](const state::claim_limit_set& l) { return "limit of " + l.name + " becomes " + std::to_string(l.limit); },
          [](const state::claim_limit_unset& l) { return "limit of " + l.name + " is pinned no more"; },
          [](const state::guard_set& g) { return "guard " + g.prefix + " by " + words_of(g.by); },
          [](const state::guard_remove& g) { return "no guard of " + g.prefix; },
          [](const state::waits_withdraw& w) {
            std::string text = "withdraw of clients that disconnected";
            for (const auto& wait : w.waits)
              text += " [" + wait.session + " for " + wait.key + " as of " + to_string(wait.requested_at) + "]";
            return text;
          },
          [](const state::claims_alarm& a) { return "look at what is due at " + to_string(a.at); },
          [](const auto&) { return std::string("another command"); },
      },
      static_cast<const state::plain_command&>(c));
}

std::string rendered(const http::read_request& r) {
  constexpr const char* modes[] = {"", " (consistent)", " (stale)"};
  std::string text = std::visit(overloaded{
                                    [](const state::kv_get& q) { return "get " + q.key; },
                                    [](const state::kv_list& q) { return "list " + q.prefix; },
                                    [](const auto&) { return std::string("read"); },
                                },
                                static_cast<const state::plain_query&>(r.query));
  if (r.min_index > 0)
    text += " once it is past " + std::to_string(r.min_index);
  return text + modes[static_cast<std::size_t>(r.mode)];
}

std::string rendered(const operation& o) {
  std::string text = "#" + std::to_string(o.id) + " " +
                     (o.write  ? rendered(*o.write)
                      : o.read ? rendered(*o.read)
                               : "renew session " + o.renewal->session);
  if (o.renewal && !o.renewal->beside.empty())
    text += " in a list";
  if (const auto& who = asker_of(o))
    text += " as " + who->secret;
  if (o.result == outcome::pending)
    return text;
  text += std::string(": ") + name_of(o.result);
  if (!o.index.is_zero())
    text += " at " + to_string(o.index);
  if (o.write && o.result == outcome::done)
    text += std::visit(overloaded{
                           [](bool yes) { return std::string(yes ? " true" : " false"); },
                           [](const state::txn_reply& t) {
                             return std::string(t.errors.empty() ? " all" : " rolled back: " + t.errors.front().what);
                           },
                           [](const state::refusal& r) { return " (" + r.text + ")"; },
                           [](const std::string& id) { return " " + id; },
                           [](const auto&) { return std::string{}; },
                       },
                       static_cast<const state::plain_reply&>(o.reply));
  if (o.answer) {
    text += ", index " + to_string(o.answer->index);
    if (const auto* e = std::get_if<state::kv_entries>(&o.answer->data))
      for (const auto& entry : e->entries)
        text += " [" + std::string(entry->key) + " = " + shortened(entry->value) + " at " +
                to_string(entry->modify_index) + "]";
    if (const auto* r = std::get_if<state::refusal>(&o.answer->data))
      text += " (" + r->text + ")";
  }
  if (o.renewal && o.result == outcome::done && o.renewed == nullptr)
    text += ", there is none";
  if (!o.text.empty())
    text += " (" + o.text + ")";
  return text;
}

std::string in_seconds(virtual_time t) {
  return std::to_string(static_cast<double>(t.count()) / 1e9) + " s";
}

} // namespace belay::sim
