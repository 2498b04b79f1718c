#pragma once
// Results of so many rows that freeing them would hold the thread of their last owner.

#include "actors/interfaces.hpp"

#include <caf/send.hpp>

#include <memory>
#include <utility>

namespace belay::actors {

/// The rows. Their last owner leaves them to the checkpointer's thread.
/// @param to null: it frees them
inline std::shared_ptr<const state::query_result> freed_elsewhere(checkpointer_actor to,
                                                                  std::shared_ptr<const state::query_result> rows) {
  const auto* all = rows.get();
  return {all, [to = std::move(to), rows = std::move(rows)](const state::query_result*) mutable {
            if (to)
              caf::anon_send(to, free_memory{{std::move(rows)}});
          }};
}

} // namespace belay::actors
