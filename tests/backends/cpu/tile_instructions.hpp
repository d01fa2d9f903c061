#pragma once

// Instructions for tile registers (AMX) on a processor that has none: each of them raises a signal,
// whose handler computes its result.

#if defined(__x86_64__) && defined(__linux__)

#include <ucontext.h>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <glia/core/flush_denormals.hpp>

namespace test {

/// The tile registers of one thread.
struct tile_registers {
  struct tile {
    std::uint8_t rows = 0;
    std::uint16_t row_bytes = 0;
    std::uint8_t bytes[16][64] = {};
  };
  tile tiles[8];
};

inline thread_local tile_registers tiles_of_thread;
/// How many instructions have been computed.
inline std::atomic<std::size_t> tile_instructions_run{0};

/// An instruction with a VEX prefix of three bytes.
class tile_instruction {
 public:
  explicit tile_instruction(ucontext_t& context)
      : context_(context), code_(reinterpret_cast<const std::uint8_t*>(reg(16))) {}

  /// Computes the instruction and moves to the next one. Returns false for other instructions.
  [[nodiscard]] bool run() {
    if (code_[0] != 0xC4 || (code_[1] & 0x1FU) != 2 || (code_[2] & 0x84U) != 0) {
      return false;  // not VEX.128.0F38.W0
    }
    const unsigned prefix = code_[2] & 3U;  // 0: none, 1: 66, 2: F3, 3: F2
    const unsigned opcode = code_[3];
    const bool of_memory = code_[4] >> 6U != 3;
    auto& tile = tiles_of_thread.tiles[code_[4] >> 3U & 7U];
    length_ = 5;
    if (opcode == 0x49 && prefix == 0) {
      of_memory ? configure() : release();
    } else if (opcode == 0x49 && prefix == 3) {
      std::memset(tile.bytes, 0, sizeof(tile.bytes));
    } else if (opcode == 0x4B && of_memory && (prefix == 2 || prefix == 3)) {
      move_rows(tile, prefix == 3);
    } else if (opcode == 0x5C && prefix == 2) {
      add_products(tile, tiles_of_thread.tiles[code_[4] & 7U],
                   tiles_of_thread.tiles[~(code_[2] >> 3U) & 7U]);
    } else {
      return false;
    }
    context_.uc_mcontext.gregs[REG_RIP] += length_;
    ++tile_instructions_run;
    return true;
  }

 private:
  /// Register `number`, in the order in which instructions name them; 16 is the next instruction.
  [[nodiscard]] std::int64_t reg(unsigned number) const {
    static constexpr int names[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                    REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    return context_.uc_mcontext.gregs[names[number]];
  }

  /// The address of the operand in memory, without the index, and the value of the index.
  struct address {
    std::uint8_t* base;
    std::int64_t index;
  };
  [[nodiscard]] address operand() {
    const unsigned mode = code_[4] >> 6U;
    unsigned base = code_[4] & 7U;
    std::int64_t index = 0;
    if (base == 4) {
      const unsigned sib = code_[5];
      ++length_;
      base = sib & 7U;
      const unsigned number = (sib >> 3U & 7U) | ((code_[1] & 0x40U) != 0 ? 0U : 8U);
      index = number == 4 ? 0 : reg(number) * (std::int64_t{1} << (sib >> 6U));
    }
    const std::uint8_t* const offset = code_ + length_;
    if (mode == 0 && base == 5) {
      std::abort();  // relative to the instruction, or without a base
    }
    std::int64_t place = reg(base | ((code_[1] & 0x20U) != 0 ? 0U : 8U));
    if (mode == 1) {
      place += static_cast<std::int8_t>(*offset);
      length_ += 1;
    } else if (mode == 2) {
      std::int32_t wide = 0;
      std::memcpy(&wide, offset, 4);
      place += wide;
      length_ += 4;
    }
    return {reinterpret_cast<std::uint8_t*>(place), index};
  }

  void configure() {
    const std::uint8_t* const shapes = operand().base;
    for (int i = 0; i < 8; ++i) {
      tile_registers::tile& tile = tiles_of_thread.tiles[i];
      std::memcpy(&tile.row_bytes, shapes + 16 + 2 * i, 2);
      tile.rows = shapes[48 + i];
      if (shapes[0] != 1 || tile.rows == 0 || tile.rows > 16 || tile.row_bytes > 64) {
        std::abort();  // a processor would refuse this
      }
      std::memset(tile.bytes, 0, sizeof(tile.bytes));
    }
  }
  static void release() { tiles_of_thread = {}; }

  void move_rows(tile_registers::tile& tile, bool load) {
    const address from = operand();
    if (tile.rows == 0) {
      std::abort();
    }
    for (int i = 0; i < tile.rows; ++i) {
      std::uint8_t* const row = from.base + i * from.index;
      load ? std::memcpy(tile.bytes[i], row, tile.row_bytes)
           : std::memcpy(row, tile.bytes[i], tile.row_bytes);
    }
  }

  [[nodiscard]] static float half_of(const tile_registers::tile& tile, int row, int number) {
    std::uint16_t half = 0;
    std::memcpy(&half, tile.bytes[row] + 2 * number, 2);
    const std::uint32_t bits = std::uint32_t{half} << 16U;
    float value = 0;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  static void add_products(tile_registers::tile& c, const tile_registers::tile& a,
                           const tile_registers::tile& b) {
    if (c.rows != a.rows || b.rows != a.row_bytes / 4 || c.row_bytes != b.row_bytes) {
      std::abort();
    }
    const glia::flush_denormals on_this_thread;
    for (int m = 0; m < c.rows; ++m) {
      for (int n = 0; n < c.row_bytes / 4; ++n) {
        float even = 0;
        float odd = 0;
        for (int k = 0; k < b.rows; ++k) {
          even = __builtin_fmaf(half_of(a, m, 2 * k), half_of(b, k, 2 * n), even);
          odd = __builtin_fmaf(half_of(a, m, 2 * k + 1), half_of(b, k, 2 * n + 1), odd);
        }
        float sum = 0;
        std::memcpy(&sum, c.bytes[m] + 4 * n, 4);
        sum += even + odd;
        std::memcpy(c.bytes[m] + 4 * n, &sum, 4);
      }
    }
  }

  ucontext_t& context_;
  const std::uint8_t* code_;
  int length_ = 0;
};

/// Computes instructions for tile registers while this object lives.
class tile_processor {
 public:
  tile_processor() {
    struct sigaction action = {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
      if (!tile_instruction(*static_cast<ucontext_t*>(context)).run()) {
        std::abort();
      }
    };
    sigaction(SIGILL, &action, &before_);
  }
  tile_processor(const tile_processor&) = delete;
  tile_processor& operator=(const tile_processor&) = delete;
  ~tile_processor() { sigaction(SIGILL, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

}  // namespace test

#endif
