#pragma once
// A value or an error: a text for people, and a kind for code that must react to it.

#include "protocol/base/check.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace belay {

/// Kinds that some caller handles differently. Add one only with such a caller.
enum class failure_kind : std::uint8_t {
  other,
  no_space, ///< a disk, a quota or a size limit is full: nothing was changed; may succeed later
  unproven, ///< it was written and reads back different: the previous state is still in force
};

/// Why something failed; `text` is for people and logs, and never compared.
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
  /// The whole failure, to pass on or to examine its kind.
  const failure& reason() const {
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
