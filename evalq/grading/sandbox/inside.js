// Runs inside the sandbox, given to `node -e`: loads the code on stdin, calls its function, writes the result.
// In a function, so that the code under test shares no names with it.
"use strict";

(function () {
  const fs = require("fs");
  const vm = require("vm");

  const SAID = 3;
  const MESSAGE_CHARS = 500;

  function answer(kind, content) {
    let data = Buffer.from(JSON.stringify({ [kind]: content }) + "\n");
    while (data.length) data = data.subarray(fs.writeSync(SAID, data));
    process.exit(0);
  }

  function fail(kind, thrown) {
    const names = [];
    for (let type = thrown; type instanceof Object; type = Object.getPrototypeOf(type)) {
      const name = Object.hasOwn(type, "constructor") && type.constructor.name;
      if (name && name !== "Object" && !names.includes(name)) names.push(name);
    }
    const text = String(thrown instanceof Error ? thrown.message : thrown).slice(0, MESSAGE_CHARS);
    const line = /answer\.js:(\d{1,7})/.exec(String((thrown && thrown.stack) || ""));
    answer(kind, { names: names.length ? names : [typeof thrown], message: text, line: line ? Number(line[1]) : null });
  }

  function plain(key, value) {
    if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${value} is no JSON value`);
    if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`a ${typeof value} is no JSON value`);
    if (typeof value === "bigint" && BigInt(Number(value)) === value) return Number(value);
    if (value instanceof Set) return [...value];
    if (value instanceof Map) return Object.fromEntries(value);
    return value;
  }

  function load(source, name) {
    // Models often write modules; a script has no exports, and needs none.
    const script = source.replace(/^export\s+(?:default\s+)?(?=(?:async|function|class|const|let|var)\b)/gm, "");
    globalThis.require = require;
    globalThis.module = { exports: {} };
    globalThis.exports = globalThis.module.exports;
    vm.runInThisContext(script, { filename: "answer.js" });
    const found = vm.runInThisContext(`typeof ${name} === "undefined" ? undefined : ${name}`) ?? module.exports[name];
    if (typeof found !== "function") throw new ReferenceError(`the code defines no function '${name}'`);
    return found;
  }

  async function main() {
    const job = JSON.parse(fs.readFileSync(0, "utf8"));
    let call, value;
    try {
      call = load(job.source, job.function);
    } catch (thrown) {
      return fail("unloadable", thrown);
    }
    try {
      value = await call(...job.args);
    } catch (thrown) {
      return fail("raised", thrown);
    }
    try {
      value = JSON.parse(JSON.stringify(value === undefined ? null : value, plain));
    } catch (thrown) {
      return fail("unreadable", thrown);
    }
    return answer("value", value);
  }

  process.on("uncaughtException", (thrown) => fail("raised", thrown));
  process.on("unhandledRejection", (thrown) => fail("raised", thrown));
  main();
})();
