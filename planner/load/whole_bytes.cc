#include "planner/load/whole_bytes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weir::planner::load {
namespace {

template <typename Value>
using PairTable = std::vector<std::vector<Value>>;

template <typename Value>
PairTable<Value> TableLike(const PairTable<Bytes>& bytes, Value value) {
  PairTable<Value> table;
  for (const std::vector<Bytes>& row : bytes) table.emplace_back(row.size(), value);
  return table;
}

void SortByBegin(std::vector<ByteTransfer>& transfers) {
  std::stable_sort(transfers.begin(), transfers.end(),
                   [](const ByteTransfer& a, const ByteTransfer& b) { return a.begin < b.begin; });
}

}  // namespace

std::vector<Bytes> SplitBytes(Bytes total, absl::Span<const double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<Bytes> parts;
  double running = 0;
  Bytes placed = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    running += weights[k];
    // The share rounds in double; clamping to [placed, total] only absorbs that rounding.
    const double exact = static_cast<double>(total) * (running / sum);
    const Bytes until = k + 1 == weights.size()
                            ? total
                            : std::clamp(static_cast<Bytes>(std::llround(exact)), placed, total);
    parts.push_back(until - placed);
    placed = until;
  }
  return parts;
}

std::vector<ByteTransfer> WholeByteTransfers(const std::vector<Piece>& pieces,
                                             const std::vector<std::vector<Bytes>>& bytes) {
  PairTable<double> time = TableLike(bytes, 0.0);
  PairTable<int> pieces_left = TableLike(bytes, 0);
  double last_end = 0;
  for (const Piece& piece : pieces) {
    const auto j = static_cast<std::size_t>(piece.sender);
    const auto k = static_cast<std::size_t>(piece.receiver);
    time[j][k] += piece.end - piece.begin;
    ++pieces_left[j][k];
    last_end = std::max(last_end, piece.end);
  }
  PairTable<double> time_done = TableLike(bytes, 0.0);
  PairTable<Bytes> placed = TableLike(bytes, Bytes{0});
  std::vector<ByteTransfer> transfers;
  for (const Piece& piece : pieces) {
    const auto j = static_cast<std::size_t>(piece.sender);
    const auto k = static_cast<std::size_t>(piece.receiver);
    time_done[j][k] += piece.end - piece.begin;
    const double exact = static_cast<double>(bytes[j][k]) * (time_done[j][k] / time[j][k]);
    const Bytes until =
        --pieces_left[j][k] == 0
            ? bytes[j][k]
            : std::clamp(static_cast<Bytes>(std::llround(exact)), placed[j][k], bytes[j][k]);
    if (until == placed[j][k]) continue;
    transfers.push_back(
        {piece.sender, piece.receiver, placed[j][k], until - placed[j][k], piece.begin});
    placed[j][k] = until;
  }
  for (std::size_t j = 0; j < bytes.size(); ++j) {
    for (std::size_t k = 0; k < bytes[j].size(); ++k) {
      if (placed[j][k] == bytes[j][k]) continue;
      transfers.push_back({static_cast<std::int32_t>(j), static_cast<std::int32_t>(k), placed[j][k],
                           bytes[j][k] - placed[j][k], last_end});
    }
  }
  SortByBegin(transfers);
  return transfers;
}

std::vector<ByteTransfer> OneTransferPerPair(const std::vector<Piece>& pieces,
                                             const std::vector<std::vector<Bytes>>& bytes) {
  PairTable<double> time = TableLike(bytes, 0.0);
  PairTable<double> moment = TableLike(bytes, 0.0);
  double last_end = 0;
  for (const Piece& piece : pieces) {
    const auto j = static_cast<std::size_t>(piece.sender);
    const auto k = static_cast<std::size_t>(piece.receiver);
    time[j][k] += piece.end - piece.begin;
    moment[j][k] += (piece.end - piece.begin) * 0.5 * (piece.end + piece.begin);
    last_end = std::max(last_end, piece.end);
  }
  std::vector<ByteTransfer> transfers;
  for (std::size_t j = 0; j < bytes.size(); ++j) {
    for (std::size_t k = 0; k < bytes[j].size(); ++k) {
      if (bytes[j][k] == 0) continue;
      const double middle = time[j][k] > 0 ? moment[j][k] / time[j][k] : last_end;
      transfers.push_back(
          {static_cast<std::int32_t>(j), static_cast<std::int32_t>(k), 0, bytes[j][k], middle});
    }
  }
  SortByBegin(transfers);
  return transfers;
}

}  // namespace weir::planner::load
