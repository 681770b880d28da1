/**
 * Two hubs that differ only in what other people keep secret there: whatever an ordinary user, a stranger or another owner
 * asks, both answer with the same bytes, but for ids, times and ports.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import fc from 'fast-check'
import { extent } from '../support/extent.ts'
import { check, fuzzTimeout } from '../support/fuzz.ts'
import { Client, type Hub, LOOPBACK, PASSWORD, ROOT, startHub } from '../support/hub.ts'
import { type LiveStream, openStream } from '../support/live-stream.ts'
import { type Program, startProgram } from '../support/program.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { patient } from './rows.ts'

/** Secrets that people chose when they started the hub. */
interface Chosen {
  readonly ADMIN_PASSWORD: string
  readonly METRICS_TOKEN: string
  readonly ASSISTANT_API_KEY: string
  readonly JWT_SECRET: string
  readonly MASTER_KEY: string
}

interface World {
  readonly hub: Hub
  readonly admin: Client
  /** A user who keeps secrets. */
  readonly olga: Client
  /** A user who guesses them. */
  readonly mallory: Client
  /** An administrator who runs commands without a sandbox, and guesses too. */
  readonly maud: Client
  readonly nobody: Client
  readonly streams: readonly LiveStream[]
}

const chosen = (): Chosen => ({
  ADMIN_PASSWORD: `chosen ${crypto.randomUUID()}`,
  METRICS_TOKEN: crypto.randomUUID(),
  ASSISTANT_API_KEY: crypto.randomUUID(),
  JWT_SECRET: `${crypto.randomUUID()}${crypto.randomUUID()}`,
  MASTER_KEY: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64'),
})
const CHOSEN = [chosen(), chosen()] as const
/** One hub shows redaction for a guesser; only two hubs show other ways in which an answer depends on a secret. */
const HUBS = extent(1, 2)
let upstream: Program
let worlds: readonly World[]
let round = 0

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/leaking-http.ts'))
  worlds = await Promise.all(CHOSEN.slice(0, HUBS).map(openWorld))
}, 120_000)

afterAll(async () => {
  for (const { hub, streams } of worlds ?? []) {
    for (const stream of streams) await stream.close()
    await hub.stop()
  }
  await upstream?.stop()
}, 120_000)

async function openWorld(env: Chosen): Promise<World> {
  const hub = await startHub({ env: { ...LOOPBACK, ...env, ADMIN_USERNAME: 'admin' } })
  const admin = await hub.signIn('admin', env.ADMIN_PASSWORD)
  const make = async (username: string, role: string) => {
    await admin.ok('POST', '/api/admin/users', { username, password: PASSWORD, role })
    return hub.signIn(username)
  }
  const people = [await make('olga', 'user'), await make('mallory', 'user'), await make('maud', 'admin')] as const
  const [olga, mallory, maud] = people
  const streams = await Promise.all([mallory, maud].map(who => openStream(who, '?topics=servers,logs,calls')))
  return { hub, admin, olga, mallory, maud, nobody: new Client(hub.url, 'nobody', ''), streams }
}

/** Every form in which a guess may be written. */
function guesses(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    secret,
    `x${secret}x`,
    bytes.toString('base64'),
    Buffer.from(`olga:${secret}`).toString('base64url'),
    bytes.toString('hex'),
    encodeURIComponent(secret),
    encodeURIComponent(encodeURIComponent(secret)),
    bytes.toString('hex').replace(/../g, '%$&'),
    JSON.stringify(secret),
  ]
}

/** Replaces all values that differ between two hubs, or two runs of one, for other reasons. */
function comparable(text: string, { hub }: World): string {
  return (
    text
      .replaceAll(hub.url, 'HUB')
      .replaceAll(hub.folder, 'FOLDER')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, id => (isGuess(id) ? id : 'ID'))
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
      .replace(/"(durationMs|pid|uptime|latencyMs|id)":[\d.]+/g, '"$1":0')
      .replace(/(\bpid )\d+/g, '$1N')
      // The state of a server that is tried again and again.
      .replace(/"state":"(connecting|offline)"/g, '"state":"down"')
      .replace(/trial-[0-9a-f]{8}/g, 'TRIAL')
      .replace(/"(last4|secret)":"[^"]*"/g, '"$1":""')
      .replace(/pba_[\w-]+/g, 'TOKEN')
      // The hash of the whole export, which contains the time at which it was made.
      .replace(/(patchbay-export.*"sha256":")[0-9a-f]{64}/s, '$1HASH')
      // A row of the servers' table: state, calls, errors and time.
      .replace(/"online":\d+,"connecting":\d+,"offline":\d+/g, '"states":"COUNTS"')
      .replace(/(\["mallory~[^"]*"),"(?:online|connecting|offline)","TIME",\d+,\d+,(?:[\d.]+|null)/g, '$1,"state"')
      // Random, whatever the secrets are.
      .replace(/(x-patchbay-instance\W+)[\w-]{20}/g, '$1MARK')
      .replace(/"requestId":"[^"]*"/g, '"requestId":""')
      .replace(/"nextAttemptAt":"[^"]*",?/g, '')
      .replace(/"(attempts|retryAfterSeconds)":\d+/g, '"$1":0')
  )
}

function isGuess(id: string): boolean {
  return CHOSEN.some(values => Object.values(values).some(value => value.includes(id)))
}

async function keepSecrets({ olga }: World, secrets: readonly string[], name: string): Promise<void> {
  const [first = '', second = '', third = ''] = secrets
  await olga.ok('POST', '/api/servers', {
    name,
    visibility: 'public',
    url: `${upstream.url}/body?k=$${'{'}A_KEY}`,
    headers: { Authorization: `Bearer ${Buffer.from(second).toString('hex')}`, 'X-Api-Key': encodeURIComponent(first) },
    variables: { A_KEY: encodeURIComponent(third), B_TOKEN: first, C_SECRET: second, D_KEY: third },
    secrets: [
      ...['/url', '/headers/Authorization', '/headers/X-Api-Key', '/variables/A_KEY', '/variables/B_TOKEN'],
      ...['/variables/C_SECRET', '/variables/D_KEY'],
    ],
  })
  await olga.ok('PATCH', '/api/settings', { hostedKeys: { modelscope: Buffer.from(second).toString('base64url') } })
  await until(async () => (await statusOf(olga, name)).reason !== undefined, { what: 'her server to be in use' })
}

const document = (texts: readonly string[]) => ({
  ...{ openapi: '3.0.3', info: { title: texts[0], version: '1', description: texts.join(' ') } },
  servers: [{ url: `${upstream.url}/body` }],
  paths: Object.fromEntries(
    texts.map((text, at) => [
      `/t${at}`,
      {
        get: {
          operationId: `t${at}`,
          description: text,
          parameters: [{ name: 'q', in: 'query', schema: { type: 'string', default: text, enum: [text, 'b'] } }],
          responses: { 200: { description: text } },
        },
      },
    ]),
  ),
})

async function listed(who: Client, name: string): Promise<void> {
  await until(async () => (await statusOf(who, name)).counts.tools > 0, { what: `the tools of ${name}` })
}

/** Asks market, moving, assistants, logs, monitoring, alerts, and tools as routes, with guesses in every text. */
async function askNewerRoutes(
  ask: (method: string, path: string, body?: unknown, has?: string) => Promise<unknown>,
  texts: readonly string[],
  name: string,
): Promise<void> {
  const all = texts.join('\n')
  const hers = `olga~${name}`
  const [first = '', second = ''] = texts
  await ask('GET', `/api/market/templates?q=${encodeURIComponent(all.slice(0, 200))}`)
  await ask('POST', '/api/market/templates/bundled:memory/install?dryRun=true', {
    name: 'm',
    inputs: { [second]: first },
  })
  const file = {
    mcpServers: { one: { url: `${upstream.url}/body`, headers: { Authorization: first }, description: all } },
  }
  await ask('POST', '/api/import?dryRun=true', { document: file, answers: { A: first } })
  await ask('POST', '/api/import?dryRun=true', { document: { mcpServers: { [hers]: { url: first } } } })
  await ask('POST', '/api/export', {})
  for (const text of [first, second, hers]) {
    await ask('GET', `/api/logs/search?server=${encodeURIComponent(hers)}&q=${encodeURIComponent(text)}`)
    await ask('POST', '/api/logs/search', { query: { server: hers, message: { contains: text } } })
    const query = `request_count{server=${JSON.stringify(text)}}`
    await ask('POST', '/api/monitoring/query', { type: 'metric', query })
    const rule = { name: `r-${name}`, severity: 'warning', condition: `${query} > 0` }
    await ask('POST', '/api/monitoring/rules', rule)
    await ask('POST', '/api/monitoring/test-alert', { rule: rule.name })
    await ask('DELETE', `/api/monitoring/rules/${rule.name}`)
  }
  await ask('GET', '/api/logs/aggregations/errors?by=server')
  const config = { url: `${upstream.url}/body`, headers: { 'X-Guess': Buffer.from(first).toString('hex') } }
  await ask('POST', '/api/monitoring/channels', { name: `c-${name}`, type: 'webhook', config, enabled: false })
  await ask('GET', `/api/monitoring/channels/c-${name}`)
  await ask('DELETE', `/api/monitoring/channels/c-${name}`)
  const widgets = [{ type: 'table', title: first.slice(0, 60), query: 'servers' }]
  await ask('POST', '/api/monitoring/dashboards', { name: `d-${name}`, widgets })
  // The table shows a reason while its server waits for the next attempt.
  await ask('GET', `/api/monitoring/dashboards/d-${name}/data`, undefined, 'answered initialize')
  await ask('DELETE', `/api/monitoring/dashboards/d-${name}`)
  await ask('POST', '/api/groups', {
    name: `g-${name}`,
    description: all.slice(0, 1_000),
    members: [`own-${name}`, hers],
  })
  await ask('POST', '/api/assistant/endpoints', { name: `a-${name}`, direction: 'inbound', group: `g-${name}` })
  await ask('GET', `/api/assistant/endpoints/a-${name}/messages`)
  await ask('DELETE', `/api/assistant/endpoints/a-${name}`)
  await ask('GET', `/api/groups/g-${name}/openapi.json`)
  await ask('POST', `/api/groups/g-${name}/tools/t0`, { q: first })
  await ask('DELETE', `/api/groups/g-${name}`)
}

/** Everything that guessers ask of one hub, and what they get. */
async function askAll(world: World, texts: readonly string[], name: string): Promise<readonly [string, string][]> {
  const { mallory, maud, nobody } = world
  const got: [string, string][] = []
  const ask = async (who: Client, method: string, path: string, body?: unknown, has = '') => {
    const answer = await until(async () => {
      const next = await patient(() => who.request(method, path, body))
      return next.text.includes(has) ? next : undefined
    })
    got.push([`${who.name}: ${method} ${path} ${answer.status}`, comparable(answer.text, world)])
    return answer
  }
  const openapi = { schema: document(texts) }
  const all = texts.join('\n')
  const word = texts[0]?.replace(/[^a-z]/gi, '') ?? ''
  await ask(mallory, 'POST', '/api/servers', { name: `own-${name}`, description: all.slice(0, 1_000), openapi })
  await listed(mallory, `own-${name}`)
  for (const kind of ['', '/tools?limit=500', '/prompts', '/resources', '/logs']) {
    await ask(mallory, 'GET', `/api/servers/own-${name}${kind}`)
  }
  await ask(mallory, 'POST', `/api/servers/own-${name}/tools/t0/call`, { arguments: { q: texts[0] } })
  await ask(mallory, 'POST', '/api/servers/test', { name: 't', openapi })
  await ask(mallory, 'POST', '/api/servers/test', { name: name, headers: { 'X-Api-Key': '••••' }, url: 'http://a.b/' })
  // As much as an address takes.
  const said = encodeURIComponent(texts.filter((_, at) => at % 9 === 0).join('\n'))
  await ask(mallory, 'POST', '/api/servers/test', { name: 't', url: `${upstream.url}/rpc/mcp?said=${said}` })
  await ask(mallory, 'POST', '/api/servers', { name: `told-${name}`, url: `${upstream.url}/rpc/mcp?said=${said}` })
  const reason = await until(async () => (await statusOf(mallory, `told-${name}`)).reason, { what: 'a reason' })
  got.push(['reason', comparable(JSON.stringify(reason), world)])
  await ask(mallory, 'POST', '/api/servers/import?dryRun=true', {
    mcpServers: { [word]: { command: all, args: texts } },
  })
  for (const wrong of [{ name: texts[0] }, { name: 'x', url: all }, { [word]: all }, { name: 'x', transport: all }]) {
    await ask(mallory, 'POST', '/api/servers', wrong)
  }
  await ask(mallory, 'POST', '/api/keys', { label: word.slice(0, 60), scopes: ['mcp'] })
  await ask(mallory, 'GET', `/api/servers/olga~${name}`)
  await ask(mallory, 'GET', `/api/servers/olga~${name}/tools`)
  await askNewerRoutes((...asked) => ask(mallory, ...asked), texts, name)
  const smart = await new RawClient(world.hub, '/mcp/$smart', mallory.token).open()
  for (const query of [texts[0] ?? '', all.slice(0, 400), `olga ${name}`]) {
    const found = await smart.call('tools/call', { name: 'search_tools', arguments: { query } })
    expect(found.error).toBeUndefined()
    got.push([`search_tools ${query}`, comparable(JSON.stringify(found.result), world)])
  }
  await smart.delete()
  await ask(nobody, 'POST', '/api/auth/login', { username: word, password: all })
  await ask(nobody, 'GET', `/api/${said.slice(0, 1_000)}`)
  await ask(nobody, 'GET', '/api/public/servers')

  const script = 'printf "%s\\n" "$@" >&2; exec sleep 60'
  await ask(maud, 'POST', '/api/servers', { name: `cry-${name}`, command: 'sh', args: ['-c', script, 'x', ...texts] })
  const stderr = async () => (await maud.ok('GET', `/api/servers/cry-${name}/logs`)).items as { line: string }[]
  await until(async () => (await stderr()).length >= Math.min(texts.length, 50), { what: 'its lines' })
  await ask(maud, 'GET', `/api/servers/cry-${name}/logs`)
  const processes = await maud.ok('GET', '/api/admin/processes')
  got.push([
    'processes',
    comparable(JSON.stringify(processes.items.filter((one: { server: string }) => one.server.includes('cry'))), world),
  ])
  await ask(maud, 'DELETE', `/api/servers/cry-${name}`)
  await ask(mallory, 'DELETE', `/api/servers/told-${name}`)
  const audit = async () =>
    (await maud.ok('GET', '/api/admin/audit?limit=200')).items as { action: string; user: string }[]
  await until(async () => (await audit()).some(({ action }) => action === 'server.delete'), { what: 'the audit' })
  const rows = (await audit()).filter(({ user }) => user !== 'connections' && user !== 'olga').slice(0, 7)
  got.push(['audit', comparable(JSON.stringify(rows), world)])
  return got
}

const secret = fc.oneof(
  fc.constantFrom('metadata', 'description', 'reference', 'localhost', 'streamable', 'openapi-schema'),
  fc.string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-_.'), minLength: 8, maxLength: 24 }),
  fc.string({ unit: fc.constantFrom(...'aé/+"\\% ü€1'), minLength: 8, maxLength: 16 }).map(text => `s${text}e`),
)

type Trio = readonly [string, string, string]

/** Each of two hubs keeps one trio of secrets; everybody guesses both trios, at both hubs. */
async function expectUntold(left: Trio, right: Trio): Promise<void> {
  round += 1
  const name = `r${round}`
  const texts = [...left, ...right, ...CHOSEN.flatMap(values => Object.values(values))].flatMap(guesses)
  const [first = [], ...others] = await Promise.all(
    worlds.map(async (world, at) => {
      await keepSecrets(world, at === 0 ? left : right, name)
      return askAll(world, texts, name)
    }),
  )
  await Promise.all(worlds.map(({ olga }) => olga.ok('DELETE', `/api/servers/${name}`)))
  for (const got of others) expect(first).toEqual(got as never)
  const whole = first.find(([what]) => what.includes(`/own-${name}/tools?limit=500 200`))?.[1] ?? ''
  for (const text of texts) expect(whole).toContain(JSON.stringify(text))
  for (const [, text] of first) expect(text).not.toContain('[redacted]')
}

const trio = fc.noShrink(fc.tuple(secret, secret, secret))
const once = () =>
  expectUntold(['metadata', 'bZ0-_.abcdefgh', 'sé/+"\\% ü€1e'], ['localhost', 'openapi-schema', 's1 ü+é/%e'])
const often = () => check(fc.asyncProperty(trio, trio, expectUntold), { share: 0.003, limitMs: 12_000 })

test(
  'no request of anybody tells two hubs apart that differ in another owner’s secrets',
  async () => {
    await extent(once, often)()
    const told = worlds.map(world =>
      world.streams.map(stream => [
        ...new Set(stream.events.map(({ event, data }) => comparable(JSON.stringify([event, data]), world))),
      ]),
    )
    for (const events of told.flat()) expect(events.join('\n')).not.toContain('[redacted]')
  },
  fuzzTimeout(20_000),
)

test('rows of the audit, pins and tools stay as they are, whatever somebody calls secret', async () => {
  const [world] = worlds
  if (!world) throw new Error('There is no hub')
  const { mallory, olga } = world
  const tools = () => mallory.ok('GET', '/api/servers/pinned/tools')
  await mallory.ok('POST', '/api/servers', {
    ...{ name: 'pinned', definitionPolicy: 'pin', openapi: { schema: document(['a description with metadata']) } },
  })
  await listed(mallory, 'pinned')
  const before = await tools()
  const words = ['metadata', 'description', 'a description', 'server.create', 'mallory1', 'mallory~pinned', '127.0.0.1']
  const config = {
    url: `${upstream.url}/body`,
    variables: Object.fromEntries(words.map((word, at) => [`K${at}_KEY`, word])),
  }
  await olga.ok('POST', '/api/servers', { name: 'words', ...config })
  await until(async () => (await statusOf(olga, 'words')).reason !== undefined, { what: 'her server to be in use' })
  const checked = ({ items }: { items: Record<string, unknown>[] }) =>
    items.map(({ hash, changed, waiting }) => ({ hash, changed, waiting }))
  await mallory.ok('POST', '/api/servers/pinned/restart')
  await listed(mallory, 'pinned')
  expect((await tools()).items).toEqual(before.items)
  // The same user makes a word of the description a secret: the list changes, and the hash of the tool does not.
  await mallory.ok('PATCH', '/api/servers/pinned', { variables: { A_KEY: 'metadata' } })
  const changed = async () => JSON.stringify(await tools()).includes('[redacted]')
  await until(changed, { what: 'the list without the word' })
  expect(checked(await tools())).toEqual(checked(before))
  const rows = JSON.stringify(await world.admin.ok('GET', '/api/admin/audit?limit=200'))
  expect(rows).not.toContain('[redacted]')
  for (const whole of ['server.create', '"mallory~pinned"', '"mallory"']) expect(rows).toContain(whole)
}, 120_000)

test('a server’s own secret is in none of its texts, and its process is shown with its command cut after that', async () => {
  const [world] = worlds
  if (!world) throw new Error('There is no hub')
  const { maud } = world
  const own = 'canary-own-0123456789-abcdefghij'
  const filler = 'f'.repeat(500 - 'sh -c exec sleep 60 x '.length - 10)
  await maud.ok('POST', '/api/servers', {
    ...{ name: 'cut', command: 'sh', args: ['-c', 'echo "$KEY" >&2; exec sleep 60', 'x', filler, own] },
    ...{ env: { KEY: own }, secrets: ['/args/4', '/env/KEY'] },
  })
  const shown = async () =>
    (await maud.ok('GET', '/api/admin/processes')).items.find((one: { server: string }) => one.server.endsWith('cut'))
  const { command } = await until(shown, { what: 'its process' })
  expect(command.length).toBeLessThanOrEqual(500)
  expect(command).not.toContain('canary')
  const lines = async () => (await maud.ok('GET', '/api/servers/cut/logs')).items
  expect((await until(async () => (await lines())[0], { what: 'its line' })).line).toBe('[redacted]')
  await maud.ok('DELETE', '/api/servers/cut')
}, 120_000)
