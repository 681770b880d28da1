/**
 * Rights do not rise by a change of owner. Tests every way by which a server passes to a user with more rights, for each kind
 * of server. Every program tries to read the hub's own files when it starts, and writes down which ones it could read.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beyondCore, extent } from '../support/extent.ts'
import { BUN_CACHE, type Client, type Hub, PASSWORD, startHub } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { online, type Status, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { KNOWN, knownShutIn } from './fixtures/known.ts'

const FILED = extent(['ivy'], ['ivy', 'joe'])

let hub: Hub
let admin: Client
let plain: Record<string, unknown>
let connections = 0
let upstream: ReturnType<typeof Bun.serve>

beforeAll(async () => {
  upstream = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch() {
      connections += 1
      return new Response('no MCP', { status: 500 })
    },
  })
  plain = await knownShutIn('plain')
  const hash = await Bun.password.hash(PASSWORD, { algorithm: 'bcrypt', cost: 4 })
  const users = Object.fromEntries(FILED.map(name => [name, { password: hash }]))
  const env = { ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: crypto.randomUUID() }
  hub = await startHub({ env, settings: { users, mcpServers: {} } })
  admin = await hub.setup()
  admin.patient = true
  expect((await admin.ok('GET', '/health')).checks.sandbox).toBe('full')
  await hub.user('carol')
  await hub.user('boss', 'admin')
  await editSettings(settings => {
    for (const name of FILED) settings.mcpServers[`${name}::filed-${name}`] = program(`filed-${name}`)
  })
  await online(
    admin,
    FILED.map(name => `${name}~filed-${name}`),
  )
}, 120_000)

afterAll(async () => {
  upstream.stop(true)
  await hub?.stop()
}, 120_000)

/** The body of a program that reads the hub's files first, and notes in `proof-<name>` which it could read. */
function program(name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const [flag, code] = plain.args as [string, string]
  const paths = [join(hub.dataDir, 'master.key'), hub.settingsFile, `/proc/${hub.pid}/environ`]
  const prying = `const f=require('fs'),p=${JSON.stringify(paths)}.filter(x=>{try{f.readFileSync(x);return true}catch{return false}});try{f.writeFileSync(${JSON.stringify(proofOf(name))},p.join())}catch{}`
  return { name, ...KNOWN, command: plain.command, args: [flag, `${prying};${code}`], ...more }
}

function proofOf(name: string): string {
  return join(hub.folder, `proof-${name}`)
}

/** Number of the hub's files that programs of this name read. */
function filesRead(name: string): number {
  if (!existsSync(proofOf(name))) return 0
  return readFileSync(proofOf(name), 'utf8').split(',').length
}

// biome-ignore lint/suspicious/noExplicitAny: the file as a test writes it
async function editSettings(edit: (settings: any) => void): Promise<void> {
  const settings = JSON.parse(await readFile(hub.settingsFile, 'utf8'))
  edit(settings)
  await writeFile(hub.settingsFile, JSON.stringify(settings, null, 2))
}

async function starts(id: string): Promise<{ sandbox: string; network: string }[]> {
  // The records of starts are written in batches; this one is written behind them.
  const marker = `marker ${crypto.randomUUID().slice(0, 8)}`
  await admin.ok('POST', '/api/groups', { name: marker })
  await admin.ok('DELETE', `/api/groups/${encodeURIComponent(marker)}`)
  return until(async () => {
    const { items } = await admin.ok('GET', '/api/admin/audit?limit=1000')
    // biome-ignore lint/suspicious/noExplicitAny: rows of the audit
    const rows = items as any[]
    if (!rows.some(({ target }) => String(target).endsWith(marker))) return undefined
    return rows
      .filter(({ action, detail }) => action === 'process.start' && detail.serverId === id)
      .map(({ detail }) => ({ sandbox: detail.sandbox, network: detail.network }))
  })
}

type Kind = (name: string) => Record<string, unknown>
const KINDS = {
  eager: name => program(name),
  lazy: name => program(name, { start: 'lazy' }),
  'per-session': name => program(name, { session: 'per-session' }),
  public: name => program(name, { visibility: 'public' }),
  'off already': name => program(name, { enabled: false }),
  'with a proxy': name => program(name, { network: 'proxy' }),
  remote: name => ({ name, url: `http://127.0.0.1:${upstream.port}/mcp`, enabled: false }),
  openapi: name => ({
    name,
    openapi: { url: `http://127.0.0.1:${upstream.port}/openapi.json` },
    enabled: false,
  }),
} satisfies Record<string, Kind>

/** The giver: an ordinary user, one with a network grant, or one who was an administrator while making the server. */
type Giver = 'user' | 'granted' | 'demoted' | 'admin'
type Way = 'patch' | 'put' | 'delete' | 'command'

interface Case {
  readonly way: Way
  readonly kind: keyof typeof KINDS
  readonly giver: Giver
  readonly heir: 'admin' | 'boss' | 'carol'
}

/** Each way over HTTP, which the command takes as well. */
const RISING_CORE: readonly Case[] = [
  { way: 'patch', kind: 'with a proxy', giver: 'granted', heir: 'admin' },
  { way: 'put', kind: 'openapi', giver: 'demoted', heir: 'admin' },
  { way: 'delete', kind: 'public', giver: 'user', heir: 'boss' },
]
const RISING = extent(RISING_CORE, [
  ...RISING_CORE,
  { way: 'patch', kind: 'eager', giver: 'user', heir: 'admin' },
  { way: 'delete', kind: 'lazy', giver: 'user', heir: 'admin' },
  { way: 'command', kind: 'per-session', giver: 'user', heir: 'admin' },
  { way: 'patch', kind: 'off already', giver: 'user', heir: 'admin' },
  { way: 'patch', kind: 'remote', giver: 'demoted', heir: 'admin' },
  { way: 'delete', kind: 'eager', giver: 'demoted', heir: 'admin' },
  { way: 'patch', kind: 'lazy', giver: 'user', heir: 'boss' },
  { way: 'patch', kind: 'per-session', giver: 'user', heir: 'admin' },
  { way: 'patch', kind: 'public', giver: 'user', heir: 'admin' },
  { way: 'patch', kind: 'eager', giver: 'demoted', heir: 'boss' },
  { way: 'put', kind: 'eager', giver: 'user', heir: 'boss' },
  { way: 'put', kind: 'lazy', giver: 'granted', heir: 'admin' },
  { way: 'delete', kind: 'eager', giver: 'user', heir: 'admin' },
  { way: 'delete', kind: 'with a proxy', giver: 'granted', heir: 'boss' },
  { way: 'delete', kind: 'remote', giver: 'demoted', heir: 'boss' },
])
const LEVEL_CORE: readonly Case[] = [{ way: 'delete', kind: 'eager', giver: 'admin', heir: 'carol' }]
const LEVEL = extent(LEVEL_CORE, [
  ...LEVEL_CORE,
  { way: 'patch', kind: 'eager', giver: 'user', heir: 'carol' },
  { way: 'delete', kind: 'eager', giver: 'user', heir: 'carol' },
  { way: 'patch', kind: 'eager', giver: 'admin', heir: 'carol' },
])

let lastNumber = 0

interface Made {
  readonly name: string
  readonly giver: Client
  readonly id: string
}

async function make({ kind, giver }: Case): Promise<Made> {
  lastNumber += 1
  const name = `s${lastNumber}`
  const client = await hub.user(`giver${lastNumber}`, giver === 'demoted' || giver === 'admin' ? 'admin' : 'user')
  const path = `/api/admin/users/${client.name}`
  if (giver === 'granted') await admin.ok('PATCH', path, { grants: { network: 'proxy' } })
  const body: Record<string, unknown> = KINDS[kind](name)
  // A program that an administrator runs before the demotion may read the files, and would leave its proof.
  const { id } = await client.ok('POST', '/api/servers', giver === 'demoted' ? { ...body, enabled: false } : body)
  if (giver === 'demoted') await admin.ok('PATCH', path, { role: 'user' })
  const ref = `${client.name}~${name}`
  if (kind !== 'off already' && giver === 'user')
    await until(async () => (await statusOf(admin, ref)).counts.tools > 0, {
      timeoutMs: 60_000,
      what: `tools of ${ref}`,
    })
  return { name, giver: client, id }
}

async function pass({ way, kind, heir }: Case, { name, giver }: Made): Promise<void> {
  const ref = `/api/servers/${giver.name}~${name}`
  if (way === 'patch') await admin.ok('PATCH', ref, { owner: heir })
  else if (way === 'put') await admin.ok('PUT', ref, { ...KINDS[kind](name), owner: heir })
  else if (way === 'delete') await admin.ok('DELETE', `/api/admin/users/${giver.name}?transferTo=${heir}`)
  else {
    const ran = Bun.spawn([process.execPath, HUB_MAIN, 'user', 'remove', giver.name, '--transfer-to', heir], {
      env: { ...BUN_CACHE, PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: admin.token, PATH: process.env.PATH ?? '' },
      stderr: 'pipe',
    })
    expect([await ran.exited, await new Response(ran.stderr).text()]).toEqual([0, ''])
  }
}

/** Everything that starts a server without a look at it, as its new owner and as another administrator. */
async function tryToStart(ref: string): Promise<void> {
  for (const [method, path, body] of [
    ['POST', `/api/servers/${ref}/start?wait=1s`],
    ['POST', `/api/servers/${ref}/restart?wait=1s`],
    ['PATCH', `/api/servers/${ref}`, { enabled: true }],
    ['PATCH', `/api/servers/${ref}`, { enabled: true, reviewed: 'a hash of something else' }],
  ] as const) {
    const answer = await admin.request(method, path, body)
    expect([path, answer.status, answer.json.code]).toEqual([path, 409, 'review_required'])
  }
  expect((await admin.request('POST', `/api/servers/${ref}/refresh`)).status).toBe(503)
  expect((await admin.request('POST', `/api/servers/${ref}/tools/self/call`, {})).status).toBeGreaterThanOrEqual(404)
}

describe('a server that comes to somebody with more rights waits for a review', () => {
  for (const each of RISING) {
    test(`${each.kind} of ${each.giver} to ${each.heir} by ${each.way}`, async () => {
      const made = await make(each)
      const before = await starts(made.id)
      const contacts = connections
      await pass(each, made)
      const ref = `${each.heir}~${made.name}`
      const view = await admin.ok('GET', `/api/servers/${ref}`)
      const isProgram = view.transport === 'stdio'
      const network = each.giver === 'granted' ? 'proxy' : 'none'
      expect(view).toMatchObject({ owner: each.heir, enabled: false, review: { required: true, network } })
      if (isProgram) expect(view.sandbox).toBe('full')
      await tryToStart(ref)
      const status: Status = await statusOf(admin, ref)
      expect([status.state, status.reason?.code, status.pid]).toEqual(['offline', 'stopped', undefined])
      expect(await starts(made.id)).toEqual(before)
      expect(connections).toBe(contacts)
      expect(filesRead(made.name)).toBe(0)
    }, 120_000)
  }

  test('an entry of somebody else that an administrator imports, and an export of theirs', async () => {
    const made = await make({ way: 'patch', kind: 'eager', giver: 'user', heir: 'admin' })
    const ref = `admin~${made.name}`
    const waits = async (): Promise<void> => {
      const taken = await admin.ok('GET', `/api/servers/${ref}`)
      expect(taken).toMatchObject({ enabled: false, sandbox: 'full', review: { required: true, network: 'none' } })
      await tryToStart(ref)
      expect([await starts(taken.id), filesRead(made.name)]).toEqual([[], 0])
    }
    const view = await admin.ok('GET', `/api/servers/${made.giver.name}~${made.name}`)
    const { entries } = await admin.ok('POST', '/api/servers/import', { mcpServers: { [made.name]: view } })
    expect(entries).toMatchObject([{ verdict: 'created', ref }])
    await waits()
    await admin.ok('DELETE', `/api/servers/${ref}`)
    const document = await made.giver.ok('POST', '/api/export', {})
    const { planHash } = await admin.ok('POST', '/api/import?dryRun=true', { document })
    const { items } = await admin.ok('POST', '/api/import', { document, planHash })
    expect(items).toMatchObject([{ verdict: 'new', ref }])
    await waits()
  }, 120_000)

  test('an entry of the settings file that gets another owner in the file', async () => {
    await editSettings(settings => {
      settings.mcpServers['filed-ivy'] = settings.mcpServers['ivy::filed-ivy']
      delete settings.mcpServers['ivy::filed-ivy']
    })
    const view = await until(() => admin.ok('GET', '/api/servers/admin~filed-ivy'))
    expect(view).toMatchObject({ enabled: false, sandbox: 'full', review: { required: true, network: 'none' } })
    await tryToStart('admin~filed-ivy')
    expect(filesRead('filed-ivy')).toBe(0)
  }, 120_000)
})

describe('a server that comes to somebody with no more rights', () => {
  for (const each of LEVEL) {
    test(`${each.kind} of ${each.giver} to ${each.heir} by ${each.way} runs by the rules of the heir`, async () => {
      const made = await make(each)
      // The inspection at the start runs an administrator's program without a sandbox, as the server itself runs.
      await online(admin, [`${made.giver.name}~${made.name}`])
      if (each.giver === 'admin') expect(filesRead(made.name)).toBeGreaterThan(0)
      const before = await starts(made.id)
      await pass(each, made)
      await online(admin, [`${each.heir}~${made.name}`])
      expect((await admin.ok('GET', `/api/servers/${each.heir}~${made.name}`)).review).toBeUndefined()
      const now = await starts(made.id)
      expect(now.length).toBeGreaterThan(before.length)
      for (const start of now.slice(0, now.length - before.length))
        expect(start).toEqual({ sandbox: 'full', network: 'none' })
    }, 120_000)
  }
})

describe('an ordinary user who becomes an administrator', () => {
  async function staysInside(ref: string, name: string, id: string): Promise<void> {
    await admin.ok('POST', `/api/servers/${ref}/restart?wait=10s`)
    await online(admin, [ref])
    const off = await admin.request('PATCH', `/api/servers/${ref}`, { sandbox: 'off' })
    expect([off.status, off.json.code]).toEqual([409, 'review_required'])
    await admin.ok('PATCH', `/api/servers/${ref}`, { description: 'changed', env: { A: 'b' } })
    await online(admin, [ref])
    for (const start of await starts(id)) expect(start).toEqual({ sandbox: 'full', network: 'none' })
    expect(filesRead(name)).toBe(0)
    expect((await admin.ok('GET', `/api/servers/${ref}`)).review).toMatchObject({ required: false, network: 'none' })
  }

  test('by the API keeps the sandbox of what was made before, until the owner says what was read', async () => {
    const made = await make({ way: 'patch', kind: 'eager', giver: 'user', heir: 'admin' })
    const { pid } = await statusOf(admin, `${made.giver.name}~${made.name}`)
    await admin.ok('PATCH', `/api/admin/users/${made.giver.name}`, { role: 'admin' })
    const ref = `${made.giver.name}~${made.name}`
    expect((await statusOf(admin, ref)).pid).toBe(pid)
    await staysInside(ref, made.name, made.id)
    const { review } = await admin.ok('GET', `/api/servers/${ref}`)
    const promoted = await hub.signIn(made.giver.name)
    // A trial of it runs inside as well.
    const report = await promoted.ok('POST', '/api/servers/test', program(made.name))
    expect([report.ok, filesRead(made.name)]).toEqual([true, 0])
    await promoted.ok('PATCH', `/api/servers/${made.name}`, { reviewed: review.hash })
    await until(() => filesRead(made.name) > 0, { timeoutMs: 60_000 })
    expect((await promoted.ok('GET', `/api/servers/${made.name}`)).review).toBeUndefined()
  }, 120_000)

  beyondCore(() => {
    test('by the settings file does so too', async () => {
      const { id } = await admin.ok('GET', '/api/servers/joe~filed-joe')
      await editSettings(settings => {
        settings.users.joe.isAdmin = true
      })
      await until(async () => (await admin.ok('GET', '/api/admin/users/joe')).role === 'admin')
      await staysInside('joe~filed-joe', 'filed-joe', id)
    }, 120_000)
  })
})

describe('a review', () => {
  test('starts what was read, inside the sandbox until its owner says otherwise', async () => {
    const made = await make({ way: 'delete', kind: 'eager', giver: 'user', heir: 'admin' })
    await admin.ok('DELETE', `/api/admin/users/${made.giver.name}?transferTo=admin`)
    const ref = `admin~${made.name}`
    const path = `/api/servers/${ref}`
    const { review } = await admin.ok('GET', path)
    await admin.ok('PATCH', path, { args: ['-e', '0'] })
    const old = await admin.request('PATCH', path, { reviewed: review.hash, enabled: true })
    expect([old.status, old.json.code]).toEqual([409, 'review_required'])
    await admin.ok('PATCH', path, { args: program(made.name).args })
    const { review: now } = await admin.ok('GET', path)
    await admin.ok('PATCH', path, { reviewed: now.hash, enabled: true })
    await online(admin, [ref])
    expect([(await admin.ok('GET', path)).sandbox, filesRead(made.name)]).toEqual(['full', 0])
    await admin.ok('PATCH', path, { sandbox: 'off' })
    await until(() => filesRead(made.name) === 3, { timeoutMs: 60_000 })
  }, 120_000)

  beyondCore(() => {
    test('is refused while a secret of the former owner hides a part of the command', async () => {
      const gil = await hub.user('gil')
      const hidden = { command: 'sh', args: ['-c', `${'$'}{RUN_TOKEN}`], variables: { RUN_TOKEN: 'sleep 1000' } }
      await gil.ok('POST', '/api/servers', { name: 'hidden', ...hidden, enabled: false })
      await admin.ok('DELETE', '/api/admin/users/gil?transferTo=admin')
      const { review } = await admin.ok('GET', '/api/servers/admin~hidden')
      const refused = await admin.request('PATCH', '/api/servers/admin~hidden', { reviewed: review.hash })
      expect([refused.status, refused.json.errors[0].code]).toEqual([400, 'secret_required'])
      await admin.ok('PATCH', '/api/servers/admin~hidden', { reviewed: review.hash, variables: { RUN_TOKEN: 'true' } })
    })
  })
})

test('a group that passes to an administrator takes along no server that its owner could not use', async () => {
  const hal = await hub.user('hal')
  await admin.ok('POST', '/api/servers', {
    name: 'of-admin',
    ...program('of-admin', { enabled: false }),
    visibility: 'public',
  })
  for (const name of ['by-patch', 'by-delete'])
    await hal.ok('POST', '/api/groups', { name, members: ['admin~of-admin'] })
  await admin.ok('PATCH', '/api/servers/of-admin', { visibility: 'private' })
  await admin.ok('PATCH', '/api/groups/hal~by-patch', { owner: 'admin' })
  await admin.ok('DELETE', '/api/admin/users/hal?transferTo=admin')
  for (const name of ['by-patch', 'by-delete'])
    expect((await admin.ok('GET', `/api/groups/admin~${name}`)).members).toEqual([])
}, 120_000)

describe('settings that act for their owner pass to nobody', () => {
  const RECORDS = [
    ['/api/assistant/endpoints', { direction: 'inbound' }],
    ['/api/monitoring/channels', { type: 'webhook', enabled: false, config: { url: 'https://hooks.example/a' } }],
    ['/api/monitoring/rules', { condition: 'servers_offline > 1000', severity: 'warning', enabled: false }],
    ['/api/monitoring/dashboards', { widgets: [{ type: 'table', query: 'servers' }] }],
  ] as const
  const namesIn = async (path: string, owner: string) =>
    ((await admin.ok('GET', `${path}?owner=${owner}`)).items as { name: string }[]).map(({ name }) => name)

  /** True when an assistant with this token is let in. */
  const dialsIn = (token: string) =>
    new Promise<boolean>(resolve => {
      const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/assistant/ws?token=${token}`)
      socket.onopen = () => {
        resolve(true)
        socket.close()
      }
      socket.onclose = () => resolve(false)
    })

  test('"owner" in a body changes nothing, and a removed owner takes it along', async () => {
    const made = await make({ way: 'delete', kind: 'off already', giver: 'user', heir: 'admin' })
    const { name: giver } = made.giver
    const name = `of-${giver}`
    const tokens: string[] = []
    for (const [path, body] of RECORDS) {
      const whole = { name, ...body, ...('direction' in body ? { group: made.name } : {}) }
      const { token } = await made.giver.ok('POST', path, whole)
      if (typeof token === 'string') tokens.push(token)
      for (const [client, ref] of [
        [made.giver, name],
        [admin, `${giver}~${name}`],
      ] as const) {
        await client.request('PATCH', `${path}/${ref}`, { owner: 'admin' })
        await client.request('PUT', `${path}/${ref}`, { ...whole, owner: 'admin' })
      }
      expect([path, await namesIn(path, giver)]).toEqual([path, expect.arrayContaining([name])])
      expect([path, (await namesIn(path, 'admin')).includes(name)]).toEqual([path, false])
    }
    expect(await Promise.all(tokens.map(dialsIn))).toEqual([true])
    await admin.ok('DELETE', `/api/admin/users/${giver}?transferTo=admin`)
    for (const [path] of RECORDS) {
      expect([path, (await namesIn(path, 'admin')).includes(name)]).toEqual([path, false])
      expect([path, (await admin.request('GET', `${path}/${name}`)).status]).toEqual([path, 404])
    }
    expect(await Promise.all(tokens.map(dialsIn))).toEqual([false])
    expect(filesRead(made.name)).toBe(0)
  }, 120_000)
})

// The HTTP tests show the quota itself, in each of the other ways.
beyondCore(() => {
  test('the quota of an heir holds for what a removed user leaves', async () => {
    const ned = await hub.user('ned')
    const una = await hub.user('una')
    const bodies = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({
        name: `${prefix}${index}`,
        url: 'https://a.example/',
        enabled: false,
      }))
    await ned.ok('POST', '/api/servers/batch', { servers: bodies('n', 101) })
    await una.ok('POST', '/api/servers/batch', { servers: bodies('u', 100) })
    const answer = await admin.request('DELETE', '/api/admin/users/ned?transferTo=una')
    expect([answer.status, answer.json.code]).toEqual([409, 'quota_servers'])
    expect((await una.ok('GET', '/api/servers?limit=1')).total).toBe(100)
  }, 120_000)
})
