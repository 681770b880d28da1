import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { load as parseYaml } from 'js-yaml'
import { parse as parseToml } from 'smol-toml'
import { readJsonc } from '../../../core/config/jsonc.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { type RunningHub, runningHub } from './running-hub.ts'

let hub: RunningHub
let home = ''

beforeAll(async () => {
  hub = await runningHub()
  await hub.run(['groups', 'create', 'work'])
})
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
})
beforeEach(async () => {
  home = await makeTemp('connect')
})
afterEach(() => removeTemp(home))

const connect = (client: string, ...more: string[]) =>
  hub.run(['connect', client, '--group', 'work', ...more], { env: { HOME: home } })
const write = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(join(home, path)), { recursive: true })
  await writeFile(join(home, path), text)
}
const read = (path: string) => readFile(join(home, path), 'utf8')
const keys = async (): Promise<
  readonly { readonly label: string; readonly last4: string; readonly scopes: unknown }[]
> => JSON.parse((await hub.run(['key', 'list', '--json'])).stdout)

const BEFORE = `{
  // mine
  "theme": "dark",
  "mcpServers": {
    "other": { "command": "x", "args": ["1"] }, // kept
  },
}
`

describe('patchbay connect', () => {
  test.each([
    ['cursor', '.cursor/mcp.json', ['mcpServers', 'url']],
    ['windsurf', '.codeium/windsurf/mcp_config.json', ['mcpServers', 'serverUrl']],
    ['gemini', '.gemini/settings.json', ['mcpServers', 'httpUrl']],
    ['zed', '.config/zed/settings.json', ['context_servers', 'url']],
    ['lm-studio', '.lmstudio/mcp.json', ['mcpServers', 'url']],
    ['claude-code', '.claude.json', ['mcpServers', 'url']],
  ])(
    '%s: a new file for its user alone, with a key that opens the group and nothing else',
    async (client, path, at) => {
      const { code, stdout, stderr } = await connect(client)
      expect([code, stderr]).toEqual([0, ''])
      expect(stdout).not.toContain('pb_')
      const [table = '', address = ''] = at
      const entry = JSON.parse(await read(path))[table].work
      expect(entry[address]).toBe(`${hub.url}/mcp/work`)
      expect((await stat(join(home, path))).mode & 0o777).toBe(0o600)
      const secret = /Bearer (pb_\S+)/.exec(entry.headers.Authorization)?.[1] ?? ''
      const opened = await fetch(`${hub.url}/mcp/work`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE }),
      })
      expect(opened.status).toBe(200)
      await opened.body?.cancel()
      const api = await fetch(`${hub.url}/api/servers`, { headers: { authorization: `Bearer ${secret}` } })
      expect(api.status).toBe(403)
    },
  )

  test('adds to a file with comments, keeps the rest, and a copy; undo puts it back and revokes the key', async () => {
    await write('.cursor/mcp.json', BEFORE)
    expect((await connect('cursor')).code).toBe(0)
    const text = await read('.cursor/mcp.json')
    expect(text).toContain('// mine')
    expect(text).toContain('"other": { "command": "x", "args": ["1"] }')
    expect(Object.keys((readJsonc(text).value as { mcpServers: object }).mcpServers)).toEqual(['other', 'work'])
    const copies = (await readdir(join(home, '.cursor'))).filter(name => name.endsWith('.bak'))
    expect(copies).toHaveLength(1)
    expect(await read(`.cursor/${copies[0]}`)).toBe(BEFORE)
    const last4 = /pb_\S*?([^"\s]{4})"/.exec(text)?.[1] ?? ''
    expect((await keys()).map(key => key.last4)).toContain(last4)

    const undone = await connect('cursor', '--undo')
    expect([undone.code, undone.stdout.includes('revoked')]).toEqual([0, true])
    expect(readJsonc(await read('.cursor/mcp.json')).value).toEqual(readJsonc(BEFORE).value)
    expect(await read('.cursor/mcp.json')).toContain('// mine')
    expect((await keys()).map(key => key.last4)).not.toContain(last4)
    expect((await connect('cursor', '--undo')).code).toBe(1)
  })

  test('twice gives one entry with a new key, and the earlier key ends', async () => {
    const before = (await keys()).length
    await connect('cursor')
    const first = await read('.cursor/mcp.json')
    expect((await connect('cursor')).stdout).toContain('revoked')
    const second = await read('.cursor/mcp.json')
    expect(second).not.toBe(first)
    expect((await keys()).length).toBe(before + 1)
    await connect('cursor', '--undo')
    expect(JSON.parse(await read('.cursor/mcp.json'))).toEqual({ mcpServers: {} })
    expect((await keys()).length).toBe(before)
  })

  test('another entry of that name stays, unless its place is to be taken, and comes back', async () => {
    const foreign = '{ "mcpServers": { "work": { "command": "mine" } } }\n'
    await write('.cursor/mcp.json', foreign)
    const before = (await keys()).length
    const refused = await connect('cursor')
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('config_entry_exists')])
    expect(await read('.cursor/mcp.json')).toBe(foreign)
    expect((await keys()).length).toBe(before)
    expect((await connect('cursor', '--replace')).code).toBe(0)
    expect(await read('.cursor/mcp.json')).not.toContain('"mine"')
    await connect('cursor', '--undo')
    expect(JSON.parse(await read('.cursor/mcp.json'))).toEqual(JSON.parse(foreign))
  })

  test.each([
    ['cursor', '.cursor/mcp.json', '{ "mcpServers": { \n', 'line 2'],
    ['cursor', '.cursor/mcp.json', '[]', 'no JSON object'],
    ['cursor', '.cursor/mcp.json', '{ "mcpServers": [] }', 'no object'],
    ['cursor', '.cursor/mcp.json', '{ "mcpServers": {}, "mcpServers": {} }', 'line 1'],
    ['codex', '.codex/config.toml', 'a = 1\nb = \n', 'line 2'],
    ['codex', '.codex/config.toml', 'mcp_servers = { work = { command = "x" } }\n', 'work'],
    ['codex', '.codex/config.toml', '[mcp_servers]\nwork = { url = "x" }\n', 'work'],
  ])(
    '%s: a file that cannot be changed safely stays as it is, and no key is made: %s %j',
    async (client, path, text, why) => {
      await write(path, text)
      const before = (await keys()).length
      const { code, stderr } = await connect(client, '--replace')
      expect([code, stderr]).toEqual([1, expect.stringContaining('config_unreadable')])
      expect(stderr).toContain(why)
      expect(await read(path)).toBe(text)
      expect((await keys()).length).toBe(before)
    },
  )

  test('codex: only the lines of its own tables change', async () => {
    const text = [
      'model = "x" # mine',
      '',
      '[mcp_servers.other]',
      'command = "y"',
      'env = { A = "[mcp_servers.work]" }',
      '',
      '[mcp_servers."work".env]',
      'B = "1"',
      '',
      '[mcp_servers.work]',
      `url = "${hub.url}/mcp/work"`,
      '',
      '[mcp_servers.workshop]',
      'url = "z"',
      '',
    ].join('\n')
    await write('.codex/config.toml', text)
    expect((await connect('codex')).code).toBe(0)
    const after = await read('.codex/config.toml')
    const { mcp_servers: servers, ...rest } = parseToml(after) as {
      mcp_servers: Record<string, Record<string, unknown>>
    }
    expect(rest).toEqual({ model: 'x' })
    expect(Object.keys(servers).toSorted()).toEqual(['other', 'work', 'workshop'])
    expect(servers.work).toEqual({
      url: `${hub.url}/mcp/work`,
      http_headers: { Authorization: expect.stringMatching(/^Bearer pb_/) },
    })
    for (const line of ['model = "x" # mine', 'env = { A = "[mcp_servers.work]" }', '[mcp_servers.workshop]'])
      expect(after).toContain(line)
    await connect('codex', '--undo')
    expect(Object.keys((parseToml(await read('.codex/config.toml')) as typeof servers).mcp_servers ?? {})).toEqual([
      'other',
      'workshop',
    ])
  })

  test.each<[string, string, readonly (string | number)[], string]>([
    ['cline', CLINE, ['mcpServers', 'work'], 'url'],
    ['crush', '.config/crush/crush.json', ['mcp', 'work'], 'url'],
    ['qwen', '.qwen/settings.json', ['mcpServers', 'work'], 'httpUrl'],
    ['kiro', '.kiro/settings/mcp.json', ['mcpServers', 'work'], 'url'],
    ['roo', ROO, ['mcpServers', 'work'], 'url'],
    ['copilot-cli', '.copilot/mcp-config.json', ['mcpServers', 'work'], 'url'],
    ['amp', '.config/amp/settings.json', ['amp.mcpServers', 'work'], 'url'],
    ['hermes', '.hermes/config.yaml', ['mcp_servers', 'work'], 'url'],
    ['opencode', '.config/opencode/opencode.json', ['mcp', 'work'], 'url'],
    ['1mcp', '.config/1mcp/mcp.json', ['mcpServers', 'work'], 'url'],
    ['goose', '.config/goose/config.yaml', ['extensions', 'work'], 'uri'],
    ['continue', '.continue/config.yaml', ['mcpServers', 0], 'url'],
  ])(
    '%s: writes what the import reads as the address of this hub, and takes it out',
    async (client, path, at, field) => {
      expect((await connect(client)).code).toBe(0)
      const read1 = parseYaml(await read(path)) as object
      // biome-ignore lint/suspicious/noExplicitAny: a file of another program
      const entry = at.reduce<any>((value, part) => value[part], read1)
      expect(entry[field]).toBe(`${hub.url}/mcp/work`)
      expect(JSON.stringify(entry)).toMatch(/"Authorization":"Bearer pb_/)
      const imported = await hub.run(['import', path, '--dry-run'], { cwd: home, env: await asUser() })
      expect(imported.stdout).toContain('It leads to this hub')
      expect((await connect(client, '--undo')).code).toBe(0)
      expect(await read(path)).not.toContain('pb_')
    },
  )

  test.each<[string, string, string]>([
    ['goose', '.config/goose/config.yaml', GOOSE],
    ['goose', '.config/goose/config.yaml', GOOSE.replaceAll('\n', '\r\n')],
    ['goose', '.config/goose/config.yaml', 'GOOSE_MODE: auto # mine\nextensions: {} # none yet\n'],
    ['goose', '.config/goose/config.yaml', '# only a comment\nextensions:\n'],
    ['goose', '.config/goose/config.yaml', '# only a comment\n'],
    ['continue', '.continue/config.yaml', CONTINUE],
    ['continue', '.continue/config.yaml', CONTINUE.replaceAll('\n  - ', '\n- ').replaceAll('\n    ', '\n  ')],
    ['continue', '.continue/config.yaml', 'name: mine\nmcpServers: []\n'],
  ])(
    '%s: every other line of its YAML stays as it is, and an undo brings the text back',
    async (client, path, text) => {
      await write(path, text)
      expect((await connect(client)).code).toBe(0)
      const after = await read(path)
      expect(after).toContain('/mcp/work')
      const known = (whole: string) => whole.split('\n').filter(line => !/^(?:extensions|mcpServers):/.test(line))
      const lines = after.split('\n')
      for (const line of known(text)) expect(lines).toContain(line)
      expect(after.split('\r').length > 1).toBe(text.includes('\r'))
      expect((await connect(client)).code).toBe(0)
      expect((await connect(client, '--undo')).code).toBe(0)
      expect(known(await read(path))).toEqual(known(text))
    },
  )

  test.each([
    ['goose', '.config/goose/config.yaml', 'extensions: { a: { type: stdio, cmd: x } }\n', 'by hand'],
    ['goose', '.config/goose/config.yaml', 'extensions: [1]\n', 'is a list'],
    ['goose', '.config/goose/config.yaml', 'extensions:\n  a: [\n', 'line'],
    ['goose', '.config/goose/config.yaml', 'extensions: &all\n  a: 1\nothers: *all\n', 'by hand'],
  ])('%s: YAML that cannot be changed safely stays as it is: %j', async (client, path, text, why) => {
    await write(path, text)
    const { code, stderr } = await connect(client)
    expect([code, stderr]).toEqual([1, expect.stringMatching(why)])
    expect(await read(path)).toBe(text)
  })

  test('--project names the folder of a project, before or behind the client', async () => {
    for (const [client, path, ...words] of [
      ['cursor', '.cursor/mcp.json', '--project', 'app', '--group', 'work'],
      ['vscode', '.vscode/mcp.json', '--group', 'work', '--project', 'app'],
      ['claude-code', '.mcp.json', '--project=app', '--group', 'work'],
      ['librechat', 'librechat.yaml', '--group', 'work', '--project', './app'],
      ['litellm', 'litellm_config.yaml', '--project', 'app', '--group', 'work'],
    ] as const) {
      await mkdir(join(home, 'app'), { recursive: true })
      const argv = client === 'cursor' ? [...words, client] : [client, ...words]
      const made = await hub.run(['connect', ...argv], { cwd: home, env: await asUser() })
      expect([made.code, made.stderr]).toEqual([0, ''])
      expect(await read(`app/${path}`)).toContain('/mcp/work')
    }
    const undone = await hub.run(['connect', 'cursor', '--group', 'work', '--project', 'app', '--undo'], {
      ...{ cwd: home, env: await asUser() },
    })
    expect([undone.code, await read('app/.cursor/mcp.json')]).toEqual([0, expect.not.stringContaining('pb_')])
    const none = await hub.run(['connect', 'cursor', '--group', 'work', '--project', 'absent'], { cwd: home })
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('no folder')])
  })

  test('a link stays a link, and a stricter mode stays', async () => {
    await write('real.json', '{}\n')
    await chmod(join(home, 'real.json'), 0o400)
    await mkdir(join(home, '.cursor'))
    await symlink(join(home, 'real.json'), join(home, '.cursor/mcp.json'))
    expect((await connect('cursor')).code).toBe(0)
    expect(await read('real.json')).toContain('/mcp/work')
    expect((await stat(join(home, 'real.json'))).mode & 0o777).toBe(0o400)
  })

  test('--project writes below the working folder, --print writes nothing and holds no key', async () => {
    const project = await makeTemp('project')
    try {
      const env = { HOME: home, PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: await apiKey() }
      const made = await hub.run(['connect', 'vscode', '--group', 'work', '--project'], { cwd: project, env })
      expect([made.code, made.stderr]).toEqual([0, ''])
      expect(made.stdout).toContain('version control')
      expect(JSON.parse(await readFile(join(project, '.vscode/mcp.json'), 'utf8')).servers.work.type).toBe('http')
    } finally {
      await removeTemp(project)
    }
    const printed = await connect('codex', '--print')
    expect(printed.stdout).toContain('[mcp_servers.work]')
    expect(printed.stdout).toContain('<ACCESS_KEY>')
    expect(printed.stdout).not.toContain('pb_')
    expect(await readdir(home)).toEqual([])
  })

  test('says what is wrong with a client, a group, and a client without a file', async () => {
    const wrong = async (...argv: string[]) => {
      const { code, stderr } = await hub.run(['connect', ...argv], { env: { HOME: home } })
      return [code, stderr.split('\n')[0]]
    }
    expect(await wrong('emacs', '--group', 'work')).toEqual([1, expect.stringContaining('validation_failed')])
    expect(await wrong('cursor', '--group', 'absent')).toEqual([1, expect.stringContaining('group_not_found')])
    // Without a group the word is a server, at which to sign in.
    expect(await wrong('cursor')).toEqual([1, expect.stringContaining('server_not_found')])
    expect(await wrong('cursor', '--undo')).toEqual([2, expect.stringContaining('--group')])
    expect(await wrong('curl', '--group', 'work')).toEqual([1, expect.stringContaining('--print')])
    expect(await wrong('windsurf', '--group', 'work', '--project')).toEqual([1, expect.stringContaining('project')])
  })
})

const CLINE = '.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json'
const ROO = '.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json'
const GOOSE = `# mine
GOOSE_PROVIDER: openai
extensions:
    # a comment of the first
    fetch:
        cmd: uvx # runs it
        args:
        - mcp-server-fetch
        type: stdio
        enabled: true

    "odd name":
        type: builtin

# the end
GOOSE_MODE: auto
`
const CONTINUE = `name: mine
mcpServers:
  # local
  - name: files
    command: npx
    args:
      - "-y"
      - files

  - name: 'other'
    url: https://other.example/mcp
models: [] # none
`

/** Environment of commands outside the hub's folder: they find the hub by its address, and its user by a key. */
async function asUser(): Promise<Record<string, string>> {
  return { HOME: home, PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: await apiKey() }
}

const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }

async function apiKey(): Promise<string> {
  const made = await hub.run(['key', 'create', 'cli', '--scope', 'api', '--scope', 'mcp', '--json'])
  return JSON.parse(made.stdout).secret
}
