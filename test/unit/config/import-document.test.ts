import { describe, expect, test } from 'bun:test'
import { importDocument } from '../../../core/config/import/document.ts'
import { HubError } from '../../../core/contract/errors.ts'

const bodies = (text: string) => importDocument(text).entries.map(entry => entry.body)

describe('importDocument()', () => {
  const commands: readonly [string, object][] = [
    [
      'npx -y @modelcontextprotocol/server-memory',
      { name: 'memory', args: ['-y', '@modelcontextprotocol/server-memory'] },
    ],
    ['$ API_KEY="a b" npx -y some-mcp@1.2.0 --flag', { name: 'some', env: { API_KEY: 'a b' } }],
    ['uvx --from git+https://x.example/y.git mcp-server-time', { name: 'time' }],
    ['docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server:latest', { name: 'github' }],
    ['python3 -m my_server', { name: 'my' }],
    [
      `/opt/tools/weather --city 'New York'`,
      { name: 'weather', command: '/opt/tools/weather', args: ['--city', 'New York'] },
    ],
  ]
  test.each(commands)('reads the command line %s', (line, expected) => {
    expect(bodies(line)).toEqual([expect.objectContaining(expected)])
  })

  const needShell = ['npx foo | tee log', 'cd /x && npx foo', 'npx foo $(id)', 'npx "$HOME/x"', 'npx `id`', "npx 'foo"]
  test.each(needShell)('does not take %s apart, and says why', line => {
    const [entry] = importDocument(line).entries
    expect(entry?.problem?.message).toMatch(/needs a shell|not closed/)
  })

  const urls: readonly [string, string][] = [
    ['https://mcp.deepwiki.com/mcp', 'deepwiki'],
    ['http://localhost:8000/sse', 'localhost-8000'],
    ['http://127.0.0.1:9/x', '127.0.0.1-9'],
    ['https://mcp.example.co.uk/', 'example'],
  ]
  test.each(urls)('names the URL %s %s', (url, name) => {
    expect(bodies(`  ${url}\n`)).toEqual([{ name, url }])
  })

  const documents: readonly [string, string][] = [
    ['mcpServers', '{"mcpServers": {"a": {"command": "x"}}}'],
    ['VS Code mcp.json', '{"servers": {"a": {"command": "x"}}, "inputs": []}'],
    ['VS Code settings.json', '{"editor.fontSize": 12, "mcp": {"servers": {"a": {"command": "x"}}}}'],
    ['a bare map, comments and trailing commas', '// mine\n{"a": {"command": "x",},}'],
    ['one entry without braces', '"a": {"command": "x"},'],
  ]
  test.each(documents)('reads %s', (_shape, text) => {
    expect(bodies(text)).toEqual([{ name: 'a', command: 'x' }])
  })

  test('names a single entry after its program, and numbers the second of one name', () => {
    expect(bodies('{"command": "npx", "args": ["-y", "server-x"]}')).toEqual([
      { name: 'x', command: 'npx', args: ['-y', 'server-x'] },
    ])
    expect(bodies('[{"command": "a"}, {"command": "a"}]').map(body => body.name)).toEqual(['a', 'a-2'])
  })

  test('keeps the owner of a qualified key, and drops the one that another hub wrote', () => {
    expect(bodies('{"mcpServers": {"bob::a": {"command": "x"}, "b": {"command": "x", "owner": "admin"}}}')).toEqual([
      { name: 'a', owner: 'bob', command: 'x' },
      { name: 'b', command: 'x' },
    ])
  })

  test('reports an entry that is no object with its pointer, beside the good ones', () => {
    const { entries } = importDocument('{"mcpServers": {"a/b": 5, "c": {"command": "x"}}}')
    expect(entries[0]?.problem?.pointer).toBe('#/mcpServers/a~1b')
    expect(entries[1]?.problem).toBeUndefined()
  })

  test.each(['', '   ', '{}', '{"a": 1}', '{"mcpServers": {', '[1'])('refuses %p as validation_failed', text => {
    let caught: unknown
    try {
      const { entries } = importDocument(text)
      caught = entries
    } catch (error) {
      caught = error
    }
    expect(caught).toBeInstanceOf(HubError)
    expect((caught as HubError).errors?.[0]?.code).toBe('import_invalid')
  })
})

test('a command line of megabytes is not taken apart', () => {
  const [entry] = importDocument(`true ${'a '.repeat(2_000_000)}`).entries
  expect(entry?.body).toEqual({ name: 'server' })
  expect(entry?.problem?.message).toContain('at most 262144 characters')
})

test('a command line from a file of Windows continues behind a backslash, and ends at a carriage return of its own', () => {
  const body = (text: string) => importDocument(text).entries[0]
  expect(body('npx -y \\\r\n  pkg "a\rb"\r\n')?.body).toMatchObject({ command: 'npx', args: ['-y', 'pkg', 'a\rb'] })
  expect(body('npx a\rnpx b')?.problem?.message).toContain('needs a shell')
})
