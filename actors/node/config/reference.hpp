#pragma once
// Generates docs/reference/configuration.md from the tables of keys and flags and the texts
// about them. A test compares the file.

#include <functional>
#include <map>
#include <string>

namespace belay::actors {

struct key_text {
  std::string by_default; ///< empty for keys without effect
  std::string means;      ///< Markdown
};

/// The texts in key_texts.hpp, by key. A key that occurs twice has the later text.
std::map<std::string, key_text, std::less<>> texts_of_keys();

/// The whole page, in Markdown.
std::string configuration_reference();

} // namespace belay::actors
