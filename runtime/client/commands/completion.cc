#include "runtime/client/commands/completion.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace weir::client {
namespace {

std::vector<std::string> Names(const std::vector<CommandDescription>& commands) {
  std::vector<std::string> names;
  for (const auto& command : commands) names.push_back(command.name);
  return names;
}

std::vector<std::string> AllFlags(const CommandDescription& command) {
  std::vector<std::string> flags;
  for (const auto& flag : command.flags) {
    flags.insert(flags.end(), flag.names.begin(), flag.names.end());
  }
  return flags;
}

// Single-quoted for a POSIX shell or fish.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string Bash(const CommandTree& tree) {
  std::string script =
      "# bash completion of weir: source <(weir completion bash)\n"
      "_weir() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" command=\"${COMP_WORDS[1]}\"\n"
      "  COMPREPLY=()\n";
  absl::StrAppend(&script, "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W ",
                  Quoted(absl::StrJoin(Names(tree.commands), " ")),
                  " -- \"$word\"))\n    return\n  fi\n  case \"$command\" in\n");
  for (const auto& command : tree.commands) {
    std::vector<std::string> first = command.first_argument;
    for (const auto& name : Names(command.commands)) first.push_back(name);
    std::vector<std::string> flags = AllFlags(command);
    for (const auto& inner : command.commands) {
      for (const auto& flag : AllFlags(inner)) flags.push_back(flag);
    }
    absl::StrAppend(&script, "    ", command.name, ")\n");
    absl::StrAppend(&script, "      if [[ \"$word\" == -* ]]; then COMPREPLY=($(compgen -W ",
                    Quoted(absl::StrJoin(flags, " ")), " -- \"$word\"))\n");
    if (!first.empty()) {
      absl::StrAppend(&script,
                      "      elif [ \"$COMP_CWORD\" -eq 2 ]; then COMPREPLY=($(compgen -W ",
                      Quoted(absl::StrJoin(first, " ")), " -- \"$word\"))\n");
    }
    absl::StrAppend(&script, "      fi ;;\n");
  }
  absl::StrAppend(&script, "  esac\n}\ncomplete -o default -o bashdefault -F _weir weir\n");
  return script;
}

// _describe splits name and help at the first colon.
std::string ZshEntry(const std::string& name, const std::string& help) {
  return Quoted(absl::StrCat(name, ":", absl::StrReplaceAll(help, {{":", "\\:"}, {"\n", " "}})));
}

std::string Zsh(const CommandTree& tree) {
  std::string script =
      "#compdef weir\n"
      "# zsh completion of weir: source <(weir completion zsh)\n"
      "_weir() {\n"
      "  local -a entries\n"
      "  if (( CURRENT == 2 )); then\n    entries=(";
  for (const auto& command : tree.commands) {
    absl::StrAppend(&script, "\n      ", ZshEntry(command.name, command.help));
  }
  absl::StrAppend(&script, ")\n    _describe command entries\n    return\n  fi\n");
  absl::StrAppend(&script, "  case \"$words[2]\" in\n");
  for (const auto& command : tree.commands) {
    absl::StrAppend(&script, "    ", command.name, ")\n      entries=(");
    for (const auto& flag : command.flags) {
      for (const auto& name : flag.names) {
        absl::StrAppend(&script, "\n        ", ZshEntry(name, flag.help));
      }
    }
    absl::StrAppend(&script, ")\n      if [[ \"$PREFIX\" == -* ]]; then _describe flag entries\n");
    std::string first;
    for (const auto& word : command.first_argument) absl::StrAppend(&first, " ", Quoted(word));
    for (const auto& inner : command.commands) {
      absl::StrAppend(&first, " ", ZshEntry(inner.name, inner.help));
    }
    if (!first.empty()) {
      absl::StrAppend(&script, "      elif (( CURRENT == 3 )); then entries=(", first,
                      "); _describe argument entries\n");
    }
    absl::StrAppend(&script, "      else _files; fi ;;\n");
  }
  absl::StrAppend(&script, "  esac\n}\nif [ \"$funcstack[1]\" = _weir ]; then _weir \"$@\"; else ",
                  "compdef _weir weir; fi\n");
  return script;
}

void AppendFishFlags(const CommandDescription& command, const std::string& condition,
                     std::string& script) {
  for (const auto& flag : command.flags) {
    absl::StrAppend(&script, "complete -c weir -n ", Quoted(condition));
    for (const auto& name : flag.names) {
      if (name.rfind("--", 0) == 0) {
        absl::StrAppend(&script, " -l ", name.substr(2));
      } else {
        // -o: one dash, several letters.
        absl::StrAppend(&script, name.size() == 2 ? " -s " : " -o ", name.substr(1));
      }
    }
    absl::StrAppend(&script, flag.takes_value ? " -r" : "", " -d ", Quoted(flag.help), "\n");
  }
}

std::string Fish(const CommandTree& tree) {
  std::string script = "# fish completion of weir: weir completion fish | source\n";
  for (const auto& command : tree.commands) {
    absl::StrAppend(&script, "complete -c weir -f -n __fish_use_subcommand -a ", command.name,
                    " -d ", Quoted(command.help), "\n");
    const std::string condition = absl::StrCat("__fish_seen_subcommand_from ", command.name);
    AppendFishFlags(command, condition, script);
    for (const auto& word : command.first_argument) {
      absl::StrAppend(&script, "complete -c weir -n ", Quoted(condition), " -a ", word, "\n");
    }
    for (const auto& inner : command.commands) {
      absl::StrAppend(&script, "complete -c weir -f -n ", Quoted(condition), " -a ", inner.name,
                      " -d ", Quoted(inner.help), "\n");
      AppendFishFlags(inner, condition, script);
    }
  }
  return script;
}

}  // namespace

std::string CompletionScript(CompletionOptions::Shell shell, const CommandTree& tree) {
  switch (shell) {
    case CompletionOptions::Shell::kZsh:
      return Zsh(tree);
    case CompletionOptions::Shell::kFish:
      return Fish(tree);
    case CompletionOptions::Shell::kBash:
      break;
  }
  return Bash(tree);
}

}  // namespace weir::client
