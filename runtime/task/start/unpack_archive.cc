#include "runtime/task/start/unpack_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/whole_write.h"

namespace weir::task {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;
constexpr mode_t kOwner = S_IRUSR | S_IWUSR;
constexpr mode_t kHarmless = 0755;

// Of what libarchive reports, these are of the disk, of memory or of the process's limits: the
// archive may be sound. Its own numbers for damage are others.
bool IsOfMachine(int error_number) {
  constexpr std::array<int, 8> kSuch = {EIO, ESTALE, ENOMEM, ENOENT, EACCES, EPERM, EMFILE, ENFILE};
  return std::find(kSuch.begin(), kSuch.end(), error_number) != kSuch.end();
}

// Names in archives are UTF-8, whatever the locale of the worker.
class Utf8Names {
 public:
  Utf8Names() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = uselocale(locale_);
  }
  ~Utf8Names() {
    if (locale_ == nullptr) return;
    uselocale(before_);
    freelocale(locale_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t locale_;
  locale_t before_ = nullptr;
};

struct FreeArchive {
  void operator()(archive* open) const { archive_read_free(open); }
};

using Components = std::vector<std::string>;

Components Split(const std::string& path) {
  Components components;
  for (const absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part != ".") components.emplace_back(part);
  }
  return components;
}

class Unpacking {
 public:
  Unpacking(const std::string& path, const std::string& folder, UnpackBudget& budget)
      : path_(path), folder_(folder), budget_(budget), archive_(archive_read_new()) {}

  absl::Status Run() {
    if (absl::Status opened = Open(); !opened.ok()) return opened;
    if (::mkdir(folder_.c_str(), 0700) != 0) {
      return ErrnoStatus(errno, absl::StrCat("cannot make the folder ", folder_));
    }
    while (true) {
      archive_entry* entry = nullptr;
      const int read = archive_read_next_header(archive_.get(), &entry);
      if (read == ARCHIVE_EOF) break;
      if (read < ARCHIVE_WARN) return Damaged();
      if (absl::Status taken = Take(*entry); !taken.ok()) return taken;
    }
    return MakeLinks();
  }

 private:
  absl::Status Open() {
    if (archive_ == nullptr) return ErrnoStatus(ENOMEM, absl::StrCat("cannot read ", path_));
    archive* const open = archive_.get();
    archive_read_support_filter_gzip(open);
    archive_read_support_filter_bzip2(open);
    archive_read_support_filter_xz(open);
    archive_read_support_filter_zstd(open);
    archive_read_support_format_tar(open);
    archive_read_support_format_zip(open);
    if (::access(path_.c_str(), R_OK) != 0) {
      return ErrnoStatus(errno, absl::StrCat("cannot read ", path_));
    }
    return archive_read_open_filename(open, path_.c_str(), kReadBytes) == ARCHIVE_OK
               ? absl::OkStatus()
               : Damaged();
  }

  absl::Status Take(archive_entry& entry) {
    const char* const name = archive_entry_pathname(&entry);
    if (name == nullptr) return Refused("it has an entry whose name cannot be read");
    name_ = name;
    if (--budget_.entries < 0) {
      return Refused(absl::StrCat("the archives of the job have more than ",
                                  limits::kUnpackedEntriesMax, " entries"));
    }
    const Components place = Split(name_);
    if (name_.starts_with('/')) return RefusedEntry("has an absolute path");
    if (std::find(place.begin(), place.end(), "..") != place.end()) {
      return RefusedEntry("leads out of its folder");
    }
    const std::string target = absl::StrCat(folder_, "/", absl::StrJoin(place, "/"));
    if (const char* other = archive_entry_hardlink(&entry); other != nullptr) {
      return TakeHardLink(place, other);
    }
    const auto type = archive_entry_filetype(&entry);
    if (type == AE_IFDIR) return MakeFolders(place);
    if (place.empty()) return RefusedEntry("has no name");
    if (type == AE_IFLNK) return TakeSymbolicLink(place, archive_entry_symlink(&entry));
    if (type != AE_IFREG) return RefusedEntry("is a device, a pipe or a socket");
    links_.erase(target);  // as tar does: what comes last counts
    absl::Status made = MakeFolders({place.begin(), place.end() - 1});
    return made.ok() ? WriteFile(entry, target) : made;
  }

  absl::Status MakeFolders(const Components& place) {
    std::string folder = folder_;
    for (const std::string& name : place) {
      absl::StrAppend(&folder, "/", name);
      if (::mkdir(folder.c_str(), 0700) == 0) continue;
      const int error = errno;
      struct stat found {};
      if (error != EEXIST || ::lstat(folder.c_str(), &found) != 0) {
        return ErrnoStatus(error, absl::StrCat("cannot make the folder ", folder));
      }
      if (!S_ISDIR(found.st_mode)) return RefusedEntry("lies below one that is no folder");
    }
    return absl::OkStatus();
  }

  absl::Status WriteFile(archive_entry& entry, const std::string& target) {
    Fd file(::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kOwner));
    if (!file.valid()) return ErrnoStatus(errno, absl::StrCat("cannot make ", target));
    std::int64_t end = 0;
    while (true) {
      const void* bytes = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int read = archive_read_data_block(archive_.get(), &bytes, &size, &offset);
      if (read == ARCHIVE_EOF) break;
      if (read < ARCHIVE_WARN) return Damaged();
      budget_.bytes -= static_cast<std::int64_t>(size);
      if (absl::Status bounded = CheckSize(offset); !bounded.ok()) return bounded;
      if (absl::Status put = Put(file, target, bytes, size, offset); !put.ok()) return put;
      end = std::max(end, offset + static_cast<std::int64_t>(size));
    }
    // The end of a sparse file may be a hole.
    const std::int64_t said = archive_entry_size_is_set(&entry) ? archive_entry_size(&entry) : 0;
    if (absl::Status bounded = CheckSize(said); !bounded.ok()) return bounded;
    if (said > end && ::ftruncate(file.get(), said) != 0) {
      return ErrnoStatus(errno, absl::StrCat("cannot write ", target));
    }
    if (::fchmod(file.get(), (archive_entry_perm(&entry) & kHarmless) | kOwner) != 0) {
      return ErrnoStatus(errno, absl::StrCat("cannot set the permissions of ", target));
    }
    if (archive_entry_mtime_is_set(&entry)) {
      timespec times[2] = {{0, UTIME_OMIT}, {archive_entry_mtime(&entry), 0}};
      ::futimens(file.get(), times);  // a time that the file system cannot hold does no harm
    }
    // Network file systems report a full disk only here.
    return ::close(file.Release()) == 0 ? absl::OkStatus()
                                        : ErrnoStatus(errno, absl::StrCat("cannot write ", target));
  }

  absl::Status Put(const Fd& file, const std::string& target, const void* bytes, std::size_t size,
                   std::int64_t offset) {
    const int refusal =
        WriteWhole({static_cast<const char*>(bytes), size},
                   [&file, offset](std::string_view left, std::int64_t done) {
                     return ::pwrite(file.get(), left.data(), left.size(), offset + done);
                   });
    return refusal == 0 ? absl::OkStatus()
                        : ErrnoStatus(refusal, absl::StrCat("cannot write ", target));
  }

  // Holes count for the size of their file only.
  absl::Status CheckSize(std::int64_t file_bytes) {
    if (budget_.bytes >= 0 && file_bytes >= 0 && file_bytes <= limits::kUnpackedBytesMax) {
      return absl::OkStatus();
    }
    return Refused(absl::StrCat("the archives of the job hold more than ",
                                limits::kUnpackedBytesMax, " bytes"));
  }

  absl::Status TakeSymbolicLink(const Components& place, const char* target) {
    const std::string leads_to = target == nullptr ? "" : target;
    const auto out = [&] {
      return RefusedEntry(absl::StrCat("is a link to '", leads_to, "', out of its folder"));
    };
    if (leads_to.empty() || leads_to.starts_with('/')) return out();
    const Components way = Split(leads_to);
    // Where the link lies there are real folders only, so leading ".." climb exactly. Behind a
    // name, which may be a link itself, they climb from who knows where.
    const auto down =
        std::find_if(way.begin(), way.end(), [](const std::string& name) { return name != ".."; });
    const auto climbs = static_cast<std::size_t>(down - way.begin());
    if (climbs > place.size() - 1 || std::find(down, way.end(), "..") != way.end()) return out();
    links_[absl::StrCat(folder_, "/", absl::StrJoin(place, "/"))] = {name_, place, leads_to, false};
    return absl::OkStatus();
  }

  absl::Status TakeHardLink(const Components& place, const std::string& other) {
    const Components way = Split(other);
    if (place.empty() || way.empty() || other.starts_with('/') ||
        std::find(way.begin(), way.end(), "..") != way.end()) {
      return RefusedEntry(absl::StrCat("is a link to '", other, "', out of its folder"));
    }
    links_[absl::StrCat(folder_, "/", absl::StrJoin(place, "/"))] = {
        name_, place, absl::StrCat(folder_, "/", absl::StrJoin(way, "/")), true};
    return absl::OkStatus();
  }

  // Hard links first, and folders before them: no way leads through a symbolic link yet.
  absl::Status MakeLinks() {
    for (const auto& [path, link] : links_) {
      name_ = link.name;
      absl::Status made = MakeFolders({link.place.begin(), link.place.end() - 1});
      if (!made.ok()) return made;
    }
    for (const bool hard : {true, false}) {
      for (const auto& [path, link] : links_) {
        if (link.hard != hard) continue;
        name_ = link.name;
        ::unlink(path.c_str());  // a file of this name that came before
        const int made = hard ? ::link(link.target.c_str(), path.c_str())
                              : ::symlink(link.target.c_str(), path.c_str());
        if (made == 0) continue;
        if (errno == ENOENT) return RefusedEntry("is a link to a file that the archive lacks");
        if (errno == EEXIST) return RefusedEntry("is a link and a folder");
        return ErrnoStatus(errno, absl::StrCat("cannot make the link ", path));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Refused(const std::string& why) const {
    const std::string name = path_.substr(path_.rfind('/') + 1);
    return StatusFromJobError(
        absl::StatusCode::kInvalidArgument,
        MakeJobError(job_error::kArchiveRefused, absl::StrCat("archive ", name, ": ", why),
                     "archives are tar, tar.gz (bz2, xz, zst), zip and jar files, with paths and "
                     "links inside of them only; what is large belongs into the inputs"));
  }
  absl::Status RefusedEntry(const std::string& what) const {
    return Refused(absl::StrCat("'", name_, "' ", what));
  }
  absl::Status Damaged() const {
    const char* const said = archive_error_string(archive_.get());
    const int error = archive_errno(archive_.get());
    if (IsOfMachine(error)) {
      return ErrnoStatus(error, absl::StrCat("cannot read ", path_));
    }
    return Refused(absl::StrCat("it cannot be unpacked: ", said == nullptr ? "damaged" : said));
  }

  struct Link {
    std::string name;  // as the archive has it
    Components place;
    std::string target;  // hard: path of a file in the folder
    bool hard = false;
  };

  const Utf8Names names_;
  const std::string& path_;
  const std::string& folder_;
  UnpackBudget& budget_;
  const std::unique_ptr<archive, FreeArchive> archive_;
  std::string name_;                          // of the entry that is looked at
  absl::btree_map<std::string, Link> links_;  // by path
};

}  // namespace

absl::Status UnpackArchive(const std::string& path, const std::string& folder,
                           UnpackBudget& budget) {
  return Unpacking(path, folder, budget).Run();
}

}  // namespace weir::task
