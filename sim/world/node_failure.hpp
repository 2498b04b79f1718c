#pragma once
// How a node of the simulation dies by its own decision: where the real process would abort.

namespace belay::sim {

/// Thrown through an actor's handler; the world has noted the reason before.
struct node_failure {};

} // namespace belay::sim
