#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/platform/process.hpp"
#include "glia/distributed/messages.hpp"
#include "glia/distributed/rank_group.hpp"
#include "glia/mpi/calls.hpp"
#include "glia/mpi/placement.hpp"
#include "glia/mpi/windows.hpp"

namespace glia::mpi {

/// The ranks of an MPI communicator. If a rank fails, it tells all other ranks, which then throw
/// `rank_error`. Rank 0 prints the reason and ends the run. If a rank dies without a message, the
/// other ranks on its machine notice that its process no longer exists.
class ranks final : public rank_group {
 public:
  explicit ranks(MPI_Comm original)
      : parts_(original), sums_(original), messages_(original), control_(original) {
    int number = 0;
    int count = 0;
    detail::check(MPI_Comm_rank(original, &number), "MPI_Comm_rank");
    detail::check(MPI_Comm_size(original, &count), "MPI_Comm_size");
    rank_ = static_cast<std::size_t>(number);
    places_.resize(static_cast<std::size_t>(count));
    const rank_place place = rank_place::current();
    detail::check(MPI_Allgather(&place, sizeof(place), MPI_BYTE, places_.data(), sizeof(place),
                                MPI_BYTE, messages_.get()),
                  "MPI_Allgather");
  }
  ranks(const ranks&) = delete;
  ranks& operator=(const ranks&) = delete;
  ~ranks() override {
    if (std::uncaught_exceptions() > exceptions_) {
      fail("ended by an exception");
    }
    leave();
  }

  [[nodiscard]] std::size_t rank() const noexcept override { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept override { return places_.size(); }
  [[nodiscard]] std::string name_of(std::size_t rank) const override {
    return text("rank ", rank, " on ", places_[rank].host_name());
  }
  [[nodiscard]] const std::vector<rank_place>& places() const noexcept { return places_; }

  [[nodiscard]] transfer start_exchange(transfer_kind kind, rank_blocks send,
                                        rank_blocks receive) override {
    MPI_Request request = MPI_REQUEST_NULL;
    detail::check(MPI_Ialltoallv(send.memory, send.bytes, send.offsets, MPI_BYTE, receive.memory,
                                 receive.bytes, receive.offsets, MPI_BYTE, channel(kind), &request),
                  "MPI_Ialltoallv");
    return detail::transfer_of(request);
  }
  [[nodiscard]] transfer start_gather(transfer_kind kind, rank_blocks blocks) override {
    MPI_Request request = MPI_REQUEST_NULL;
    detail::check(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, blocks.memory, blocks.bytes,
                                  blocks.offsets, MPI_BYTE, channel(kind), &request),
                  "MPI_Iallgatherv");
    return detail::transfer_of(request);
  }
  [[nodiscard]] bool is_done(transfer& request) override {
    if (detail::test(request)) {
      return true;
    }
    look_for_failures();
    return false;
  }
  void look_for_failures() override {
    const std::lock_guard lock(mutex_);
    look();
    if (!failure_.empty()) {
      throw rank_error(failure_);
    }
  }

  /// Stores the reason of a failure that all ranks already know. Rank 0 prints it.
  void note_failure(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) {
      failure_ = reason;
    }
  }

  [[nodiscard]] std::shared_ptr<const shared_memory> share_memory(std::size_t bytes) override {
    // The following calls wait for all ranks without checking for failures, so first make sure that
    // all are here.
    (void)gather_values(*this, bytes);
    return windows_.share(messages_.get(), bytes);
  }

  void fail(std::string_view reason) noexcept override {
    try {
      const std::lock_guard lock(mutex_);
      if (!failure_.empty()) {
        return;
      }
      failure_ = text(name_of(rank_), ": ", std::string(reason));
      send_to_others(failure_.data(), failure_.size(), failure_tag);
    } catch (...) {  // the other ranks notice the end of this process
    }
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr int failure_tag = 1;
  static constexpr int ended_tag = 2;
  /// Time that ranks wait for late messages of a rank that has ended.
  static constexpr std::chrono::seconds grace{2};
  static constexpr std::chrono::milliseconds between_looks{2};
  static constexpr std::chrono::milliseconds between_looks_at_processes{200};
  /// Time that a rank waits for rank 0 to end the run. After this time, it ends the run itself.
  static constexpr std::chrono::seconds patience{4};

  [[nodiscard]] MPI_Comm channel(transfer_kind kind) const noexcept {
    return kind == transfer_kind::parts  ? parts_.get()
           : kind == transfer_kind::sums ? sums_.get()
                                         : messages_.get();
  }

  /// Checks whether another rank has failed or its process no longer exists.
  void look() {
    const auto time = clock::now();
    if (!failure_.empty() || time - looked_ < between_looks) {
      return;
    }
    looked_ = time;
    MPI_Status status;
    if (const int source = probe(failure_tag, &status); source >= 0) {
      int length = 0;
      detail::check(MPI_Get_count(&status, MPI_CHAR, &length), "MPI_Get_count");
      std::string reason(static_cast<std::size_t>(length), ' ');
      detail::check(MPI_Recv(reason.data(), length, MPI_CHAR, source, failure_tag, control_.get(),
                             MPI_STATUS_IGNORE),
                    "MPI_Recv");
      failure_ = reason;
      return;
    }
    if (time - looked_at_processes_ < between_looks_at_processes) {
      return;
    }
    looked_at_processes_ = time;
    if (const int source = probe(ended_tag); source >= 0 && first_end_ == clock::time_point()) {
      first_end_ = time;
      first_ended_ = static_cast<std::size_t>(source);
    }
    if (!leaving_ && first_end_ != clock::time_point() && time - first_end_ > grace) {
      failure_ = text(name_of(first_ended_), ": has ended before the other ranks");
      return;
    }
    for (std::size_t i = 0; i < size(); ++i) {
      const rank_place& other = places_[i];
      if (other.sees_process_of(places_[rank_]) && !platform::process_exists(other.process)) {
        failure_ = text(name_of(i), ": its process (", other.process,
                        ") no longer exists; it was killed, crashed or ended early");
        return;
      }
    }
  }

  /// Returns the source of a waiting message with this tag, or -1 if no message waits.
  [[nodiscard]] int probe(int tag, MPI_Status* status = MPI_STATUS_IGNORE) const {
    int waiting = 0;
    MPI_Status found;
    detail::check(MPI_Iprobe(MPI_ANY_SOURCE, tag, control_.get(), &waiting, &found), "MPI_Iprobe");
    if (waiting != 0 && status != MPI_STATUS_IGNORE) {
      *status = found;
    }
    return waiting != 0 ? found.MPI_SOURCE : -1;
  }

  void send_to_others(const void* bytes, std::size_t count, int tag) {
    for (std::size_t i = 0; i < size(); ++i) {
      if (i != rank_) {
        MPI_Isend(bytes, static_cast<int>(count), MPI_CHAR, static_cast<int>(i), tag,
                  control_.get(), &sent_.emplace_back(MPI_REQUEST_NULL));
      }
    }
  }

  /// Waits for the other ranks, or ends the run if a rank has failed.
  void leave() noexcept {
    try {
      leaving_ = true;
      if (failure_.empty()) {
        send_to_others(nullptr, 0, ended_tag);
      }
      MPI_Request request = MPI_REQUEST_NULL;
      detail::check(MPI_Ibarrier(control_.get(), &request), "MPI_Ibarrier");
      transfer barrier = detail::transfer_of(request);
      while (failure_.empty() && !detail::test(barrier)) {
        {
          const std::lock_guard lock(mutex_);
          look();
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    } catch (const std::exception& e) {
      failure_ = text(name_of(rank_), ": ", std::string(e.what()));
    }
    if (failure_.empty()) {
      for (std::size_t i = 1; i < size(); ++i) {
        MPI_Recv(nullptr, 0, MPI_CHAR, MPI_ANY_SOURCE, ended_tag, control_.get(),
                 MPI_STATUS_IGNORE);
      }
      MPI_Waitall(static_cast<int>(sent_.size()), sent_.data(), MPI_STATUSES_IGNORE);
      windows_.free();
      return;
    }
    const auto deadline = clock::now() + patience;
    while (rank_ != 0 && clock::now() < deadline) {
      int waiting = 0;  // MPI makes progress only inside its calls
      MPI_Iprobe(MPI_ANY_SOURCE, failure_tag, control_.get(), &waiting, MPI_STATUS_IGNORE);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::cerr << "glia: " << failure_ << std::endl;
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  detail::owned_communicator parts_, sums_, messages_, control_;
  detail::windows windows_;
  std::size_t rank_ = 0;
  std::vector<rank_place> places_;
  int exceptions_ = std::uncaught_exceptions();
  std::mutex mutex_;     // protects the members below
  std::string failure_;  // the reason, once a rank has failed
  bool leaving_ = false;
  clock::time_point first_end_{};  // when this rank first noticed that another had ended
  std::size_t first_ended_ = 0;
  std::vector<MPI_Request> sent_;
  clock::time_point looked_{};
  clock::time_point looked_at_processes_{};
};

}  // namespace glia::mpi

#ifndef GLIA_COMPILED
#include "glia/distributed/rank_group_impl.hpp"
#endif
