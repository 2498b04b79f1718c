#pragma once
// Prefetches memory that will be read soon.

#include <cstddef>
#include <memory>

namespace belay {

inline void fetch_memory(const void* begin, std::size_t bytes = 1) {
  constexpr std::size_t line = 64;
  const auto* at = static_cast<const char*>(begin);
  for (const auto* end = at + bytes; at < end; at += line)
    __builtin_prefetch(at);
  // g++ 12 considers a function that only prefetches free of effects, and removes calls to it.
  asm volatile("");
}

/// The object and its reference counts, which std::make_shared() puts in front of it.
template <class T>
void fetch_shared(const std::shared_ptr<T>& p) {
  constexpr std::size_t counters = 16;
  if (p != nullptr)
    fetch_memory(reinterpret_cast<const char*>(p.get()) - counters, counters + sizeof(T));
}

} // namespace belay
