#pragma once

// Statuses as JSON for programs. "schema": 1; sizes in bytes, times in seconds.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "weir/v1/services.pb.h"

namespace weir::client {

nlohmann::ordered_json JobToJson(const v1::JobStatus& status);
nlohmann::ordered_json WorkerToJson(const v1::WorkerStatus& worker);
nlohmann::ordered_json ErrorToJson(const v1::JobError& error);

/// One document: {"schema": 1, ...members}, with a newline. Bytes that are not UTF-8 are replaced.
std::string JsonDocument(const nlohmann::ordered_json& members);
/// The same on one line, for a sequence of documents.
std::string JsonLine(const nlohmann::ordered_json& members);

}  // namespace weir::client
