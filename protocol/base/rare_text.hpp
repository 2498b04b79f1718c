#pragma once
// A text that mostly is empty, in the room of a pointer.

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace belay {

/// Costs 8 bytes while it is empty, where a std::string costs 32. To change it is to assign another.
class rare_text {
public:
  rare_text() noexcept = default;
  template <class Text>
  requires(std::is_convertible_v<const Text&, std::string_view> && !std::is_same_v<Text, rare_text>)
      rare_text(const Text& text)
      : text_(std::string_view(text).empty() ? nullptr : std::make_unique<const std::string>(text)) {}
  rare_text(const rare_text& other) : rare_text(other.str()) {}
  rare_text(rare_text&&) noexcept = default;
  rare_text& operator=(rare_text other) noexcept {
    text_ = std::move(other.text_);
    return *this;
  }
  ~rare_text() = default;

  const std::string& str() const noexcept {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  operator const std::string&() const noexcept { return str(); }
  operator std::string_view() const noexcept { return str(); }
  bool empty() const noexcept { return !text_; }
  std::size_t size() const noexcept { return str().size(); }
  void clear() noexcept { text_.reset(); }

  friend bool operator==(const rare_text& a, const rare_text& b) noexcept { return a.str() == b.str(); }
  template <class Text>
  requires std::is_convertible_v<const Text&, std::string_view>
  friend bool operator==(const rare_text& a, const Text& b) noexcept { return a.str() == std::string_view(b); }

private:
  std::unique_ptr<const std::string> text_; ///< null: empty
};

} // namespace belay
