#include <cstring>
#include <fstream>
#include <glia/core/little_endian.hpp>
#include <glia/io/tfrecord.hpp>
#include <glia/io/tfrecord_index.hpp>

#include "fuzz/fuzz.hpp"
#include "samples/records.hpp"

namespace {

constexpr fuzz::memory_limit limit{.for_each_byte = 8, .fixed = 64 << 10};

std::vector<std::string> records_of(const std::filesystem::path& path) {
  std::vector<std::string> records;
  glia::tfrecord_reader reader(path);
  while (const auto record = reader.next()) {
    records.emplace_back(*record);
  }
  return records;
}

std::vector<std::string> records_by_index(const std::filesystem::path& path) {
  const glia::tfrecord_index index({path});
  std::vector<std::string> records;
  for (std::size_t i = index.size(); i-- > 0;) {
    records.insert(records.begin(), index.read(i));
  }
  return records;
}

/// Puts the sums of lengths and records where they belong.
void seal(std::span<std::uint8_t> file) {
  constexpr std::size_t head = glia::detail::record_head_bytes;
  for (std::size_t offset = 0; offset + head <= file.size();) {
    const std::string_view rest(reinterpret_cast<const char*>(file.data()) + offset,
                                file.size() - offset);
    const std::uint64_t length = glia::detail::little_endian(rest.substr(0, 8));
    const std::string sealed = glia::detail::record_head(length);
    std::memcpy(file.data() + offset, sealed.data(), sealed.size());
    if (length + 4 < length || length + 4 > file.size() - offset - head) {
      return;
    }
    const std::string sum = glia::detail::record_tail(rest.substr(head, length));
    std::memcpy(file.data() + offset + head + length, sum.data(), sum.size());
    offset += head + length + sum.size();
  }
}

}  // namespace

std::vector<fuzz::bytes> fuzz::seeds() { return test::samples::tfrecord(); }

void fuzz::check(byte_view file) {
  std::vector<std::string> by_index;
  bool found = true;
  try {
    by_index = read_within(limit, file, records_by_index);
  } catch (const glia::error&) {
    found = false;
  }
  std::vector<std::string> records;
  try {
    records = read_within(limit, file, records_of);
  } catch (const glia::error&) {
    require(!found, "the index finds records where there is an error");
    throw;
  }
  require(found && by_index == records, "the index finds other records");
  // All of a file is records: written again, it is the same to the bit.
  without_error([&] {
    glia::tfrecord_writer out(other_path());
    for (const std::string& record : records) {
      out.write(record);
    }
    out.close();
    const bytes rewritten = written();
    require(std::equal(rewritten.begin(), rewritten.end(), file.begin(), file.end()),
            "what was read is not what was written of it");
  });
}

// Half of the changes leave sums that fit.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return fuzz::change_and_seal(data, size, max_size, seed, seal);
}
