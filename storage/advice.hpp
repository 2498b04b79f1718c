#pragma once
// What an operator is told to do about files that are damaged or lost.

namespace belay::storage {

/// Never "restore it": a server with an older copy of its data has forgotten votes and entries. The end of a sentence.
constexpr auto start_empty =
    "move the whole data directory away and start with an empty one, and the server comes back as a new one and gets "
    "the data from the others. Not the only server, and never all at once: docs/operations.md, A node is lost";

} // namespace belay::storage
