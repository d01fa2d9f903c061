#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <glia/glia.hpp>
#include <glia/models/stream.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

// This program replaces the functions of the C library that allocate or lock, and the one that
// throws, to count their calls, whoever makes them. System calls end a child process.

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* pointer, std::size_t size);
void __libc_free(void* pointer);
}

namespace {

thread_local bool counting = false;  // OpenBLAS's threads fall asleep at any time
std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> locks{0};
std::atomic<std::size_t> exceptions{0};

void note(std::atomic<std::size_t>& calls) {
  if (counting) {
    calls.fetch_add(1, std::memory_order_relaxed);
  }
}

/// Counts a call, and passes it to the library's function of this name.
template <class Function, class... Arguments>
auto counted(std::atomic<std::size_t>& calls, std::atomic<Function*>& next, const char* name,
             Arguments... arguments) {
  note(calls);
  if (next.load() == nullptr) {
    next = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  }
  return next.load()(arguments...);
}

}  // namespace

extern "C" {
void* malloc(std::size_t size) {
  note(allocations);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  note(allocations);
  return __libc_calloc(count, size);
}
void* realloc(void* pointer, std::size_t size) {
  note(allocations);
  return __libc_realloc(pointer, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note(allocations);
  return __libc_memalign(alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note(allocations);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  note(allocations);
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}
void free(void* pointer) {
  note(allocations);
  __libc_free(pointer);
}

void __cxa_throw(void* thrown, void* type, void (*destroy)(void*)) {
  note(exceptions);
  using function = void (*)(void*, void*, void (*)(void*));
  reinterpret_cast<function>(dlsym(RTLD_NEXT, "__cxa_throw"))(thrown, type, destroy);
  std::abort();
}

#define GLIA_COUNTED(function, object)                  \
  int function(object* subject) {                       \
    static std::atomic<int (*)(object*)> next{nullptr}; \
    return counted(locks, next, #function, subject);    \
  }
GLIA_COUNTED(pthread_mutex_lock, pthread_mutex_t)
GLIA_COUNTED(pthread_mutex_trylock, pthread_mutex_t)
GLIA_COUNTED(pthread_mutex_unlock, pthread_mutex_t)
GLIA_COUNTED(pthread_rwlock_rdlock, pthread_rwlock_t)
GLIA_COUNTED(pthread_rwlock_wrlock, pthread_rwlock_t)
GLIA_COUNTED(pthread_rwlock_unlock, pthread_rwlock_t)
GLIA_COUNTED(pthread_cond_signal, pthread_cond_t)
GLIA_COUNTED(pthread_cond_broadcast, pthread_cond_t)
GLIA_COUNTED(sem_wait, sem_t)
GLIA_COUNTED(sem_trywait, sem_t)
GLIA_COUNTED(sem_post, sem_t)
#undef GLIA_COUNTED
int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static std::atomic<int (*)(pthread_cond_t*, pthread_mutex_t*)> next{nullptr};
  return counted(locks, next, "pthread_cond_wait", condition, mutex);
}
}

namespace {

/// Calls of a model, which are to be counted.
struct workload {
  std::string name;
  std::size_t calls;
  std::function<void(std::size_t call)> run;
};

/// Noise, silence, and noise with as many zeros as after a ReLU. Kernels choose loops by zeros.
std::array<std::vector<float>, 3> signals(std::size_t size) {
  std::array<std::vector<float>, 3> result;
  glia::random_stream random({.seed = 3});
  for (std::vector<float>& signal : result) {
    signal.resize(size);
  }
  for (std::size_t i = 0; i < size; ++i) {
    result[0][i] = static_cast<float>(random.normal());
    result[2][i] = std::max(0.0F, result[0][i]);
  }
  return result;
}

/// A device for real time: of one thread, for one model.
glia::device own_device(glia::cpu_loops::isa level, const glia::cpu_products& products) {
  return glia::cpu<float>({.threads = 1, .isa = level, .products = products});
}

template <class Description>
workload predictions(std::string name, std::size_t calls, const glia::device& device,
                     const Description& description, const glia::shape& sample,
                     std::size_t batch = 1) {
  const glia::model net{description, sample, device};
  const auto ready = std::make_shared<const glia::prepared>(net.prepare({.batch_size = batch}));
  const auto inputs =
      std::make_shared<const std::array<std::vector<float>, 3>>(signals(batch * sample.size()));
  const auto y = std::make_shared<std::vector<float>>(batch * net.output_shape().size());
  ready->run(inputs->front(), *y);
  ready->run(inputs->front(), *y);
  return {std::move(name), calls,
          [=](std::size_t call) { ready->run((*inputs)[call % inputs->size()], *y); }};
}

/// Blocks whose lengths repeat. A sequence that would become too long begins again.
template <class Description>
workload blocks(std::string name, std::size_t calls, const glia::device& device,
                const Description& description, const glia::shape& sample,
                const std::vector<std::size_t>& lengths, std::size_t sequences = 1) {
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  const glia::model net{description, sample, device};
  const auto stream = std::make_shared<const glia::stream>(
      net, glia::stream_options{.batch_size = sequences, .prepared_steps = longest});
  const auto start = std::make_shared<const glia::stream_state>(stream->start());
  const auto state = std::make_shared<glia::stream_state>(*start);
  const auto inputs = std::make_shared<const std::array<std::vector<float>, 3>>(
      signals(sequences * longest * stream->step_shape().size()));
  const auto y =
      std::make_shared<std::vector<float>>(sequences * longest * stream->output_shape().size());
  return {std::move(name), calls, [=](std::size_t call) {
            const std::size_t steps = lengths[call % lengths.size()];
            if (state->steps + steps > stream->max_steps()) {
              *state = *start;
            }
            const std::vector<float>& x = (*inputs)[call / lengths.size() % inputs->size()];
            stream->run(std::span(x).first(sequences * steps * stream->step_shape().size()),
                        std::span(*y).first(sequences * steps * stream->output_shape().size()),
                        *state);
          }};
}

constexpr std::size_t total_calls = 1'000'000;

/// A million calls of small models.
std::vector<workload> workloads(glia::cpu_loops::isa level = glia::cpu_loops::best_isa(),
                                const glia::cpu_products& products = {}) {
  using glia::conv1d;
  using glia::conv2d;
  using glia::dense;
  using glia::sequential;
  using glia::time_distributed;
  const auto device = [&] { return own_device(level, products); };
  const auto convolution = [](std::size_t dilation) {
    return conv1d{.filters = 16,
                  .kernel_size = 3,
                  .padding = glia::causal,
                  .dilation_rate = dilation,
                  .activation = glia::relu};
  };
  const sequential convolutions{convolution(1), convolution(2), time_distributed{dense{1}}};
  const sequential lstm{glia::lstm{.units = 12, .return_sequences = true},
                        time_distributed{dense{1}}};
  const sequential gru{glia::gru{.units = 8, .return_sequences = true}, time_distributed{dense{2}}};
  const sequential wide{time_distributed{sequential{dense{32, glia::relu}, dense{32}}}};
  const glia::residual attention{sequential{
      glia::layer_norm{},
      glia::multi_head_attention{.num_heads = 2, .key_dim = 4, .use_causal_mask = true}}};
  const sequential image{conv2d{.filters = 4, .kernel_size = 3, .activation = glia::relu},
                         glia::batch_norm{},
                         glia::max_pool2d{},
                         conv2d{.filters = 8, .kernel_size = 3, .padding = glia::same},
                         glia::global_avg_pool2d{},
                         dense{3},
                         glia::softmax};
  return {
      predictions("dense", 440'000, device(), sequential{dense{16, glia::relu}, dense{4}}, {8}),
      predictions("dense, a batch", 10'000, device(), sequential{dense{40, glia::relu}, dense{16}},
                  {48}, 192),
      predictions("images", 20'000, device(), image, {10, 10, 2}),
      predictions("images, a batch", 1'000, device(), image, {10, 10, 2}, 32),
      predictions("lstm", 5'000, device(), sequential{glia::lstm{.units = 8}, dense{1}}, {20, 2}),
      blocks("gru, steps", 150'000, device(), gru, {16, 2}, {1}),
      blocks("gru, blocks", 4'000, device(), gru, {16, 2}, {64}),
      blocks("lstm, steps", 150'000, device(), lstm, {16, 1}, {1}),
      blocks("lstm, blocks", 4'000, device(), lstm, {16, 1}, {64}),
      blocks("convolutions, steps", 150'000, device(), convolutions, {16, 1}, {1}),
      blocks("convolutions, blocks", 15'000, device(), convolutions, {16, 1}, {64}),
      blocks("convolutions, other lengths", 10'000, device(), convolutions, {16, 1},
             {48, 1, 63, 7, 100}),
      blocks("convolutions, side by side", 6'000, device(), convolutions, {16, 1}, {64, 37, 1}, 3),
      blocks("dense, blocks", 15'000, device(), wide, {16, 32}, {64, 1, 31}),
      blocks("attention", 20'000, device(), attention, {48, 8}, {16, 1, 5}),
  };
}

void run(const workload& work) {
  for (std::size_t call = 0; call < work.calls; ++call) {
    work.run(call);
  }
}

void check_calls(const workload& work) {
  INFO(work.name);
  counting = true;
  run(work);
  counting = false;
  CHECK(allocations.exchange(0) == 0);
  CHECK(locks.exchange(0) == 0);
  CHECK(exceptions.exchange(0) == 0);
}

}  // namespace

TEST_CASE("the counts see what they should") {
  std::mutex mutex;
  counting = true;
  void* volatile memory = std::malloc(10);
  std::free(memory);
  mutex.lock();
  mutex.unlock();
  const std::size_t allocated = allocations.exchange(0);
  try {
    throw 1;
  } catch (int) {
    static_cast<void>(0);
  }
  counting = false;
  allocations = 0;
  CHECK(allocated == 2);
  CHECK(locks.exchange(0) == 2);
  CHECK(exceptions.exchange(0) == 1);
}

TEST_CASE("a million calls allocate nothing, lock nothing and throw nothing") {
  std::size_t calls = 0;
  for (const workload& work : workloads()) {
    check_calls(work);
    calls += work.calls;
  }
  CHECK(calls == total_calls);
}

TEST_CASE("calls with the loops of any instruction set allocate, lock and throw nothing") {
  using glia::cpu_loops::isa;
  for (const isa level : {isa::baseline, isa::avx2}) {
    if (level < glia::cpu_loops::best_isa()) {
      std::vector<workload> works = workloads(level);
      for (workload& work : works) {
        work.calls /= 20;
        check_calls(work);
      }
    }
  }
}

TEST_CASE("calls with products in bfloat16 allocate, lock and throw nothing") {
  for (workload work : workloads(glia::cpu_loops::best_isa(), glia::bfloat16)) {
    work.calls /= 20;
    check_calls(work);
  }
}

namespace {

constexpr int no_filter = 3;
int report = -1;  // where a child process writes the number of a system call

/// Runs a function in a child process in which any system call, after `prepare`, ends it. Returns
/// its number, 0 if there was none, and -1 if such processes are not available.
int first_system_call(const std::function<std::function<void()>()>& prepare) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    report = ends[1];
    const std::function<void()> work = prepare();
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
      static_cast<void>(!write(report, &info->si_syscall, sizeof info->si_syscall));
      _exit(1);
    };
    sigaction(SIGSYS, &action, nullptr);
    // Only the report may be written.
    std::array<sock_filter, 7> rules{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(report), 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      _exit(no_filter);
    }
    work();
    _exit(0);
  }
  close(ends[1]);
  int number = 0;
  const bool told = read(ends[0], &number, sizeof number) == sizeof number;
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == no_filter) {
    return -1;
  }
  CHECK(told == (WEXITSTATUS(status) == 1));
  return number;
}

}  // namespace

TEST_CASE("a million calls make no system call") {
  const auto get_id = [] { return [] { static_cast<void>(syscall(SYS_getppid)); }; };
  const int number = first_system_call(get_id);
  if (number < 0) {
    GLIA_SKIP("this system has no filters of system calls (seccomp)");
  }
  CHECK(number == SYS_getppid);
  CHECK(first_system_call([] {
          return [works = workloads()] {
            for (const workload& work : works) {
              run(work);
            }
          };
        }) == 0);
}
