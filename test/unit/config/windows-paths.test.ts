/** A pasted command line keeps the backslashes of paths of Windows, and reads those of a shell as escapes. */
import { expect, test } from 'bun:test'
import { importDocument } from '../../../core/config/import/document.ts'

const R = String.raw

test.each<[string, readonly string[]]>([
  [R`C:\Users\me\server.js --flag`, [R`C:\Users\me\server.js`, '--flag']],
  [R`node C:\tools\x.js`, ['node', R`C:\tools\x.js`]],
  [R`node "C:\My Docs\x.js"`, ['node', R`C:\My Docs\x.js`]],
  [R`"C:\My Tools\new\test.exe" --flag`, [R`C:\My Tools\new\test.exe`, '--flag']],
  [R`npx -y fs "C:\My Docs\" D:\ E:\x`, ['npx', '-y', 'fs', R`C:\My Docs` + '\\', 'D:\\', R`E:\x`]],
  [R`\\host\share\s.exe --a`, [R`\\host\share\s.exe`, '--a']],
  [R`node "\\host\my share\s.js"`, ['node', R`\\host\my share\s.js`]],
  [R`node '\\host\my share\s.js' 'C:\a b'`, ['node', R`\\host\my share\s.js`, R`C:\a b`]],
  [R`C:/Users/me/s.exe --flag`, ['C:/Users/me/s.exe', '--flag']],
  [R`node %APPDATA%\npm\x.js`, ['node', R`%APPDATA%\npm\x.js`]],
  [R`node .\dist\x.js ..\y`, ['node', R`.\dist\x.js`, R`..\y`]],
  [R`node dist\index.js`, ['node', R`dist\index.js`]],
  [R`python -m x --dir=C:\a\b`, ['python', '-m', 'x', R`--dir=C:\a\b`]],
  // A shell's own escapes.
  [R`node C:\\tools\\x.js`, ['node', R`C:\tools\x.js`]],
  [R`node \\\\host\\share\\x.js`, ['node', R`\\host\share\x.js`]],
  [R`run a\ b \$HOME \"c\" a\.b \d+`, ['run', 'a b', '$HOME', '"c"', 'a.b', 'd+']],
  [R`run "a\"b" "\$x"`, ['run', 'a"b', '$x']],
  ['npx \\\n -y x', ['npx', '-y', 'x']],
  ['"/opt/my app/server" --flag', ['/opt/my app/server', '--flag']],
  ['node "/opt/my app/x.js"', ['node', '/opt/my app/x.js']],
  ['"npx -y x"', ['npx', '-y', 'x']],
])('%s', (text, words) => {
  const [entry] = importDocument(text).entries
  expect([entry?.problem, entry?.body.command, ...((entry?.body.args ?? []) as string[])]).toEqual([
    undefined,
    ...words,
  ])
})

test('a variable before the command, and arguments of an entry that are one text, keep them too', () => {
  expect(importDocument(R`KEY=C:\k\v npx x`).entries[0]?.body.env).toEqual({ KEY: R`C:\k\v` })
  const entry = { a: { command: 'node', args: R`C:\tools\x.js --flag` } }
  expect(importDocument(JSON.stringify({ mcpServers: entry })).entries[0]?.body.args).toEqual([
    R`C:\tools\x.js`,
    '--flag',
  ])
})
