#pragma once
// A key with its value, its holder and its indexes: as one that is being made, and as it is stored, in one piece of memory.

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
  /// Of the holder's grant; zero: not locked. Larger than that of every grant before, of this key or any other.
  /// It is the log index of the entry that granted the lock, plus mark::fence_base. Log indexes only rise, through
  /// deletes, failovers and restarts; the base is raised when an archive with larger fences is restored. LockIndex could
  /// not serve: plain puts and deletes reset it. ModifyIndex neither: a put moves it while the holder stays.
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

/// Texts and value are in memory that somebody else keeps: of a stored entry its kv_entry_ptr.
using kv_entry = kv_members<std::string_view, payload_ref>;
/// The same, out of bytes that have been read.
using kv_entry_in_bytes = kv_members<std::string_view, std::string_view>;
/// To be changed, and stored then.
using kv_draft = kv_members<std::string, payload>;

/// Shares an entry that is not changed any more; 8 bytes. Key, numbers and value are one piece of memory: there are as many of these as keys,
/// and whoever reads one waits for memory once. What few keys have (a lock, flags) is behind a pointer there.
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
  /// Valid as long as somebody owns the entry. @pre not null
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
  /// Two of its members, without a look at the rare ones. @pre not null
  std::string_view key() const noexcept { return stored_->key(); }
  log_index modify_index() const noexcept { return stored_->modify_index; }

  /// Whether both are the same piece of memory, or none.
  friend bool operator==(const kv_entry_ptr&, const kv_entry_ptr&) noexcept = default;
  /// Brings what a search and a write look at into the processor's cache, without waiting for it.
  friend void fetch_shared(const kv_entry_ptr& p);

  /// What an entry takes beside its key, its value and what is rare.
  static constexpr std::size_t bytes_beside() { return sizeof(stored); }

private:
  struct rare_members {
    std::uint64_t flags, lock_index, fence;
    std::string session;
  };
  /// The key is in front of it, and the value behind it.
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
  /// What is in front of it, with what makes its address one for numbers.
  static constexpr std::size_t room_for_key(std::size_t key_size) {
    return (key_size + alignof(stored) - 1) / alignof(stored) * alignof(stored);
  }

  stored* stored_ = nullptr; ///< only its owners are counted
};

} // namespace belay::state
