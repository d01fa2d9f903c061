// The shared library of the C interface, libglia.

#include "glia/c/glia.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/file_source.hpp"
#include "glia/core/utf8.hpp"
#include "glia/core/version.hpp"
#include "glia/glia.hpp"
#include "glia/models/model_file.hpp"
#include "glia/models/open.hpp"
#include "glia/models/stream.hpp"
#include "glia/models/stream_file.hpp"

struct glia_model {
  glia::model<glia::any_layer> net;
  std::map<std::string, std::string, std::less<>> metadata;
  std::string summary;
};

struct glia_stream {
  glia::stream blocks;
  glia::stream_state state;
};

namespace {

/// An argument that a caller may not pass.
struct argument_error : glia::error {
  using error::error;
};

template <class... Parts>
void require_argument(bool condition, const Parts&... parts) {
  glia::require<argument_error>(condition, parts...);
}

glia_status set(glia_error* error, glia_status status, std::string_view message) {
  if (error != nullptr) {
    error->status = status;
    // The message is UTF-8, even if a path is not, and does not end within a character.
    std::size_t size = 0;
    while (!message.empty()) {
      const std::size_t bytes = glia::detail::character_bytes(message);
      const std::string_view character = bytes == 0 ? "?" : message.substr(0, bytes);
      if (size + character.size() >= sizeof(error->message)) {
        break;
      }
      std::memcpy(error->message + size, character.data(), character.size());
      size += character.size();
      message.remove_prefix(std::max<std::size_t>(bytes, 1));
    }
    error->message[size] = 0;
  }
  return status;
}

/// Calls a function, and returns what it throws as a status.
template <class Function>
glia_status guarded(glia_error* error, const Function& function) noexcept {
  try {
    function();
    return set(error, GLIA_OK, "");
  } catch (const argument_error& e) {
    return set(error, GLIA_INVALID_ARGUMENT, e.what());
  } catch (const glia::data_error& e) {
    return set(error, GLIA_WRONG_DATA, e.what());
  } catch (const glia::shape_error& e) {
    return set(error, GLIA_WRONG_SHAPE, e.what());
  } catch (const glia::detail::memory_error& e) {
    return set(error, GLIA_OUT_OF_MEMORY, e.what());
  } catch (const glia::value_error& e) {
    return set(error, GLIA_INVALID_ARGUMENT, e.what());
  } catch (const std::bad_alloc&) {
    return set(error, GLIA_OUT_OF_MEMORY, "not enough memory");
  } catch (const std::exception& e) {
    return set(error, GLIA_FAILED, e.what());
  } catch (...) {
    return set(error, GLIA_FAILED, "an unknown error");
  }
}

glia_shape c_shape(const glia::shape& s) {
  glia_shape result{};
  result.rank = s.rank();
  std::copy(s.begin(), s.end(), result.extents);
  return result;
}

[[nodiscard]] std::unique_ptr<glia_model> open(const glia::file_source& file,
                                               const glia_options* options) {
  glia_options chosen = GLIA_OPTIONS_INIT;
  if (options != nullptr) {
    // Programs that were compiled with an older header have fewer options.
    constexpr std::size_t first_size = offsetof(glia_options, tolerance) + sizeof(double);
    require_argument(options->size >= first_size, "glia_open: expected options of at least ",
                     first_size, " bytes, got ", options->size,
                     "; initialize them with GLIA_OPTIONS_INIT");
    std::memcpy(&chosen, options, std::min(options->size, sizeof(chosen)));
  }
  const glia::device device =
      chosen.threads == 0 ? glia::cpu<float>() : glia::cpu<float>({.threads = chosen.threads});
  glia::detail::opened_file opened =
      glia::detail::open_file(file, {.device = device, .tolerance = chosen.tolerance});
  auto result = std::make_unique<glia_model>(glia_model{std::move(opened.net), {}, {}});
  result->metadata.insert(opened.metadata.begin(), opened.metadata.end());
  result->summary = result->net.summary();
  return result;
}

/// Throws `shape_error` if a size of `count` times `size` elements does not exist.
void require_product(std::size_t count, std::size_t size) {
  constexpr std::size_t largest = static_cast<std::size_t>(-1) / sizeof(float) / 2;
  glia::require<glia::shape_error>(size == 0 || count <= largest / size, "expected at most ",
                                   largest / std::max<std::size_t>(size, 1),
                                   " samples or steps, got ", count);
}

}  // namespace

#ifndef GLIA_C_VERSION
#define GLIA_TEXT_OF(number) #number
#define GLIA_TEXT(number) GLIA_TEXT_OF(number)
#define GLIA_C_VERSION \
  GLIA_TEXT(GLIA_VERSION_MAJOR) "." GLIA_TEXT(GLIA_VERSION_MINOR) "." GLIA_TEXT(GLIA_VERSION_PATCH)
#endif

const char* glia_version(void) { return GLIA_C_VERSION; }

glia_status glia_open(const char* path, const glia_options* options, glia_model** model,
                      glia_error* error) {
  return guarded(error, [&] {
    require_argument(path != nullptr && model != nullptr,
                     "glia_open: expected a path and a place for the model, got a null pointer");
    *model = open(std::string(path), options).release();
  });
}

glia_status glia_open_bytes(const void* bytes, size_t size, const glia_options* options,
                            glia_model** model, glia_error* error) {
  return guarded(error, [&] {
    require_argument(bytes != nullptr && model != nullptr,
                     "glia_open_bytes: expected bytes and a place for the model, got a null "
                     "pointer");
    *model = open(std::span(static_cast<const std::byte*>(bytes), size), options).release();
  });
}

void glia_close(glia_model* model) { delete model; }

glia_shape glia_input_shape(const glia_model* model) {
  return model == nullptr ? glia_shape{} : c_shape(model->net.sample_shape());
}

glia_shape glia_output_shape(const glia_model* model) {
  return model == nullptr ? glia_shape{} : c_shape(model->net.output_shape());
}

size_t glia_shape_size(glia_shape shape) {
  std::size_t elements = 1;
  for (std::size_t axis = 0; axis < std::min(shape.rank, std::size(shape.extents)); ++axis) {
    elements *= shape.extents[axis];
  }
  return elements;
}

const char* glia_summary(const glia_model* model) {
  return model == nullptr ? "" : model->summary.c_str();
}

const char* glia_metadata(const glia_model* model, const char* key) {
  if (model == nullptr || key == nullptr) {
    return nullptr;
  }
  const auto found = model->metadata.find(std::string_view(key));
  return found == model->metadata.end() ? nullptr : found->second.c_str();
}

glia_status glia_predict(const glia_model* model, const float* inputs, size_t samples,
                         float* outputs, glia_error* error) {
  return guarded(error, [&] {
    require_argument(model != nullptr && inputs != nullptr && outputs != nullptr,
                     "glia_predict: expected a model, inputs and outputs, got a null pointer");
    const std::size_t input_size = model->net.sample_shape().size();
    const std::size_t output_size = model->net.output_shape().size();
    require_product(samples, std::max(input_size, output_size));
    const std::span<const float> x(inputs, samples * input_size);
    model->net.core().require_integers(x, glia::model_part::whole);
    model->net.core().predict<float>(x, {outputs, samples * output_size},
                                     glia::default_batch_size(model->net.sample_shape()));
  });
}

glia_status glia_stream_open(const glia_model* model, size_t sequences, size_t max_steps,
                             glia_stream** stream, glia_error* error) {
  return guarded(error, [&] {
    require_argument(model != nullptr && stream != nullptr,
                     "glia_stream_open: expected a model and a place for the stream, got a null "
                     "pointer");
    glia::stream blocks(model->net, {.batch_size = sequences, .max_steps = max_steps});
    glia::stream_state state = blocks.start();
    *stream = new glia_stream{std::move(blocks), std::move(state)};
  });
}

glia_status glia_stream_copy(const glia_stream* stream, glia_stream** copy, glia_error* error) {
  return guarded(error, [&] {
    require_argument(stream != nullptr && copy != nullptr,
                     "glia_stream_copy: expected a stream and a place for the copy, got a null "
                     "pointer");
    *copy = new glia_stream(*stream);
  });
}

void glia_stream_close(glia_stream* stream) { delete stream; }

glia_shape glia_stream_input_shape(const glia_stream* stream) {
  return stream == nullptr ? glia_shape{} : c_shape(stream->blocks.step_shape());
}

glia_shape glia_stream_output_shape(const glia_stream* stream) {
  return stream == nullptr ? glia_shape{} : c_shape(stream->blocks.output_shape());
}

glia_status glia_stream_run(glia_stream* stream, const float* inputs, size_t steps, float* outputs,
                            glia_error* error) {
  return guarded(error, [&] {
    require_argument(stream != nullptr && inputs != nullptr && outputs != nullptr,
                     "glia_stream_run: expected a stream, inputs and outputs, got a null pointer");
    const glia::stream& blocks = stream->blocks;
    const std::size_t input_size = blocks.batch_size() * blocks.step_shape().size();
    const std::size_t output_size = blocks.batch_size() * blocks.output_shape().size();
    require_product(steps, std::max(input_size, output_size));
    blocks.run(std::span(inputs, steps * input_size), std::span(outputs, steps * output_size),
               stream->state);
  });
}

glia_status glia_stream_reset(glia_stream* stream, glia_error* error) {
  return guarded(error, [&] {
    require_argument(stream != nullptr, "glia_stream_reset: expected a stream, got a null pointer");
    stream->state = stream->blocks.start();
  });
}

glia_status glia_stream_save(const glia_stream* stream, const char* path, glia_error* error) {
  return guarded(error, [&] {
    require_argument(stream != nullptr && path != nullptr,
                     "glia_stream_save: expected a stream and a path, got a null pointer");
    glia::save_state(stream->blocks, stream->state, path);
  });
}

glia_status glia_stream_load(glia_stream* stream, const char* path, glia_error* error) {
  return guarded(error, [&] {
    require_argument(stream != nullptr && path != nullptr,
                     "glia_stream_load: expected a stream and a path, got a null pointer");
    stream->state = glia::load_state(stream->blocks, std::string(path));
  });
}
