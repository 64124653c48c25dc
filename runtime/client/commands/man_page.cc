#include "runtime/client/commands/man_page.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace weir::client {
namespace {

// Text as roff shows it: nothing in it is a request or an escape, and what is copied from a page is
// what stands here.
std::string Roff(absl::string_view text) {
  std::string roff;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) roff.append("\\&");
    line_begins = c == '\n';
    switch (c) {
      case '\\':
        roff.append("\\e");
        break;
      case '-':
        roff.append("\\-");
        break;
      case '\'':
        roff.append("\\(aq");
        break;
      case '`':
        roff.append("\\(ga");
        break;
      case '~':
        roff.append("\\(ti");
        break;
      case '^':
        roff.append("\\(ha");
        break;
      default:
        roff.push_back(c);
    }
  }
  return roff;
}

std::string Bold(absl::string_view text) { return absl::StrCat("\\fB", Roff(text), "\\fR"); }
std::string Italic(absl::string_view text) { return absl::StrCat("\\fI", Roff(text), "\\fR"); }

std::string Title(absl::string_view name, absl::string_view version) {
  return absl::StrCat(".TH ", Roff(absl::AsciiStrToUpper(name)), " 1 \"\" \"weir ", Roff(version),
                      "\" \"User Commands\"\n");
}

void AppendSection(absl::string_view name, std::string& page) {
  absl::StrAppend(&page, ".SH ", Roff(absl::AsciiStrToUpper(name)), "\n");
}

void AppendItem(absl::string_view tag, absl::string_view text, std::string& page) {
  absl::StrAppend(&page, ".TP\n", tag, "\n", text, "\n");
}

// What stands below the flags, by the section it belongs to.
struct Footer {
  std::vector<std::string> sentences;
  std::vector<std::string> examples;
  std::string exit_codes;
};

Footer TakeApart(const std::string& text) {
  constexpr absl::string_view kExitCodes = "Exit codes: ";
  Footer footer;
  std::vector<std::string>* paragraph = &footer.sentences;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line == "Examples:") {
      paragraph = &footer.examples;
    } else if (absl::StartsWith(line, "  ") && paragraph == &footer.examples) {
      footer.examples.emplace_back(line.substr(2));
    } else if (absl::StartsWith(line, kExitCodes)) {
      footer.exit_codes = std::string(line.substr(kExitCodes.size()));
    } else if (!footer.exit_codes.empty()) {
      absl::StrAppend(&footer.exit_codes, " ", line);
    } else if (!line.empty()) {
      paragraph = &footer.sentences;
      footer.sentences.emplace_back(line);
    }
  }
  return footer;
}

std::string FlagText(const FlagDescription& flag) {
  std::string text = Roff(flag.help);
  if (!flag.legal.empty()) absl::StrAppend(&text, ".\nLegal: ", Roff(flag.legal));
  if (flag.required) absl::StrAppend(&text, ".\nRequired");
  return absl::StrCat(text, ".");
}

void AppendFlag(const FlagDescription& flag, std::string& page) {
  std::vector<std::string> names;
  for (const std::string& name : flag.names) names.push_back(Bold(name));
  std::string tag = absl::StrJoin(names, ", ");
  if (!flag.value.empty()) absl::StrAppend(&tag, " ", Italic(flag.value));
  AppendItem(tag, FlagText(flag), page);
}

// Flags under their own headings, the plain ones first.
void AppendFlags(const CommandDescription& command, absl::string_view prefix, std::string& page) {
  std::vector<std::string> headings = {"Options"};
  for (const FlagDescription& flag : command.flags) {
    if (std::find(headings.begin(), headings.end(), flag.heading) == headings.end()) {
      headings.push_back(flag.heading);
    }
  }
  for (const std::string& heading : headings) {
    const bool plain = heading == "Options";
    AppendSection(
        plain ? absl::StrCat(prefix, "options") : absl::StrCat(prefix, heading, " options"), page);
    for (const FlagDescription& flag : command.flags) {
      if (flag.heading == heading) AppendFlag(flag, page);
    }
  }
}

std::string Synopsis(const CommandDescription& command, absl::string_view path) {
  std::string line = Bold(path);
  for (const FlagDescription& flag : command.flags) {
    if (!flag.required) continue;
    absl::StrAppend(&line, " ", Bold(flag.names.back()), " ", Italic(flag.value));
  }
  absl::StrAppend(&line, " [", Italic("OPTIONS"), "]");
  for (const ArgumentDescription& argument : command.arguments) {
    const std::string name = absl::StrCat(Italic(argument.name), argument.repeated ? "..." : "");
    absl::StrAppend(&line, " ", argument.required ? name : absl::StrCat("[", name, "]"));
  }
  if (!command.commands.empty()) absl::StrAppend(&line, " ", Italic("COMMAND"));
  return line;
}

void AppendArguments(const CommandDescription& command, absl::string_view prefix,
                     std::string& page) {
  if (command.arguments.empty()) return;
  AppendSection(absl::StrCat(prefix, "arguments"), page);
  for (const ArgumentDescription& argument : command.arguments) {
    AppendItem(Italic(argument.name), absl::StrCat(Roff(argument.help), "."), page);
  }
}

void AppendDescription(const CommandDescription& command, const Footer& footer, std::string& page) {
  absl::StrAppend(&page, Roff(command.help), absl::EndsWith(command.help, ".") ? "\n" : ".\n");
  if (footer.sentences.empty()) return;
  absl::StrAppend(&page, ".PP\n", Roff(absl::StrJoin(footer.sentences, "\n")), "\n");
}

void AppendExamples(const Footer& footer, absl::string_view prefix, std::string& page) {
  if (footer.examples.empty()) return;
  AppendSection(absl::StrCat(prefix, "examples"), page);
  absl::StrAppend(&page, ".nf\n", Roff(absl::StrJoin(footer.examples, "\n")), "\n.fi\n");
}

// Variables that stand in for flags, with the flags.
void CollectEnvironment(const CommandDescription& command,
                        std::map<std::string, std::string>& variables) {
  for (const FlagDescription& flag : command.flags) {
    if (!flag.environment.empty()) variables[flag.environment] = flag.names.back();
  }
  for (const CommandDescription& inner : command.commands) CollectEnvironment(inner, variables);
}

void AppendEnvironment(const CommandDescription& command, std::string& page) {
  std::map<std::string, std::string> variables;
  CollectEnvironment(command, variables);
  if (variables.empty()) return;
  AppendSection("environment", page);
  for (const auto& [variable, flag] : variables) {
    AppendItem(Bold(variable),
               absl::StrCat("Stands in for ", Bold(flag), " where that is not given."), page);
  }
}

void AppendSeeAlso(const std::vector<std::string>& pages, std::string& page) {
  AppendSection("see also", page);
  std::vector<std::string> links;
  for (const std::string& name : pages) links.push_back(absl::StrCat(Bold(name), "(1)"));
  absl::StrAppend(&page, absl::StrJoin(links, ",\n"), "\n");
}

void AppendInner(const CommandDescription& command, const std::string& outer, std::string& page) {
  const std::string path = absl::StrCat(outer, " ", command.name);
  const Footer footer = TakeApart(command.footer);
  AppendSection(path, page);
  absl::StrAppend(&page, Synopsis(command, path), "\n.PP\n");
  AppendDescription(command, footer, page);
  const std::string prefix = absl::StrCat(path, ": ");
  AppendArguments(command, prefix, page);
  AppendFlags(command, prefix, page);
  AppendExamples(footer, prefix, page);
  for (const CommandDescription& inner : command.commands) AppendInner(inner, path, page);
}

std::string PageName(absl::string_view command) { return absl::StrCat("weir-", command); }

}  // namespace

std::string ManPageFile(absl::string_view command) {
  return absl::StrCat(command.empty() ? "weir" : PageName(command), ".1");
}

std::string ManPage(const CommandTree& tree, absl::string_view version) {
  const Footer footer = TakeApart(tree.footer);
  std::string page = Title(tree.name, version);
  AppendSection("name", page);
  absl::StrAppend(&page, "weir \\- run MapReduce jobs whose data movement is planned\n");
  AppendSection("synopsis", page);
  absl::StrAppend(&page, Bold("weir"), " ", Italic("COMMAND"), " [", Italic("OPTIONS"), "]\n");
  AppendSection("description", page);
  AppendDescription(tree, footer, page);
  AppendFlags(tree, "", page);
  std::vector<std::string> headings;
  std::vector<std::string> pages;
  for (const CommandDescription& command : tree.commands) {
    pages.push_back(PageName(command.name));
    if (std::find(headings.begin(), headings.end(), command.heading) == headings.end()) {
      headings.push_back(command.heading);
    }
  }
  AppendSection("commands", page);
  for (const std::string& heading : headings) {
    absl::StrAppend(&page, ".SS ", Roff(heading), "\n");
    for (const CommandDescription& command : tree.commands) {
      if (command.heading != heading) continue;
      AppendItem(absl::StrCat(Bold(PageName(command.name)), "(1)"),
                 absl::StrCat(Roff(command.help), "."), page);
    }
  }
  AppendEnvironment(tree, page);
  if (!footer.exit_codes.empty()) {
    AppendSection("exit status", page);
    absl::StrAppend(&page, Roff(footer.exit_codes), "\n");
  }
  AppendExamples(footer, "", page);
  AppendSeeAlso(pages, page);
  return page;
}

std::string ManPageOf(const CommandDescription& command, absl::string_view version) {
  const std::string path = absl::StrCat("weir ", command.name);
  const Footer footer = TakeApart(command.footer);
  std::string page = Title(PageName(command.name), version);
  AppendSection("name", page);
  absl::StrAppend(&page, Roff(PageName(command.name)), " \\- ", Roff(command.help), "\n");
  AppendSection("synopsis", page);
  absl::StrAppend(&page, Synopsis(command, path), "\n");
  AppendSection("description", page);
  AppendDescription(command, footer, page);
  AppendArguments(command, "", page);
  AppendFlags(command, "", page);
  for (const CommandDescription& inner : command.commands) AppendInner(inner, path, page);
  AppendEnvironment(command, page);
  AppendExamples(footer, "", page);
  AppendSeeAlso({"weir"}, page);
  return page;
}

}  // namespace weir::client
