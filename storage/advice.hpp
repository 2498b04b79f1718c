#pragma once
// Advice for operators about files that are damaged or lost.

namespace belay::storage {

/// Never "restore it": an older copy of the data lacks votes and entries. Ends a sentence.
constexpr auto start_empty = "move the whole data directory away and start with an empty one: the server then joins as "
                             "a new one and receives the data from the others. Do not do this to the only server, and "
                             "never to all servers at once: docs/operate/operations.md, A node is lost";

} // namespace belay::storage
