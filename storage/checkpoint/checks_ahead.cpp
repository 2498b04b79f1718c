#include "storage/checkpoint/checks_ahead.hpp"

#include "storage/checkpoint/checked_values.hpp"

#include <system_error>

namespace belay::storage {

namespace {

constexpr std::uint64_t sent_together = 256; // 60 us of checksums; the longest wait for the first rows

} // namespace

checks_ahead::~checks_ahead() {
  given_up_.store(true, std::memory_order_relaxed);
  if (thread_.joinable())
    thread_.join();
}

bool checks_ahead::start(lmdb_transaction& txn, char tag) {
  PRECONDITION(!thread_.joinable()); // one transaction is used by one thread
  PRECONDITION(txn.raw() != nullptr);
  try {
    thread_ = std::thread([this, &txn, tag] { look(txn, tag); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void checks_ahead::look(lmdb_transaction& txn, char tag) {
  std::uint64_t rows = 0;
  const auto publish = [&](std::uint64_t state_bits) {
    known_.store(rows | state_bits, std::memory_order_release);
    known_.notify_one();
  };
  lmdb_cursor c;
  int rc = c.open(txn);
  if (rc == 0)
    rc = c.seek(std::string_view(&tag, 1));
  for (; rc == 0 && c.key().front() == tag && checked(c.key(), c.value()); rc = c.next()) {
    if (++rows % sent_together != 0)
      continue;
    publish(0);
    if (given_up_.load(std::memory_order_relaxed))
      break;
  }
  publish(ended);
}

bool checks_ahead::wait_for(std::uint64_t row) {
  for (;;) {
    const auto known = known_.load(std::memory_order_acquire);
    seen_ = known & ~ended;
    if (row < seen_)
      return true;
    if ((known & ended) != 0)
      return false;
    known_.wait(known, std::memory_order_acquire);
  }
}

} // namespace belay::storage
