// Archives of users: what they may do, and what they may not.

#include "runtime/task/start/unpack_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "tests/unit/format/failing_close.h"

namespace weir::task {
namespace {

namespace fs = std::filesystem;

struct Entry {
  enum class Kind { kFile, kFolder, kSymbolicLink, kHardLink, kPipe };
  std::string path;
  std::string content;  // of a file; target of a link
  Kind kind = Kind::kFile;
  int mode = 0644;
  std::int64_t hole_bytes = 0;  // before the content
};
using Kind = Entry::Kind;

enum class Form { kTar, kTarGz, kTarBz2, kTarXz, kTarZst, kZip };

void WriteEntry(archive* into, const Entry& from) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, from.path.c_str());
  archive_entry_set_perm(entry, static_cast<mode_t>(from.mode));
  archive_entry_set_mtime(entry, 1'000'000'000, 0);
  archive_entry_set_size(entry, 0);
  switch (from.kind) {
    case Kind::kFile:
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_size(entry,
                             from.hole_bytes + static_cast<std::int64_t>(from.content.size()));
      if (from.hole_bytes > 0) {
        archive_entry_sparse_add_entry(entry, from.hole_bytes,
                                       static_cast<std::int64_t>(from.content.size()));
      }
      break;
    case Kind::kFolder:
      archive_entry_set_filetype(entry, AE_IFDIR);
      break;
    case Kind::kSymbolicLink:
      archive_entry_set_filetype(entry, AE_IFLNK);
      archive_entry_set_symlink(entry, from.content.c_str());
      break;
    case Kind::kHardLink:
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_hardlink(entry, from.content.c_str());
      break;
    case Kind::kPipe:
      archive_entry_set_filetype(entry, AE_IFIFO);
      break;
  }
  ASSERT_GE(archive_write_header(into, entry), ARCHIVE_WARN) << archive_error_string(into);
  if (from.kind == Kind::kFile) {
    // What is written into the hole is left out again.
    const std::string zeros(1 << 20, '\0');
    for (std::int64_t left = from.hole_bytes; left > 0;) {
      left -= archive_write_data(into, zeros.data(),
                                 static_cast<std::size_t>(std::min<std::int64_t>(left, 1 << 20)));
    }
    archive_write_data(into, from.content.data(), from.content.size());
  }
  archive_entry_free(entry);
}

void WriteArchive(const std::string& path, Form form, const std::vector<Entry>& entries) {
  archive* into = archive_write_new();
  form == Form::kZip ? archive_write_set_format_zip(into)
                     : archive_write_set_format_pax_restricted(into);
  if (form == Form::kTarGz) archive_write_add_filter_gzip(into);
  if (form == Form::kTarBz2) archive_write_add_filter_bzip2(into);
  if (form == Form::kTarXz) archive_write_add_filter_xz(into);
  if (form == Form::kTarZst) archive_write_add_filter_zstd(into);
  ASSERT_EQ(archive_write_open_filename(into, path.c_str()), ARCHIVE_OK);
  for (const Entry& entry : entries) WriteEntry(into, entry);
  ASSERT_EQ(archive_write_close(into), ARCHIVE_OK);
  archive_write_free(into);
}

std::string Read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = fs::temp_directory_path() / "weir-unpack-XXXXXX";
    path_ = fs::canonical(::mkdtemp(name.data()));
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

class UnpackArchiveTest : public ::testing::Test {
 protected:
  absl::Status Unpack(const std::vector<Entry>& entries, Form form = Form::kTar,
                      UnpackBudget budget = {}) {
    archive_ = dir_ / "some.archive";
    folder_ = dir_ / "to";
    fs::remove_all(folder_);
    WriteArchive(archive_, form, entries);
    return UnpackArchive(archive_, folder_, budget);
  }
  // The message of what is refused.
  std::string Refused(const std::vector<Entry>& entries, UnpackBudget budget = {}) {
    return Message(Unpack(entries, Form::kTar, budget));
  }
  static std::string Message(const absl::Status& status) {
    EXPECT_EQ(JobErrorFromStatus(status).code(), job_error::kArchiveRefused) << status;
    return std::string(status.message());
  }

  TemporaryFolder dir_;
  std::string archive_;
  std::string folder_;
};

TEST_F(UnpackArchiveTest, FilesFoldersAndLinksOfEveryForm) {
  for (const Form form :
       {Form::kTar, Form::kTarGz, Form::kTarBz2, Form::kTarXz, Form::kTarZst, Form::kZip}) {
    SCOPED_TRACE(static_cast<int>(form));
    std::vector<Entry> entries = {{"./", "", Kind::kFolder},
                                  {"words", "one\ntwo\n"},
                                  {"bin/run.sh", "#!/bin/sh\n", Kind::kFile, 0755},
                                  {"deep/er/empty", ""},
                                  {"closed", "", Kind::kFolder, 0},
                                  {"closed/inside", "x"},
                                  {"deep/er/up", "../../words", Kind::kSymbolicLink},
                                  {"müll/näme", "ü"}};
    if (form != Form::kZip) {
      entries.push_back({"same", "bin/run.sh", Kind::kHardLink});
      entries.push_back({"same-as-same", "./same", Kind::kHardLink});
    }
    const absl::Status unpacked = Unpack(entries, form);
    ASSERT_TRUE(unpacked.ok()) << unpacked;
    EXPECT_EQ(Read(folder_ + "/words"), "one\ntwo\n");
    EXPECT_EQ(Read(folder_ + "/deep/er/up"), "one\ntwo\n");
    EXPECT_EQ(Read(folder_ + "/closed/inside"), "x");
    EXPECT_EQ(Read(folder_ + "/müll/näme"), "ü");
    EXPECT_TRUE(fs::is_empty(folder_ + "/deep/er/empty"));
    EXPECT_EQ(fs::status(folder_ + "/bin/run.sh").permissions(), static_cast<fs::perms>(0755));
    EXPECT_EQ(fs::status(folder_ + "/words").permissions(), static_cast<fs::perms>(0644));
    if (form != Form::kZip) {
      EXPECT_TRUE(fs::equivalent(folder_ + "/same-as-same", folder_ + "/bin/run.sh"));
    }
  }
}

TEST_F(UnpackArchiveTest, AFileThatTheDiskDidNotKeepIsNotUnpacked) {
  fs::create_directory(dir_ / "to");
  const format::FailingClose full(dir_ / "to/words", ENOSPC);
  const absl::Status status = Unpack({{"words", "one\n"}});
  EXPECT_TRUE(IsDiskFull(status)) << status;
  EXPECT_EQ(full.count(), 1);
}

TEST_F(UnpackArchiveTest, PermissionsAreThoseOfAHarmlessFile) {
  ASSERT_TRUE(Unpack({{"suid", "x", Kind::kFile, 06777}, {"none", "x", Kind::kFile, 0}}).ok());
  EXPECT_EQ(fs::status(folder_ + "/suid").permissions(), static_cast<fs::perms>(0755));
  EXPECT_EQ(fs::status(folder_ + "/none").permissions(), static_cast<fs::perms>(0600));
}

TEST_F(UnpackArchiveTest, WhatComesLastCounts) {
  ASSERT_TRUE(
      Unpack({{"a", "long ago"}, {"a", "now"}, {"b", "a", Kind::kSymbolicLink}, {"b", "file"}})
          .ok());
  EXPECT_EQ(Read(folder_ + "/a"), "now");
  EXPECT_EQ(Read(folder_ + "/b"), "file");
  EXPECT_FALSE(fs::is_symlink(folder_ + "/b"));
}

TEST_F(UnpackArchiveTest, PathsOutOfTheFolderAreRefusedByName) {
  EXPECT_NE(Refused({{"../x", "evil"}}).find("'../x' leads out"), std::string::npos);
  EXPECT_FALSE(fs::exists(dir_ / "x"));
  EXPECT_NE(Refused({{"a/../../x", "evil"}}).find("leads out"), std::string::npos);
  EXPECT_NE(Refused({{"/tmp/x", "evil"}}).find("absolute"), std::string::npos);
  EXPECT_NE(Refused({{"a/..", "", Kind::kFolder}}).find("leads out"), std::string::npos);
  EXPECT_NE(Refused({{"..", "", Kind::kFolder}}).find("some.archive"), std::string::npos);
}

TEST_F(UnpackArchiveTest, LinksOutOfTheFolderAreRefusedByName) {
  const auto link = [](const char* path, const char* to) {
    return Entry{path, to, Kind::kSymbolicLink};
  };
  EXPECT_NE(Refused({link("l", "/etc/passwd")}).find("'l' is a link to '/etc/passwd'"),
            std::string::npos);
  EXPECT_NE(Refused({link("l", "..")}).find("out of its folder"), std::string::npos);
  EXPECT_NE(Refused({link("a/b/l", "../../../x")}).find("out of"), std::string::npos);
  // Each alone stays inside; together they would not.
  EXPECT_NE(Refused({link("p/q/r", "../.."), link("s", "p/q/r/../x")}).find("out of"),
            std::string::npos);
  EXPECT_NE(Refused({link("d", "."), {"d/f", "through"}}).find("link and a folder"),
            std::string::npos);
  EXPECT_NE(Refused({link("a", "."), link("a/b", "../q")}).find("link and a folder"),
            std::string::npos);
  EXPECT_NE(Refused({{"f", "x"}, {"f/g", "x"}}).find("no folder"), std::string::npos);
  EXPECT_NE(Refused({{"h", "../secret", Kind::kHardLink}}).find("out of"), std::string::npos);
  EXPECT_NE(Refused({{"h", "/etc/passwd", Kind::kHardLink}}).find("out of"), std::string::npos);
  EXPECT_NE(Refused({{"h", "none", Kind::kHardLink}}).find("lacks"), std::string::npos);
  EXPECT_NE(Refused({link("s", "none"), {"h", "s/x", Kind::kHardLink}}).find("lacks"),
            std::string::npos);
}

TEST_F(UnpackArchiveTest, LinksInsideAreKept) {
  ASSERT_TRUE(Unpack({{"lib/a.so.1", "code"},
                      {"lib/a.so", "a.so.1", Kind::kSymbolicLink},
                      {"here/lib", "../lib", Kind::kSymbolicLink},
                      {"all", ".", Kind::kSymbolicLink},
                      {"nowhere", "later/made", Kind::kSymbolicLink}})
                  .ok());
  EXPECT_EQ(Read(folder_ + "/all/here/lib/a.so"), "code");
  EXPECT_TRUE(fs::is_symlink(folder_ + "/nowhere"));
}

TEST_F(UnpackArchiveTest, DevicesAndPipesAreRefused) {
  EXPECT_NE(Refused({{"p", "", Kind::kPipe}}).find("'p' is a device, a pipe"), std::string::npos);
}

TEST_F(UnpackArchiveTest, BombsEndAtTheirBounds) {
  const UnpackBudget small = {.bytes = 100'000, .entries = 3};
  EXPECT_NE(Refused({{"a", std::string(60'000, 'x')}, {"b", std::string(60'000, 'x')}}, small)
                .find("hold more than"),
            std::string::npos);
  EXPECT_NE(Refused({{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}}, small).find("entries"),
            std::string::npos);
  // A hole takes no place, but nobody needs files of that size.
  EXPECT_TRUE(Unpack({{"a", "end", Kind::kFile, 0644, 64 << 20}}, Form::kTar, small).ok());
  EXPECT_EQ(fs::file_size(folder_ + "/a"), (64 << 20) + 3u);
  EXPECT_EQ(Read(folder_ + "/a").substr(64 << 20), "end");

  UnpackBudget shared = {.bytes = 100, .entries = 10};
  WriteArchive(dir_ / "one", Form::kTarGz, {{"a", std::string(60, 'x')}});
  EXPECT_TRUE(UnpackArchive(dir_ / "one", dir_ / "first", shared).ok());
  EXPECT_EQ(shared.bytes, 40);
  EXPECT_EQ(shared.entries, 9);
  EXPECT_FALSE(UnpackArchive(dir_ / "one", dir_ / "second", shared).ok())
      << "all archives of a job together";
}

TEST_F(UnpackArchiveTest, WhatIsNoWholeArchiveIsRefused) {
  const auto refused = [this](const std::string& content) {
    std::ofstream(dir_ / "x") << content;
    UnpackBudget budget;
    fs::remove_all(dir_ / "to");
    return Message(UnpackArchive(dir_ / "x", dir_ / "to", budget));
  };
  EXPECT_NE(refused("just text\n").find("archive x: it cannot be unpacked"), std::string::npos);
  EXPECT_NE(refused("").find("cannot be unpacked"), std::string::npos);
  for (const Form form : {Form::kTar, Form::kTarGz, Form::kZip}) {
    WriteArchive(dir_ / "whole", form, {{"a", std::string(50'000, 'x')}, {"b", "more"}});
    const std::string whole = Read(dir_ / "whole");
    refused(whole.substr(0, whole.size() / 2));
  }
  UnpackBudget budget;
  EXPECT_TRUE(absl::IsNotFound(UnpackArchive(dir_ / "none", dir_ / "to", budget)));
}

// Whatever entries there are: outside of the folder nothing changes, and no link leads there.
RC_GTEST_PROP(UnpackArchiveProperty, NothingLeavesTheFolder, ()) {
  const auto path = rc::gen::map(
      rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
          std::vector<std::string>{"a", "a", "a", "a", "b", "b", "b", "c", "c", "d",
                                   "e", "f", "g", "h", "i", "k", "l", "m", ".", ".."}))),
      [](const std::vector<std::string>& parts) {
        std::string joined;
        for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 4); ++i) {
          joined += (i == 0 ? "" : "/") + parts[i];
        }
        return joined;
      });
  const auto entry = rc::gen::map(
      rc::gen::tuple(path, path, rc::gen::elementOf(std::vector<int>{0, 0, 0, 1, 2, 2, 3})),
      [](const std::tuple<std::string, std::string, int>& drawn) {
        return Entry{std::get<0>(drawn), std::get<1>(drawn), static_cast<Kind>(std::get<2>(drawn))};
      });
  std::vector<Entry> entries = *rc::gen::container<std::vector<Entry>>(entry);
  entries.resize(std::min<std::size_t>(entries.size(), 6));  // more of them fit together seldom
  TemporaryFolder dir;
  fs::create_directories(dir / "out/a/b");
  std::ofstream(dir / "out/c") << "mine";
  WriteArchive(dir / "archive", Form::kTar, entries);
  const auto outside = [&dir] {
    std::set<std::string> seen;
    for (const auto& found : fs::recursive_directory_iterator(dir / "out")) {
      if (!found.path().string().starts_with(dir / "out/to/")) seen.insert(found.path());
    }
    return seen;
  };
  fs::create_directory(dir / "out/to");
  const auto before = outside();
  fs::remove(dir / "out/to");
  UnpackBudget budget;
  const absl::Status status = UnpackArchive(dir / "archive", dir / "out/to", budget);
  RC_CLASSIFY(status.ok() && !entries.empty(), "unpacked");
  RC_ASSERT(outside() == before);
  RC_ASSERT(Read(dir / "out/c") == "mine");
  for (const auto& found : fs::recursive_directory_iterator(dir / "out/to")) {
    if (!found.is_symlink()) continue;
    std::error_code error;
    const std::string leads_to = fs::canonical(found.path(), error);
    if (error) continue;  // to nowhere, or round and round
    RC_ASSERT(leads_to == dir / "out/to" || leads_to.starts_with(dir / "out/to/"));
  }
}

}  // namespace
}  // namespace weir::task
