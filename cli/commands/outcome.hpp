#pragma once
// How commands report their result: those that change something, and those that show one thing.

#include "cli/flags/options.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>

namespace belay::cli {

/// Prints `line`; with -format=json prints an object of `facts` that begins with `"Success": true`.
/// @returns 0
int succeed(const options& o, terminal t, const std::string& line, boost::json::object facts = {});

/// The value of `r`. A failure ends the command with an error that begins with `failed`.
template <class T>
T value_of(result<T> r, terminal t, const std::string& failed) {
  if (!r)
    throw command_ended{error(t, failed + r.error())};
  return std::move(*r);
}
/// The same for a response; one that is not a 200 is a failure.
api_answer answer_of(result<api_answer> r, terminal t, const std::string& failed);

/// Sends a GET and prints the response: with -format=json as it is, otherwise as `text` renders it.
/// An error begins with `failed`.
int show(const options& o, terminal t, const std::string& path, const api_query& query, const std::string& failed,
         std::string (*text)(const options& o, const boost::json::value& answer));

/// Sends a PUT whose response has no content of interest, and prints `line`. An error begins with
/// `failed`.
int show_outcome(const options& o, terminal t, const std::string& path, const api_query& query,
                 const std::string& failed, const std::string& line, boost::json::object facts = {});

} // namespace belay::cli
