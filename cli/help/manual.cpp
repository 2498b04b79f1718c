#include "cli/help/completion.hpp"
#include "cli/help/usage.hpp"

namespace belay::cli {

namespace {

/// Escapes text for roff: hyphens stay hyphens, and no line becomes a request.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\''))
      out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    line_begins = c == '\n';
  }
  return out;
}

/// Renders paragraphs, which are separated by empty lines.
std::string roff_paragraphs(std::string_view text) {
  std::string out = ".PP\n";
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find("\n\n", at), text.size());
    out += roff(text.substr(at, end - at)) + "\n";
    at = end + 2;
    if (at < text.size())
      out += ".PP\n";
  }
  return out;
}

std::string roff_flag(const flag& f) {
  return ".TP\n.B " + roff(shown(f)) + "\n" + roff(f.help) + (f.kind == flag_kind::list ? " (may be repeated)" : "") +
         "\n";
}

} // namespace

std::string manual(const std::vector<command>& commands, std::string_view version) {
  std::string out =
      ".TH BELAY 1 \"\" \"Belay " + roff(version) +
      "\" \"User Commands\"\n"
      ".SH NAME\n"
      "belay \\- a coordination server with Consul's API, and its command line\n"
      ".SH SYNOPSIS\n"
      ".B belay\n"
      "\\fIcommand\\fR [\\fIoptions\\fR] [\\fIarguments\\fR]\n"
      ".SH DESCRIPTION\n"
      ".B belay agent\n"
      "runs a server or a client agent. The other commands connect to one, or work on files. Options come before the\n"
      "other arguments, with one dash or two; a value follows after an equals sign or a blank.\n"
      ".SH COMMANDS\n";
  for (const auto& c : commands) {
    out += ".SS \"belay " + roff(c.name) + (c.operands.empty() ? "" : " " + roff(c.operands)) + "\"\n" + roff(c.help) +
           ".\n";
    if (!c.text.empty())
      out += roff_paragraphs(c.text);
    for (const auto& f : all_flags(c))
      if (!is_shared(c, f))
        out += roff_flag(f);
    out += ".PP\n.nf\n.RS\n";
    for (const auto& e : c.examples)
      out += "\\fBbelay " + roff(e.line) + "\\fR\n    " + roff(e.help) + "\n";
    out += ".RE\n.fi\n";
  }
  out += ".SH OPTIONS\n"
         "Every command that connects to a server has these:\n";
  const command any{.name = "", .help = "", .formats = false};
  for (const auto& f : all_flags(any))
    out += roff_flag(f);
  out += ".SH ENVIRONMENT\n"
         "Each of these may begin with BELAY_ instead of CONSUL_, and then takes precedence; options take precedence "
         "over\n"
         "both.\n";
  for (const auto& [name, help] :
       {std::pair("CONSUL_HTTP_ADDR", "address of the API, as -http-addr"),
        {"CONSUL_HTTP_TOKEN", "ACL token"},
        {"CONSUL_HTTP_TOKEN_FILE", "file with the ACL token"},
        {"CONSUL_HTTP_AUTH", "USER:PASSWORD for a proxy that requires it"},
        {"CONSUL_HTTP_SSL", "true: use HTTPS even if the address does not begin with https://"},
        {"CONSUL_HTTP_SSL_VERIFY", "false: do not verify the server"},
        {"CONSUL_CACERT", "as -ca-file"},
        {"CONSUL_CAPATH", "as -ca-path"},
        {"CONSUL_CLIENT_CERT", "as -client-cert"},
        {"CONSUL_CLIENT_KEY", "as -client-key"},
        {"CONSUL_TLS_SERVER_NAME", "as -tls-server-name"}})
    out += ".TP\n.B " + std::string(name) + "\n" + roff(help) + "\n";
  out += ".SH EXIT STATUS\n"
         "0: success. 1: failure, or a group without a command. 2:\n"
         ".B belay members \\-status\n"
         "found no node, or the command of\n"
         ".B belay lock \\-child\\-exit\\-code\n"
         "failed. 127: no such command.\n"
         ".B belay diff\n"
         "has the codes of diff(1): 1: there are differences. 2: the comparison failed.\n";
  return out;
}

} // namespace belay::cli
