#pragma once

// Every bound of the runtime, with its reason.

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace weir::limits {

/// A journalled plan of 500 workers with 500 reducers has 250 000 transfers of about 60 bytes.
inline constexpr int kMessageBytesMax = 64 << 20;
/// A lease outlives a pause of 3 s (no false death) and still ends within 10 s of silence.
inline constexpr absl::Duration kWorkerLease = absl::Seconds(6);
inline constexpr absl::Duration kHeartbeat = absl::Milliseconds(500);
/// A worker silent for so long is asked after, and again after as long: half a heartbeat late, so
/// that few are asked in vain and one that was killed is noticed within 1 s. Also the time it has
/// to answer.
inline constexpr absl::Duration kHeartbeatOverdue = absl::Milliseconds(750);
/// The master keeps a connection to every worker open. When one breaks it asks after the worker so
/// much later: a process that ends closes its sockets one after the other, within a millisecond.
inline constexpr absl::Duration kProcessEndSettles = absl::Milliseconds(20);
/// A connection that broke or could not be made is made again after so long: heartbeats tell the
/// same meanwhile.
inline constexpr absl::Duration kHoldAgain = absl::Seconds(1);
/// Jobs that found no worker wait for so long after the first one has come: the others of a cluster
/// whose master was restarted come within the longest pause between two of their tries (2 s).
inline constexpr absl::Duration kWorkersReturn = absl::Seconds(3);
/// The edit for the loss of a worker whose process has ended waits for it to come back with its
/// runs: as long as is expected to cost least (master/workers/return_times.h), and no longer than
/// this, as those who wait with it do nothing else.
inline constexpr absl::Duration kRestartGrace = absl::Seconds(1);
/// An edit for the loss of a worker that is back already with runs of the plan waits for so long
/// until the job is prepared there: longer than a task takes to start on a busy machine, and less
/// than what most runs took.
inline constexpr absl::Duration kRestartWait = absl::Seconds(2);
/// A job that has no worker left, or whose given plan names one that is lost, waits for so long
/// unless the master is told otherwise: a daemon that a service manager starts again, or a machine
/// that is rebooted by hand, is back by then, and the user hears within a minute.
inline constexpr absl::Duration kWorkerGrace = absl::Seconds(30);
/// A worker that keeps its lease, and yet answers neither the master's orders nor another worker's
/// fetches, is asked again for so long; then the job ends and names both.
inline constexpr absl::Duration kPeerPatience = absl::Seconds(45);
/// Pause before that: in most cases it is dead, and its lease says so within this time.
inline constexpr absl::Duration kPeerPause = absl::Seconds(1);
/// A transfer that its source or receiver refuses for another reason is tried again for so long: a
/// lease, within which a daemon that was replaced is known.
inline constexpr absl::Duration kRefusedPatience = absl::Seconds(8);
/// A transfer that arrives damaged is made so often at most.
inline constexpr int kDamagedTriesMax = 10;
/// A worker of which so many runs are found damaged in one job does no more of it.
inline constexpr int kDamagedRunsMax = 4;
/// A job goes on, or is planned again, after what workers that stay alive did to it (removed files,
/// refused orders, failing disks, tasks that died) so often at most; then it ends by the name of
/// that. Full disks are not counted, since each leaves one worker less, nor are damaged runs.
inline constexpr int kWorkerFaultsMax = 3;
/// A job is planned so often at most. A cluster that loses a worker so many times in one job loses
/// the next one too.
inline constexpr std::int64_t kPlansMax = 100;
/// Deadline of one control call, unless its row in runtime/rpc/methods.h says otherwise; a peer
/// that needs longer is late.
inline constexpr absl::Duration kCallTimeout = absl::Seconds(5);
/// A worker that registers is called back at the endpoint that it names, and has so long to answer:
/// less than its own call waits.
inline constexpr absl::Duration kCallBackTimeout = absl::Seconds(2);
inline constexpr absl::Duration kTaskKillGrace = absl::Seconds(2);
/// From the start of a task process to its first word. Far above the tens of milliseconds it takes,
/// for machines that are overloaded; with the release after it still within 10 s.
inline constexpr absl::Duration kTaskStart = absl::Seconds(7);
/// A task whose step for this long neither reads nor writes, nor uses a processor, nor has a read,
/// write or sync under way, is taken for hung: it sleeps, or waits for itself.
inline constexpr absl::Duration kTaskSilence = absl::Seconds(8);
/// So is one that hardly computes and gets no further for this long, whatever is under way: a file
/// server that restarts is back by then.
inline constexpr absl::Duration kTaskStall = absl::Minutes(10);
/// So is one of which a thread uses this much processor time without reading or writing: more than
/// the sort of all that fits into memory, and an endless loop gets there. Not time on the wall,
/// which a small quota stretches.
inline constexpr absl::Duration kTaskLoopCpu = absl::Minutes(30);
/// How often a task says how far its step is: far more often than its silence is noticed.
inline constexpr absl::Duration kTaskProgress = absl::Milliseconds(500);
/// An output part is written back to disk in steps of this size, two of which are under way at a
/// time, so that its last sync has little left to do: 8 s at 2 MB/s.
inline constexpr std::int64_t kWriteBackBytes = 8 << 20;
/// A transfer without a single byte for this long ends with an error that names the sender.
inline constexpr absl::Duration kTransferSilence = absl::Seconds(6);

inline constexpr std::int64_t kWorkersMax = 1000;
inline constexpr std::int64_t kJobsQueuedMax = 500;
/// Threads that list inputs, each of which a path that never answers may keep: so many such paths
/// are named to their users before nothing is listed any more.
inline constexpr int kListingThreads = 4;
/// Inputs that wait to be listed, or are, as many as jobs may wait: half of what a pool queues
/// before those who give it work wait themselves.
inline constexpr std::int64_t kListingsMax = 512;
/// How long a submission waits until its inputs begin to be listed, and a dry run until they are:
/// less than its call does (60 s), so that its user hears which path does not answer.
inline constexpr absl::Duration kListingWait = absl::Seconds(50);
/// How long the journal may take for one write, or a start to read it, before the master says that
/// it does not answer: a sync takes milliseconds, and seconds on the busiest of disks.
inline constexpr absl::Duration kJournalPatience = absl::Seconds(10);
/// How long a master that starts waits for the outputs that an earlier one left in the middle: they
/// answer within milliseconds, or, where they are very busy, in seconds; those that do not are
/// settled behind its start. Workers and clients wait minutes for a master (--master-grace).
inline constexpr absl::Duration kSettleWait = absl::Seconds(5);
/// How long such a job is then waited for, as for one that stages or publishes; it fails behind
/// that.
inline constexpr absl::Duration kSettleMax = absl::Minutes(10);
/// Threads for that, each of which an output that never answers may keep: as many as jobs run at
/// once unless a flag says otherwise.
inline constexpr int kSettlingThreads = 4;
/// Dry runs under way at a time: each may hold a list of a million files, and one thread plans for
/// all, which their calls wait for (60 s).
inline constexpr int kDryRunsMax = 16;
/// History that status and list answer from, unless flags of the master say otherwise; older jobs
/// are dropped from memory and journal: as many as a person looks through, and a month's worth.
inline constexpr std::int64_t kJobsRememberedMax = 1000;
inline constexpr absl::Duration kJobsRememberedFor = absl::Minutes(43'200);
/// What jobs may have together that one answer lists: half a message, so that no list is too long
/// for one. A thousand jobs of 30 kB each.
inline constexpr std::size_t kJobListBytesMax = 32 << 20;
/// A plan goes to clients in pieces of this size: half a message, and so large that a receiver
/// whose stream queues 64 of them misses none of the longest answer there is, 2 GiB. The answer of
/// a thousand by a thousand transfers with their times has 84 MB.
inline constexpr std::size_t kPlanPieceBytes = 32 << 20;
/// How long a client waits for the next one: 32 MiB over a thin link, of 5 Mbit/s, take 54 s; and
/// for the first, before which the plan of a dry run is made.
inline constexpr absl::Duration kPlanPieceWait = absl::Seconds(60);
/// Masters that may end without a word while they have a job in hand, before it is taken for the
/// cause: one crash is chance and two may be; a job that ends its master each time must not do so
/// for ever.
inline constexpr int kMasterEndsPerJobMax = 3;
inline constexpr std::int64_t kInputFilesMax = 1'000'000;
inline constexpr std::int64_t kReducersMax = 10'000;
/// Longest record a reader accepts; longer ones end the job with BAD_RECORD.
inline constexpr std::int64_t kRecordBytesMax = 64 << 20;
/// The user's last stderr lines that an error carries.
inline constexpr std::int64_t kStderrTailBytes = 4096;
/// What the code of a step says of what it does, in a line.
inline constexpr std::size_t kStatusBytesMax = 200;
/// Output of user code kept per task process, and sent back when the job is released.
inline constexpr std::int64_t kTaskOutputTailBytes = 64 << 10;
/// Frame between daemon and task.
inline constexpr std::int64_t kTaskFrameBytesMax = 64 << 20;
/// Data plane: one block of a run, header excluded, and one request frame.
inline constexpr std::int64_t kBlockBytesMax = 1 << 20;
inline constexpr std::int64_t kDataRequestBytesMax = 4096;
/// Bytes on the way of one fetch that the receiver has not yet written.
inline constexpr std::int64_t kFetchCreditBytes = 4 << 20;
inline constexpr int kDataConnectionsMax = 2048;
/// Data connections that have shown no token of a job yet. A peer asks as soon as it is connected,
/// so that few wait at a time; a quarter of the 1024 descriptors that a process may usually open.
inline constexpr int kDataStrangersMax = 256;
/// How long such a connection has for its first request: as long as a control call.
inline constexpr absl::Duration kDataFirstRequest = absl::Seconds(5);
/// A data connection without a request is kept this long for the next grant between the same two.
inline constexpr absl::Duration kDataIdle = absl::Seconds(60);

/// One probe of the network: what 40 Gbit/s carries in the longest probe.
inline constexpr std::int64_t kProbeBytesMax = std::int64_t{16} << 30;
inline constexpr absl::Duration kProbeFetch = absl::Seconds(3);
/// How long its answer is waited for beyond its own time. A receiver that has a silent sender says
/// so after kTransferSilence, and a quarter more, as connections look; it would be taken for gone
/// itself before that.
inline constexpr absl::Duration kProbePatience = absl::Seconds(13);
/// Serving ends by itself after this time, should the master forget it.
inline constexpr absl::Duration kProbeServe = absl::Seconds(900);

/// Measuring eight workers takes half a minute; beyond ten minutes something is wrong.
inline constexpr absl::Duration kCalibrationDefault = absl::Seconds(120);
inline constexpr absl::Duration kCalibrationMax = absl::Seconds(600);
/// A calibration that nobody asks after for this long ends: its user is gone, and jobs wait.
inline constexpr absl::Duration kCalibrationUnasked = absl::Seconds(10);
/// So does one that is not over so long after its time, whatever is still awaited: a round that
/// begins in time and is asked twice, both times of peers that say nothing, needs less.
inline constexpr absl::Duration kCalibrationOverdue = absl::Seconds(60);

/// Members of a group that reduces: each holds two connections to every other one, within the 1024
/// descriptors that a process may usually open.
inline constexpr std::int64_t kGroupMembersMax = 256;
/// Groups that wait for members at a time; a name costs a stranger nothing.
inline constexpr std::int64_t kGroupsMax = 1000;
/// Longest wait for the others of a group: a scheduler may start them minutes apart.
inline constexpr absl::Duration kGroupWaitMax = absl::Seconds(600);
/// A member that asks again gets the answer that it missed for so long.
inline constexpr absl::Duration kGroupRemembered = absl::Seconds(60);

/// One file that belongs to a job: a module, a script with its dictionaries; data is input.
inline constexpr std::int64_t kArtifactBytesMax = std::int64_t{256} << 20;
inline constexpr int kArtifactsPerJobMax = 100;
/// A piece is a message; its bytes may wait in memory several times.
inline constexpr std::int64_t kArtifactPieceBytes = 1 << 20;
/// What a master, and what each worker, keeps: a dozen jobs' worth of the largest. What jobs that
/// have not ended use is kept beyond that by workers, and not taken beyond that by a master.
inline constexpr std::int64_t kArtifactCacheBytesMax = std::int64_t{4} << 30;
/// An artifact that no job has used for so long goes: a nightly job finds its files still there
/// after a long weekend.
inline constexpr absl::Duration kArtifactAgeMax = absl::Minutes(10'080);
/// Uploads under way at a time, and when one that gets no more pieces is given up.
inline constexpr int kArtifactUploadsMax = 32;
inline constexpr absl::Duration kArtifactUploadSilence = absl::Seconds(60);
/// From the order to prepare a job to its last artifact on a worker: all of them over 10 Mbit/s.
inline constexpr absl::Duration kArtifactSupplyMax = absl::Minutes(10);
/// What the archives of one job may become when they are unpacked: sixteen times the largest of
/// them, which text and code do not reach. A virtual environment of Python has some ten thousand
/// entries.
inline constexpr std::int64_t kUnpackedBytesMax = std::int64_t{4} << 30;
inline constexpr std::int64_t kUnpackedEntriesMax = 200'000;
/// How much longer a task may take to start where it unpacks: all that at 14 MiB/s.
inline constexpr absl::Duration kUnpackMax = absl::Minutes(5);

/// How long the process that answers for a module has to load it and say what its jobs are, which
/// takes milliseconds; and to show a result, for which it reads all parts.
inline constexpr absl::Duration kModuleAnswer = absl::Seconds(10);
inline constexpr absl::Duration kModulePresent = absl::Minutes(10);

/// What a worker measures at its start: together under half a second.
inline constexpr absl::Duration kComputeProbeTime = absl::Milliseconds(20);  // four times
inline constexpr std::int64_t kDiskProbeBytes = 64 << 20;
inline constexpr absl::Duration kDiskProbeTime = absl::Milliseconds(120);  // write, and again read

}  // namespace weir::limits
