// A fifth transport, brought by a plugin in a folder outside of the repository that knows the exported types alone.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fixture } from '../support/fixtures.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, online, statusOf, toolNames } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const EXAMPLE = join(import.meta.dir, 'examples/transport-websocket')
const TOKEN = 'a-token-that-nobody-sees'
const PLUGIN = '/api/admin/plugins/transport-websocket'

let folder: string
let program: Program
let hub: Hub
let admin: Client
let user: Client

beforeAll(async () => {
  folder = await makeTemp('example-plugin')
  await cp(EXAMPLE, folder, { recursive: true })
  for (const name of await readdir(folder)) await chmod(join(folder, name), 0o600)
  program = await startProgram(fixture('websocket'), {
    env: { TOKEN },
    address: /listening on (ws:\/\/[^\s"]+)/,
  })
  hub = await startHub({
    settings: {
      plugins: [{ use: join(folder, 'plugin.ts') }],
      mcpServers: {
        filed: { type: 'websocket', url: program.url, accessToken: TOKEN },
        wrong: { type: 'websocket', url: 'http://127.0.0.1/', accessToken: TOKEN },
        echo: { ...stdioFixture('echo'), session: 'shared' },
      },
    },
  })
  admin = await hub.setup()
  user = await hub.user('ordinary')
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await program?.stop()
  await removeTemp(folder)
}, 120_000)

const server = (more: object = {}) => ({ transport: 'websocket', url: program.url, accessToken: TOKEN, ...more })

async function refusal(client: Client, body: object): Promise<unknown> {
  const answer = await client.request('POST', '/api/servers', { name: 'refused', ...body })
  const errors = (answer.json.errors ?? []) as { readonly code: string; readonly pointer: string }[]
  return [answer.status, answer.json.code, ...errors.map(({ code, pointer }) => `${code} ${pointer}`)]
}

test('the example imports what plugins are offered, and nothing else', async () => {
  for (const name of await readdir(EXAMPLE)) {
    const imports = [...(await readFile(join(EXAMPLE, name), 'utf8')).matchAll(/ from '([^'.][^']*)'/g)]
    for (const [, module] of imports) expect(['patchbay/contract', 'patchbay/transport-kit']).toContain(module ?? '')
  }
})

test('a server of the settings file is online, and a wrong entry says what is wrong with it', async () => {
  await online(admin, ['filed', 'echo'])
  const wrong = await admin.ok('GET', '/api/servers/wrong')
  expect(wrong.problem).toMatchObject({ code: 'config_invalid', pointer: '#/url' })
})

test('a secret that is written to the settings file over REST is sealed there, and opened again', async () => {
  await admin.ok('PATCH', '/api/servers/filed', { headers: { 'X-Api-Key': 'another-secret-text' } })
  const written = await readFile(hub.settingsFile, 'utf8')
  expect(written).toContain('X-Api-Key')
  expect(written).not.toContain('another-secret-text')
  const entries = JSON.parse(written).mcpServers
  await writeFile(
    hub.settingsFile,
    JSON.stringify({
      ...JSON.parse(written),
      mcpServers: { ...entries, filed: { ...entries.filed, timeout: 20_000 } },
    }),
  )
  const shown = await until(async () => {
    const now = await admin.ok('GET', '/api/servers/filed')
    return now.timeout === 20_000 && now
  })
  expect([shown.problem, shown.headers]).toEqual([undefined, { 'X-Api-Key': '••••text' }])
  await online(admin, ['filed'])
})

describe('a server that is made over REST', () => {
  test('is refused with a pointer to each field that the transport does not take as it is', async () => {
    expect(await refusal(admin, server({ url: 'https://a.example/' }))).toEqual([
      400,
      'validation_failed',
      'url_scheme #/url',
    ])
    expect(await refusal(admin, server({ accessToken: 'short' }))).toEqual([
      400,
      'validation_failed',
      'length #/accessToken',
    ])
    expect(await refusal(admin, { transport: 'websocket', headers: { 'Mcp-X': 'a', B: 1 } })).toEqual([
      ...[400, 'validation_failed', 'required #/url', 'type #/headers/B'],
    ])
    expect(await refusal(admin, server({ command: 'x', accessTokn: 'y' }))).toEqual([
      ...[400, 'validation_failed', 'unknown_field #/accessTokn', 'field_not_for_transport #/command'],
    ])
    expect(await refusal(admin, server({ transport: 'websockets' }))).toContain('enum #/transport')
  })

  test('may not have a private address when its owner is an ordinary user', async () => {
    expect(await refusal(user, server())).toEqual([403, 'url_address_blocked'])
    // A name that leads to one is found out when the hub connects.
    const { port } = new URL(program.url)
    const named = server({ name: 'named', url: `ws://localhost.localdomain:${port}/mcp` })
    const made = await user.request('POST', '/api/servers', named)
    if (made.status === 201) {
      const status = await until(async () => {
        const now = await statusOf(user, 'named')
        return now.state === 'offline' && now.reason
      })
      expect(status.code).toBe('url_address_blocked')
    } else expect(made.json.code).toBe('url_address_blocked')
  })

  test('lists its tools and answers calls through a group, also long ones and too long ones', async () => {
    await admin.ok('POST', '/api/servers', server({ name: 'made', maxResultBytes: 2 * 1024 * 1024 }))
    await online(admin, ['made'])
    await admin.ok('POST', '/api/groups', { name: 'g', members: ['made', 'echo'] })
    const client = await admin.mcp('/mcp/g')
    expect(await toolNames(client)).toContain('long')
    expect(await callText(client, 'made_echo', { text: 'grüße' })).toBe('ws: grüße')
    expect(await callText(client, 'long', { bytes: 1024 * 1024 })).toHaveLength(1024 * 1024)
    await expect(callText(client, 'long', { bytes: 3 * 1024 * 1024 })).rejects.toThrow('longer than 2097152 bytes')
    expect(await callText(client, 'long', { bytes: 10 })).toHaveLength(10)
  })

  test('has its secret sealed in the database, masked in answers, and kept by its mask', async () => {
    const shown = await admin.ok('GET', '/api/servers/made')
    expect([shown.accessToken, shown.secrets]).toEqual(['••••sees', ['/accessToken']])
    const files = (await readdir(hub.dataDir)).filter(name => name.includes('.db') || name.includes('sqlite'))
    expect(files.length).toBeGreaterThan(0)
    for (const name of files) {
      expect((await readFile(join(hub.dataDir, name))).includes(TOKEN)).toBe(false)
    }
    const { id, ref, revision, createdAt, updatedAt, status, origin, owner, ...body } = shown
    await admin.ok('PUT', '/api/servers/made', { ...body, description: 'put' })
    await admin.ok('PATCH', '/api/servers/made', { accessToken: shown.accessToken, timeout: 30_000 })
    await admin.ok('POST', '/api/servers/made/restart')
    await online(admin, ['made'])
    const answer = await admin.request('PATCH', '/api/servers/made', { accessToken: '••••else' })
    expect(answer.json.errors).toMatchObject([{ code: 'secret_mask', pointer: '#/accessToken' }])
    expect(hub.log()).not.toContain(TOKEN)
  })
})

test('the API document has the fields of the transport', async () => {
  const document = await admin.ok('GET', '/api/openapi.json')
  expect(document.components.schemas['Transport.websocket']).toMatchObject({ title: 'Remote server (WebSocket)' })
  const body = document.paths['/api/servers'].post.requestBody.content['application/json'].schema
  expect(Object.keys(body.properties)).toEqual(expect.arrayContaining(['command', 'url', 'accessToken', 'timeout']))
})

describe('when the plugin is withdrawn', () => {
  beforeAll(() => admin.ok('PATCH', PLUGIN, { enabled: false }))

  test('its servers are offline with the reason, and the others continue', async () => {
    for (const name of ['made', 'filed']) {
      const reason = await until(async () => {
        const status = await statusOf(admin, name)
        return status.state === 'offline' && status.reason
      })
      expect([name, reason.code]).toEqual([name, 'transport_unavailable'])
    }
    expect((await statusOf(admin, 'echo')).state).toBe('online')
    expect(await refusal(admin, server())).toContain('enum #/transport')
  })

  test('they stay as they are stored: shown with their masks, switched on and off, but not changed', async () => {
    expect((await admin.ok('GET', '/api/servers/made')).accessToken).toBe('••••sees')
    expect((await admin.ok('PATCH', '/api/servers/made', { description: 'away' })).description).toBe('away')
    const answer = await admin.request('PATCH', '/api/servers/made', { url: 'ws://elsewhere.example/' })
    expect(answer.json.errors).toMatchObject([{ code: 'enum', pointer: '#/transport' }])
  })

  const upgrade = async (from: string, to: string): Promise<void> => {
    const file = join(folder, 'transport.ts')
    await writeFile(file, (await readFile(file, 'utf8')).replace(from, to))
    await admin.ok('PATCH', PLUGIN, { enabled: true })
  }

  test('an upgraded one serves them again without a restart of the hub', async () => {
    await upgrade('io.message(text)', "io.message(text.replace('ws: ', 'upgraded: '))")
    await online(admin, ['made', 'filed', 'echo'])
    const client = await admin.mcp('/mcp/g')
    expect(await callText(client, 'made_echo', { text: 'hello' })).toBe('upgraded: hello')
    expect((await admin.ok('GET', '/api/servers/made')).accessToken).toBe('••••sees')
  })

  test('so does one that was never switched off', async () => {
    await upgrade("'upgraded: '", "'again: '")
    const client = await admin.mcp('/mcp/g')
    const answered = async () => (await callText(client, 'made_echo', { text: 'hello' })) === 'again: hello'
    await until(answered, { timeoutMs: 60_000, what: 'an answer of the newest version' })
    expect(await callText(await admin.mcp('/mcp/echo'), 'echo', { text: 'undisturbed' })).toBe('undisturbed')
  })
})
