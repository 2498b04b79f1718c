#pragma once
// Asking the processor for memory that will be read soon, without waiting for it.

#include <cstddef>
#include <memory>

namespace belay {

inline void fetch_memory(const void* begin, std::size_t bytes = 1) {
  constexpr std::size_t line = 64;
  const auto* at = static_cast<const char*>(begin);
  for (const auto* end = at + bytes; at < end; at += line)
    __builtin_prefetch(at);
  // g++ 12 takes a function that only fetches for one without effects, and leaves its calls out.
  asm volatile("");
}

/// The object and the counters of its owners, if std::make_shared() made it: they are in front of it.
template <class T>
void fetch_shared(const std::shared_ptr<T>& p) {
  constexpr std::size_t counters = 16;
  if (p != nullptr)
    fetch_memory(reinterpret_cast<const char*>(p.get()) - counters, counters + sizeof(T));
}

} // namespace belay
