#pragma once
// JSON bodies read with the rules and error texts of Go's decoder (docs/contract/01, section 9).

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/result.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::golang {

/// The first JSON value of the text; what follows is ignored. An empty text fails with `EOF`.
result<boost::json::value> read_json(std::string_view text);

/// Where a value stands, for error texts: "RegisterRequest.Service" and "Tags".
struct json_field {
  std::string_view owner, name;
};

/// Fills typed fields from JSON values. Of all mistakes the first is kept; decoding goes on behind it, as in Go.
/// null leaves a plain field as it is and empties an optional one.
class json_decoder {
public:
  const std::string& error() const { return error_; }
  bool ok() const { return error_.empty(); }
  void fail(std::string text) {
    if (error_.empty())
      error_ = std::move(text);
  }

  void text(const boost::json::value& v, json_field at, std::string& out);
  void boolean(const boost::json::value& v, json_field at, bool& out);
  void integer(const boost::json::value& v, json_field at, std::int64_t& out);
  void unsigned_integer(const boost::json::value& v, json_field at, std::uint64_t& out);
  void index(const boost::json::value& v, json_field at, log_index& out);
  void texts(const boost::json::value& v, json_field at, std::optional<std::vector<std::string>>& out);
  void map(const boost::json::value& v, json_field at, std::optional<std::map<std::string, std::string>>& out);
  /// A Go duration as text, or a number of nanoseconds.
  void duration_ns(const boost::json::value& v, json_field at, std::int64_t& out);

  /// Calls `member(lower-case name, value)` for each member; it returns false for a name it does not know, which is an
  /// error unless `unknown_names_pass`. null: no members.
  template <class Member>
  void object(const boost::json::value& v, std::string_view what, Member member, bool unknown_names_pass = false) {
    if (v.is_null())
      return;
    const auto* o = v.if_object();
    if (!o) {
      wrong_type(v, what);
      return;
    }
    for (const auto& m : *o)
      if (const std::string_view name(m.key().data(), m.key().size());
          !member(lower_case(name), m.value()) && !unknown_names_pass)
        unknown(name);
  }

  /// `what` completes "json: cannot unmarshal string into Go ", such as "value of type api.TxnOps".
  void wrong_type(const boost::json::value& v, std::string_view what);

private:
  void wrong_field(const boost::json::value& v, json_field at, std::string_view type);
  void unknown(std::string_view name);

  std::string error_;
};

} // namespace belay::golang
