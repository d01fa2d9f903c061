#include "glia/distributed/batch_sum.hpp"

#include <cmath>
#include <cstring>
#include <mutex>
#include <span>
#include <vector>

#include "catch.hpp"
#include "glia/distributed/messages.hpp"
#include "helpers.hpp"
#include "thread_ranks.hpp"

namespace {

/// Numbers of very different size, so that every other order of adding gives other bits.
float number_of(std::size_t piece, std::size_t n) {
  const auto word = static_cast<std::uint32_t>(2654435761U * (piece * 7919 + n + 1));
  return std::ldexp(static_cast<float>(word) * 0x1p-32F - 0.5F, static_cast<int>(word % 13));
}

/// What every rank has in the end.
std::vector<std::vector<float>> sums(std::size_t ranks, std::size_t size,
                                     glia::detail::batch_sum_options options,
                                     bool shares_memory = false, std::size_t parts = 5) {
  if (options.pieces == 1) {
    options.pieces = ranks;
  }
  std::vector<std::vector<float>> result(ranks);
  test::thread_ranks group(ranks, shares_memory);
  group.run([&](glia::rank_group& member) {
    glia::batch_sum<float> sum(member, size, options);
    glia::require<glia::value_error>(sum.shares_memory() == (shares_memory && ranks > 1), "memory");
    for (int repeated = 0; repeated < 3; ++repeated) {
      sum.begin();
      for (std::size_t piece = sum.pieces().first; piece < sum.pieces().end; ++piece) {
        for (std::size_t part = parts; part-- > 0;) {  // not in order
          const auto [first, end] = glia::part_of(size, part, parts);
          for (std::size_t n = first; n < end; ++n) {
            sum.memory_for(piece)[n] = number_of(piece, n);
          }
          sum.add(piece, first, end);
        }
      }
      sum.finish();
    }
    result[member.rank()].assign(sum.sum(), sum.sum() + size);
    (void)glia::gather(member, "");  // nobody may begin the next sum before all have this one
  });
  return result;
}

double exact(std::size_t pieces, std::size_t n) {
  double sum = 0;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    sum += number_of(piece, n);
  }
  return sum;
}

}  // namespace

TEST_CASE("ranks have the same sum, whatever its size, buckets and overlap") {
  for (const std::size_t ranks : {1U, 2U, 3U, 5U}) {
    for (const std::size_t size : {1U, 15U, 1000U, 5000U}) {
      for (const bool overlap : {false, true}) {
        const auto results = sums(ranks, size, {.bucket_bytes = 4096, .overlap = overlap});
        for (std::size_t n = 0; n < size; ++n) {
          CHECK(std::abs(results[0][n] - exact(ranks, n)) < 1e-3);
        }
        for (const auto& result : results) {
          CHECK(std::memcmp(result.data(), results[0].data(), size * sizeof(float)) == 0);
        }
        CHECK(results == sums(ranks, size, {.bucket_bytes = 1U << 20U}));
        CHECK(results == sums(ranks, size, {.bucket_bytes = 4096, .overlap = overlap}, true));
      }
    }
  }
}

TEST_CASE("pieces are added to the same bits whoever has them") {
  for (const std::size_t pieces : {8U, 11U}) {
    const auto expected = sums(1, 3000, {.pieces = pieces, .bucket_bytes = 1024});
    for (std::size_t n = 0; n < 3000; ++n) {
      CHECK(std::abs(expected[0][n] - exact(pieces, n)) < 1e-2);
    }
    for (const std::size_t ranks : {2U, 3U, 4U, 5U, 7U, 8U}) {
      for (const bool shares_memory : {false, true}) {
        for (const auto& result :
             sums(ranks, 3000, {.pieces = pieces, .bucket_bytes = 1024}, shares_memory)) {
          CHECK(std::memcmp(result.data(), expected[0].data(), 3000 * sizeof(float)) == 0);
        }
      }
    }
  }
}

TEST_CASE("a sum sent in bfloat16 is the same on all ranks and off by its rounding") {
  const auto results = sums(3, 2000, {.bucket_bytes = 2048, .rounded = 1000});
  const auto unrounded = sums(3, 2000, {.bucket_bytes = 2048});
  bool rounded = false;
  for (std::size_t n = 0; n < 2000; ++n) {
    if (n >= 1000) {  // is not to be rounded
      CHECK(results[0][n] == unrounded[0][n]);
      CHECK(results[1][n] == unrounded[0][n]);
      continue;
    }
    double size = 0;
    for (std::size_t piece = 0; piece < 3; ++piece) {
      size += std::abs(number_of(piece, n));
    }
    CHECK(std::abs(results[0][n] - exact(3, n)) <= size * 0x1p-7);
    rounded = rounded || results[0][n] != static_cast<float>(exact(3, n));
    CHECK(results[0][n] == results[1][n]);
    CHECK(results[0][n] == results[2][n]);
  }
  CHECK(rounded);
}

TEST_CASE("numbers are rounded to the nearest in bfloat16") {
  CHECK(glia::detail::bfloat16_number(1.0F).value() == 1.0F);
  CHECK(glia::detail::bfloat16_number(1.00390625F).value() ==
        1.0F);  // as near to both: the even one
  CHECK(glia::detail::bfloat16_number(1.01171875F).value() == 1.015625F);  // the same
  CHECK(glia::detail::bfloat16_number(-3.14159F).value() == -3.140625F);
  CHECK(std::isinf(glia::detail::bfloat16_number(3.4e38F).value()));
  CHECK(std::isnan(glia::detail::bfloat16_number(NAN).value()));
}

TEST_CASE("fewer pieces than ranks are refused") {
  test::thread_ranks group(3);
  const auto refused = [&] {
    group.run([](glia::rank_group& member) {
      const glia::batch_sum<float> sum(member, 10, {.pieces = 2});
    });
  };
  CHECK_THROWS_AS(refused(), glia::value_error);
}

TEST_CASE("a rank that fails ends the sums and messages of all others") {
  test::thread_ranks group(3);
  std::mutex mutex;
  std::vector<std::string> messages;
  const auto failing = [&] {
    group.run([&](glia::rank_group& member) {
      if (member.rank() == 2) {
        throw glia::data_error("photo.jpg is damaged");
      }
      try {
        if (member.rank() == 0) {
          glia::batch_sum<float> sum(member, 100, {.pieces = 3});
          sum.begin();
          sum.add(0, 0, 100);
          sum.finish();
        } else {
          (void)glia::gather(member, "hello");
        }
      } catch (const glia::rank_error& e) {
        const std::lock_guard lock(mutex);
        messages.emplace_back(e.what());
        throw;
      }
    });
  };
  CHECK_THROWS_AS(failing(), glia::data_error);
  CHECK(messages == std::vector<std::string>(2, "rank 2 on thread: photo.jpg is damaged"));
}

TEST_CASE("messages of any length reach all ranks") {
  test::thread_ranks group(4);
  group.run([](glia::rank_group& member) {
    const auto text_of = [](std::size_t rank) { return std::string(rank * 1000, 'a'); };
    const auto texts = glia::gather(member, text_of(member.rank()));
    for (std::size_t i = 0; i < 4; ++i) {
      glia::require<glia::value_error>(texts[i] == text_of(i), "another message");
    }
    glia::require<glia::value_error>(
        glia::detail::from_first(member, member.rank() == 0 ? "first" : "other") == "first",
        "another text");
    glia::require<glia::value_error>(
        glia::gather(member, text_of(member.rank()), 100) == texts &&
            glia::gather(member, "a", 1) == std::vector<std::string>(4, "a"),
        "another message in parts");
    glia::require<glia::value_error>(
        glia::gather_values(member, member.rank() * 3) == std::vector<std::size_t>{0, 3, 6, 9},
        "other values");
  });
}
