#pragma once
// A value, or what went wrong: a text for people, and a kind for those who have to decide what to do next.

#include "protocol/base/check.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace belay {

/// What somebody does differently because of it. A kind is added when there is somebody who asks.
enum class failure_kind : std::uint8_t {
  other,
  no_space, ///< a disk, a quota or a limit of bytes is full: nothing was changed, and it may work later
  unproven, ///< it was written and reads back different: what was in force before still is
};

/// Why something was not done; `text` is for people and logs, and nobody compares it.
struct failure {
  std::string text;
  failure_kind kind = failure_kind::other;
};

/// Holds a T or a failure. Reading the wrong one is a programming error.
template <class T>
class [[nodiscard]] result {
public:
  result(T value) : data_(std::in_place_index<0>, std::move(value)) {}
  result(failure why) : data_(std::in_place_index<1>, std::move(why)) {}

  bool ok() const { return data_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    PRECONDITION(ok());
    return std::get<0>(data_);
  }
  const T& value() const& {
    PRECONDITION(ok());
    return std::get<0>(data_);
  }
  T&& value() && {
    PRECONDITION(ok());
    return std::get<0>(std::move(data_));
  }
  const std::string& error() const {
    PRECONDITION(!ok());
    return std::get<1>(data_).text;
  }
  /// The whole failure, to be handed on or asked for its kind.
  const failure& why() const {
    PRECONDITION(!ok());
    return std::get<1>(data_);
  }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

private:
  std::variant<T, failure> data_;
};

/// Success without a value.
struct done {};
using status = result<done>;

} // namespace belay
