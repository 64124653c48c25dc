#pragma once

// Reduction between processes along planned schedules (installed as <weir/reduce.h>).
//
// p processes join a group through a Weir master and then combine arrays with each other: every
// member computes the same schedule, and the data go from member to member. The master is asked
// once, at Join.
//
//   auto group = weir::reduce::Group::Join({.group = "gradients", .size = 8});
//   if (!group.ok()) return group.status();
//   std::vector<double> gradient = ...;
//   absl::Status done = (*group)->AllReduce(std::span(gradient), weir::reduce::Operation::Sum());
//
// To link to it, after cmake --install build/release --component dev --prefix DIR: with CMake
// find_package(weir COMPONENTS reduce) and weir::reduce, or with DIR/lib/pkgconfig in
// PKG_CONFIG_PATH: c++ program.cc $(pkg-config --cflags --libs weir-reduce).
//
// Upstream: a user's program. Downstream: the other members; runtime/rpc for the join.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::reduce {

/// What an array consists of.
enum class DataType : std::uint8_t { kFloat = 1, kDouble = 2, kInt64 = 3 };

template <typename T>
concept Reducible =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>;

template <Reducible T>
constexpr DataType DataTypeOf() {
  if (std::is_same_v<T, float>) return DataType::kFloat;
  return std::is_same_v<T, double> ? DataType::kDouble : DataType::kInt64;
}

/// An associative operation on arrays, element by element. A value: copy it freely.
///
/// Numbers: the built-in ones follow IEEE 754; a NaN on either side makes the result NaN, of Min
/// and
///   Max too. Sums and products of int64 wrap around.
/// Bits: the operations on them take int64 alone; an array is then a set of bits, as a Bloom
/// filter.
class Operation {
 public:
  static Operation Sum();
  static Operation Product();
  static Operation Min();
  static Operation Max();
  static Operation BitAnd();
  static Operation BitOr();
  static Operation BitXor();

  struct Traits {
    /// False: operands keep the order of the ranks.
    bool commutative = true;
    /// What one element costs, as every member says it: the schedule is made for it. 0 = as cheap
    /// as a sum.
    double seconds_per_element = 0;
  };

  /// A user's operation on elements of type T.
  ///
  /// `combine(left, right, result)` writes left[i] op right[i] to result[i]; all three are equally
  /// long, and `result` is one of the other two. It is called on a thread of the group while data
  /// move, by one thread at a time, on parts of the array in any order.
  /// Requires: every member gives the same name and traits, and the same operation under it; it
  /// does
  ///   not throw.
  template <Reducible T>
  static Operation Of(
      std::string name,
      std::function<void(std::span<const T> left, std::span<const T> right, std::span<T> result)>
          combine,
      Traits traits) {
    return Operation(
        std::move(name), DataTypeOf<T>(),
        [combine = std::move(combine)](const void* left, const void* right, void* result,
                                       std::size_t n) {
          combine({static_cast<const T*>(left), n}, {static_cast<const T*>(right), n},
                  {static_cast<T*>(result), n});
        },
        traits);
  }

  /// result[i] = left[i] op right[i] for i < n; `result` may be either of the two.
  using Fold =
      std::function<void(const void* left, const void* right, void* result, std::size_t n)>;

  const std::string& name() const { return name_; }
  const Traits& traits() const { return traits_; }
  bool built_in() const { return built_in_ != 0; }
  /// Empty when the operation does not take elements of this type.
  Fold FoldOf(DataType type) const;

 private:
  Operation(std::string name, int built_in) : name_(std::move(name)), built_in_(built_in) {}
  Operation(std::string name, DataType type, Fold fold, Traits traits)
      : name_(std::move(name)), type_(type), fold_(std::move(fold)), traits_(traits) {}

  std::string name_;
  int built_in_ = 0;  // 0: a user's
  DataType type_ = DataType::kDouble;
  Fold fold_;
  Traits traits_;
};

/// The network between members, where a program knows better than its master. Where bytes_per_s is
/// given, what is measured at Join does not count, and the same numbers give the same schedules in
/// every run.
struct Network {
  /// Payload bytes a second from one member to another; 0 = as the master says.
  double bytes_per_s = 0;
  /// Start-up of one message, seconds. Goes with bytes_per_s: 0 where that is 0.
  double latency_s = 0;
  /// Messages at once over all pairs; 0 = no such limit, or where bytes_per_s is 0, as the master
  /// says. Alone it leaves all else as measured and as the master says.
  int channels = 0;
};

struct GroupOptions {
  std::string master = "127.0.0.1:7117";
  /// All members give the same name and size.
  std::string group;
  int size = 1;
  /// Place in the group, 0 .. size - 1; -1 = any that is left.
  int rank = -1;
  /// Numeric address that other members reach, and port (0 = any free one).
  std::string listen = "127.0.0.1:0";
  /// File with the token of a master on loopback; empty = where weir's programs look for it too:
  /// $WEIR_TOKEN_FILE, else $XDG_STATE_HOME/weir/token, else ~/.local/state/weir/token.
  std::string token_file;
  /// PEM files for a master that asks for TLS: all three, or none for plain text. A certificate
  /// that names roles needs URI:weir:client. They protect what is said to the master, from which
  /// each member also gets the secret that it shows the others. Data between members travel in
  /// plain text, as those of the workers do, with checksums against accidents: who can read or
  /// change the packets between members can read or change the arrays.
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_authority;
  Network network;
  /// How long to wait for the master and for the others.
  double join_timeout_s = 60;
  /// A call in which nothing moves for this long ends, naming whom it waited for.
  double call_timeout_s = 60;
};

/// One member of a group.
///
/// Calls: every member makes the same calls in the same order with the same length, type, operation
///   and root. A call returns when this member's part is done; others may still be at theirs.
/// Threads: the calling thread moves data; a thread of the group combines what takes longer than
///   some 100 us, so that both overlap. One call at a time; not thread-safe.
/// Order: each member keeps the planned order of its sends and of its receives, so that a slow
///   message is waited for instead of disturbing others.
/// Bits: the same members, lengths, operation and network numbers give the same schedule and so the
///   same bits, whenever messages arrive. Another size of the group, another length, another root,
///   other network numbers or measured rates (all of them choose the schedule) may round floating
///   point sums differently. Operations that do not commute keep the order of the ranks always.
/// Errors, the same of all calls, after which the group is of no further use:
///   kInvalidArgument: this member's own arguments (the others are told). kFailedPrecondition:
///   members make different calls, naming two and what each called. kUnavailable: a member died or
///   left. kDeadlineExceeded: nothing moved for call_timeout_s. kDataLoss: bytes arrived damaged.
///   A member that has done its part already hears of an error in its next call.
/// Checked by: tests/unit/reduce/group_test.cc.
class Group {
 public:
  /// Joins; returns when all members have, and have measured start-up and rate of their connections
  /// together (some 100 ms). Who listens where a member of before waits, which has died, takes its
  /// place.
  /// Errors: kInvalidArgument naming the option; those of the token and TLS files, naming the file;
  ///   kUnavailable, kUnauthenticated: the master; kFailedPrecondition, kAlreadyExists: size or
  ///   rank disagree with another member's; kDeadlineExceeded naming who has come, or who cannot be
  ///   reached.
  static absl::StatusOr<std::unique_ptr<Group>> Join(const GroupOptions& options);

  /// Leaves, once what was sent has arrived, at most some seconds later.
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The master's name for this group, the same of all members.
  virtual const std::string& id() const = 0;

  /// Combines the members' buffers in the order of their ranks into the root's. What is in the
  /// others' afterwards is not defined.
  template <Reducible T>
  absl::Status Reduce(std::span<T> buffer, const Operation& operation, int root = 0) {
    return Call(Kind::kReduce, buffer.data(), buffer.size(), DataTypeOf<T>(), operation, root);
  }
  /// The same into everybody's buffer.
  template <Reducible T>
  absl::Status AllReduce(std::span<T> buffer, const Operation& operation) {
    return Call(Kind::kAllReduce, buffer.data(), buffer.size(), DataTypeOf<T>(), operation, 0);
  }
  /// Copies the root's buffer into everybody's.
  template <Reducible T>
  absl::Status Broadcast(std::span<T> buffer, int root = 0) {
    return Call(Kind::kBroadcast, buffer.data(), buffer.size(), DataTypeOf<T>(), Operation::Sum(),
                root);
  }

  /// Plans a Reduce, AllReduce or Broadcast of `count` elements now, so that the first such call
  /// does not have to: some ms, or a few 100 ms for many members and long arrays. Asks nobody.
  /// Errors: kInvalidArgument, of which the others do not hear; the group stays of use.
  template <Reducible T>
  absl::Status PrepareReduce(std::size_t count, const Operation& operation, int root = 0) {
    return Prepare(Kind::kReduce, count, DataTypeOf<T>(), operation, root);
  }
  template <Reducible T>
  absl::Status PrepareAllReduce(std::size_t count, const Operation& operation) {
    return Prepare(Kind::kAllReduce, count, DataTypeOf<T>(), operation, 0);
  }
  template <Reducible T>
  absl::Status PrepareBroadcast(std::size_t count, int root = 0) {
    return Prepare(Kind::kBroadcast, count, DataTypeOf<T>(), Operation::Sum(), root);
  }

  /// Seconds that the last call was predicted to take, from when all members have called until the
  /// last is done, and that it took here; 0 before the first.
  virtual double LastPrediction() const = 0;
  virtual double LastDuration() const = 0;
  /// Name of the last call's schedule, for example "round-optimal".
  virtual std::string LastMethod() const = 0;
  /// The last call for people: predicted beside what this member saw.
  virtual std::string LastReport() const = 0;
  /// The same as a picture (SVG).
  virtual std::string LastGantt() const = 0;

 protected:
  enum class Kind : std::uint8_t { kReduce = 1, kAllReduce = 2, kBroadcast = 3 };
  virtual absl::Status Call(Kind kind, void* data, std::size_t count, DataType type,
                            const Operation& operation, int root) = 0;
  virtual absl::Status Prepare(Kind kind, std::size_t count, DataType type,
                               const Operation& operation, int root) = 0;
};

}  // namespace weir::reduce
