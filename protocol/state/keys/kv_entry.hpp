#pragma once
// A key with its value, holder and indexes: as a draft, and as stored, in one block of memory.

#include "protocol/base/ids.hpp"
#include "protocol/base/payload.hpp"
#include "protocol/state/fields.hpp"
#include "protocol/state/tags.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace belay::state {

template <class Text, class Value>
struct kv_members {
  static constexpr table in = table::kv;

  Text key;
  Value value; ///< never null; empty text = Consul's null
  std::uint64_t flags = 0;
  std::uint64_t lock_index = 0;
  Text session; ///< holder; empty: not locked
  log_index create_index;
  log_index modify_index;
  /// Fencing token of the holder's grant; zero: not locked. Larger than that of every earlier
  /// grant, of any key: the granting entry's log index plus index_kind::fence_base. Log indexes
  /// only rise, even by deletes, failovers, restarts; a restored archive with larger tokens raises
  /// the base. LockIndex would not do: puts and deletes reset it; nor ModifyIndex: a put changes
  /// it.
  std::uint64_t fence = 0;
};

template <class Text, class Value>
inline constexpr auto fields_of<kv_members<Text, Value>> = std::tuple{
    field<&kv_members<Text, Value>::key, "Key", as::by_key>{},
    field<&kv_members<Text, Value>::value, "Value">{},
    field<&kv_members<Text, Value>::flags, "Flags", as::fixed>{},
    field<&kv_members<Text, Value>::lock_index, "LockIndex">{},
    field<&kv_members<Text, Value>::session, "Session", as::omit_empty>{},
    field<&kv_members<Text, Value>::create_index, "CreateIndex">{},
    field<&kv_members<Text, Value>::modify_index, "ModifyIndex">{},
    field<&kv_members<Text, Value>::fence, "", as::later>{}, // a header of its own
};

/// Refers to memory owned elsewhere: for a stored entry, by its kv_entry_ptr.
using kv_entry = kv_members<std::string_view, payload_ref>;
/// The same, from decoded bytes.
using kv_entry_in_bytes = kv_members<std::string_view, std::string_view>;
/// A draft, to be changed and then stored.
using kv_draft = kv_members<std::string, payload>;

/// Shared pointer to an immutable entry; 8 bytes. Key, numbers and value are one block of memory,
/// so reading an entry is one cache miss. Rare members (a lock, flags) are behind a pointer.
class kv_entry_ptr {
public:
  kv_entry_ptr() noexcept = default;
  kv_entry_ptr(std::nullptr_t) noexcept {}
  /// Copies key and value. @pre the key has less than 4 GiB, the value less than 2
  explicit kv_entry_ptr(const kv_entry_in_bytes& e);
  kv_entry_ptr(const kv_entry& e) : kv_entry_ptr(with_value(e, *e.value)) {}
  kv_entry_ptr(const kv_draft& e) : kv_entry_ptr(with_value(e, *e.value)) {}
  kv_entry_ptr(const kv_entry_ptr& other) noexcept : stored_(other.stored_) {
    if (stored_ != nullptr)
      stored_->value.add_owner();
  }
  kv_entry_ptr(kv_entry_ptr&& other) noexcept : stored_(std::exchange(other.stored_, nullptr)) {}
  kv_entry_ptr& operator=(kv_entry_ptr other) noexcept {
    std::swap(stored_, other.stored_);
    return *this;
  }
  ~kv_entry_ptr() {
    if (stored_ != nullptr)
      stored_->value.remove_owner();
  }

  explicit operator bool() const noexcept { return stored_ != nullptr; }
  /// Valid while the entry has an owner. @pre not null
  kv_entry operator*() const noexcept {
    auto& s = *stored_;
    kv_entry e{s.key(), payload_ref(s.value), 0, 0, {}, s.create_index, s.modify_index, 0};
    if (s.rare != nullptr) {
      e.flags = s.rare->flags;
      e.lock_index = s.rare->lock_index;
      e.session = s.rare->session;
      e.fence = s.rare->fence;
    }
    return e;
  }
  class arrow {
  public:
    const kv_entry* operator->() const noexcept { return &entry_; }

  private:
    friend kv_entry_ptr;
    explicit arrow(kv_entry entry) noexcept : entry_(entry) {}
    kv_entry entry_;
  };
  arrow operator->() const noexcept { return arrow(**this); }
  /// Single members, without reading the rare ones. @pre not null
  std::string_view key() const noexcept { return stored_->key(); }
  log_index modify_index() const noexcept { return stored_->modify_index; }

  /// Whether both are the same block of memory, or both null.
  friend bool operator==(const kv_entry_ptr&, const kv_entry_ptr&) noexcept = default;
  /// Prefetches what a search and a write read.
  friend void fetch_shared(const kv_entry_ptr& p);

  /// Size of an entry besides key, value and rare members.
  static constexpr std::size_t bytes_beside() { return sizeof(stored); }

private:
  struct rare_members {
    std::uint64_t flags, lock_index, fence;
    std::string session;
  };
  /// The key is in front of it, the value behind it.
  struct stored {
    std::string_view key() const noexcept { return {reinterpret_cast<const char*>(this) - key_size, key_size}; }

    log_index create_index, modify_index;
    std::unique_ptr<const rare_members> rare; ///< null: all of them are zero or empty
    std::uint32_t key_size;
    hosted_bytes value; ///< the last member
  };
  template <class Entry>
  static kv_entry_in_bytes with_value(const Entry& e, std::string_view value) {
    return {e.key, value, e.flags, e.lock_index, e.session, e.create_index, e.modify_index, e.fence};
  }
  static void end(hosted_bytes& value) noexcept;
  /// Space in front of it for the key, padded for alignment.
  static constexpr std::size_t space_for_key(std::size_t key_size) {
    return (key_size + alignof(stored) - 1) / alignof(stored) * alignof(stored);
  }

  stored* stored_ = nullptr; ///< reference-counted
};

} // namespace belay::state
