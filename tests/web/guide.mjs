// Calls the functions of the guide docs/how_to/web.md in Node.
//
//     node guide.mjs FOLDER
import assert from "node:assert";
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {resolve} from "node:path";

const folder = resolve(process.argv[2]);
const page = await createRequire(import.meta.url)(`${folder}/classifier.js`)();
const file = readFileSync(`${folder}/net.safetensors`);
const bytes = page._malloc(file.length), sample = page._malloc(32 * 4), logits = page._malloc(10 * 4);

page.HEAPU8.set(file, bytes);
page._open_network(bytes, file.length);
page.HEAPF32.set(new Float32Array(32).fill(0.5), sample / 4);
page._predict(sample, logits);
const values = page.HEAPF32.slice(logits / 4, logits / 4 + 10);
assert(values.every(Number.isFinite) && new Set(values).size === 10, `expected 10 logits, got ${values}`);

let message = "none";
try {
  page._open_network(bytes, 3);
} catch (error) {
  message = page.UTF8ToString(page._message_of(error));
}
assert.match(message, /safetensors|header|bytes/, `expected an error about the file, got "${message}"`);
console.log(`guide: ${values.length} logits; error: ${message}`);
