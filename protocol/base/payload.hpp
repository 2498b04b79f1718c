#pragma once
// Immutable bytes with a count of owners in one piece of memory: commands in the log, values of keys, parts of answers.

#include "protocol/base/check.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

namespace belay {

/// Shared between log, peers and state machine without a copy, from any thread. Empty bytes and none (null) are
/// different things. Never null in a log entry. Costs 8 bytes where it is held, and 8 beside the bytes.
class payload {
public:
  payload() noexcept = default;
  payload(std::nullptr_t) noexcept {}
  payload(const payload& other) noexcept : block_(other.block_) {
    if (block_ != nullptr)
      block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  payload(payload&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  payload& operator=(payload other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~payload() {
    if (block_ != nullptr && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      ::operator delete(block_);
  }

  /// Copies `bytes`. @pre less than 4 GiB: what comes from outside has smaller limits
  friend payload make_payload(std::string_view bytes) {
    payload p;
    p.block_ = block::of(bytes);
    return p;
  }

  /// Where the bytes are, or null: nothing of them is read.
  const void* memory() const noexcept { return block_; }
  explicit operator bool() const noexcept { return block_ != nullptr; }
  /// Valid as long as somebody owns the bytes. @pre not null
  std::string_view operator*() const noexcept { return block_->view(); }
  class arrow {
  public:
    const std::string_view* operator->() const noexcept { return &bytes_; }

  private:
    friend payload;
    explicit arrow(std::string_view bytes) noexcept : bytes_(bytes) {}
    std::string_view bytes_;
  };
  arrow operator->() const noexcept { return arrow(**this); }

  /// Whether both are the same piece of memory, or none: not whether the bytes are equal.
  friend bool operator==(const payload&, const payload&) noexcept = default;

private:
  struct block {
    std::atomic<std::uint32_t> owners;
    std::uint32_t size;

    char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
    std::string_view view() noexcept { return {bytes(), size}; }
    static block* of(std::string_view text) {
      PRECONDITION(text.size() <= std::numeric_limits<std::uint32_t>::max());
      auto* made = new (::operator new(sizeof(block) + text.size())) block{1, static_cast<std::uint32_t>(text.size())};
      std::memcpy(made->bytes(), text.data(), text.size());
      return made;
    }
  };

  block* block_ = nullptr;
};

payload make_payload(std::string_view bytes);

} // namespace belay
