// Flags of weir data generate and weir data validate.

#include <limits>
#include <memory>

#include "runtime/client/flags/command_flags.h"

namespace weir::client {
namespace {

void AddGenerate(CLI::App& data, const TakeCommand& take) {
  std::shared_ptr<GenerateDataOptions> options;
  CLI::App& command =
      AddCommand(data, "generate", "Write records for a job to a file", kLocalGroup, take, options);
  command
      .add_option("JOB", options->job,
                  "Whose input to make (distinct, histogram, kmeans, logreg, pagerank, quantiles, "
                  "terasort)")
      ->required();
  AddCount(command, "--records", options->records, 0, std::int64_t{1} << 50, "How many records")
      ->required();
  AddCount(command, "--first", options->first_record, 0, std::int64_t{1} << 50,
           "Number of the first record (default 0), so that many can write one data set");
  AddCount(command, "--seed", options->seed, 0, std::numeric_limits<std::uint64_t>::max(),
           "Which random records (default 1)");
  command
      .add_option("--skew", options->skew,
                  "0 (default): all keys equally likely; up to 0.95: few keys get most records")
      ->type_name("S");
  command.add_option("-o,--output", options->output, "File to write")
      ->required()
      ->type_name("FILE");
  command.add_flag("--overwrite", options->overwrite, "Replace a file that exists");
  AddJson(command, options->json);
  command.footer(
      "The same job, seed, skew and numbers give the same bytes, whatever the machine.\n"
      "Examples:\n"
      "  weir data generate terasort --records 10000000 -o records\n"
      "  weir data generate quantiles --records 1000000 -o numbers.csv\n"
      "  weir data generate terasort --records 5000000 --first 5000000 \\\n"
      "    --skew 0.5 -o in/second");
}

void AddValidate(CLI::App& data, const TakeCommand& take) {
  std::shared_ptr<ValidateDataOptions> options;
  CLI::App& command =
      AddCommand(data, "validate", "Check that records are whole, in order, and all there",
                 kLocalGroup, take, options);
  command
      .add_option("JOB", options->job,
                  "Whose records to check (distinct, histogram, kmeans, logreg, pagerank, "
                  "quantiles, terasort)")
      ->required();
  command
      .add_option("PATH", options->paths,
                  "Files in order; a directory stands for its files by name")
      ->required();
  command
      .add_option("--input", options->inputs,
                  "File or directory that must hold the same records; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH");
  command.add_flag("--any-order", options->any_order, "Do not ask for an order of the keys");
  AddJson(command, options->json);
  command.footer(
      "Prints records, order and a checksum that does not depend on the order.\n"
      "Exit code 1 when something is wrong, with the file, the record and the byte;\n"
      "4 when nothing can be read.\n"
      "Examples:\n"
      "  weir data validate terasort sorted\n"
      "  weir data validate terasort sorted --input records");
}

}  // namespace

void AddDataCommands(CLI::App& app, const TakeCommand& take) {
  CLI::App* data = app.add_subcommand("data", "Make input for a job, check its output")
                       ->group(kLocalGroup)
                       ->require_subcommand(1);
  data->footer(
      "Examples:\n"
      "  weir data generate terasort --records 1000000 -o records\n"
      "  weir run terasort records -o sorted &&\n"
      "    weir data validate terasort sorted --input records");
  AddGenerate(*data, take);
  AddValidate(*data, take);
}

}  // namespace weir::client
