// weir_lab: weir with one job more, for the network laboratory.

#include "runtime/app/job_catalog.h"
#include "runtime/app/program.h"
#include "tests/netlab/blobs.h"

int main(int argc, char** argv) {
  weir::JobCatalog catalog = weir::app::MakeJobCatalog();
  catalog.emplace("blobs", weir::netlab::MakeBlobs());
  return weir::app::RunProgram(argc, argv, catalog);
}
