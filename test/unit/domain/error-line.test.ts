import { expect, test } from 'bun:test'
import { errorLine, errorWords } from '../../../core/domain/text/error-line.ts'

/** The output of programs at their end, and the line that says why. */
const ENDS: readonly (readonly [string, string])[] = [
  [
    `node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/srv/x.js'
    at Function._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at node:internal/main/run_main_module:36:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v22.14.0`,
    "Error: Cannot find module '/srv/x.js'",
  ],
  [
    `node:events:497
      throw er; // Unhandled 'error' event
      ^

Error: listen EADDRINUSE: address already in use :::3000
    at Server.setupListenHandle [as _listen2] (node:net:1937:16)
Emitted 'error' event on Server instance at:
    at emitErrorNT (node:net:1916:8) {
  code: 'EADDRINUSE',
  port: 3000
}`,
    'Error: listen EADDRINUSE: address already in use :::3000',
  ],
  [
    `Traceback (most recent call last):
  File "/usr/bin/x", line 5, in <module>
    from server import main
ModuleNotFoundError: No module named 'server'
sys:1: ResourceWarning: unclosed file`,
    "ModuleNotFoundError: No module named 'server'",
  ],
  [
    `KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "x.py", line 4, in <module>
pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
api_key
  Field required [type=missing, input_value={}, input_type=dict]`,
    'pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings api_key',
  ],
  [
    `panic: open config.yaml: no such file or directory

goroutine 1 [running]:
main.main()
	/src/main.go:12 +0x1d
exit status 2`,
    'panic: open config.yaml: no such file or directory',
  ],
  [
    `thread 'main' panicked at src/main.rs:4:10:
API_KEY must be set: NotPresent
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace`,
    "thread 'main' panicked at src/main.rs:4:10: API_KEY must be set: NotPresent",
  ],
  [
    `npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/nope - Not found
npm error 404
npm error 404  'nope@*' is not in this registry.
npm error 404 Note that you can also install from a
npm error A complete log of this run can be found in: /root/.npm/_logs/x.log`,
    'npm error 404 Not Found - GET https://registry.npmjs.org/nope - Not found',
  ],
  [
    `npm ERR! code ERESOLVE
npm ERR! ERESOLVE unable to resolve dependency tree
npm ERR!
npm ERR! A complete log of this run can be found in: x`,
    'npm ERR! ERESOLVE unable to resolve dependency tree',
  ],
  [
    `TypeError: x is not a function
    at a (/srv/a.js:1:1)
npm error Lifecycle script \`start\` failed with error:
npm error code 1
npm error path /srv`,
    'TypeError: x is not a function',
  ],
  [
    `  × No solution found when resolving tool dependencies:
  ╰─▶ Because nope was not found in the package registry, we can conclude that it is unsatisfiable.`,
    '× No solution found when resolving tool dependencies: ╰─▶ Because nope was not found in the package registry, we can conclude that it is unsatisfiable.',
  ],
  [
    'usage: x [-h] --key KEY\nx: error: the following arguments are required: --key',
    'x: error: the following arguments are required: --key',
  ],
  ['/usr/bin/python3: No module named nope', '/usr/bin/python3: No module named nope'],
  ['sh: 1: nope: not found', 'sh: 1: nope: not found'],
  [
    "docker: Error response from daemon: pull access denied for nope.\nSee 'docker run --help'.",
    'docker: Error response from daemon: pull access denied for nope.',
  ],
  [
    `Exception in thread "main" java.lang.RuntimeException: start
	at Main.main(Main.java:3)
Caused by: java.net.ConnectException: Connection refused
	... 1 more`,
    'Caused by: java.net.ConnectException: Connection refused',
  ],
  [
    "x.rb:1:in `require': cannot load such file -- foo (LoadError)\n\tfrom x.rb:1:in `<main>'",
    "x.rb:1:in `require': cannot load such file -- foo (LoadError)",
  ],
  [
    'error: Cannot find module "./x" from "/srv/y.ts"\n\nBun v1.4.5 (Linux x64)',
    'error: Cannot find module "./x" from "/srv/y.ts"',
  ],
  [
    'Starting server\n2026-01-02T03:04:05Z ERROR no token in GITHUB_TOKEN\nGood bye',
    '2026-01-02T03:04:05Z ERROR no token in GITHUB_TOKEN',
  ],
  ['Hello\nAPI_KEY environment variable is required\nSee the manual', 'API_KEY environment variable is required'],
  [
    '{"level":"info","msg":"a"}\n{"level":"fatal","msg":"no license"}\n{"level":"info","msg":"b"}',
    '{"level":"fatal","msg":"no license"}',
  ],
  ['ready\r\nError: bad key\r\n', 'Error: bad key'],
]

test.each(ENDS)('errorLine() finds the line that says why a program failed: %#', (text, line) => {
  expect(errorLine(text.split('\n'))).toBe(line)
})

test('errorWords() has the last three lines where none says why, and is fast with long ones', () => {
  expect(errorLine(['a', 'b'])).toBeUndefined()
  expect(errorWords(['a', 'b', 'c', 'd'])).toBe('b | c | d')
  expect(errorWords([])).toBe('')
  const began = performance.now()
  for (const text of ['a'.repeat(2_000), 'A: '.repeat(600), `${' '.repeat(1_999)}x`, 'aError'.repeat(300)])
    errorWords(Array(200).fill(text))
  expect(performance.now() - began).toBeLessThan(2_000)
})
