#pragma once
// A value, or the text of what went wrong.

#include "protocol/base/check.hpp"

#include <string>
#include <utility>
#include <variant>

namespace belay {

/// Why something was not done; `text` is for people and logs.
struct failure {
  std::string text;
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
