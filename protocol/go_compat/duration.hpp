#pragma once
// Durations as in Go's time.ParseDuration and Duration.String: "1h30m", "1.5s", "300ms".

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace belay::go_compat {

/// An optional sign, then "0" or numbers, each with a unit: ns, us (also µs or μs), ms, s, m, h.
/// Truncates to nanoseconds. @returns nullopt for any other text, and above 63 bits of nanoseconds.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// Why parse_duration rejected `text`, in Go's words: `time: invalid duration "abc"`,
/// `time: missing unit in duration "10"`, `time: unknown unit "x" in duration "10x"`.
std::string duration_complaint(std::string_view text);

/// Shortest exact form: "1m30s", "1.5s", "38.308952ms", "0s".
std::string format_duration(std::chrono::nanoseconds d);

} // namespace belay::go_compat
