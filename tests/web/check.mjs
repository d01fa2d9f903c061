// Checks in Node that the page's functions compute what the native program computed.
//
//     node check.mjs BUILD

import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {resolve} from "node:path";
import {gzipSync, brotliCompressSync} from "node:zlib";

const build = resolve(process.argv[2]);
const read = name => readFileSync(`${build}/${name}`);
const pixels = 784, classes = 10, batch_size = 32;

const open_digits = createRequire(import.meta.url)(`${build}/page/digits.js`);
const page = await open_digits({wasmBinary: read("page/digits.wasm")});

function require(condition, message) {
  if (!condition) {
    console.error(`web: ${message}`);
    process.exit(1);
  }
}
function open_network(bytes) {
  const file = page._malloc(bytes.length);
  page.HEAPU8.set(bytes, file);
  page._open_network(file, bytes.length);
}
const floats = bytes => new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));

// An error of glia arrives with its message.
const network = read("network.safetensors");
const damaged = Buffer.from(network);
damaged[damaged.length - 1] ^= 1;
let message = "";
try {
  open_network(damaged);
} catch (error) {
  message = page.UTF8ToString(page._message_of(error));
}
require(message.includes("bytes in memory"), `expected an error for a damaged file, got '${message}'`);

open_network(network);
const test_images = read("test_images.bin"), test_labels = read("test_labels.bin");
const expected = floats(read("expected.bin"));
const images = page._malloc(batch_size * pixels * 4), outputs = page._malloc(classes * 4);
const labels = page._malloc(batch_size * 4);
const set_images = (first, count) => {
  for (let i = 0; i < count * pixels; ++i) {
    page.HEAPF32[images / 4 + i] = test_images[first * pixels + i] / 255;
  }
};
let equal = 0, correct = 0, largest = 0;
for (let n = 0; n < test_labels.length; ++n) {
  set_images(n, 1);
  page._predict(images, 1, outputs);
  const found = page.HEAPF32.subarray(outputs / 4, outputs / 4 + classes);
  const native = expected.subarray(n * classes, (n + 1) * classes);
  largest = Math.max(largest, ...found.map((p, i) => Math.abs(p - native[i])));
  equal += found.every((p, i) => p === native[i]);
  correct += found.indexOf(Math.max(...found)) === test_labels[n];
}
console.log(`${test_labels.length} digits: ${equal} with the native bits, largest difference ${largest.toExponential(1)}, accuracy ${(100 * correct / test_labels.length).toFixed(2)} %`);
require(largest < 1e-6, "probabilities differ from the native ones");
require(equal === test_labels.length, "some probabilities do not have the native bits");
require(correct > 0.97 * test_labels.length, "the accuracy is too low");

const losses = expected.subarray(test_labels.length * classes);
const page_losses = losses.map((_, step) => {
  set_images(step * batch_size, batch_size);
  for (let i = 0; i < batch_size; ++i) page.HEAP32[labels / 4 + i] = test_labels[step * batch_size + i];
  return page._train(images, labels, batch_size);
});
const equal_losses = losses.filter((x, i) => x === page_losses[i]).length;
console.log(`${losses.length} training steps: ${equal_losses} losses with the native bits`);
require(losses.every((x, i) => Math.abs(x - page_losses[i]) < 1e-4 * (1 + x)), "losses differ from the native ones");
require(equal_losses === losses.length, "some losses do not have the native bits");

// The engine compiles functions again, for speed, while they run.
// The fastest tenth was not interrupted by other programs.
function time_of(count, call) {
  for (const start = performance.now(); performance.now() - start < 3000;) call();
  const times = Array.from({length: count}, () => {
    const start = performance.now();
    call();
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[Math.floor(count / 10)];
}
console.log(`Node ${process.versions.node}: ${time_of(2000, () => page._predict(images, 1, outputs)).toFixed(4)} ms per prediction, ` +
            `${time_of(200, () => page._train(images, labels, batch_size)).toFixed(3)} ms per step of ${batch_size} digits`);
for (const name of ["digits.wasm", "digits.js", "network.safetensors", "samples.bin", "index.html"]) {
  const bytes = read(`page/${name}`);
  console.log(`${name}: ${bytes.length} bytes, ${gzipSync(bytes, {level: 9}).length} with gzip, ${brotliCompressSync(bytes).length} with brotli`);
}
