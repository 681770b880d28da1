import { describe, expect, test } from 'bun:test'
import { CLIENTS, clientConfig, entryName } from '../../../core/http/routes/groups/group-client-config.ts'

const url = 'https://hub.example/mcp/daily%20work'
const config = (client: (typeof CLIENTS)[number], endpoint = url) => clientConfig(client, 'daily work', endpoint)
const bearer = 'Bearer <ACCESS_KEY>'
const headers = { Authorization: bearer }

describe('clientConfig()', () => {
  test.each([...CLIENTS])('for %s names the endpoint and the place of the key', client => {
    const made = config(client)
    expect(made).toMatchObject({ client, endpoint: url })
    expect(made.text).toContain(url)
    expect(made.text).toContain(bearer)
  })

  test('gives each client its own shape of the entry', () => {
    const entry = (client: (typeof CLIENTS)[number]) => JSON.parse(config(client).text)
    expect(entry('claude-code')).toEqual({ mcpServers: { 'daily-work': { type: 'http', url, headers } } })
    expect(entry('cursor')).toEqual({ mcpServers: { 'daily-work': { url, headers } } })
    expect(entry('vscode')).toEqual({ servers: { 'daily-work': { type: 'http', url, headers } } })
    expect(entry('windsurf')).toEqual({ mcpServers: { 'daily-work': { serverUrl: url, headers } } })
    expect(entry('gemini')).toEqual({ mcpServers: { 'daily-work': { httpUrl: url, headers } } })
  })

  test('for Codex is a TOML table', () => {
    const made = Bun.TOML.parse(config('codex').text)
    expect(made).toEqual({ mcp_servers: { 'daily-work': { url, http_headers: headers } } })
  })

  test('for Claude Desktop starts a bridge, told to allow http where it would refuse it', () => {
    const args = (endpoint: string): string[] =>
      JSON.parse(config('claude-desktop', endpoint).text).mcpServers['daily-work'].args
    expect(args(url)).toEqual(['-y', 'mcp-remote', url, '--header', `Authorization:${'$'}{AUTHORIZATION}`])
    expect(args('http://127.0.0.1:3000/mcp/x')).not.toContain('--allow-http')
    expect(args('http://10.0.0.7:3000/mcp/x')).toContain('--allow-http')
    expect(JSON.parse(config('claude-desktop').text).mcpServers['daily-work'].env).toEqual({ AUTHORIZATION: bearer })
  })

  test('for curl is a command that a shell takes as it stands', async () => {
    const shown = config('curl').text.replace(/^curl/, `printf '%s\\n'`)
    const words = Bun.spawnSync(['sh', '-c', shown]).stdout.toString().split('\n')
    expect(words).toContain(url)
    expect(words).toContain(`Authorization: ${bearer}`)
    expect(JSON.parse(words.find(word => word.startsWith('{')) ?? '')).toMatchObject({ method: 'initialize' })
  })

  test('has the client’s own command where there is one', () => {
    expect(config('claude-code').command).toBe(
      `claude mcp add --transport http daily-work '${url}' --header 'Authorization: ${bearer}'`,
    )
  })
})

test.each([
  ['daily work', 'daily-work'],
  ['  x.y ', 'x-y'],
  ['a_b-c', 'a_b-c'],
  ['日常', 'patchbay'],
  ['--', 'patchbay'],
])('entryName(%p) is %p', (name, wanted) => {
  expect(entryName(name)).toBe(wanted)
})
