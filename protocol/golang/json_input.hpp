#pragma once
// JSON bodies read with the rules and error texts of Go's decoder (docs/contract/01, section 9).

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/result.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::golang {

/// How much a text may become in memory. A value takes tens of bytes, hundreds where it becomes a check or an operation, and needs two bytes
/// of text.
struct json_bounds {
  std::size_t values_max = 0;   ///< of the whole text
  std::size_t elements_max = 0; ///< of one list or object
};
/// Of what a client sends: well above what any client of Consul's does (4,096 sessions to renew, some thousand tags), and 10 MB at most.
inline constexpr json_bounds client_json{65'536, 8'192};
/// Of what this cluster's servers send: as much as their tables hold.
inline constexpr json_bounds server_json{std::numeric_limits<std::size_t>::max(),
                                         std::numeric_limits<std::size_t>::max()};

/// The first JSON value of the text; what follows is ignored. An empty text fails with `EOF`. A text beyond the bounds fails with one that
/// names them, before it is parsed.
result<boost::json::value> read_json(std::string_view text, const json_bounds& bounds = client_json);
/// The same of a text that has nothing else behind it but blanks, as a file; else `invalid character 'x' after top-level value`.
result<boost::json::value> read_json_file(std::string_view text, const json_bounds& bounds = server_json);
/// Not less than the number of values in the text; only a scan.
std::size_t json_values_at_most(std::string_view text);

/// Where a value stands, for error texts: "RegisterRequest.Service" and "Tags".
struct json_field {
  std::string_view owner, name;
};

/// Fills typed fields from JSON values. Of all mistakes the first is kept; decoding goes on behind it, as in Go.
/// null leaves a plain field as it is and empties an optional one.
class json_decoder {
public:
  enum class keeps : bool { first_error, all_errors };
  /// @param errors all of them only for a text that its author is told about, not for a stranger's
  explicit json_decoder(keeps errors = keeps::first_error) : keeps_(errors) {}
  /// @param written what the values were read from: errors show a number as it is written there, as Go does
  explicit json_decoder(std::string_view written) : written_(written) {}

  /// The first one; empty: there is none.
  const std::string& error() const { return errors_.empty() ? none_ : errors_.front(); }
  const std::vector<std::string>& errors() const { return errors_; }
  bool ok() const { return errors_.empty(); }
  void fail(std::string text) {
    if (errors_.empty() || keeps_ == keeps::all_errors)
      errors_.push_back(std::move(text));
  }

  /// @returns false: a list of `n` elements is too long, which is an error that names the bound
  bool fits(std::size_t n, json_field at, std::size_t elements_max);
  void text(const boost::json::value& v, json_field at, std::string& out);
  void boolean(const boost::json::value& v, json_field at, bool& out);
  void integer(const boost::json::value& v, json_field at, std::int64_t& out);
  void unsigned_integer(const boost::json::value& v, json_field at, std::uint64_t& out);
  /// A number below 256.
  void octet(const boost::json::value& v, json_field at, std::uint8_t& out);
  void index(const boost::json::value& v, json_field at, log_index& out);
  /// A float64, which is always finite.
  void real(const boost::json::value& v, json_field at, double& out);
  void reals(const boost::json::value& v, json_field at, std::vector<double>& out);
  void texts(const boost::json::value& v, json_field at, std::optional<std::vector<std::string>>& out);
  void map(const boost::json::value& v, json_field at, std::optional<std::map<std::string, std::string>>& out);
  /// Bytes: base64 as a text, or a list of numbers below 256. null: none.
  void bytes(const boost::json::value& v, json_field at, std::string& out);
  /// A Go duration as text, or a number of nanoseconds. A decoder that keeps the first error ignores values of other types, as the
  /// decoders of Consul's registrations do.
  void duration_ns(const boost::json::value& v, json_field at, std::int64_t& out);
  /// The same, but any other type is an error, and so is null (ReadableDuration of Consul's api package).
  void readable_duration_ns(const boost::json::value& v, json_field at, std::int64_t& out);

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
  void number_of_ns(const boost::json::value& v, json_field at, std::int64_t& out);
  std::string shown_number(const boost::json::value& v) const;

  keeps keeps_ = keeps::first_error;
  std::string_view written_;
  std::string none_;
  std::vector<std::string> errors_;
};

} // namespace belay::golang
