#include "jobs/stream/contract/command_words.h"

namespace weir::stream {

std::vector<std::string> SplitCommand(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  char quote = '\0';
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (const char c : command) {
    if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
      end_word();
    } else if (quote != '\0' && c == quote) {
      quote = '\0';
      end_word();
    } else if (quote == '\0' && c == ' ') {
      end_word();
    } else {
      word.push_back(c);
    }
  }
  end_word();
  return words;
}

}  // namespace weir::stream
