/**
 * No route raises the rights of programs: each row of rights-rows.ts is tried by each caller, for each kind of server. The
 * rights are observed from outside: a program records the uid with which it could write beside the data folder and if it
 * could read the hub's key, and an upstream on a private address records its requests.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { packed, sendBundle } from '../support/bundle.ts'
import type { Answer } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { isDocumented, refusedWithout } from '../support/plugins-off.ts'
import { until } from '../support/wait.ts'
import {
  ACTING,
  type ActingRow,
  CALLERS,
  type Caller,
  HARMLESS,
  HELD_ELSEWHERE,
  isInside,
  KINDS,
  type Kind,
  never,
  OWN_TESTS,
  TEMPLATES,
} from './rights-rows.ts'

setDefaultTimeout(120_000)

/** The test reaches the hub through a trusted proxy of its own address, so it can choose the address that the hub sees. */
const OUTSIDE = { 'x-forwarded-for': '203.0.113.9' }

let hub: Hub
let admin: Client
let mal: Client
let words = 0
/** Paths that were requested from the upstream on the private address. */
const asked = new Set<string>()
const upstream = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    const [, path = ''] = new URL(request.url).pathname.split('/')
    asked.add(path)
    return new Response('no MCP', { status: 404 })
  },
})

beforeAll(async () => {
  hub = await startHub({
    env: { TRUSTED_PROXIES: '127.0.0.1', ADMIN_ADDRESSES: '127.0.0.1', ALLOWED_HOSTS: '127.0.0.1' },
  })
  admin = await hub.setup()
  mal = await hub.user('mal')
  for (const client of [admin, mal]) client.patient = true
  await mkdir(join(hub.folder, 'proof'))
  expect((await admin.ok('GET', '/health')).checks.sandbox).toBe('full')
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  upstream.stop(true)
}, 120_000)

function newWord(): string {
  words += 1
  return `w${words}`
}

const proofOf = (word: string): string => join(hub.folder, 'proof', word)

/** A server that shows by this word whether it has an administrator's rights. Says on stderr that it ran, in any case. */
function thing(kind: Kind, word: string): Record<string, unknown> {
  const url = `http://127.0.0.1:${upstream.port}/${word}/mcp`
  if (kind === 'url') return { url }
  if (kind === 'openapi') return { openapi: { url } }
  const key = join(hub.dataDir, 'master.key')
  // The file is complete before it gets its name, since the test looks for it all the time.
  const prove = `id -u > ${proofOf(word)}.part && mv ${proofOf(word)}.part ${proofOf(word)}`
  const script = `echo "${word} ran as $(id -u)" >&2; test -r ${key} && ${prove}; exit 3`
  return { command: '/bin/sh', args: ['-c', script] }
}

/** True when a program of this word ran, or connected, with an administrator's rights. */
function rose(word: string): boolean {
  if (existsSync(proofOf(word))) expect(readFileSync(proofOf(word), 'utf8')).toBe('0\n')
  return existsSync(proofOf(word)) || asked.has(word)
}

function asker(caller: Caller): (method: string, path: string, body?: unknown) => Promise<Answer> {
  if (caller === 'user') return (method, path, body) => mal.request(method, path, body)
  return (method, path, body) => admin.request(method, path, body, caller === 'outside' ? OUTSIDE : {})
}

/** Every server of these names, as the listed administrator sees them. */
async function found(...names: readonly string[]): Promise<{ ref: string; id: string }[]> {
  const { items } = await admin.ok('GET', '/api/servers?scope=all&limit=200')
  return items.filter(({ name }: { name: string }) => names.includes(name))
}

/** Waits until each of these servers that is switched on was started once, and has reported that or its reason. */
async function settled(...names: readonly string[]): Promise<void> {
  for (const { ref } of await found(...names)) {
    await until(
      async () => {
        const { enabled, status } = await admin.ok('GET', `/api/servers/${ref}`)
        return !enabled || status.reason !== undefined
      },
      { what: `${ref} to be started once`, timeoutMs: 60_000 },
    )
  }
}

async function linesOf(ref: string): Promise<string> {
  const { items } = await admin.ok('GET', `/api/servers/${ref}/logs`)
  return items.map(({ line }: { line: string }) => line).join('\n')
}

async function remove(...names: readonly string[]): Promise<void> {
  for (const { ref } of await found(...names)) await admin.ok('DELETE', `/api/servers/${ref}`)
}

test('every route that writes is a row, or said to do no harm', async () => {
  const { paths } = await admin.ok('GET', '/api/openapi.json')
  const writing: string[] = []
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(item as Record<string, { 'x-access': string }>)) {
      const route = `${method.toUpperCase()} ${path}`
      const isOwn = OWN_TESTS.includes(route)
      // Routes for administrators only are closed elsewhere: see the test below.
      if (method !== 'get' && (operation['x-access'] !== 'admin' || isOwn)) writing.push(route)
    }
  }
  const rows = [
    ...new Set(ACTING.map(({ route }) => route)),
    ...OWN_TESTS,
    ...TEMPLATES,
    ...HELD_ELSEWHERE,
    ...HARMLESS,
  ].filter(route => isDocumented(route.split(' ')[1] ?? ''))
  expect(rows.toSorted()).toEqual(writing.toSorted())
})

test('every route of administrators is closed to users and from elsewhere', async () => {
  const { paths } = await admin.ok('GET', '/api/openapi.json')
  let count = 0
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(item as Record<string, { 'x-access': string }>)) {
      if (operation['x-access'] !== 'admin') continue
      count += 1
      const at = path.replace(/\{\w+\}/g, 'thing')
      const user = await asker('user')(method.toUpperCase(), at, method === 'get' ? undefined : {})
      const outside = await asker('outside')(method.toUpperCase(), at, method === 'get' ? undefined : {})
      expect([at, user.status, user.json.code]).toEqual([at, 403, 'admin_only'])
      expect([at, outside.status, outside.json.code]).toEqual([at, 403, 'address_not_allowed'])
    }
  }
  expect(count).toBeGreaterThan(10)
})

/** Besides commands, which each route has, these two are tried with addresses: one route that makes and one that starts. */
const WITH_ADDRESSES = ['POST /api/servers', 'POST /api/servers/{ref}/start']
const hasAddresses = ({ route, target }: ActingRow): boolean => WITH_ADDRESSES.includes(route) && target !== 'bundle'
const COMMANDS: readonly Kind[] = ['stdio']

const ROWS = Object.groupBy(ACTING, ({ runs }) => (runs === never ? 'never' : 'some'))

describe('what runs by', () => {
  for (const row of ROWS.some ?? [])
    test(`${row.route}, ${row.target ?? 'nothing'} before`, async () =>
      void (await Promise.all(extent(hasAddresses(row) ? KINDS : COMMANDS, KINDS).map(kind => carryOut([row], kind)))))

  test((ROWS.never ?? []).map(({ route }) => route).join(', '), async () => {
    await Promise.all(extent(COMMANDS, KINDS).map(kind => carryOut(ROWS.never ?? [], kind)))
  })
})

/** A server of the administrator that runs a bundle, switched off. */
async function installBundle(name: string): Promise<void> {
  const bundleId = await bundleOnce()
  const path = `/api/bundles/${bundleId}/install`
  const { planHash } = await admin.ok('POST', `${path}?dryRun=true`, { name })
  await admin.ok('POST', path, { name, planHash })
}

let quiet: Promise<string> | undefined

/** The id of a bundle that is sent for the first that asks. */
function bundleOnce(): Promise<string> {
  const manifest = {
    ...{ manifest_version: '0.3', name: 'quiet', version: '1.0.0', description: 'x', author: { name: 'Ada' } },
    server: { type: 'node', entry_point: 'i.js', mcp_config: { command: 'node', args: [`\${__dirname}/i.js`] } },
  }
  quiet ??= packed(manifest, { 'i.js': 'process.exit(3)' })
    .then(bytes => sendBundle(admin, bytes))
    .then(({ json }) => json.bundleId)
  return quiet
}

/**
 * In the suite, an administrator inside the list is tried with one row and with addresses, which shows that programs with
 * these rights are noticed. For the others, the rights are observed anyway.
 */
const callersOf = (row: ActingRow | undefined, kind: Kind): readonly Caller[] =>
  extent(row === ACTING[0] || kind !== 'stdio' ? CALLERS : CALLERS.filter(caller => caller !== 'inside'), CALLERS)

/** Without the plugin bundles nobody can send or install one: checks that, and returns true. */
const hasNoBundles = (): Promise<boolean> =>
  refusedWithout('/api/bundles', [
    ...[mal, admin].map(by => () => sendBundle(by, new Uint8Array())),
    ...CALLERS.map(caller => () => asker(caller)('POST', '/api/bundles/any/install', { name: 'bundled' })),
  ])

/** Carries out rows one after the other with the same server. */
async function carryOut(rows: readonly ActingRow[], kind: Kind): Promise<void> {
  if (rows[0]?.target === 'bundle' && (await hasNoBundles())) return
  for (const caller of callersOf(rows[0], kind)) {
    const word = newWord()
    const [fresh, name] = [`fresh-${word}`, `target-${word}`]
    const own = thing(kind, word)
    const target = rows[0]?.target
    if (target) {
      if (target === 'bundle') await installBundle(name)
      else {
        const before = target === 'off' ? own : { url: 'https://one.example/' }
        await admin.ok('POST', '/api/servers', { name, ...before, enabled: false })
      }
    }
    for (const [at, { route, act, runs = isInside }] of rows.entries()) {
      await act({ ask: asker(caller), thing: own, fresh: `${fresh}${at || ''}`, target: `admin~${name}` })
      if (at === rows.length - 1) await settled(fresh, name)
      expect([route, kind, caller, rose(word)]).toEqual([route, kind, caller, runs(caller, kind)])
    }
    // A command that may run must then run in the sandbox: a program that never started would prove nothing.
    const [made] = await found(fresh)
    if (kind === 'stdio' && made && !rose(word)) expect(await linesOf(made.ref)).toMatch(/ran as 2\d{4}$/m)
    await remove(fresh, name)
  }
}

/** Gives a server to the administrator, by a change of its owner or by the removal of its owner. */
async function handOver(way: 'patch' | 'put' | 'delete', kind: Kind, word: string): Promise<string> {
  const giver = await hub.user(`giver-${word}`, kind === 'stdio' ? 'user' : 'admin')
  const name = `given-${word}`
  await giver.ok('POST', '/api/servers', { name, ...thing(kind, word), enabled: false })
  // The giver could save a private address only as an administrator.
  await admin.ok('PATCH', `/api/admin/users/${giver.name}`, { role: 'user' })
  const ref = `/api/servers/${giver.name}~${name}`
  if (way === 'patch') await admin.ok('PATCH', ref, { owner: 'admin' })
  else if (way === 'put') await admin.ok('PUT', ref, { name, ...thing(kind, word), owner: 'admin' })
  else await admin.ok('DELETE', `/api/admin/users/${giver.name}?transferTo=admin`)
  return `admin~${name}`
}

describe('a server that a user gave to an administrator stays off by every route until the right hash is saved', () => {
  // Each way and each kind of server.
  type Handover = readonly ['patch' | 'put' | 'delete', Kind]
  const core: readonly Handover[] = [
    ['put', 'stdio'],
    ['delete', 'openapi'],
  ]
  const others: readonly Handover[] = [
    ['patch', 'url'],
    ['patch', 'stdio'],
    ['delete', 'stdio'],
  ]
  test.each(extent(core, [...core, ...others]))('%s, %s', async (way, kind) => {
    const word = newWord()
    const ref = await handOver(way, kind, word)
    const name = ref.slice('admin~'.length)
    for (const caller of CALLERS) {
      const ask = asker(caller)
      for (const row of ACTING.filter(each => each.target === 'off'))
        await row.act({ ask, thing: thing(kind, word), fresh: `group-${newWord()}`, target: ref })
      const seen = await ask('GET', `/api/servers/${ref}`)
      const whole = seen.status === 200 ? seen.json : { name, ...thing(kind, word) }
      for (const change of [{ enabled: true }, { enabled: true, reviewed: '0'.repeat(64) }, { description: 'x' }]) {
        await ask('PATCH', `/api/servers/${ref}`, change)
        await ask('PUT', `/api/servers/${ref}`, { ...whole, ...change })
      }
    }
    const view = await admin.ok('GET', `/api/servers/${ref}`)
    expect(view).toMatchObject({ enabled: false, review: { required: true }, status: { state: 'offline' } })
    expect(rose(word)).toBe(false)
    expect(await linesOf(ref)).toBe('')
    // The right hash has no effect from elsewhere.
    const { hash } = view.review
    await asker('outside')('PATCH', `/api/servers/${ref}`, { reviewed: hash, enabled: true })
    expect((await admin.ok('GET', `/api/servers/${ref}`)).enabled).toBe(false)
    await admin.ok('PATCH', `/api/servers/${ref}`, { reviewed: hash, enabled: true })
    await settled(name)
    if (kind === 'stdio') {
      expect(await linesOf(ref)).toMatch(/ran as 2\d{4}$/m)
      expect(rose(word)).toBe(false)
    } else expect(rose(word)).toBe(true)
    await remove(name)
  })
})

test('POST /api/import/{id}/rollback: what came from outside and was replaced comes back with the rights that it had', async () => {
  const [word, other] = [newWord(), newWord()]
  const [outside, inside] = [asker('outside'), asker('inside')]
  await outside('POST', '/api/servers', { name: 'rolled', ...thing('stdio', word) })
  await settled('rolled')
  const { review } = await admin.ok('GET', '/api/servers/rolled')
  const servers = { rolled: { ...thing('stdio', other), reviewed: review.hash } }
  const documents = [{ mcpServers: servers }, { format: 'patchbay-export', version: 1, owner: 'admin', servers }]
  for (const document of extent(documents.slice(1), documents)) {
    const at = 'format' in document ? '#/servers/rolled' : '#/mcpServers/rolled'
    const wish = { document, choices: { [at]: 'replace' } }
    const { planHash } = (await inside('POST', '/api/import?dryRun=true', wish)).json
    const { id, items } = (await inside('POST', '/api/import', { ...wish, planHash })).json
    expect(items).toMatchObject([{ verdict: 'replaced' }])
    await settled('rolled')
    // A document cannot mark itself as reviewed.
    expect([rose(word), rose(other)]).toEqual([false, false])
    expect((await inside('POST', `/api/import/${id}/rollback`)).json.restored).toHaveLength(1)
    await settled('rolled')
    expect(rose(word)).toBe(false)
  }
  expect((await admin.ok('GET', '/api/servers/rolled')).review.network).toBe('none')
  await remove('rolled')
})

test('POST /api/bundles/{id}/install', async () => {
  if (await hasNoBundles()) return
  // The suite tries the caller with the most rights, who then makes a change from elsewhere; the whole run tries each caller.
  for (const caller of extent<readonly Caller[]>(['inside'], CALLERS)) {
    const word = newWord()
    const code = `const f=require('fs');console.error('${word} ran as '+process.getuid());try{f.readFileSync('${join(hub.dataDir, 'master.key')}');f.writeFileSync('${proofOf(word)}',process.getuid()+'\\n')}catch{}process.exit(3)`
    const manifest = {
      ...{ manifest_version: '0.3', name: word, version: '1.0.0', description: 'x', author: { name: 'Ada' } },
      server: { type: 'node', entry_point: 'i.js', mcp_config: { command: 'node', args: [`\${__dirname}/i.js`] } },
    }
    const sender = caller === 'user' ? mal : admin
    const { bundleId } = (await sendBundle(sender, await packed(manifest, { 'i.js': code }))).json
    const ask = asker(caller)
    const body = { name: `bundle-${word}`, start: true }
    const { json } = await ask('POST', `/api/bundles/${bundleId}/install?dryRun=true`, body)
    const made = await ask('POST', `/api/bundles/${bundleId}/install`, { ...body, planHash: json.planHash })
    expect(made.status).toBe(201)
    await settled(body.name)
    // A bundle runs in the sandbox, no matter who installed it.
    expect([caller, rose(word)]).toEqual([caller, false])
    expect(await linesOf(made.json.ref)).toMatch(/ran as 2\d{4}$/m)
    await asker(caller === 'inside' ? 'outside' : caller)('PATCH', `/api/servers/${made.json.ref}`, { sandbox: 'off' })
    await settled(body.name)
    expect([caller, rose(word)]).toEqual([caller, false])
    await remove(body.name)
  }
})

test('PATCH and DELETE /api/admin/users/{name}: a promotion raises nothing that is there, and a user promotes nobody', async () => {
  const word = newWord()
  const eve = await hub.user('eve')
  await eve.ok('POST', '/api/servers', { name: 'hers', ...thing('stdio', word) })
  await settled('hers')
  for (const caller of ['user', 'outside'] as const) {
    expect((await asker(caller)('PATCH', '/api/admin/users/mal', { role: 'admin' })).status).toBe(403)
    expect((await asker(caller)('DELETE', '/api/admin/users/eve?transferTo=admin')).status).toBe(403)
  }
  await admin.ok('PATCH', '/api/admin/users/eve', { role: 'admin' })
  const now = await hub.signIn('eve')
  for (const verb of ['stop', 'start', 'restart']) await now.request('POST', `/api/servers/hers/${verb}`)
  await now.ok('PATCH', '/api/servers/hers', { env: { A: 'b' } })
  await settled('hers')
  expect(rose(word)).toBe(false)
  expect(await linesOf('eve~hers')).toMatch(/ran as 2\d{4}$/m)
})
