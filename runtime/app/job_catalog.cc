#include "runtime/app/job_catalog.h"

#include <utility>

#include "jobs/distinct/distinct.h"
#include "jobs/histogram/histogram.h"
#include "jobs/kmeans/kmeans.h"
#include "jobs/logreg/logreg.h"
#include "jobs/onebrc/onebrc.h"
#include "jobs/pagerank/pagerank.h"
#include "jobs/quantiles/quantiles.h"
#include "jobs/sessions/sessions.h"
#include "jobs/stream/framed.h"
#include "jobs/stream/stream.h"
#include "jobs/terasort/terasort.h"
#include "jobs/topwords/topwords.h"
#include "jobs/weather/weather.h"
#include "jobs/wordcount/wordcount.h"

namespace weir::app {

JobCatalog MakeJobCatalog() {
  JobCatalog catalog;
  const auto add = [&catalog](std::unique_ptr<JobDefinition> job) {
    const std::string name = job->info().name;
    catalog.emplace(name, std::move(job));
  };
  add(distinct::MakeDefinition());
  add(histogram::MakeDefinition());
  add(kmeans::MakeDefinition());
  add(logreg::MakeDefinition());
  add(onebrc::MakeDefinition());
  add(pagerank::MakeDefinition());
  add(quantiles::MakeDefinition());
  add(sessions::MakeDefinition());
  add(stream::MakeDefinition());
  add(stream::MakeFramedDefinition());
  add(terasort::MakeDefinition());
  add(topwords::MakeDefinition());
  add(weather::MakeDefinition());
  add(wordcount::MakeDefinition());
  return catalog;
}

}  // namespace weir::app
