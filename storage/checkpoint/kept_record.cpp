#include "storage/checkpoint/kept_record.hpp"

#include "protocol/base/bytes.hpp"
#include "protocol/base/mutants.hpp"

namespace belay::storage {

bool kept_record::belongs_to(const checkpoint_info& there) const {
  const auto m = position_of(there);
  return m == newest || m == before || MUTANT(stale_window_taken);
}

std::string encode(const kept_record& k) {
  std::string bytes;
  byte_writer w(bytes);
  for (const auto& m : {k.before, k.newest}) {
    w.u64(m.index.value);
    w.u64(m.digest);
  }
  w.u64(k.floor.value);
  w.u64(k.rows);
  return bytes;
}

std::optional<kept_record> decode_kept_record(std::string_view bytes) {
  byte_reader r(bytes);
  kept_record k;
  for (auto* m : {&k.before, &k.newest}) {
    m->index = log_index{r.u64()};
    m->digest = r.u64();
  }
  k.floor = log_index{r.u64()};
  k.rows = r.u64();
  return r.complete() ? std::optional(k) : std::nullopt;
}

} // namespace belay::storage
