#pragma once
// What a simulated node throws where the real process would abort: it ends by its own decision.

namespace belay::sim {

/// Thrown through an actor's handler; the world has noted the reason before.
struct node_failure {};

} // namespace belay::sim
