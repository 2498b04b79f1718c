// A client without permissions sends every command. Each entry of the log is
// written by all servers and replayed at each start. Such a client could fill the disks of all, so
// none of its commands may be proposed.

#include "protocol/state/machine.hpp"
#include "tests/round_trip/random_values.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::round_trip;

namespace {

bool only_reads(const state::command& c) {
  const auto* ops = std::get_if<state::txn>(&c);
  const auto* fenced = std::get_if<state::fenced_txn>(&c);
  ops = fenced != nullptr ? &fenced->body : ops;
  return ops != nullptr && std::all_of(ops->ops.begin(), ops->ops.end(), [](const state::txn_op& each) {
           return std::visit(
               [](const auto& op) {
                 if constexpr (requires { op.verb == state::catalog_verb::get; })
                   return op.verb == state::catalog_verb::get;
                 else if constexpr (requires { op.verb; })
                   return op.verb == state::kv_verb::get || op.verb == state::kv_verb::get_tree;
                 else
                   return false;
               },
               each);
         });
}

} // namespace

TEST_CASE("no command of a token without permissions reaches the log", "[B16]") {
  state::machine m;
  state::effects changed;
  const cluster_time now{1'000};
  const std::string bare = "a token without policies";
  m.apply(log_index{1}, now, state::acl_initialize{"the master's", "00000000-0000-4000-8000-000000000001", 1'000},
          changed);
  state::acl_token_set token;
  token.token.accessor = "00000000-0000-4000-8000-000000000002";
  token.token.secret = bare;
  token.fresh = true;
  m.apply(log_index{2}, now, token, changed);
  for (const auto how : all_fillings) {
    value_source random(16, how);
    for (std::size_t kind = 0; kind < value_source::command_kinds; ++kind)
      for (int n = 0; n < 20; ++n) {
        auto c = random.command_of_kind(kind);
        if (only_reads(c)) // such a transaction is a query
          continue;
        if (const auto* write = std::get_if<state::kv_write>(&c);
            write != nullptr && (write->op.key.empty() || !state::writes_keys(write->op.verb)))
          continue; // no request leads to it
        if (auto* again = std::get_if<state::acl_bootstrap>(&c))
          again->reset_index = {}; // what is in the file of an operator may be the right one
        c.authorized_at = {};
        for (const auto& secret : {std::string("anonymous"), bare}) {
          INFO("command " << kind << ", filling " << static_cast<int>(how) << ", by " << secret);
          c.by = state::auth_context{secret, false, "dc1"};
          if (std::holds_alternative<state::acl_bootstrap>(c))
            c.by.reset(); // is asked by nobody
          CHECK((m.refuses(c, now) || m.refuse_early(c, now, true)));
        }
      }
  }
}
