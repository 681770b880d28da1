import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Canaries, filesBelow, type Said } from '../support/canaries.ts'
import { beyondCore } from '../support/extent.ts'
import {
  BUN_CACHE,
  type Client,
  type Hub,
  HubDidNotStart,
  LOOPBACK,
  ROOT,
  startHub,
  stdioFixture,
} from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { type LiveStream, openStream } from '../support/live-stream.ts'
import { type Program, startProgram } from '../support/program.ts'
import { failureOf, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { patient } from './rows.ts'

/** Every secret that this suite hands to the hub, by what it is. */
const canaries = new Canaries()
const canary = (what: string) => canaries.make(what)

const SETTINGS_ENV = {
  JWT_SECRET: canary('JWT_SECRET'),
  METRICS_TOKEN: canary('METRICS_TOKEN'),
  ASSISTANT_API_KEY: canary('ASSISTANT_API_KEY'),
}
/** All answers, events and files. */
const seen: Said[] = []
let upstream: Program
let hub: Hub
let admin: Client
let alice: Client
let streams: LiveStream[]

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  hub = await startHub({
    env: { ...LOOPBACK, ...SETTINGS_ENV, LOG_LEVEL: 'trace', ENABLE_REQUEST_LOGS: 'true' },
    settings: {
      mcpServers: { filed: { ...stdioFixture('echo'), env: { FILED_TOKEN: canary('env of a file entry') } } },
    },
  })
  admin = await hub.setup()
  alice = await hub.user('alice')
  streams = await Promise.all([admin, alice].map(who => openStream(who, '?topics=servers,logs,calls')))
}, 120_000)

afterAll(async () => {
  for (const stream of streams ?? []) await stream.close()
  await hub?.stop()
  await upstream?.stop()
}, 120_000)

async function ask(who: Client, method: string, path: string, body?: unknown) {
  const answer = await patient(() => who.request(method, path, body))
  seen.push({
    where: `${who.name}: ${method} ${path} → ${answer.status}`,
    text: answer.text + JSON.stringify([...answer.headers]),
  })
  return answer
}

function expectNoCanary(texts: readonly Said[], except: readonly string[] = []) {
  expect(canaries.in(texts, except)).toEqual([])
}

test('secrets go in by every field that takes one', async () => {
  const http = {
    name: 'remote',
    url: upstream.url,
    headers: { Authorization: `Bearer ${canary('a header')}`, 'X-Mine': canary('a listed header') },
    variables: { API_KEY: canary('a variable') },
    secrets: ['/headers/Authorization', '/headers/X-Mine', '/variables/API_KEY'],
  }
  expect((await ask(alice, 'POST', '/api/servers', http)).status).toBe(201)
  const query = {
    name: 'query',
    url: `${upstream.url}?key=${canary('a query')}`,
    secrets: ['/url'],
  }
  expect((await ask(alice, 'POST', '/api/servers', query)).status).toBe(201)
  const dead = {
    name: 'dead',
    url: `http://127.0.0.1:9/${canary('a path')}`,
    secrets: ['/url'],
  }
  expect((await ask(alice, 'POST', '/api/servers', dead)).status).toBe(201)
  const echo = stdioFixture('echo', { WHO: 'me', API_KEY: canary('an env') }, canary('a listed argument')) as {
    args: string[]
  }
  const stdio = { name: 'stdio', ...echo, secrets: ['/env/API_KEY', `/args/${echo.args.length - 1}`] }
  expect((await ask(admin, 'POST', '/api/servers', stdio)).status).toBe(201)
  const crying = {
    name: 'crying',
    command: process.execPath,
    args: ['-e', 'console.error("my key is", process.env.API_KEY, btoa(process.env.API_KEY)); process.exit(3)'],
    env: { API_KEY: canary('an env that a child cries out') },
  }
  expect((await ask(admin, 'POST', '/api/servers', crying)).status).toBe(201)
  const openapi = {
    name: 'openapi',
    enabled: false,
    openapi: {
      url: 'https://a.example/openapi.json',
      auth: { type: 'apiKey', name: 'x', value: canary('an openapi auth') },
    },
  }
  expect((await ask(alice, 'POST', '/api/servers', openapi)).status).toBe(201)
  const trial = { name: 't', url: 'http://127.0.0.1:9/', headers: { Authorization: canary('a trial') } }
  expect((await ask(alice, 'POST', '/api/servers/test', trial)).status).toBe(200)
  const entry = { url: 'http://127.0.0.1:9/', headers: { Authorization: canary('an import') } }
  expect((await ask(alice, 'POST', '/api/servers/import?dryRun=true', { mcpServers: { i: entry } })).status).toBe(200)
  expect((await ask(alice, 'POST', '/api/servers/import', { mcpServers: { i: entry } })).status).toBe(200)
  const batch = { servers: [{ name: 'b', url: 'not a url', headers: { Authorization: canary('a batch') } }] }
  expect((await ask(alice, 'POST', '/api/servers/batch', batch)).status).toBe(207)
  const hosted = { hostedKeys: { modelscope: canary('a hosted key') } }
  expect((await ask(alice, 'PATCH', '/api/settings', hosted)).status).toBe(200)
  const edit = { env: { FILED_TOKEN: canary('an edit of a file entry') } }
  expect((await ask(admin, 'PATCH', '/api/servers/filed', edit)).status).toBe(200)
  await ask(admin, 'POST', '/api/admin/users', { username: 'eve', password: canary('a password') })
  await ask(admin, 'POST', '/api/auth/login', { username: 'eve', password: canary('a wrong password') })
  await ask(alice, 'POST', '/api/auth/password', {
    currentPassword: canary('a wrong present one'),
    newPassword: 'short',
  })
  await ask(admin, 'GET', `/api/servers?token=${canary('a query token')}`)
  await ask(alice, 'PATCH', '/api/servers/remote', { url: `http://me:${canary('a user of a url')}@a.example/` })
  await ask(alice, 'PATCH', '/api/servers/remote', {
    headers: { Authorization: `${canary('a header with a line feed')}\n` },
  })
  await ask(alice, 'POST', '/api/servers', `{"headers":{"Authorization":"${canary('a broken body')}"`)
}, 120_000)

test('they reach the upstream, and are seen when it says them', async () => {
  await online(alice, ['remote', 'query'])
  await online(admin, ['stdio', 'filed'])
  await until(async () => (await statusOf(admin, 'crying')).reason !== undefined, {
    what: 'the crying one to be offline',
  })
  const result = await admin.ok('POST', '/api/servers/stdio/tools/env/call', { arguments: { name: 'API_KEY' } })
  expect(result.result.content[0].text).toBe(canaries.get('an env'))
})

test('each place of a secret is read back as a mask', async () => {
  const remote = (await ask(alice, 'GET', '/api/servers/remote')).json
  const last4 = (what: string) => `••••${canaries.get(what).slice(-4)}`
  expect(remote.headers).toEqual({ Authorization: last4('a header'), 'X-Mine': last4('a listed header') })
  expect(remote.variables).toEqual({ API_KEY: last4('a variable') })
  expect((await ask(alice, 'GET', '/api/servers/query')).json.url).toBe(last4('a query'))
  expect((await ask(admin, 'GET', '/api/servers/stdio')).json.args.at(-1)).toBe(last4('a listed argument'))
  expect((await ask(admin, 'GET', '/api/servers/alice~remote')).json.headers).toEqual(remote.headers)
  expect((await ask(alice, 'GET', '/api/settings')).json.hostedKeys.modelscope).toMatchObject({ set: true })
})

describe('none comes out', () => {
  test('of any route, for anybody', async () => {
    const { paths } = (await ask(admin, 'GET', '/api/openapi.json')).json
    const gets = Object.entries(paths as Record<string, object>).flatMap(([path, item]) =>
      'get' in item ? [path] : [],
    )
    for (const who of [admin, alice]) {
      for (const path of gets.filter(each => each !== '/api/stream')) {
        const refs = path.includes('{ref}') && path.startsWith('/api/servers')
        const names = refs
          ? ['admin~stdio', 'admin~crying', 'admin~filed', 'alice~remote', 'alice~query', 'alice~dead']
          : ['alice']
        for (const name of names) await ask(who, 'GET', path.replace(/\{\w+\}/g, name))
      }
      await ask(who, 'GET', '/api/servers?scope=all')
    }
    for (const verb of ['refresh', 'restart']) await ask(admin, 'POST', `/api/servers/stdio/${verb}`)
    expectNoCanary(seen)
  }, 120_000)

  test('of the log and the live stream', async () => {
    for (const stream of streams) await stream.next(({ event }) => event === 'connection.state')
    expect(streams[0]?.text()).toContain('log.record')
    expectNoCanary([{ where: 'the log', text: hub.log() }])
    expectNoCanary(streams.map((stream, at) => ({ where: `stream ${at}`, text: stream.text() })))
  })

  test('in any file of the hub but the settings file that held one before', async () => {
    expectNoCanary(await filesBelow(hub.folder))
  })

  test('of MCP', async () => {
    const client = await admin.mcp('/mcp/stdio')
    const failure = await failureOf(client.callTool({ name: 'unknown', arguments: {} }))
    const said = JSON.stringify([await client.listTools(), client.getInstructions(), failure])
    expectNoCanary([{ where: 'lists and a refusal', text: said }])
  })

  test('of the command line', async () => {
    const { dataDir: DATA_DIR, settingsFile: SETTINGS_FILE } = hub
    const env = { ...BUN_CACHE, PATH: process.env.PATH ?? '', DATA_DIR, SETTINGS_FILE, ...SETTINGS_ENV }
    const child = Bun.spawn([process.execPath, HUB_MAIN, 'servers', 'show', 'stdio', '--json'], {
      ...{ env, cwd: hub.folder, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
    })
    const [text, problems] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    expect([text, problems]).toEqual([expect.stringContaining('"stdio"'), ''])
    expectNoCanary([{ where: 'servers show', text }])
  })

  test('in the environment or command line of the children that it is not for', async () => {
    const { items } = (await ask(admin, 'GET', '/api/admin/processes')).json
    const child = items.find((item: { server: string }) => item.server === 'admin~filed')
    const text =
      (await readFile(`/proc/${child.pid}/environ`, 'latin1')) +
      (await readFile(`/proc/${child.pid}/cmdline`, 'latin1'))
    expect(text).toContain(canaries.get('an edit of a file entry'))
    expectNoCanary([{ where: 'a child', text }], ['an edit of a file entry'])
  })
})

describe('a mask sent back', () => {
  test('keeps the secret of that field, in a patch and in the whole body', async () => {
    const whole = (await ask(alice, 'GET', '/api/servers/remote')).json
    expect((await ask(alice, 'PUT', '/api/servers/remote', { ...whole, description: 'put back' })).status).toBe(200)
    await online(alice, ['remote'])
    const called = await alice.ok('POST', '/api/servers/remote/tools/whoami/call', {})
    expect(JSON.stringify(called)).toContain(canaries.get('a header'))
  })

  test('opens nothing in another field or another server → secret_mask', async () => {
    const { headers } = (await ask(alice, 'GET', '/api/servers/remote')).json
    const moved = await ask(alice, 'PATCH', '/api/servers/remote', { headers: { 'X-Other': headers.Authorization } })
    expect(moved.json.errors).toMatchObject([{ code: 'secret_mask', pointer: '#/headers/X-Other' }])
    const copied = await ask(alice, 'POST', '/api/servers', { name: 'copy', url: upstream.url, headers })
    expect(copied.json.errors.map((error: { code: string }) => error.code)).toEqual(['secret_mask', 'secret_mask'])
  })

  test('by an administrator does not go with the server to another origin → secret_required', async () => {
    const moved = await ask(admin, 'PATCH', '/api/servers/alice~remote', { url: 'https://elsewhere.example/mcp' })
    expect(moved.json.errors.map((error: { code: string }) => error.code)).toEqual(Array(3).fill('secret_required'))
    const given = await ask(admin, 'PATCH', '/api/servers/alice~remote', { owner: 'admin' })
    expect(given.json.errors.map((error: { code: string }) => error.code)).toEqual(Array(3).fill('secret_required'))
  })

  test('by an administrator, is refused in every way of moving a server: patch, whole body, file entry, renamed header', async () => {
    const whole = (await ask(admin, 'GET', '/api/servers/alice~remote')).json
    const away = { ...whole, url: 'https://elsewhere.example/mcp' }
    const codes = (answer: { json: { errors?: { code: string; pointer: string }[] } }) =>
      answer.json.errors?.map(({ code, pointer }) => `${code} ${pointer}`)
    const all = ['/headers/Authorization', '/headers/X-Mine', '/variables/API_KEY'].map(at => `secret_required #${at}`)
    expect(codes(await ask(admin, 'PUT', '/api/servers/alice~remote', away))).toEqual(all)
    const nested = { config: { url: 'https://elsewhere.example/mcp' } }
    expect(codes(await ask(admin, 'PATCH', '/api/servers/alice~remote', nested))).toHaveLength(3)
    const port = { url: upstream.url.replace(/:\d+/, ':9') }
    expect(codes(await ask(admin, 'PATCH', '/api/servers/alice~remote', port))).toEqual(all)
    const renamed = { headers: { Authorization: null, 'X-Renamed': whole.headers.Authorization } }
    expect(codes(await ask(admin, 'PATCH', '/api/servers/alice~remote', renamed))).toEqual([
      'secret_mask #/headers/X-Renamed',
    ])
    // An import never replaces an existing server.
    const entry = { url: 'https://elsewhere.example/mcp', owner: 'alice', headers: whole.headers }
    const imported = await ask(admin, 'POST', '/api/servers/import', { mcpServers: { remote: entry } })
    expect(imported.json.entries).toMatchObject([{ name: 'remote', verdict: expect.stringMatching(/exists|invalid/) }])
    // Only the owner, who knows the secret, may move it; a sealed text in place of a mask is only a text.
    expect((await ask(admin, 'GET', '/api/servers/alice~remote')).json.url).toBe(upstream.url)
  })

  test('an entry of the settings file keeps its secret by the mask, and gives it to no other key, command or server', async () => {
    const { env } = (await ask(admin, 'GET', '/api/servers/filed')).json
    const bob = await hub.user('bob', 'admin')
    const moved = await ask(bob, 'PATCH', '/api/servers/admin~filed', { command: 'env' })
    expect(moved.json.errors).toMatchObject([{ code: 'secret_required', pointer: '#/env/FILED_TOKEN' }])
    const renamed = await ask(admin, 'PATCH', '/api/servers/filed', {
      env: { FILED_TOKEN: null, OTHER: env.FILED_TOKEN },
    })
    expect(renamed.json.errors).toMatchObject([{ code: 'secret_mask', pointer: '#/env/OTHER' }])
    // The sealed text of the file does not open in another field.
    const text = await readFile(hub.settingsFile, 'utf8')
    const sealed = /enc:v1:[^"]+/.exec(text)?.[0] ?? ''
    const copied = JSON.parse(text) as { mcpServers: Record<string, { env: Record<string, string> }> }
    copied.mcpServers.thief = { ...stdioFixture('echo'), env: { FILED_TOKEN: sealed } } as never
    await writeFile(hub.settingsFile, JSON.stringify(copied), { mode: 0o600 })
    const reason = async () => (await statusOf(admin, 'thief').catch(() => undefined))?.reason
    expect((await until(reason, { what: 'the reason of the thief' })).code).toBe('config_invalid')
    await online(admin, ['filed'])
    expect(await readFile(hub.settingsFile, 'utf8')).toContain(sealed)
  })
})

beyondCore(() => {
  test('a hub that cannot reach its database does not say the password', async () => {
    const password = canary('DATABASE_URL')
    const failed = await startHub({ env: { DATABASE_URL: `postgres://me:${password}@127.0.0.1:9/db` } }).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(failed).toBeInstanceOf(HubDidNotStart)
    expectNoCanary([{ where: 'last words', text: (failed as HubDidNotStart).log }])
  }, 120_000)
})
