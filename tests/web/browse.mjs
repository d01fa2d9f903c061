// Opens the page in headless Chromium, draws a digit, trains, and saves screenshots.
//
//     node browse.mjs BUILD

import {spawn} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {createServer} from "node:http";
import {tmpdir} from "node:os";
import {extname, join, resolve} from "node:path";

const build = resolve(process.argv[2]);
const types = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm"};
const server = createServer((request, response) => {
  const name = request.url === "/" ? "/index.html" : request.url;
  try {
    const content = readFileSync(`${build}/page${name}`);
    response.writeHead(200, {"Content-Type": types[extname(name)] ?? "application/octet-stream"}).end(content);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise(listening => server.listen(0, "127.0.0.1", listening));

// Chromium's DevTools protocol, over pipes: messages end with a zero.
const profile = mkdtempSync(join(tmpdir(), "glia-web-"));
const browser = spawn("chromium", ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
  `--user-data-dir=${profile}`, "about:blank"], {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
const calls = new Map();
const problems = [];
let rest = "", number = 0, session;
browser.stdio[4].on("data", bytes => {
  const texts = (rest + bytes).split("\0");
  rest = texts.pop();
  for (const message of texts.map(text => JSON.parse(text))) {
    if (message.id) {
      const [done, failed] = calls.get(message.id);
      message.error ? failed(new Error(message.error.message)) : done(message.result);
    } else if (message.method === "Runtime.exceptionThrown" || message.method === "Log.entryAdded") {
      problems.push(JSON.stringify(message.params).slice(0, 500));
    }
  }
});
const send = (method, params = {}) => new Promise((done, failed) => {
  calls.set(++number, [done, failed]);
  browser.stdio[3].write(JSON.stringify({id: number, method, params, sessionId: session}) + "\0");
});
async function evaluate(expression) {
  const {result, exceptionDetails} = await send("Runtime.evaluate", {expression, awaitPromise: true, returnByValue: true});
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}
async function screenshot(name, width, height, scheme) {
  await send("Emulation.setDeviceMetricsOverride", {width, height, deviceScaleFactor: 1, mobile: width < 500});
  await send("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value: scheme}]});
  const {data} = await send("Page.captureScreenshot", {captureBeyondViewport: true});
  writeFileSync(`${build}/${name}.png`, Buffer.from(data, "base64"));
}
function check(condition, message) {
  if (!condition) throw new Error(message);
}

try {
  const {targetId} = await send("Target.createTarget", {url: "about:blank"});
  session = (await send("Target.attachToTarget", {targetId, flatten: true})).sessionId;
  for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`);
  await send("Emulation.setDeviceMetricsOverride", {width: 800, height: 700, deviceScaleFactor: 1, mobile: false});
  await send("Page.navigate", {url: `http://127.0.0.1:${server.address().port}/`});
  while (!await evaluate("document.readyState === 'complete' && typeof ready !== 'undefined'")) {
    await new Promise(wait => setTimeout(wait, 50));
  }
  await evaluate("ready");

  // A seven, drawn with the mouse.
  const box = await evaluate("(({left, top, width}) => ({left, top, width}))(canvas.getBoundingClientRect())");
  const mouse = (type, [x, y]) => send("Input.dispatchMouseEvent", {
    type, x: box.left + x * box.width, y: box.top + y * box.width, button: "left", buttons: 1, clickCount: 1, pointerType: "mouse"});
  const stroke = [];
  for (let t = 0; t <= 1; t += .1) stroke.push([.25 + .5 * t, .22]);
  for (let t = .1; t <= 1; t += .1) stroke.push([.75 - .32 * t, .22 + .6 * t]);
  await mouse("mousePressed", stroke[0]);
  for (const point of stroke) await mouse("mouseMoved", point);
  await mouse("mouseReleased", stroke.at(-1));
  await evaluate("new Promise(requestAnimationFrame)");
  const answer = await evaluate("element('answer').textContent");
  const probability = await evaluate("rows[7].lastChild.textContent");
  console.log(`Chromium: the drawn seven: "${answer}" ${probability}`);
  check(answer === "This looks like a 7.", `the page read the drawn 7 as: ${answer}`);
  await screenshot("drawn", 800, 700, "light");

  const click = id => evaluate(`new Promise(done => {
    element("${id}").click();
    const wait = () => element("clear").disabled ? setTimeout(wait, 20) : done(element("progress").textContent);
    wait();
  })`);
  // Teaching makes the drawing's digit one that it is not, and training makes a reader out of an untrained network.
  await evaluate("element('label').value = 1");
  await click("teach");
  await click("teach");
  const taught = await evaluate("element('answer').textContent");
  console.log(`Chromium: taught that it is a one: "${taught}"`);
  check(taught === "This looks like a 1.", `the page was taught a 1 and read: ${taught}`);
  await click("forget");
  for (let i = 0; i < 4; ++i) console.log("Chromium: " + await click("train"));
  const correct = Number((await evaluate("element('progress').textContent")).match(/Reads (\d+)/)[1]);
  check(correct > 150, `the page trained from the start and reads ${correct} of 200 digits`);
  await click("sample");
  await evaluate("new Promise(requestAnimationFrame)");
  await screenshot("trained", 800, 700, "dark");
  await screenshot("phone", 360, 1250, "light");
  check(await evaluate("document.documentElement.scrollWidth <= 360"), "the page is wider than a phone");
  await evaluate("prediction_time(20000)");
  const times = await evaluate("Array.from({length: 20}, () => prediction_time(200))");
  const step = await evaluate(`(() => {
    const batch = samples.slice(0, batch_size);
    return Array.from({length: 200}, () => { const start = performance.now(); train(batch); return performance.now() - start; });
  })()`);
  const fastest = values => values.sort((a, b) => a - b)[Math.floor(values.length / 10)];
  const {product} = await send("Browser.getVersion");
  console.log(`${product}: ${fastest(times).toFixed(4)} ms per prediction, ${fastest(step).toFixed(3)} ms per step of 32 digits`);
  await evaluate("element('clear').click()");
  check(problems.length === 0, `the page reported ${problems.join("\n")}`);
} catch (error) {
  console.error(`web: ${error.message}`, problems.join("\n"));
  process.exitCode = 1;
} finally {
  browser.kill();
  await new Promise(gone => browser.once("exit", gone));
  server.close();
  rmSync(profile, {recursive: true, force: true, maxRetries: 5});
}
