import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Canaries, filesBelow, type Said } from '../support/canaries.ts'
import { BUN_CACHE, Client, type Hub, LOOPBACK, ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { type LiveStream, openStream } from '../support/live-stream.ts'
import { descendants } from '../support/processes.ts'
import { type Program, startProgram } from '../support/program.ts'
import { failureOf, online, statusOf } from '../support/servers.ts'
import { makeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { patient } from './rows.ts'

/** Characters that base64, percent-encoding, forms and JSON write each in their own way. */
const ODD = '/+"é\\%! '
const canaries = new Canaries()
const secretEnv = {
  JWT_SECRET: canaries.make('JWT_SECRET'),
  MASTER_KEY: Buffer.from(canaries.make('MASTER_KEY').slice(7, 39)).toString('base64'),
  METRICS_TOKEN: canaries.make('METRICS_TOKEN'),
  ASSISTANT_API_KEY: canaries.make('ASSISTANT_API_KEY'),
  SEARCH_ENGINE_URL: `http://search:${canaries.make('SEARCH_ENGINE_URL')}@127.0.0.1:9/`,
  ADMIN_USERNAME: 'admin',
  ADMIN_PASSWORD: canaries.make('ADMIN_PASSWORD'),
}
const REFUSING = ['body', 'redirect', 'challenge', 'garbage', 'rpc']

/** All that was answered to anybody. */
const seen: Said[] = []
let upstream: Program
let hub: Hub
let admin: Client
let alice: Client
let streams: LiveStream[]
let socket: WebSocket
const heard: string[] = []

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/leaking-http.ts'))
  const folder = await makeTemp('canaries')
  hub = await startHub({
    folder,
    env: {
      ...LOOPBACK,
      ...secretEnv,
      LOG_LEVEL: 'trace',
      LOG_FILE: join(folder, 'hub.log'),
      LOG_FORMAT: 'pretty',
      ENABLE_REQUEST_LOGS: 'true',
    },
    settings: {
      mcpServers: { filed: { ...stdioFixture('leaking'), env: { FILED_KEY: 'first' }, visibility: 'public' } },
    },
  })
  admin = await hub.signIn('admin', secretEnv.ADMIN_PASSWORD)
  await admin.ok('POST', '/api/admin/users', { username: 'alice', password: canaries.make('a password') })
  alice = await hub.signIn('alice', canaries.get('a password'))
  streams = await Promise.all([admin, alice].map(who => openStream(who, '?topics=servers,logs,calls')))
  const headers = { authorization: `Bearer ${admin.token}` }
  socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/stream?topics=servers,logs,calls`, { headers } as never)
  socket.addEventListener('message', event => heard.push(String(event.data)))
}, 120_000)

afterAll(async () => {
  socket?.close()
  for (const stream of streams ?? []) await stream.close()
  await hub?.stop()
  await upstream?.stop()
}, 120_000)

async function ask(who: Client, method: string, path: string, body?: unknown) {
  const answer = await patient(() => who.request(method, path, body))
  const text = answer.text + JSON.stringify([...answer.headers])
  seen.push({ where: `${who.name}: ${method} ${path} → ${answer.status}`, text })
  return answer
}

async function made(who: Client, body: object): Promise<void> {
  expect([body, (await ask(who, 'POST', '/api/servers', body)).status]).toEqual([body, 201])
}

test('canaries go into every field that holds a secret, of servers that repeat them wherever they can', async () => {
  const odd = (what: string) => canaries.make(what, ODD)
  const edited = await ask(admin, 'PATCH', '/api/servers/filed', { env: { FILED_KEY: odd('env of a file entry') } })
  expect(edited.status).toBe(200)
  const leaking = stdioFixture('leaking', { API_KEY: odd('env') }) as { args: string[] }
  await made(admin, { name: 'leaking', visibility: 'public', ...leaking })
  const byVariable = {
    ...leaking,
    args: [...leaking.args, '--key=$' + '{A_KEY}', canaries.make('an argument')],
    env: {},
  }
  await made(admin, {
    ...{ name: 'argued', ...byVariable, variables: { A_KEY: odd('a variable in an argument') } },
    secrets: ['/variables/A_KEY', `/args/${byVariable.args.length - 1}`],
  })
  await made(admin, {
    name: 'dying',
    timeout: 2_000,
    ...stdioFixture('leaking', { DYING_KEY: odd('env of one that dies') }),
  })
  for (const how of REFUSING) {
    const pair = Buffer.from(`me:${canaries.make(`basic of ${how}`)}`).toString('base64')
    const url = `${upstream.url}/${how}/mcp?key=${encodeURIComponent(odd(`query of ${how}`))}&v=${'$'}{A_KEY}`
    const headers = { Authorization: `Basic ${pair}`, 'X-Api-Key': canaries.make(`header of ${how}`, '/+"=') }
    const variables = { A_KEY: canaries.make(`variable of ${how}`) }
    await made(alice, {
      name: how,
      url,
      headers,
      variables,
      secrets: ['/url', '/headers/Authorization', '/headers/X-Api-Key', '/variables/A_KEY'],
    })
  }
  const ascii = (what: string) => canaries.make(what, ODD.replace('é', 'e'))
  const schema = {
    ...{ openapi: '3.0.3', info: { title: 't', version: '1' }, servers: [{ url: `${upstream.url}/body` }] },
    paths: { '/x': { get: { operationId: 'x', responses: { 200: { description: 'ok' } } } } },
  }
  const auths = {
    bearer: { type: 'http', scheme: 'bearer', value: ascii('openapi bearer') },
    basic: { type: 'http', scheme: 'basic', username: 'me', password: ascii('openapi basic') },
    query: { type: 'apiKey', in: 'query', name: 'k', value: ascii('openapi query') },
    header: { type: 'apiKey', in: 'header', name: 'x-k', value: canaries.make('openapi header') },
    cookie: { type: 'apiKey', in: 'cookie', name: 'k', value: canaries.make('openapi cookie') },
    oauth: {
      ...{ type: 'oauth2', tokenUrl: `${upstream.url}/body/token`, clientId: 'me' },
      clientSecret: ascii('openapi client secret'),
    },
  }
  for (const [name, auth] of Object.entries(auths)) {
    const answer = await ask(alice, 'POST', '/api/servers', { name: `api-${name}`, openapi: { schema, auth } })
    expect([name, answer.status, answer.text.slice(0, 300)]).toEqual([name, 201, expect.anything()])
  }
  await made(alice, {
    name: 'tls',
    url: `${upstream.url.replace('http:', 'https:')}/x?k=${canaries.make('tls query')}`,
    secrets: ['/url'],
  })
  const hosted = { hostedKeys: { modelscope: canaries.make('a hosted key') } }
  expect((await ask(alice, 'PATCH', '/api/settings', hosted)).status).toBe(200)
  await ask(alice, 'POST', '/api/servers/test', {
    name: 't',
    url: `${upstream.url}/body`,
    headers: { Cookie: canaries.make('a trial') },
  })
}, 120_000)

test('they are used and made to leak', async () => {
  await online(admin, ['leaking', 'filed', 'argued', 'dying'])
  const leaked = await admin.ok('POST', '/api/servers/argued/tools/leak/call', {})
  for (const what of ['a variable in an argument', 'an argument']) {
    expect(leaked.result.content[0].text).toContain(canaries.get(what))
  }
  // Answers of a server belong to its owner and are passed on unchanged: see docs/security.md.
  await admin.ok('POST', '/api/servers/leaking/tools/shout/call', {})
  for (const tool of ['garble', 'die']) await ask(admin, 'POST', `/api/servers/dying/tools/${tool}/call`, {})
  for (const name of [...REFUSING, 'tls']) {
    await until(async () => (await statusOf(alice, name)).reason !== undefined, { what: `the reason of ${name}` })
  }
  const { items } = (await ask(alice, 'GET', '/api/servers')).json
  for (const { name, ref = name } of items)
    if (String(name).startsWith('api-')) await ask(alice, 'GET', `/api/servers/${ref}/tools`)
}, 120_000)

describe('no canary comes out', () => {
  const everybody = () => [admin, alice, new Client(hub.url, 'nobody', '')]

  test('of any route, for administrator, owner and nobody, right and wrong', async () => {
    const { paths } = (await ask(admin, 'GET', '/api/openapi.json')).json as { paths: Record<string, object> }
    const things = [
      'leaking',
      'admin~leaking',
      'argued',
      'dying',
      'filed',
      'api-oauth',
      ...REFUSING,
      'alice~body',
      'missing',
    ]
    for (const who of everybody()) {
      for (const [path, item] of Object.entries(paths)) {
        if (!('get' in item) || path === '/api/stream') continue
        const refs = !path.startsWith('/api/servers/{ref}') ? ['alice'] : who.name === 'nobody' ? ['leaking'] : things
        for (const ref of refs) await ask(who, 'GET', path.replace('{tool}', 'leak').replace(/\{\w+\}/g, ref))
      }
      for (const path of ['/health', '/metrics', '/api/none', '/api/servers?scope=all', '/api/servers?search=canary']) {
        await ask(who, 'GET', path)
      }
      await ask(who, 'POST', '/api/servers', { name: 'leaking', url: 'nonsense' })
      await ask(who, 'PUT', '/api/servers/leaking', { name: 5 })
      await ask(who, 'POST', '/api/auth/login', { username: 'admin', password: 'not that one' })
    }
    expect(seen.length).toBeGreaterThan(200)
    expect(canaries.in(seen)).toEqual([])
  }, 120_000)

  test('of MCP, but in what a server itself answers to a call', async () => {
    const client = await alice.mcp('/mcp/admin~leaking').catch(() => alice.mcp('/mcp/@admin/leaking'))
    const lists = await Promise.all([client.listTools(), client.listPrompts(), client.listResources()])
    expect(lists[0].tools.map(({ name }) => name)).toContain('leak')
    const about = [lists, client.getServerVersion(), client.getInstructions()].map(part => JSON.stringify(part))
    const failure = await failureOf(client.callTool({ name: 'unknown', arguments: {} }))
    expect(
      canaries.in([
        { where: 'lists', text: about.join() },
        { where: 'a refusal', text: JSON.stringify(failure) },
      ]),
    ).toEqual([])
    const own = JSON.stringify(await client.callTool({ name: 'leak', arguments: {} }))
    expect(canaries.in([{ where: 'own answer', text: own }])).toEqual(['env in own answer'])
  }, 120_000)

  test('of the log, of standard output and error, and of the live stream both ways', async () => {
    for (const stream of streams) await stream.next(({ event }) => event === 'connection.state')
    await until(() => heard.some(text => text.includes('log.record')), { what: 'log records on the socket' })
    expect(canaries.in([{ where: 'standard streams', text: hub.log() }])).toEqual([])
    expect(canaries.in(streams.map((stream, at) => ({ where: `stream ${at}`, text: stream.text() })))).toEqual([])
    expect(canaries.in([{ where: 'socket', text: heard.join() }])).toEqual([])
    expect(streams[0]?.text()).toContain('[redacted]')
  })

  test('in any file: settings, database with its log, log file, work folders', async () => {
    const files = await filesBelow(hub.folder)
    expect(files.map(({ where }) => where.slice(hub.folder.length + 1))).toEqual(
      expect.arrayContaining(['mcp_settings.json', 'data/patchbay.db', 'data/patchbay.db-wal', 'hub.log']),
    )
    expect(canaries.in(files)).toEqual([])
  })

  test('in the command line or environment of a child that it is not for', async () => {
    const own: Record<string, readonly string[]> = {
      leaking: ['env'],
      filed: ['env of a file entry'],
      dying: ['env of one that dies'],
      argued: ['a variable in an argument', 'an argument'],
    }
    const { items } = (await ask(admin, 'GET', '/api/admin/processes')).json
    const known = new Map<number, string>(items.map((item: { pid: number; server: string }) => [item.pid, item.server]))
    const children = descendants(hub.pid)
    expect(children.length).toBeGreaterThan(2)
    for (const { pid } of children) {
      const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
      const server = known.get(pid)?.replace('admin~', '') ?? ''
      const text = (await read('environ')) + (await read('cmdline'))
      expect(canaries.in([{ where: `child ${server}`, text }], own[server])).toEqual([])
    }
    expect(canaries.in([{ where: 'the hub', text: await readFile(`/proc/${hub.pid}/cmdline`, 'utf8') }])).toEqual([])
  })

  test('of the command line', async () => {
    const { dataDir: DATA_DIR, settingsFile: SETTINGS_FILE } = hub
    const env = { ...BUN_CACHE, PATH: process.env.PATH ?? '', DATA_DIR, SETTINGS_FILE, ...secretEnv }
    const said: Said[] = []
    const commands = [
      ['doctor'],
      ['servers', 'show', 'leaking', '--json'],
      ['secrets', 'rotate'],
      ['call', 'leaking', 'none'],
      ['serve'],
      ['import', hub.settingsFile],
      ['doctor', '--json'],
      ['servers', 'list', '--json'],
      ['servers', 'show', 'alice~body'],
      ['secrets', 'status'],
      ['user', 'list'],
      ['key', 'list'],
    ]
    for (const args of commands) {
      const child = Bun.spawn([process.execPath, HUB_MAIN, ...args], {
        env,
        cwd: hub.folder,
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      })
      const text = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text())
      expect([args, text.length > 0]).toEqual([args, true])
      said.push({ where: args.join(' '), text })
      await child.exited
    }
    expect(canaries.in(said)).toEqual([])
  }, 120_000)
})

test('the last words of a hub that dies of a fault hold no secret of a server, and no key that it made itself', async () => {
  const dying = await startHub({
    settings: {
      mcpServers: { one: stdioFixture('echo', { API_KEY: canaries.make('env of a dying hub') }) },
      plugins: [{ use: join(import.meta.dir, 'fixtures/fatal-plugin.ts'), isolate: false }],
    },
  })
  const boss = await dying.setup()
  await online(boss, ['one'])
  const made = await readFile(join(dying.dataDir, 'master.key'), 'utf8')
  const said = [made.trim(), canaries.get('env of a dying hub')].join(' ')
  await boss.request('POST', '/api/plugins/fatal/throw', { said }).catch(() => undefined)
  expect(await dying.exited()).toBe(1)
  await dying.logged('a fault with [redacted] [redacted]')
  expect(canaries.in([{ where: 'last words', text: dying.log() }])).toEqual([])
  await dying.stop({ unhandled: 1 })
}, 120_000)
