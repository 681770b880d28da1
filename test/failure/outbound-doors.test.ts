/**
 * Every way in which an ordinary user, or a server that he entered, can name an address, with every spelling of a forbidden
 * one: no connection is made. A trap on both families of loopback counts them; `guide` is at the one address that is open.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { FORBIDDEN } from '../support/address-spellings.ts'
import { connectionsTo } from '../support/connections-to.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, PASSWORD, ROOT, startHub } from '../support/hub.ts'
import { type NameServer, startNameServer } from '../support/name-server.ts'
import { atMost } from '../support/pace.ts'
import { startProgram } from '../support/program.ts'
import { online, statusOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { timed, until } from '../support/wait.ts'
import { SPELLED, SPELLED_AT_LEAST } from './fixtures/spelled.ts'

const OPEN = '127.0.0.2'
const CANARY = 'canary-of-a-forbidden-place'
const USERS = ['u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7', 'u8'].slice(0, extent(3, 8))
/** Spellings that are names, which the name server of the test does not change. */
const isName = (host: string): boolean => !/^(?:\[.*\]|[\d.]+)$/.test(new URL(`http://${host}/`).hostname)
const LITERALS = SPELLED.filter(host => !isName(host))

let connections = 0
let reached: string[] = []
let traps: Server[] = []
let port = 0
let guide: ReturnType<typeof Bun.serve>
let names: NameServer
let folder = ''
let hub: Hub
let admin: Client
let users: readonly Client[]
/** Addresses of the names in this test, changed by the tests. */
const zone = new Map<string, readonly string[] | (() => readonly string[])>()

beforeAll(async () => {
  await listenOnBoth()
  guide = Bun.serve({ hostname: OPEN, port: 0, fetch: request => lead(request) })
  folder = await makeTemp('names')
  names = await startNameServer(folder, name => {
    if (name.startsWith('silent-')) return 'silence'
    const found = zone.get(name)
    return typeof found === 'function' ? found() : found
  })
  hub = await startHub({
    wrap: names.wrap,
    env: { OUTBOUND_ALLOW: OPEN },
    settings: {
      users: { u0: { password: await Bun.password.hash(PASSWORD, { algorithm: 'bcrypt', cost: 4 }) } },
      mcpServers: Object.fromEntries(SPELLED.map((host, n) => [`u0::file-${n}`, { url: at(host) }])),
    },
  })
  admin = await hub.setup()
  // Sign-in is slower than everything else, and is not what this is about.
  users = []
  for (const name of USERS) users = [...users, await hub.user(name)]
  for (const user of users) user.patient = true
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await names?.[Symbol.asyncDispose]()
  await guide?.stop(true)
  for (const trap of traps) trap.close()
  await removeTemp(folder)
}, 120_000)

afterEach(async () => {
  expect(connections).toBe(0)
  expect((await admin.request('GET', '/health')).status).toBe(200)
  expect(hub.log()).not.toContain(CANARY)
})

/** The same free port on both loopbacks, each connection to which is a failure. */
async function listenOnBoth(): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const four = await listen('127.0.0.1', 0)
    const { port: taken } = four.address() as { port: number }
    const six = await listen('::1', taken).catch(() => undefined)
    traps = six ? [four, six] : [four]
    port = taken
    if (six) return
    four.close()
  }
  throw new Error('No port is free on both loopbacks')
}

function listen(host: string, wanted: number): Promise<Server> {
  const server = createServer(socket => {
    connections += 1
    socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${CANARY.length}\r\n\r\n${CANARY}`)
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(wanted, host, () => resolve(server))
  })
}

function at(host: string, path = '/mcp'): string {
  return `http://${host}:${port}${path}`
}

function guided(path: string): string {
  return `http://${OPEN}:${guide.port}${path}`
}

/** Answers of the guide: the first part of the path selects how it leads to a forbidden address, the second which spelling. */
function lead(request: Request): Response {
  const { pathname } = new URL(request.url)
  const [, way = '', index = '0'] = pathname.split('/')
  reached.push(pathname)
  const target = at(FORBIDDEN[Number(index)] ?? '')
  const json = (value: unknown) => Response.json(value)
  const redirect = (to: string, status = 307) => {
    // A header holds no other letters.
    const location = /^[!-~]*$/.test(to) ? to : new URL(to).href
    return new Response(CANARY, { status, headers: { location } })
  }
  if (way === 'redirect') return redirect(target)
  if (way === 'hops') return redirect(guided(`/second/${index}`), 302)
  if (way === 'second') return redirect(target, 302)
  if (way === 'sse') return events(`event: endpoint\ndata: ${target}\n\n`)
  if (way === 'discovery') return json({ token_endpoint: target })
  if (way === 'api') return json({ it: 'is open' })
  if (way === 'servers') return json(api({ servers: [{ url: target }] }))
  if (way === 'ref') return json(api({ servers: [{ url: guided('/api') }], ref: target }))
  return new Response(null, { status: 404 })
}

function events(text: string): Response {
  return new Response(new ReadableStream({ start: controller => controller.enqueue(new TextEncoder().encode(text)) }), {
    headers: { 'content-type': 'text/event-stream' },
  })
}

function api({ servers, ref, scheme }: { servers: readonly object[]; ref?: string; scheme?: object }): object {
  const parameter = ref === undefined ? { name: 'q', in: 'query', schema: { type: 'string' } } : { $ref: ref }
  return {
    ...{ openapi: '3.1.0', info: { title: 'x', version: '1' }, servers },
    paths: { '/x': { get: { operationId: 'x', parameters: [parameter], responses: {} } } },
    ...(scheme ? { components: { securitySchemes: { s: scheme } }, security: [{ s: [] }] } : {}),
  }
}

/** Does the same with every spelling, each user a share of them, since requests are counted for each. */
async function withEach<T>(hosts: readonly string[], work: (client: Client, host: string, n: number) => Promise<T>) {
  const queue = hosts.map((host, index) => ({ host, index: FORBIDDEN.indexOf(host), n: index }))
  const outcomes: { host: string; outcome: T }[] = []
  await Promise.all(
    users.map(async client => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        outcomes.push({ host: next.host, outcome: await work(client, next.host, next.index) })
      }
    }),
  )
  return outcomes
}

/** The first spellings with another result; every test wants an empty list. */
function others<T>(outcomes: readonly { host: string; outcome: T }[], wanted: T): string[] {
  const right = JSON.stringify(wanted)
  const wrong = outcomes.filter(one => JSON.stringify(one.outcome) !== right)
  return wrong.slice(0, 3).map(one => `${one.host} ${JSON.stringify(one.outcome)}`)
}

async function refusal(client: Client, method: string, path: string, body: object): Promise<[number, string]> {
  const answer = await client.request(method, path, body)
  return [answer.status, answer.json.code ?? answer.json.error?.code]
}

const tried = (client: Client, body: object) => refusal(client, 'POST', '/api/servers/test', { name: 'tried', ...body })

test('the list is long enough to mean something', () => {
  expect(FORBIDDEN.length).toBeGreaterThanOrEqual(60)
  expect(SPELLED.length).toBeGreaterThanOrEqual(SPELLED_AT_LEAST)
})

const BLOCKED: [number, string] = [403, 'url_address_blocked']
/** The suite tries a third of the spellings at most doors, all of them at the first. */
const FEW = SPELLED.filter((_, n) => extent(n % 3 === 0, true))
/** Every field of a configuration that holds an address. */
const FIELDS: Readonly<Record<string, (url: string) => object>> = {
  url: url => ({ url }),
  'url of SSE': url => ({ url, type: 'sse' }),
  'openapi.url': url => ({ openapi: { url } }),
  'openapi.baseUrl': url => ({ openapi: { url: guided('/servers/0'), baseUrl: url } }),
  'servers of an inline document': url => ({ openapi: { schema: api({ servers: [{ url }] }) } }),
  'openapi.auth.tokenUrl': url => ({
    openapi: { url: guided('/api'), auth: { type: 'oauth2', clientId: 'a', clientSecret: 'b', tokenUrl: url } },
  }),
  'openapi.auth.openIdConnectUrl': url => ({
    openapi: {
      url: guided('/api'),
      auth: { type: 'openIdConnect', clientId: 'a', clientSecret: 'b', openIdConnectUrl: url },
    },
  }),
}

for (const [field, body] of Object.entries(FIELDS)) {
  test(`${field}: refused at create, and at test`, async () => {
    const spelled = field === 'url' ? SPELLED : FEW
    const created = await withEach(spelled, (client, host) =>
      refusal(client, 'POST', '/api/servers', { name: 'made', ...body(at(host)) }),
    )
    expect(others(created, BLOCKED)).toEqual([])
    const outcomes = await withEach(spelled, (client, host) => tried(client, body(at(host))))
    expect(others(outcomes, BLOCKED)).toEqual([])
  }, 120_000)
}

test('an edit and a replacement of a server that was fine, a batch and an import are refused alike', async () => {
  for (const client of users)
    await client.request('POST', '/api/servers', { name: 'fine', url: guided('/api'), enabled: false })
  const outcomes = await withEach(SPELLED, async (client, host) => [
    await refusal(client, 'PATCH', '/api/servers/fine', { url: at(host), enabled: true }),
    await refusal(client, 'PUT', '/api/servers/fine', { name: 'fine', url: at(host) }),
  ])
  expect(others(outcomes, [BLOCKED, BLOCKED])).toEqual([])
  const [first] = users
  const mcpServers = Object.fromEntries(FORBIDDEN.map((host, n) => [`imported-${n}`, { url: at(host) }]))
  const servers = Object.entries(mcpServers).map(([name, body]) => ({ name, ...body }))
  const { results } = (await first!.request('POST', '/api/servers/batch', { servers })).json
  expect([...new Set(results.map((one: { error?: { code: string } }) => one.error?.code))]).toEqual([
    'url_address_blocked',
  ])
  const { entries } = (await first!.request('POST', '/api/servers/import', { document: { mcpServers } })).json
  expect(entries.map((entry: { error?: { code: string } }) => entry.error?.code)).toEqual(
    FORBIDDEN.map(() => 'url_address_blocked'),
  )
}, 120_000)

test('entries of the settings file that belong to an ordinary user are offline for that reason', async () => {
  const { items } = await admin.ok('GET', '/api/servers?scope=all&limit=500')
  const mine = items.filter(({ name }: { name: string }) => name.startsWith('file-'))
  expect(mine.length).toBe(SPELLED.length)
  for (const { name } of mine) {
    const code = await until(async () => (await statusOf(admin, `u0~${name}`)).reason?.code)
    expect([name, code]).toEqual([name, 'url_address_blocked'])
  }
}, 120_000)

test('a name that leads there, alone or beside an open address, is refused at each connection', async () => {
  for (const [n, host] of LITERALS.entries()) {
    const address = new URL(`http://${host}/`).hostname.replace(/^\[|\]$/g, '')
    zone.set(`alone-${n}.example`, [address])
    zone.set(`beside-${n}.example`, [OPEN, address])
  }
  for (const kind of ['alone', 'beside']) {
    const outcomes = await withEach(LITERALS, (client, host) =>
      tried(client, { url: at(`${kind}-${LITERALS.indexOf(host)}.example`) }),
    )
    expect(others(outcomes, [200, 'url_address_blocked'])).toEqual([])
  }
  expect(names.asked).toContain('alone-0.example')
}, 120_000)

/** Answers of a server at an open address that lead the hub elsewhere. */
const ASTRAY: Readonly<Record<string, readonly [body: (n: number) => object, code: string]>> = {
  'a redirect of a streamable HTTP server': [
    n => ({ url: guided(`/redirect/${n}`), type: 'http' }),
    'redirect_blocked',
  ],
  'a redirect of an SSE server': [n => ({ url: guided(`/redirect/${n}`), type: 'sse' }), 'redirect_blocked'],
  'the "endpoint" of an SSE server': [n => ({ url: guided(`/sse/${n}`), type: 'sse' }), 'upstream_http_error'],
  'a redirect of an OpenAPI document': [n => ({ openapi: { url: guided(`/redirect/${n}`) } }), 'redirect_blocked'],
  'the second redirect of an OpenAPI document': [n => ({ openapi: { url: guided(`/hops/${n}`) } }), 'redirect_blocked'],
  'a $ref of an OpenAPI document': [n => ({ openapi: { url: guided(`/ref/${n}`) } }), 'openapi_external_ref'],
}

for (const [what, [body, code]] of Object.entries(ASTRAY)) {
  test(`${what} is not followed`, async () => {
    reached = []
    const outcomes = await withEach(FEW, (client, _host, n) => tried(client, body(n)))
    expect(others(outcomes, [200, code])).toEqual([])
    // The guide was asked, so that something was there to be followed.
    expect(new Set(reached).size).toBeGreaterThanOrEqual(FEW.length)
  }, 120_000)
}

/** Other addresses in such documents are open, so that the server is online. */
const openApi = () => ({ servers: [{ url: guided('/') }] })
/** Ways in which a document that was read sets the address of calls, and of the secrets for them. */
const CALLED: Readonly<Record<string, (n: number, url: string) => object>> = {
  'its servers': n => ({ url: guided(`/servers/${n}`) }),
  'the token address of its OAuth flow': (_n, tokenUrl) => ({
    schema: api({ ...openApi(), scheme: { type: 'oauth2', flows: { clientCredentials: { tokenUrl, scopes: {} } } } }),
  }),
  'its OpenID discovery': (_n, openIdConnectUrl) => ({
    schema: api({ ...openApi(), scheme: { type: 'openIdConnect', openIdConnectUrl } }),
  }),
  'the token address that discovery names': n => ({
    schema: api({ ...openApi(), scheme: { type: 'openIdConnect', openIdConnectUrl: guided(`/discovery/${n}`) } }),
  }),
}

for (const [what, openapi] of Object.entries(CALLED)) {
  test(`a call of an OpenAPI document goes nowhere by ${what}`, async () => {
    const auth = { s: { clientId: 'a', clientSecret: 'b' } }
    const outcomes = await withEach(FEW, async (client, host, n) => {
      const name = `api-${n}`
      await client.request('POST', '/api/servers', { name, openapi: { ...openapi(n, at(host)), auth } })
      const answer = await client.request('POST', `/api/servers/${name}/tools/x/call`, { arguments: {} })
      await client.request('DELETE', `/api/servers/${name}`)
      return /url_address_blocked|not reach/.test(answer.text) || answer.text
    })
    expect(others(outcomes, true)).toEqual([])
  }, 120_000)
}

test('a name that is another address at each question: never one that was not checked', async () => {
  let asked = 0
  zone.set('rebind.example', () => [asked++ % 3 === 0 ? '127.0.0.1' : OPEN])
  const [client] = users
  const outcomes: string[] = []
  for (let round = 0; round < extent(12, 40); round += 1) {
    outcomes.push((await tried(client!, { url: at('rebind.example'), type: 'http' }))[1])
  }
  // Nobody is at the open address and this port.
  expect([...new Set(outcomes)].sort()).toEqual(['connection_lost', 'url_address_blocked'])
}, 120_000)

test('a server that moves to a forbidden address is cut off there: the next connection is checked again', async () => {
  zone.set('moving.example', [OPEN])
  const [client] = users
  const moving = { url: `http://moving.example:${guide.port}/api` }
  expect((await tried(client!, moving))[1]).not.toBe('url_address_blocked')
  zone.set('moving.example', ['127.0.0.1'])
  expect((await tried(client!, { url: at('moving.example') }))[1]).toBe('url_address_blocked')
})

test('a server that passes from an administrator to a user loses the private address, and the connections to it', async () => {
  const inside = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  try {
    const { port: behind } = new URL(inside.url)
    zone.set('private.example', ['127.0.0.1'])
    await admin.ok('POST', '/api/servers', { name: 'given', url: `http://private.example:${behind}/mcp` })
    await online(admin, ['given'])
    const call = { arguments: { text: 'x' } }
    expect((await admin.request('POST', '/api/servers/given/tools/echo/call', call)).status).toBe(200)
    expect(connectionsTo(Number(behind))).toBeGreaterThan(0)
    // A URL that contains a private address is refused at once.
    await admin.ok('POST', '/api/servers', { name: 'literal', url: inside.url, enabled: false })
    expect(await refusal(admin, 'PATCH', '/api/servers/literal', { owner: 'u1' })).toEqual(BLOCKED)
    await admin.ok('PATCH', '/api/servers/given', { owner: 'u1' })
    await until(async () => (await statusOf(admin, 'u1~given')).reason?.code === 'url_address_blocked')
    await until(() => connectionsTo(Number(behind)) === 0, { what: 'the connections to be closed' })
    const refused = await users[0]!.request('POST', '/api/servers/given/tools/echo/call', call)
    expect(refused.json.code).toBe('server_offline')
  } finally {
    await inside.stop()
  }
}, 120_000)

test('neither the answer nor its time reveals what is behind a forbidden address', async () => {
  const [client] = users
  const closed = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const shut = closed.port
  closed.stop(true)
  const ask = async (url: string): Promise<{ text: string; ms: number }> => {
    const { value, ms } = await timed(() => client!.request('POST', '/api/servers/test', { name: 'x', url }))
    return { text: value.text.replace(/"requestId":"[^"]*"/, '').replaceAll(/:\d+\//g, ':0/'), ms }
  }
  zone.set('inside.example', ['127.0.0.1'])
  for (const host of ['127.0.0.1', 'inside.example']) {
    const times: Record<string, number[]> = { open: [], shut: [] }
    const texts = new Set<string>()
    for (let round = 0; round < extent(4, 8); round += 1) {
      const open = await ask(`http://${host}:${port}/`)
      const other = await ask(`http://${host}:${shut}/`)
      for (const { text } of [open, other])
        texts.add(text.replaceAll(/"durationMs":\d+/g, '').replaceAll(/:\d{4,5}\b/g, ''))
      times.open?.push(open.ms)
      times.shut?.push(other.ms)
    }
    const best = (values: number[] | undefined): number => Math.min(...(values ?? []))
    expect(texts.size).toBe(1)
    expect(Math.abs(best(times.open) - best(times.shut))).toBeLessThan(atMost(100))
  }
})

test('metadata and link-local addresses are closed to administrators too, loopback is not', async () => {
  const boss = await hub.user('boss', 'admin')
  zone.set('meta.example', ['169.254.169.254'])
  const hosts = [
    '169.254.169.254',
    '2852039166',
    '[fe80::1]',
    'metadata.google.internal',
    '[fd00:ec2::254]',
    '100.100.100.200',
  ]
  for (const host of hosts) expect([host, ...(await tried(boss, { url: at(host) }))]).toEqual([host, ...BLOCKED])
  expect((await tried(boss, { url: at('meta.example') }))[1]).toBe('url_address_blocked')
  for (const way of ['redirect', 'hops']) {
    const n = FORBIDDEN.indexOf('169.254.169.254')
    expect((await tried(boss, { openapi: { url: guided(`/${way}/${n}`) } }))[1]).toBe('redirect_blocked')
  }
})

beyondCore(() => {
  test('names that nobody answers for keep nobody else’s waiting', async () => {
    const [other, ...slow] = users
    zone.set('quick.example', [OPEN])
    const silent = Array.from({ length: 105 }, (_, n) => ({ name: `silent-${n}`, url: at(`silent-${n}.example`) }))
    await Promise.all(
      slow.map((user, n) => {
        const servers = silent.filter((_, index) => index % slow.length === n)
        return user.ok('POST', '/api/servers/batch', { servers })
      }),
    )
    const { ms } = await timed(() => tried(other!, { url: at('quick.example') }))
    expect(names.asked).toContain('quick.example')
    expect(ms).toBeLessThan(atMost(2_500))
  }, 120_000)
})
