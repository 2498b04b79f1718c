// HCL: the document of a text, and the errors for invalid texts.

#include "tests/unit/protocol/hcl/dumped.hpp"
#include "tests/unit/protocol/hcl/samples.hpp"

#include <catch2/catch.hpp>

using namespace std::string_view_literals;
using namespace belay::hcl;
using namespace belay::hcl::tests;

// Rules or configurations that Consul can read; each row could be parsed differently.
TEST_CASE("HCL: texts and their documents") {
  for (const auto& row : hcl_samples) {
    INFO(row.story);
    CHECK(parsed(row.text) == row.document);
  }
}

// An error must lead to its line, even after multi-byte letters, in labels and in lists.
TEST_CASE("HCL: locations") {
  struct {
    std::string_view story, text, document;
  } const rows[] = {
      {"name and value", "\n  a = 1", R"(@2:3 "a" @2:7 1)"},
      {"the first name is the place of an item", R"(k "x" "y" {})", R"(@1:1 "k" "x" "y" @1:11 {})"},
      {"in braces", "a {\n\tb = true\n}", R"(@1:1 "a" @1:3 {@2:2 "b" @2:6 true})"},
      {"in lists", R"(a = [1, "b", [2], {}])", R"(@1:1 "a" @1:5 [@1:6 1, @1:9 "b", @1:14 [@1:15 2], @1:19 {}])"},
      {"characters, not bytes", "\xC3\xA9 = \"\xE2\x82\xAC\" b = 1",
       R"(@1:1 "\xc3\xa9" @1:5 "\xe2\x82\xac"; @1:9 "b" @1:13 1)"},
      {"behind a heredoc", "a = <<E\nx\nE\nb = 1", R"(@1:1 "a" @1:5 "x\x0a"; @4:1 "b" @4:5 1)"},
      {"behind a comment of several lines", "/*\n*/ a = 1", R"(@2:4 "a" @2:8 1)"},
      {"carriage returns are not counted", "a = 1\r\nb = 2", R"(@1:1 "a" @1:5 1; @2:1 "b" @2:5 2)"},
  };
  for (const auto& row : rows) {
    INFO(row.story);
    CHECK(parsed(row.text, locations::shown) == row.document);
  }
}

// Operators search for Consul's error text and for the location in it. All of these are hcl's, even
// where they surprise: the end of a text is one column later if it was read twice.
TEST_CASE("HCL: errors") {
  struct {
    std::string_view story, text, error;
  } const rows[] = {
      {"end of the text in braces", R"(key "x" {)", "! At 1:11: object expected closing RBRACE got: EOF"},
      {"end of the text in braces, next line", "key \"x\" {\n", "! At 2:2: object expected closing RBRACE got: EOF"},
      {"end of the text behind a value in braces", "a { b = 1", "! At 1:13: object expected closing RBRACE got: EOF"},
      {"end of the text instead of a value in braces", "a { b =", "! At 1:9: object expected closing RBRACE got: EOF"},
      {"a brace for a value ends nothing", "a { b = }", "! At 1:10: object expected closing RBRACE got: EOF"},
      {"a name alone", "a", "! At 1:3: key 'a' expected start of object ('{') or assignment ('=')"},
      {"names alone", "key \"x\"\n", R"(! At 2:1: key 'key "x"' expected start of object ('{') or assignment ('='))"},
      {"a name alone in braces", "a { b }", "! At 1:7: key 'b' expected start of object ('{') or assignment ('=')"},
      {"two names and a sign", "a b = 1", "! At 1:5: nested object expected: LBRACE got: ASSIGN"},
      {"no name", "= 1", "! At 1:1: no object keys found!"},
      {"no name before a brace", "a {}\n { }", "! At 2:2: expected: IDENT | STRING got: LBRACE"},
      {"a number for a name", "1 = 2", "! At 1:1: expected: IDENT | STRING | ASSIGN | LBRACE got: NUMBER"},
      {"a boolean for a name", "true = 1", "! At 1:1: expected: IDENT | STRING | ASSIGN | LBRACE got: BOOL"},
      {"a list for a name", "a { [ }", "! At 1:5: expected: IDENT | STRING | ASSIGN | LBRACE got: LBRACK"},
      {"a brace too many", "a {}\n}", "! At 2:1: expected: IDENT | STRING | ASSIGN | LBRACE got: RBRACE"},
      {"two commas", "a = 1,, b = 2", "! At 1:7: expected: IDENT | STRING | ASSIGN | LBRACE got: COMMA"},
      {"a name for a value", "a = b", "! At 1:5: Unknown token: 1:5 IDENT b"},
      {"a sign for a value", "a = = 1", "! At 1:5: Unknown token: 1:5 ASSIGN ="},
      {"a minus alone", "a = - 1", "! At 1:5: Unknown token: 1:5 SUB -"},
      {"a plus", "a = +1", "! At 1:5: Unknown token: 1:5 ADD +"},
      {"a dot", "a = . ", "! At 1:5: Unknown token: 1:5 PERIOD ."},
      {"a colon", "a: 1", "! At 1:2: illegal char"},
      {"a list that does not end", "a = [1, 2", "! At 1:12: error parsing list, expected comma or list end, got: EOF"},
      {"a list without commas", "a = [1 2]", "! At 1:8: error parsing list, expected comma or list end, got: NUMBER"},
      {"a name in a list", "a = [b]", "! At 1:6: unexpected token while parsing list: IDENT"},
      {"a brace in a list", "a = [}", "! At 1:6: unexpected token while parsing list: RBRACE"},
      {"an error in an object in a list", "a = [{ b = 1 c }]",
       "! At 1:6: error while trying to parse object within list: At 1:16: key 'c' expected start of object ('{') or "
       "assignment ('=')"},
      {"an error in a list in a list", "a = [1, [2, =]]",
       "! At 1:9: error while trying to parse list within list: At 1:13: unexpected token while parsing list: ASSIGN"},
      {"an error in both", "a = [[{ b ]]",
       "! At 1:6: error while trying to parse list within list: At 1:7: error while trying to parse object within "
       "list: At 1:11: expected: IDENT | STRING | ASSIGN | LBRACE got: RBRACK"},
      {"text without end", R"(a = "b)", "! At 1:7: literal not terminated"},
      {"text over the end of the line", "a = \"b\n\"", "! At 2:2: literal not terminated"},
      {"interpolation without end", "a = \"${b\"\n", "! At 2:1: literal not terminated"},
      {"unknown escape", R"(a = "\q")", "! At 1:7: illegal char escape"},
      {"too few digits", R"(a = "\x4")", "! At 1:9: illegal char escape"},
      {"too few digits before the end", R"(a = "\u12)", "! At 1:11: literal not terminated"},
      {"an apostrophe is not escaped", R"(a = "\'")", "! At 1:7: illegal char escape"},
      {"no hexadecimal number", "a = 0x", "! At 1:7: illegal hexadecimal number"},
      {"no octal number", "a = 0129", "! At 1:9: illegal octal number"},
      {"comment without end", "a = 1 /* b", "! At 1:11: comment not terminated"},
      {"half a comment", "a = 1 / b", "! At 1:7: expected '/' for comment"},
      {"half a heredoc", "a = <E\n", "! At 1:6: heredoc expected second '<', didn't see it"},
      {"heredoc without anchor", "a = <<\nb\n", "! At 1:7: zero-length heredoc anchor"},
      {"heredoc with a dash alone", "a = <<-\nb\n", "! At 1:8: zero-length heredoc anchor"},
      {"heredoc with more behind its anchor", "a = <<EOF b\nEOF\n", "! At 1:10: invalid characters in heredoc anchor"},
      {"heredoc without end", "a = <<EOF\nb\n", "! At 3:1: heredoc not terminated"},
      {"heredoc without a last line end", "a = <<EOF\nb\nEOF", "! At 3:4: heredoc not terminated"},
      {"indented heredoc whose end is not", "a = <<-EOF\nb\nEOF\n", "! At 4:1: heredoc not terminated"},
      {"anchor cut off", "a = <<EOF", "! At 1:10: heredoc not terminated"},
      {"illegal characters", "a = ?", "! At 1:5: illegal char"},
      {"quotes of a word processor",
       "a = \xE2\x80\x9C"
       "b\xE2\x80\x9D",
       "! At 1:5: illegal char"},
      {"a space that is none",
       "a =\xC2\xA0"
       "1",
       "! At 1:4: illegal char"},
      {"columns are characters", "\xC3\xA9 = \"\xC3\xA9\" ?", "! At 1:9: illegal char"},
      {"broken UTF-8", "a = \"\xFF\"", "! At 1:6: illegal UTF-8 encoding"},
      {"a byte order mark",
       "\xEF\xBB\xBF"
       "a = 1",
       "! At 1:1: illegal char"},
      {"code 0", "a = 1\0"sv, "! At 1:6: unexpected null character (0x00)"},
      {"reserved character", "a = \"\xEE\x84\xA3\"", "! At 1:6: unicode code point U+E123 reserved for internal use"},
      {"the last of several complaints", "a = \"\\q\"\nb = 0x\nc = 1", "! At 2:7: illegal hexadecimal number"},
      {"complaints about characters before the grammar", "a = 0x b = c", "! At 1:7: illegal hexadecimal number"},
      {"nothing is read behind an error of the grammar", "a = b ?", "! At 1:5: Unknown token: 1:5 IDENT b"},
      {"an exponent takes a comma", "a = [1e, 1]",
       "! At 1:10: error parsing list, expected comma or list end, got: NUMBER"},
      {"the exponent of a number that begins with a dot", "a = .5e3",
       "! At 1:8: expected: IDENT | STRING | ASSIGN | LBRACE got: NUMBER"},
      {"escapes that stand for no byte", R"(a = "\400")", R"(! At 1:5: unquote "\400" err: invalid syntax)"},
      {"escapes that stand for no character", R"(a "\U00110000" {})",
       R"(! At 1:3: unquote "\U00110000" err: invalid syntax)"},
      {"any other error before those", R"(a = "\400" b = c)", "! At 1:16: Unknown token: 1:16 IDENT c"},
  };
  for (const auto& row : rows) {
    INFO(row.story);
    CHECK(parsed(row.text) == row.error);
  }
}

TEST_CASE("HCL: an error without its position") {
  const auto result = parse("key \"x\" {");
  REQUIRE(std::holds_alternative<error>(result));
  const auto& e = std::get<error>(result);
  CHECK(e.text == "object expected closing RBRACE got: EOF");
  CHECK(e.at.line == 1);
  CHECK(e.at.column == 11);
  CHECK(shown(e) == "At 1:11: object expected closing RBRACE got: EOF");
}
