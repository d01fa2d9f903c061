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
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const bool includes_rank_errors : {false, true}) {
      for (const std::exception_ptr& failure : failures) {
        if (failure != nullptr) {
          try {
            std::rethrow_exception(failure);
          } catch (const glia::rank_error&) {
            if (includes_rank_errors) {
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
    std::size_t visits = 0;
    std::size_t copies = 0;
  };
  using key = std::pair<glia::transfer_kind, std::size_t>;

  class member final : public glia::rank_group {
   public:
    member(thread_ranks& group, std::size_t rank) : group_(&group), rank_(rank) {}
    [[nodiscard]] std::size_t rank() const noexcept override { return rank_; }
    [[nodiscard]] std::size_t size() const noexcept override { return group_->count_; }
    [[nodiscard]] std::string name_of(std::size_t rank) const override {
      return glia::text("rank ", rank, " on thread");
    }
    [[nodiscard]] transfer start_exchange(glia::transfer_kind kind, glia::rank_blocks send,
                                          glia::rank_blocks receive) override {
      return start(kind, send, receive, true);
    }
    [[nodiscard]] transfer start_gather(glia::transfer_kind kind,
                                        glia::rank_blocks blocks) override {
      return start(kind, blocks, blocks, false);
    }
    [[nodiscard]] bool is_done(transfer& request) override {
      const std::lock_guard lock(group_->mutex_);
      if (!group_->failure_.empty()) {
        throw glia::rank_error(group_->failure_);
      }
      begun_transfer& begun = begun_.at(request.handle);
      posted& entry = group_->posted_.at(begun.id);
      if (entry.visits < size()) {
        return false;
      }
      if (!begun.is_copied) {
        take(entry);
        begun.is_copied = true;
        ++entry.copies;
      }
      if (entry.copies < size()) {
        return false;  // others still read what this one sends
      }
      const key id = begun.id;
      begun_.erase(request.handle);
      if (++entry.visits == 2 * size()) {
        group_->posted_.erase(id);
      }
      return true;
    }
    [[nodiscard]] std::shared_ptr<const glia::shared_memory> share_memory(
        std::size_t bytes) override {
      const std::lock_guard lock(group_->mutex_);
      if (!group_->shares_memory_) {
        return nullptr;
      }
      constexpr std::size_t line = 64;
      const std::size_t number = asked_++;
      if (group_->memory_.size() == number) {
        group_->memory_.emplace_back((bytes + line) * size() + line);
      }
      void* address = group_->memory_[number].data();
      std::size_t room = group_->memory_[number].size();
      auto* first = static_cast<std::byte*>(std::align(line, room - line, address, room));
      auto result = std::make_shared<glia::shared_memory>();
      for (std::size_t i = 0; i < size(); ++i) {
        result->of_rank.push_back(first + i * ((bytes + line - 1) / line * line));
      }
      return result;
    }
    void look_for_failures() override {
      const std::lock_guard lock(group_->mutex_);
      if (!group_->failure_.empty()) {
        throw glia::rank_error(group_->failure_);
      }
    }
    void fail(std::string_view reason) noexcept override {
      const std::lock_guard lock(group_->mutex_);
      if (group_->failure_.empty()) {
        group_->failure_ = name_of(rank_) + ": " + std::string(reason);
      }
    }

   private:
    struct begun_transfer {
      key id;
      bool is_copied = false;
    };

    transfer start(glia::transfer_kind kind, glia::rank_blocks send, glia::rank_blocks receive,
                   bool exchanges) {
      std::unique_lock lock(group_->mutex_);
      const key id{kind, next_[kind]++};
      posted& entry = group_->posted_[id];
      entry.send.resize(size());
      entry.receive.resize(size());
      entry.exchanges = exchanges;
      entry.send[rank_] = send;
      entry.receive[rank_] = receive;
      ++entry.visits;
      const std::uint64_t handle = ++handles_;
      begun_[handle] = begun_transfer{id};
      if (entry.visits == size()) {
        group_->posted_by_all_.notify_all();
      } else if (group_->wait_.count() > 0) {
        group_->posted_by_all_.wait_for(lock, group_->wait_,
                                        [&] { return entry.visits >= size(); });
      }
      return {handle};
    }
    void take(const posted& entry) const {
      const glia::rank_blocks& destination = *entry.receive[rank_];
      for (std::size_t i = 0; i < size(); ++i) {
        if (i == rank_) {
          continue;
        }
        const glia::rank_blocks& source = *entry.send[i];
        const std::size_t block = entry.exchanges ? rank_ : i;
        if (source.bytes[block] != destination.bytes[i]) {
          throw glia::value_error("ranks disagree about the size of a transfer");
        }
        if (destination.bytes[i] > 0) {  // there may be no memory for none
          std::memcpy(destination.memory + destination.offsets[i],
                      source.memory + source.offsets[block],
                      static_cast<std::size_t>(destination.bytes[i]));
        }
      }
    }

    thread_ranks* group_;
    std::size_t rank_;
    std::map<glia::transfer_kind, std::size_t> next_;
    std::map<std::uint64_t, begun_transfer> begun_;
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
