#pragma once

// The flags of each command, declared once on a CLI11 tree. Only command_line.cc and these files
// see CLI11.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/client/flags/options.h"
#include "runtime/client/flags/value_text.h"

namespace weir::client {

/// The longest --master-grace.
inline constexpr absl::Duration kMasterGraceMax = absl::Hours(24);

/// Called by CLI11 once a command's flags are read.
using TakeCommand = std::function<void(Command)>;

/// Headings under which `weir --help` lists the commands.
inline constexpr char kRunGroup[] = "Run jobs";
inline constexpr char kAskGroup[] = "Ask about jobs";
inline constexpr char kClusterGroup[] = "Run a cluster";
inline constexpr char kLocalGroup[] = "Without a cluster";

/// Where a master listens and is asked, unless flags or the environment say otherwise.
inline constexpr char kDefaultMaster[] = "127.0.0.1:7117";

/// Add the commands of a group.
void AddRunCommands(CLI::App& app, const TakeCommand& take);
void AddAskCommands(CLI::App& app, const TakeCommand& take);
void AddClusterCommands(CLI::App& app, const TakeCommand& take);
void AddLocalCommands(CLI::App& app, const TakeCommand& take);

/// Parts of groups that are files of their own.
void AddMasterDaemon(CLI::App& app, const TakeCommand& take);
void AddWorkerDaemon(CLI::App& app, const TakeCommand& take);
void AddDataCommands(CLI::App& app, const TakeCommand& take);

/// Adds a command that hands on `options`, which are made here and live as long as the command.
template <typename Options>
CLI::App& AddCommand(CLI::App& app, const std::string& name, const std::string& help,
                     const char* group, const TakeCommand& take,
                     std::shared_ptr<Options>& options) {
  options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(name, help)->group(group);
  command->callback([take, options] { take(*options); });
  return *command;
}

/// A flag for a whole number, from `least` to `most`, in decimal digits. Not by CLI11's own
/// conversion, which reads 010 as eight, and of -1 and thirty digits takes what is nearest.
template <typename Number>
CLI::Option* AddCount(CLI::App& app, const std::string& name, Number& target,
                      std::type_identity_t<Number> least, std::type_identity_t<Number> most,
                      const std::string& help) {
  const auto take = [&target, least, most](const std::string& text) -> std::string {
    Number number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < least || number > most) {
      return absl::StrCat("Value ", text, " not in range ", least, " to ", most);
    }
    target = number;
    return "";
  };
  const std::string legal =
      absl::StrCat(CLI::detail::type_name<Number>(), " in [", least, " - ", most, "]");
  return app
      .add_option_function<std::string>(
          name, [](const std::string&) {}, help)
      ->check(CLI::Validator(take, legal))
      ->type_name("N");
}

/// Flags whose values carry units.
CLI::Option* AddBytes(CLI::App& app, const std::string& name, std::int64_t& target,
                      const std::string& help);
CLI::Option* AddDuration(CLI::App& app, const std::string& name, absl::Duration& target,
                         DurationRange legal, const std::string& help);
CLI::Option* AddRate(CLI::App& app, const std::string& name, double& bytes_per_s,
                     const std::string& help);
/// Flags that several commands share.
void AddTls(CLI::App& app, TlsFiles& tls);
void AddToken(CLI::App& app, std::string& token_file);
void AddJson(CLI::App& app, bool& json);
void AddPictures(CLI::App& app, PictureOptions& pictures);
/// --master, which refuses what is no HOST:PORT.
CLI::Option* AddMasterAddress(CLI::App& app, std::string& address, const std::string& help);
/// The same of a command that needs one.
void AddMaster(CLI::App& app, MasterAddress& master);
void AddMasterGrace(CLI::App& app, MasterGrace& grace);
/// Flags of both daemons: who may talk to them, and how they log.
void AddListenerSecurity(CLI::App& app, TlsFiles& tls, std::string& token_file, bool& insecure);
void AddLog(CLI::App& app, LogOptions& log);

}  // namespace weir::client
