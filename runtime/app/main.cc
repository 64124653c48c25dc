// weir: the program with all jobs of this repository.

#include "runtime/app/job_catalog.h"
#include "runtime/app/program.h"

int main(int argc, char** argv) {
  return weir::app::RunProgram(argc, argv, weir::app::MakeJobCatalog());
}
