import { describe, expect, test } from 'bun:test'
import { clientConfig, entryName } from '../../../core/http/routes/groups/group-client-config.ts'
import importClients from '../../../plugins/import-clients/plugin.ts'
import { bundledClients } from './doubles.ts'

const url = 'https://hub.example/mcp/daily%20work'
const clients = bundledClients()
const config = (client: string, endpoint = url) => clientConfig(clients, client, 'daily work', endpoint)
const bearer = 'Bearer <ACCESS_KEY>'
const headers = { Authorization: bearer }

describe('clientConfig()', () => {
  test.each([...clients.keys()])('for %s names the endpoint and the place of the key', async client => {
    const made = await config(client)
    expect(made).toMatchObject({ client, endpoint: url })
    expect(made.text).toContain(url)
    expect(made.text).toContain(bearer)
  })

  test('gives each client its own shape of the entry', async () => {
    const entry = async (client: string) => JSON.parse((await config(client)).text)
    expect(await entry('claude-code')).toEqual({ mcpServers: { 'daily-work': { type: 'http', url, headers } } })
    expect(await entry('cursor')).toEqual({ mcpServers: { 'daily-work': { url, headers } } })
    expect(await entry('vscode')).toEqual({ servers: { 'daily-work': { type: 'http', url, headers } } })
    expect(await entry('windsurf')).toEqual({ mcpServers: { 'daily-work': { serverUrl: url, headers } } })
    expect(await entry('gemini')).toEqual({ mcpServers: { 'daily-work': { httpUrl: url, headers } } })
  })

  test('for Codex is a TOML table', async () => {
    const made = Bun.TOML.parse((await config('codex')).text)
    expect(made).toEqual({ mcp_servers: { 'daily-work': { url, http_headers: headers } } })
  })

  test('for Claude Desktop starts a bridge, told to allow http where it would refuse it', async () => {
    const args = async (endpoint: string): Promise<string[]> =>
      JSON.parse((await config('claude-desktop', endpoint)).text).mcpServers['daily-work'].args
    expect(await args(url)).toEqual(['-y', 'mcp-remote@0.15.1', url, '--header', `Authorization:${'$'}{AUTHORIZATION}`])
    expect(await args('http://127.0.0.1:3000/mcp/x')).not.toContain('--allow-http')
    expect(await args('http://10.0.0.7:3000/mcp/x')).toContain('--allow-http')
    expect(JSON.parse((await config('claude-desktop')).text).mcpServers['daily-work'].env).toEqual({
      AUTHORIZATION: bearer,
    })
  })

  test('for curl is a command that a shell takes as it stands', async () => {
    const shown = (await config('curl')).text.replace(/^curl/, `printf '%s\\n'`)
    const words = Bun.spawnSync(['sh', '-c', shown]).stdout.toString().split('\n')
    expect(words).toContain(url)
    expect(words).toContain(`Authorization: ${bearer}`)
    expect(JSON.parse(words.find(word => word.startsWith('{')) ?? '')).toMatchObject({ method: 'initialize' })
  })

  test('has the client’s own command where there is one', async () => {
    expect((await config('claude-code')).command).toBe(
      `claude mcp add --transport http --scope user daily-work '${url}' --header 'Authorization: ${bearer}'`,
    )
    expect((await config('codex')).command).toBe(
      `codex mcp add daily-work --url '${url}' --bearer-token-env-var PATCHBAY_KEY`,
    )
    const words = Bun.spawnSync(['sh', '-c', `printf '%s\\n' ${(await config('vscode')).command}`]).stdout.toString()
    const [program, flag, entry = ''] = words.split('\n')
    expect([program, flag, JSON.parse(entry)]).toEqual([
      ...['code', '--add-mcp', { name: 'daily-work', type: 'http', url, headers }],
    ])
  })

  test('links open the clients and hold no key', async () => {
    const cursor = new URL((await config('cursor')).link ?? '').searchParams
    expect(cursor.get('name')).toBe('daily-work')
    const entry = JSON.parse(Buffer.from(cursor.get('config') ?? '', 'base64').toString())
    expect(entry).toEqual({ url, headers: { Authorization: `Bearer ${'$'}{env:PATCHBAY_KEY}` } })
    const vscode = JSON.parse(decodeURIComponent((await config('vscode')).link?.split('?')[1] ?? ''))
    expect(vscode).toMatchObject({ name: 'daily-work', type: 'http', url, inputs: [{ id: 'patchbay_key' }] })
    expect(vscode.headers).toEqual({ Authorization: `Bearer ${'$'}{input:patchbay_key}` })
  })

  test('a client that no plugin knows is refused with those that are known', async () => {
    const refused = await config('emacs').catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '?client', code: 'enum' }] })
    expect(String(refused)).toContain('"cursor"')
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

/** Programs that an import reads and `connect` does not write. */
const NOT_WRITTEN: Readonly<Record<string, string>> = {
  'hub-export': 'an export is no file that a program reads again',
  OpenClaw: 'its map lies two levels deep, and the program writes the file itself',
  nanobot: 'its map lies two levels deep (`tools.mcpServers`)',
  'mcp-proxy': 'a bridge, which serves the hub’s servers to clients and is none itself',
  deepagents: 'it reads the .mcp.json of a project: `connect claude-code --project` writes that file',
  'GitHub Copilot': 'its agent takes the text from the settings page of a repository; its command is `copilot-cli`',
}

test('each program whose files an import reads is written by connect, or has a reason', async () => {
  const labels = new Set([...clients.values()].map(({ label }) => label))
  const sources: string[] = []
  const contribute = (point: string, id: string) => point === 'importSource' && sources.push(id)
  await importClients.setup({ contribute } as never)
  expect(sources.length).toBeGreaterThan(5)
  const docs = await Bun.file(new URL('../../../docs/moving.md', import.meta.url)).text()
  const [, list = ''] = /- servers of ([\s\S]*?), exports of/.exec(docs) ?? []
  const [, table = ''] = /\| Whose \|.*\n\|[-|]+\n((?:\|.*\n)+)/.exec(docs) ?? []
  const rows = table.split('\n').map(row => row.split('|')[1] ?? '')
  const named = [...list.replaceAll(/\([^)]*\)/g, '').split(','), ...rows.flatMap(row => row.split(','))]
    .map(name => name.replaceAll(/\s+/g, ' ').trim())
    .filter(name => name !== '' && !name.startsWith('hubs') && !name.startsWith('for all'))
  expect(named.length).toBeGreaterThan(25)
  const unknown = named.filter(name => !labels.has(name) && NOT_WRITTEN[name] === undefined)
  expect(unknown).toEqual([])
  expect(sources.filter(id => !clients.has(id) && NOT_WRITTEN[id] === undefined)).toEqual([])
  // A reason that is no longer needed goes.
  expect(Object.keys(NOT_WRITTEN).filter(name => labels.has(name) || clients.has(name))).toEqual([])
})

test('every answer lists all clients', async () => {
  const { clients: listed } = await config('curl')
  expect(listed).toEqual([...clients].map(([id, { label }]) => ({ id, label })))
})
