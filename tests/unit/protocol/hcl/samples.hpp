#pragma once
// Texts in HCL and JSON, and the documents that hashicorp/hcl at revision 65a6292f0157 makes of
// them: rows of tables, and input that other tests truncate and damage.

#include <string_view>
#include <vector>

namespace belay::hcl::tests {

struct sample {
  std::string_view story;
  std::string_view text;
  std::string_view document; ///< in the format of dumped(), without locations
};

inline const std::vector<sample> hcl_samples = {
    {"empty text", "", ""},
    {"only white space and comments", " \t\r\n# a\n// b\n/* c\n */ ", ""},
    {"comment ended by the end of the text", "a = 1 # b", R"("a" 1)"},
    {"comments between everything", "a /*1*/ = /*2*/ [ /*3*/ 1, // 4\n2 # 5\n]", R"("a" [1, 2])"},
    {"slashes and stars in a comment", "/* ** / // */a = 1", R"("a" 1)"},
    {"names", "_a = 1\nb-c = 2\nd.e = 3\nF9 = 4", R"("_a" 1; "b-c" 2; "d.e" 3; "F9" 4)"},
    {"names in other letters",
     "gr\xC3\xB6\xC3\x9F"
     "e = 1\n\xE5\x90\x8D\xD9\xA3 = 2",
     R"("gr\xc3\xb6\xc3\x9fe" 1; "\xe5\x90\x8d\xd9\xa3" 2)"},
    {"names in quotes", "\"a b\" = 1\n\"\\x41\" = 2\n\"\" = 3", R"("a b" 1; "A" 2; "" 3)"},
    {"names that only begin like booleans", "trueish = 1 false-0 = 2", R"("trueish" 1; "false-0" 2)"},
    {"items on one line", "a = 1 b = 2, c = 3,", R"("a" 1; "b" 2; "c" 3)"},
    {"no white space at all", R"(a=1b="x"c=true d{})", R"("a" 1; "b" "x"; "c" true; "d" {})"},
    {"same name twice", "a = 1\na = 2", R"("a" 1; "a" 2)"},
    {"braces with and without sign", "a { b = 1 }\na = { b = 2 }", R"("a" {"b" 1}; "a" {"b" 2})"},
    {"empty braces", "a {}\nb = {}", R"("a" {}; "b" {})"},
    {"labels", "key \"x\" \"y\" { p = \"read\" }\nkey z {}", R"("key" "x" "y" {"p" "read"}; "key" "z" {})"},
    {"nested braces are no labels", R"(key { "x" { p = "read" } })", R"("key" {"x" {"p" "read"}})"},
    {"commas between items in braces", "a { b = 1, c = 2, }", R"("a" {"b" 1; "c" 2})"},
    {"integers", "a = [0, 7, -7, 0x1F, -0xff, 017, 9223372036854775807, 99999999999999999999]",
     R"("a" [0, 7, -7, 0x1F, -0xff, 017, 9223372036854775807, 99999999999999999999])"},
    {"fractions", "a = [1.5, -0.5, .5, 2., 1e3, 1.5E-3, 0e1, 0.5e+2, 0159.5]",
     R"("a" [f1.5, f-0.5, f.5, f2., f1e3, f1.5E-3, f0e1, f0.5e+2, f0159.5])"},
    {"digits that are no octal number", "a = 08", R"("a" 08)"},
    {"an exponent without digits", "a = 1e", R"("a" f1e)"},
    {"an exponent takes the character behind it", "a = 1ex", R"("a" f1ex)"},
    {"booleans", "a = true\nb = false\nc = [true]", R"("a" true; "b" false; "c" [true])"},
    {"escapes", R"(a = "\a\b\f\n\r\t\v\\\"")", R"("a" "\x07\x08\x0c\x0a\x0d\x09\x0b\x5c\x22")"},
    {"escapes with digits", R"(a = "\x41\101\u00e9\U0001F600\xff")", R"("a" "AA\xc3\xa9\xf0\x9f\x98\x80\xff")"},
    {"a surrogate is no character", R"(a = "\ud800")", R"("a" "\xef\xbf\xbd")"},
    {"characters that are not ASCII", "a = \"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"",
     R"("a" "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")"},
    {"interpolation", R"(a = "x${b("c", {d = 1})}y${e}" )", R"("a" "x${b(\x22c\x22, {d = 1})}y${e}")"},
    {"escapes in an interpolation stay", R"(a = "${"\n"}\n")", R"("a" "${\x22\x5cn\x22}\x0a")"},
    {"lines in an interpolation", "a = \"${\nb\n}\"", R"("a" "${\x0ab\x0a}")"},
    {"a dollar alone", R"(a = "$ $${b} {")", R"("a" "$ $${b} {")"},
    {"heredoc", "a = <<EOF\nx\n  y\nEOF\nb = 1", R"("a" "x\x0a  y\x0a"; "b" 1)"},
    {"empty heredoc", "a = <<EOF\nEOF\n", R"("a" "")"},
    {"heredoc with its anchor inside lines", "a = <<EOF\nEOFX\nX EOF\nEOF X\nEOF\n",
     R"("a" "EOFX\x0aX EOF\x0aEOF X\x0a")"},
    {"heredoc: no escapes", "a = <<E1\n\\n \"${b}\"\nE1\n", R"("a" "\x5cn \x22${b}\x22\x0a")"},
    {"heredoc: white space before the last line stays", "a = <<EOF\n x\n  EOF\n", R"("a" " x\x0a  ")"},
    {"heredoc without indentation", "a = <<-EOF\n\t\tx\n\t\t\ty\n\t\tEOF\n", R"("a" "x\x0a\x09y\x0a")"},
    {"heredoc indented less than its end", "a = <<-EOF\n x\n   y\n  EOF\n", R"("a" " x\x0a   y\x0a")"},
    {"heredoc with an empty line keeps its indentation", "a = <<-EOF\n  x\n\n  EOF\n", R"("a" "  x\x0a\x0a")"},
    {"heredocs in a list", "a = [<<A\nx\nA\n, <<B\ny\nB\n]", R"("a" ["x\x0a", "y\x0a"])"},
    {"lists", "a = []\nb = [1,]\nc = [\"x\", 1, true, 1.5]", R"("a" []; "b" [1]; "c" ["x", 1, true, f1.5])"},
    {"commas in lists", "a = [,]\nb = [,1,,2,]", R"("a" []; "b" [1, 2])"},
    {"lists in lists", "a = [[1], [[2]] [3]]", R"("a" [[1], [[2]], [3]])"},
    {"objects in lists", "a = [{ b = 1 }, {}, { c { d = 2 } }]", R"("a" [{"b" 1}, {}, {"c" {"d" 2}}])"},
    {"carriage returns", "a = 1\r\nb = <<E\r\nx\r\nE\r\n", R"("a" 1; "b" "x\x0a")"},
    {"a name without value at the end", "a = 1\nb =", R"("a" 1)"},
    {"a brace for a value", "a { b = } } c = 1", R"("a" {}; "c" 1)"},
};

inline const std::vector<sample> json_samples = {
    {"nothing", "{}", ""},
    {"white space before", "\n \t{\"a\": 1}", R"("a" 1)"},
    {"literals", R"({"a": "x", "b": 1, "c": -1.5e3, "d": true, "e": 0})",
     R"("a" "x"; "b" 1; "c" f-1.5e3; "d" true; "e" 0)"},
    {"escapes", "{\"a\": \"\\n\\u00e9\\x41\\\"\xC3\xA9\"}", R"("a" "\x0a\xc3\xa9A\x22\xc3\xa9")"},
    {"interpolation is nothing special", R"({"a": "${b", "c": "${\n}"})", R"("a" "${b"; "c" "${\x0a}")"},
    {"null is left out", R"({"a": null, "b": 1})", R"("b" 1)"},
    {"null is left out of objects", R"({"a": {"b": null}})", R"("a" {})"},
    {"a comma behind the last", R"({"a": 1,})", R"("a" 1)"},
    {"nested objects are labels", R"({"key": {"x": {"policy": "read"}}})", R"("key" "x" {"policy" "read"})"},
    {"two labels of a name", R"({"key_prefix": {"a/": {"policy": "read"}, "b/": {"policy": "write"}}})",
     R"("key_prefix" "a/" {"policy" "read"}; "key_prefix" "b/" {"policy" "write"})"},
    {"three levels", R"({"a": {"b": {"c": {"d": 1}}}})", R"("a" "b" "c" {"d" 1})"},
    {"empty objects stay", R"({"a": {}, "b": {"c": {}}})", R"("a" {}; "b" "c" {})"},
    {"one value that is no object, and no labels", R"({"a": {"b": {"c": 1}, "d": 2}})", R"("a" {"b" {"c" 1}; "d" 2})"},
    {"null is no object", R"({"a": {"b": {"c": 1}, "d": null}})", R"("a" {"b" {"c" 1}})"},
    {"a list of objects is an item each", R"({"key": [{"x": {"policy": "read"}}, {"y": {"policy": "write"}}]})",
     R"("key" "x" {"policy" "read"}; "key" "y" {"policy" "write"})"},
    {"objects below a list in an object", R"({"a": {"b": [{"c": 1}, {"d": {"e": 2}}]}})",
     R"("a" {"b" {"c" 1}; "b" "d" {"e" 2}})"},
    {"lists", R"({"a": [], "b": [1, "x", 1.5], "c": [{}, 1]})", R"("a" []; "b" [1, "x", f1.5]; "c" [{}, 1])"},
    {"objects in a mixed list", R"({"a": [1, {"b": {"c": {"d": 1}}}]})", R"("a" [1, {"b" "c" {"d" 1}}])"},
    {"booleans in lists are passed over", R"({"a": [true, 1, false]})", R"("a" [1])"},
    {"commas in lists", R"({"a": [,1,,2 3]})", R"("a" [1, 2, 3])"},
    {"the same name twice", R"({"a": 1, "a": 2})", R"("a" 1; "a" 2)"},
    {"two names", R"({"a" "b": 1})", R"("a" "b" 1)"},
    {"braces left open", R"({"a": {"b": 1)", R"("a" {"b" 1})"},
    {"no comma", R"({"a": 1 "b": 2})", R"("a" 1)"},
    {"more behind", R"({"a": 1} = ?)", R"("a" 1)"},
    {"no value", R"({"a": })", ""},
    {"a name without colon", R"({"a"})", ""},
    {"a brace in a list", R"({"b": 1, "a": [})", R"("b" 1)"},
    {"no value at the end", R"({"b": 1, "a":)", R"("b" 1)"},
};

} // namespace belay::hcl::tests
