#pragma once
// Every kind of operation, each with an example that does it over HTTP: for each row of the table of
// routes and each of its methods one example at least, and examples for what servers write by
// themselves. A route or a method that has none is in the list all the same, without a request, and
// a run of the list fails there. Which commands come of them is counted by who runs them.

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
  bool takes_all = true; ///< false: any answer is right
  bool left = false;     ///< the client ends the connection while it waits, and reads no answer
};

struct operation_kind {
  std::string name;                ///< method, pattern of the route, and what is special
  std::vector<example_step> steps; ///< empty: there is no example
  bool needs_acls = false;
};

/// In the order of the table of routes. In targets and bodies stand for what is only known in a run:
///
///     $k          a name that no other kind has
///     $1 .. $9    the id that the first, second ... request of the kind asks the server to give out,
///                 and its Idempotency-Key
///     $fence      the newest fencing token that was given out
///     $archive    the newest archive that was saved; as a body. $half: a part of it
std::vector<operation_kind> operation_kinds();

/// By their numbers in the list of alternatives of a command.
std::vector<std::string_view> names_of_commands();

} // namespace belay::sim
