#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "glia/distributed.hpp"

namespace test {

/// Ranks that are threads of one process.
class thread_ranks {
 public:
  /// Whoever begins to send waits so long for the others, so that sums are there as early as they
  /// can be, while much is still computed.
  explicit thread_ranks(std::size_t count, bool shares_memory = false,
                        std::chrono::microseconds wait = {})
      : count_(count), shares_memory_(shares_memory), wait_(wait) {
    for (std::size_t i = 0; i < count; ++i) {
      ranks_.push_back(std::make_unique<member>(*this, i));
    }
  }

  /// Calls body(ranks) on a thread for each rank. What a rank throws all others learn, and the
  /// first such exception that is no rank_error comes out, else any.
  void run(const std::function<void(glia::rank_group&)>& body) {
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> failures(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      threads.emplace_back([&, i] {
        try {
          body(*ranks_[i]);
        } catch (const std::exception& e) {
          failures[i] = std::current_exception();
          ranks_[i]->fail(e.what());
        }
      });
    }
    for (std::thread& one : threads) {
      one.join();
    }
    for (const bool any : {false, true}) {
      for (const std::exception_ptr& failure : failures) {
        if (failure != nullptr) {
          try {
            std::rethrow_exception(failure);
          } catch (const glia::rank_error&) {
            if (any) {
              throw;
            }
          }
        }
      }
    }
  }

 private:
  struct posted {
    bool exchanges = false;
    std::vector<std::optional<glia::rank_blocks>> send, receive;
    std::size_t here = 0;
    std::size_t taken = 0;
  };
  using key = std::pair<glia::transfer_kind, std::size_t>;

  class member final : public glia::rank_group {
   public:
    member(thread_ranks& all, std::size_t rank) : all_(&all), rank_(rank) {}
    [[nodiscard]] std::size_t rank() const noexcept override { return rank_; }
    [[nodiscard]] std::size_t size() const noexcept override { return all_->count_; }
    [[nodiscard]] std::string name_of(std::size_t rank) const override {
      return glia::text("rank ", rank, " on thread");
    }
    [[nodiscard]] transfer start_exchange(glia::transfer_kind kind, glia::rank_blocks send,
                                          glia::rank_blocks receive) override {
      return start(kind, send, receive, true);
    }
    [[nodiscard]] transfer start_gather(glia::transfer_kind kind, glia::rank_blocks all) override {
      return start(kind, all, all, false);
    }
    [[nodiscard]] bool is_done(transfer& one) override {
      const std::lock_guard lock(all_->mutex_);
      if (!all_->failure_.empty()) {
        throw glia::rank_error(all_->failure_);
      }
      mine& own = begun_.at(one.handle);
      posted& now = all_->posted_.at(own.at);
      if (now.here < size()) {
        return false;
      }
      if (!own.taken) {
        take(now);
        own.taken = true;
        ++now.taken;
      }
      if (now.taken < size()) {
        return false;  // others still read what this one sends
      }
      const key at = own.at;
      begun_.erase(one.handle);
      if (++now.here == 2 * size()) {
        all_->posted_.erase(at);
      }
      return true;
    }
    [[nodiscard]] std::shared_ptr<const glia::shared_memory> share_memory(
        std::size_t bytes) override {
      const std::lock_guard lock(all_->mutex_);
      if (!all_->shares_memory_) {
        return nullptr;
      }
      constexpr std::size_t line = 64;
      const std::size_t number = asked_++;
      if (all_->memory_.size() == number) {
        all_->memory_.emplace_back((bytes + line) * size() + line);
      }
      void* at = all_->memory_[number].data();
      std::size_t room = all_->memory_[number].size();
      auto* first = static_cast<std::byte*>(std::align(line, room - line, at, room));
      auto result = std::make_shared<glia::shared_memory>();
      for (std::size_t i = 0; i < size(); ++i) {
        result->of_rank.push_back(first + i * ((bytes + line - 1) / line * line));
      }
      return result;
    }
    void look_for_failures() override {
      const std::lock_guard lock(all_->mutex_);
      if (!all_->failure_.empty()) {
        throw glia::rank_error(all_->failure_);
      }
    }
    void fail(std::string_view reason) noexcept override {
      const std::lock_guard lock(all_->mutex_);
      if (all_->failure_.empty()) {
        all_->failure_ = name_of(rank_) + ": " + std::string(reason);
      }
    }

   private:
    struct mine {
      key at;
      bool taken = false;
    };

    transfer start(glia::transfer_kind kind, glia::rank_blocks send, glia::rank_blocks receive,
                   bool exchanges) {
      std::unique_lock lock(all_->mutex_);
      const key at{kind, next_[kind]++};
      posted& now = all_->posted_[at];
      now.send.resize(size());
      now.receive.resize(size());
      now.exchanges = exchanges;
      now.send[rank_] = send;
      now.receive[rank_] = receive;
      ++now.here;
      const std::uint64_t handle = ++handles_;
      begun_[handle] = mine{at};
      if (now.here == size()) {
        all_->posted_by_all_.notify_all();
      } else if (all_->wait_.count() > 0) {
        all_->posted_by_all_.wait_for(lock, all_->wait_, [&] { return now.here >= size(); });
      }
      return {handle};
    }
    void take(const posted& now) const {
      const glia::rank_blocks& to = *now.receive[rank_];
      for (std::size_t i = 0; i < size(); ++i) {
        if (i == rank_) {
          continue;
        }
        const glia::rank_blocks& from = *now.send[i];
        const std::size_t block = now.exchanges ? rank_ : i;
        if (from.bytes[block] != to.bytes[i]) {
          throw glia::value_error("ranks disagree about the size of a transfer");
        }
        if (to.bytes[i] > 0) {  // there may be no memory for none
          std::memcpy(to.memory + to.offsets[i], from.memory + from.offsets[block],
                      static_cast<std::size_t>(to.bytes[i]));
        }
      }
    }

    thread_ranks* all_;
    std::size_t rank_;
    std::map<glia::transfer_kind, std::size_t> next_;
    std::map<std::uint64_t, mine> begun_;
    std::uint64_t handles_ = 0;
    std::size_t asked_ = 0;
  };

  std::size_t count_;
  bool shares_memory_;
  std::chrono::microseconds wait_;
  std::condition_variable posted_by_all_;
  std::deque<std::vector<std::byte>> memory_;
  std::vector<std::unique_ptr<member>> ranks_;
  std::mutex mutex_;
  std::map<key, posted> posted_;
  std::string failure_;
};

}  // namespace test
