#pragma once
// Immutable reference-counted bytes in one block: commands in the log, values, response parts.

#include "protocol/base/check.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

namespace belay {

class hosted_bytes;
class payload_ref;

/// Shared by log, peers and state machine without a copy, from any thread. Empty bytes and null
/// differ. Never null in a log entry. Takes 8 bytes per owner, and 8 beside the bytes. The bytes
/// may be part of a larger block, which lives until their last owner is gone (hosted_bytes).
class payload {
public:
  payload() noexcept = default;
  payload(std::nullptr_t) noexcept {}
  payload(const payload& other) noexcept : block_(other.block_) {
    if (block_ != nullptr)
      block_->add_owner();
  }
  payload(payload&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  payload& operator=(payload other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~payload() {
    if (block_ != nullptr && block_->remove_owner())
      block_->end();
  }

  /// Copies `bytes`. @pre less than 2 GiB: input from outside has smaller limits
  friend payload make_payload(std::string_view bytes) {
    payload p;
    p.block_ = block::of(bytes);
    return p;
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }
  /// Valid while the bytes have an owner. @pre not null
  std::string_view operator*() const noexcept { return block_->view(); }
  class arrow {
  public:
    const std::string_view* operator->() const noexcept { return &bytes_; }

  private:
    friend payload;
    friend payload_ref;
    explicit arrow(std::string_view bytes) noexcept : bytes_(bytes) {}
    std::string_view bytes_;
  };
  arrow operator->() const noexcept { return arrow(**this); }

  /// Whether both are the same block or both null: does not compare bytes.
  friend bool operator==(const payload&, const payload&) noexcept = default;

private:
  friend hosted_bytes;
  friend payload_ref;

  struct block {
    static constexpr std::uint32_t hosted = std::uint32_t(1) << 31;

    block(std::string_view text, std::uint32_t flag) noexcept
        : size_and_flag(static_cast<std::uint32_t>(text.size()) | flag) {
      PRECONDITION(text.size() < hosted);
      text.copy(bytes(), text.size());
    }
    char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
    std::string_view view() noexcept { return {bytes(), size_and_flag & ~hosted}; }
    static block* of(std::string_view text) { return new (::operator new(sizeof(block) + text.size())) block(text, 0); }
    void add_owner() noexcept { owners.fetch_add(1, std::memory_order_relaxed); }
    /// @returns whether it was the last one
    bool remove_owner() noexcept { return owners.fetch_sub(1, std::memory_order_acq_rel) == 1; }
    /// Called when the last owner is gone.
    void end() noexcept;

    std::atomic<std::uint32_t> owners = 1;
    std::uint32_t size_and_flag; ///< the mark: the block belongs to hosted_bytes
  };

  block* block_ = nullptr;
};

/// Bytes that can be kept as a payload, at the end of a larger block, their host. Starts with
/// one owner; owners of payloads also own the host. The bytes follow: the host reserves space.
class hosted_bytes {
public:
  using end_function = void (*)(hosted_bytes&) noexcept;

  /// Copies `bytes` into the memory after this object. `end` destroys the host, on the thread of
  /// its last owner.
  hosted_bytes(std::string_view bytes, end_function end) noexcept : end_(end), block_(bytes, payload::block::hosted) {}
  hosted_bytes(const hosted_bytes&) = delete;
  hosted_bytes& operator=(const hosted_bytes&) = delete;

  std::string_view view() noexcept { return block_.view(); }
  void add_owner() noexcept { block_.add_owner(); }
  /// The last owner's removal destroys this object.
  void remove_owner() noexcept {
    if (block_.remove_owner())
      end_(*this);
  }

private:
  friend payload;
  friend payload_ref;

  end_function end_;
  payload::block block_; ///< the last member: its bytes follow
};

/// A reference to a payload's bytes without ownership; converts to a payload to keep them.
class payload_ref {
public:
  payload_ref() noexcept = default;
  payload_ref(std::nullptr_t) noexcept {}
  payload_ref(const payload& of) noexcept : block_(of.block_) {}
  explicit payload_ref(hosted_bytes& of) noexcept : block_(&of.block_) {}

  operator payload() const noexcept {
    payload kept;
    if (block_ != nullptr)
      block_->add_owner();
    kept.block_ = block_;
    return kept;
  }
  explicit operator bool() const noexcept { return block_ != nullptr; }
  /// @pre not null
  std::string_view operator*() const noexcept { return block_->view(); }
  payload::arrow operator->() const noexcept { return payload::arrow(**this); }

private:
  payload::block* block_ = nullptr;
};

payload make_payload(std::string_view bytes);

/// Null reads as empty. Valid while the bytes have an owner.
inline std::string_view view_of(payload_ref p) noexcept {
  return p ? *p : std::string_view();
}

} // namespace belay
