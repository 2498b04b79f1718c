#pragma once
// Advice for operators about files that are damaged or lost.

namespace belay::storage {

/// Never "restore it": an older copy of the data lacks votes and entries. Ends a sentence.
constexpr auto start_empty =
    "move the whole data directory away and start with an empty one, and the server comes back as a new one and gets "
    "the data from the others. Not the only server, and never all at once: docs/operate/operations.md, A node is lost";

} // namespace belay::storage
