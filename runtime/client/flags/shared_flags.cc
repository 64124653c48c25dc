// Flags that several commands share, and flags whose values carry units.

#include "runtime/client/flags/command_flags.h"
#include "runtime/client/flags/value_text.h"

namespace weir::client {
namespace {

// CLI11 reports a wrong value by its own exception; it never leaves ParseCommandLine.
[[noreturn]] void RefuseValue(const std::string& name, const absl::Status& status) {
  throw CLI::ValidationError(name, std::string(status.message()));
}

template <typename Value, typename Parse>
CLI::Option* AddParsed(CLI::App& app, const std::string& name, Value& target, Parse parse,
                       const std::string& type, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, parse, name](const std::string& text) {
            auto value = parse(text);
            if (!value.ok()) RefuseValue(name, value.status());
            target = *value;
          },
          help)
      ->type_name(type);
}

}  // namespace

CLI::Option* AddBytes(CLI::App& app, const std::string& name, std::int64_t& target,
                      const std::string& help) {
  return AddParsed(
      app, name, target, [](const std::string& text) { return ParseBytes(text); }, "SIZE", help);
}

CLI::Option* AddDuration(CLI::App& app, const std::string& name, absl::Duration& target,
                         DurationRange legal, const std::string& help) {
  return AddParsed(
      app, name, target, [legal](const std::string& text) { return ParseDuration(text, legal); },
      "TIME", help);
}

CLI::Option* AddRate(CLI::App& app, const std::string& name, double& bytes_per_s,
                     const std::string& help) {
  return AddParsed(
      app, name, bytes_per_s, [](const std::string& text) { return ParseRate(text); }, "RATE",
      help);
}

void AddTls(CLI::App& app, TlsFiles& tls) {
  auto* certificate = app.add_option("--tls-cert", tls.certificate, "Certificate, PEM file");
  auto* key = app.add_option("--tls-key", tls.key, "Its private key, PEM file");
  auto* authority =
      app.add_option("--tls-ca", tls.authority, "Authority both sides trust, PEM file");
  for (auto* option : {certificate, key, authority}) {
    option->type_name("FILE")->group("Security");
  }
  // All three or none, in a ring: CLI11 names one of several missing flags by their addresses.
  certificate->needs(key);
  key->needs(authority);
  authority->needs(certificate);
}

void AddToken(CLI::App& app, std::string& token_file) {
  app.add_option(
         "--token-file", token_file,
         "What shows that a caller on this machine may ask (default: $WEIR_TOKEN_FILE, else "
         "the user's own, $XDG_STATE_HOME/weir/token); a master makes the file if there is none")
      ->type_name("FILE")
      ->envname("WEIR_TOKEN_FILE")
      ->group("Security");
}

void AddJson(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print one JSON object (\"schema\": 1) on stdout");
}

void AddPictures(CLI::App& app, PictureOptions& pictures) {
  app.add_option(
         "--gantt", pictures.gantt,
         "Also write the plan as a Gantt chart (SVG); a path that cannot be written, or that is "
         "data of an input or of the output, is refused, before a job runs; one that fails after "
         "it ran ends the command with 1, the result kept")
      ->type_name("FILE");
  app.add_option("--trace", pictures.trace, "Also write a trace for https://ui.perfetto.dev (JSON)")
      ->type_name("FILE");
}

CLI::Option* AddMasterAddress(CLI::App& app, std::string& address, const std::string& help) {
  return AddParsed(app, "--master", address, ParseMasterAddress, "HOST:PORT", help);
}

void AddMaster(CLI::App& app, MasterAddress& master) {
  master.address = kDefaultMaster;
  AddMasterAddress(
      app, master.address,
      std::string("Master to ask (default: $WEIR_MASTER, else ") + kDefaultMaster + ")")
      ->envname("WEIR_MASTER");
  AddTls(app, master.tls);
  AddToken(app, master.token_file);
}

void AddMasterGrace(CLI::App& app, MasterGrace& grace) {
  app.add_option_function<std::string>(
         "--master-grace",
         [&grace](const std::string& text) {
           auto value = ParseDuration(text, {.most = kMasterGraceMax});
           if (!value.ok()) RefuseValue("--master-grace", value.status());
           grace = {*value, /*given=*/true};
         },
         "How long to try again while the master is away, 0s to 1 day (default: 10m once it has "
         "answered; a time given here counts from the first try)")
      ->type_name("TIME");
}

}  // namespace weir::client
