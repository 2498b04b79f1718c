#include "actors/telemetry/old_names.hpp"

#include "actors/telemetry/log.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <iterator>

namespace belay::actors {

void warn_of_old_name(const renamed_name& row) {
  static std::array<std::atomic<bool>, std::size(renamed_names)> warned{};
  const auto index = static_cast<std::size_t>(&row - std::begin(renamed_names));
  if (!warned[index].exchange(true, std::memory_order_relaxed))
    log::warn("agent", "deprecated name used",
              {{"old_name", row.old_name}, {"name", row.name}, {"ends_with", "0.4.0"}});
}

} // namespace belay::actors
