#include "protocol/state/keys/kv_entry.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/fetch_memory.hpp"

#include <limits>
#include <new>

namespace belay::state {

kv_entry_ptr::kv_entry_ptr(const kv_entry_in_bytes& e) {
  static_assert(alignof(stored) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  PRECONDITION(e.key.size() <= std::numeric_limits<std::uint32_t>::max());
  std::unique_ptr<const rare_members> rare;
  if (e.flags != 0 || e.lock_index != 0 || e.fence != 0 || !e.session.empty())
    rare = std::make_unique<const rare_members>(rare_members{e.flags, e.lock_index, e.fence, std::string(e.session)});
  const auto in_front = space_for_key(e.key.size());
  auto* memory = static_cast<char*>(::operator new(in_front + sizeof(stored) + e.value.size()));
  e.key.copy(memory + in_front - e.key.size(), e.key.size());
  stored_ = new (memory + in_front) stored{e.create_index, e.modify_index, std::move(rare),
                                           static_cast<std::uint32_t>(e.key.size()), hosted_bytes(e.value, end)};
  INVARIANT(static_cast<void*>(&stored_->value + 1) == stored_ + 1);
}

void kv_entry_ptr::end(hosted_bytes& value) noexcept {
  // The last member: both end at the same address.
  auto* s = reinterpret_cast<stored*>(reinterpret_cast<char*>(&value + 1) - sizeof(stored));
  auto* memory = reinterpret_cast<char*>(s) - space_for_key(s->key_size);
  s->~stored();
  ::operator delete(memory);
}

void fetch_shared(const kv_entry_ptr& p) {
  // The end of the key, the numbers, and the beginning of the value. Reading the key's size would
  // be a cache miss.
  constexpr std::size_t of_key = 32, of_value = 16;
  if (p != nullptr)
    fetch_memory(reinterpret_cast<const char*>(p.stored_) - of_key, of_key + sizeof(kv_entry_ptr::stored) + of_value);
}

} // namespace belay::state
