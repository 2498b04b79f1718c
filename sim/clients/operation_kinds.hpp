#pragma once
// Every kind of operation, with examples over HTTP. There is at least one for each method of each
// row of the table of routes, and there are some for what servers write by themselves. A route or
// method without an example is listed without a request, and a run of the list fails there. The
// caller counts which commands result.

#include "protocol/state/commands.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

/// A request of an example, or a wait.
struct example_step {
  std::chrono::milliseconds wait{0}; ///< above zero: nothing is sent
  std::string method, target, body;
  bool keyed = false;    ///< with an Idempotency-Key
  bool takes_all = true; ///< false: any response is right
  bool left = false;     ///< the client disconnects while it waits, and reads no response
};

struct operation_kind {
  std::string name;                ///< method, pattern of the route, and variant
  std::vector<example_step> steps; ///< empty: there is no example
  bool needs_acls = false;
};

/// All kinds, in the order of the table of routes. Placeholders in targets and bodies are only
/// known in a run:
///
///   $k       a name that no other kind has
///   $1 .. $9 the id that the first, second ... request of the kind wants the server to give out,
///            and its Idempotency-Key
///   $fence   the newest fencing token that was given out
///   $archive the newest archive that was saved; as a body. $half: a part of it
std::vector<operation_kind> operation_kinds();

/// The names, by number in the list of alternatives of a command.
std::vector<std::string_view> names_of_commands();

} // namespace belay::sim
