#pragma once
// How commands that change something, and those that show one thing, say what came of it.

#include "cli/flags/options.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>

namespace belay::cli {

/// `line`; with -format=json an object of `facts`, with `"Success": true` before them. @returns 0
int succeed(const options& o, terminal t, const std::string& line, boost::json::object facts = {});

/// What was asked for, or the end of the command: its complaint begins with `failed`.
template <class T>
T value_of(result<T> r, terminal t, const std::string& failed) {
  if (!r)
    throw command_ended{error(t, failed + r.error())};
  return std::move(*r);
}
/// The same, also if it is no 200.
api_answer answer_of(result<api_answer> r, terminal t, const std::string& failed);

/// A GET whose answer is shown: with -format=json as it came, else as `text` makes it. The complaint begins with `failed`.
int show(const options& o, terminal t, const std::string& path, const api_query& query, const std::string& failed,
         std::string (*text)(const options& o, const boost::json::value& answer));

/// A PUT without an answer that matters. The complaint begins with `failed`.
int tell(const options& o, terminal t, const std::string& path, const api_query& query, const std::string& failed,
         const std::string& line, boost::json::object facts = {});

} // namespace belay::cli
