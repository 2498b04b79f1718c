#pragma once
// Many keys that share a few locks.
//
// Guarantees: as a mutex: the holder of a key's stripe has all keys of that stripe alone. The
// stripe depends only on the key and the number of stripes, so clients with equal settings agree.
// Survives, on failure: as a mutex. An acquire of several keys holds all their stripes or none.
//
// Several keys are locked in the order of their stripes, which prevents deadlocks. If you hold one
// and acquire another, you have to keep to that order yourself.

#include <belay/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay {
inline namespace v0 {

class striped_mutex {
public:
  /// The stripes are the locks NAME/0 to NAME/(stripes-1). @pre stripes > 0
  striped_mutex(session& s, std::string name, std::size_t stripes, mutex_options options = mutex_options());

  /// 64-bit FNV-1a of the key, modulo the number of stripes.
  std::size_t stripe_of(std::string_view key) const noexcept;
  task<result<lease>> acquire(std::string key, deadline limit);
  /// One lease for each stripe of these keys, in the order of stripes.
  task<result<std::vector<lease>>> acquire_all(std::vector<std::string> keys, deadline limit);

private:
  task<result<lease>> acquire_stripe(std::size_t stripe, deadline limit);

  session& session_;
  std::string name_;
  std::size_t stripes_;
  mutex_options options_;
};

} // namespace v0
} // namespace belay
