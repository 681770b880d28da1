import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { includesRole, SHARE_ROLES, type ShareRole } from '../../core/domain/ownership.ts'
import type { Answer } from '../support/client.ts'
import { Client, type Hub, LOOPBACK, ROOT, startHub } from '../support/hub.ts'
import { expectRefusal, isDocumented, refusalOfRecords, refusalWithout } from '../support/plugins-off.ts'
import { type Program, startProgram } from '../support/program.ts'
import { online } from '../support/servers.ts'
import { type DocumentedRoute, documentedRoutes } from './documented-routes.ts'
import { type Expected, type Filled, type Kind, MATRIX, type PlainRow, type Row, type ThingRow } from './matrix.ts'
import { patient } from './rows.ts'

const TOOL = 'echo'
const KINDS: readonly Kind[] = ['own', 'foreign', 'public', 'missing']
const THINGS = MATRIX.filter((row): row is ThingRow => row.thing !== undefined)
const PLAIN = MATRIX.filter((row): row is PlainRow => row.thing === undefined)

/** Bodies that name a scope, and are whole otherwise. */
const SCOPED_BODIES: Readonly<Record<string, object>> = {
  '/api/logs/search': { query: { level: 'ERROR' } },
  '/api/monitoring/query': { type: 'metric', query: 'servers_total' },
}
/** Addresses to use where `thing` has to exist. */
const FILLED: Readonly<Record<string, string>> = {
  '/api/monitoring/dashboards/thing/data': '/api/monitoring/dashboards/system-overview/data',
}

let upstream: Program
let hub: Hub
let admin: Client
let alice: Client
let bob: Client
let anonymous: Client
/** Users that bob shares things with, by their role. */
let colleagues: Readonly<Record<ShareRole, Client>>
/** Routes that take a scope. */
let scoped: readonly DocumentedRoute[]
let count = 0
/** Alice's answers for bob's private things before they existed. */
const whenMissing = new Map<Row, Answer>()

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  alice = await hub.user('alice')
  bob = await hub.user('bob')
  anonymous = new Client(hub.url, 'nobody', '')
  colleagues = { use: await hub.user('use'), see: await hub.user('see'), change: await hub.user('change') }
  scoped = (await documentedRoutes(admin)).filter(
    ({ method, path, query }) => query.includes('scope') || (method === 'POST' && Object.hasOwn(SCOPED_BODIES, path)),
  )
  await make(bob, 'server', 'public', 'public')
  await online(bob, ['public'])
  await make(bob, 'group', 'public', 'public')
  await make(alice, 'server', 'own', 'private')
  await make(alice, 'group', 'own', 'private')
  for (const row of THINGS) whenMissing.set(row, await ask(alice, row, 'foreign'))
  await make(bob, 'server', 'foreign', 'private')
  await make(bob, 'group', 'foreign', 'private')
  for (const thing of ['server', 'group'] as const) {
    await make(bob, thing, 'common', 'private')
    for (const role of SHARE_ROLES) await share(thing, 'common', role)
  }
  await online(alice, ['own'])
  await online(bob, ['foreign', 'common'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await upstream?.stop()
}, 120_000)

async function make(owner: Client, thing: 'server' | 'group', name: string, visibility: Filled['visibility']) {
  const body = thing === 'server' ? { url: upstream.url } : { members: ['bob~public'] }
  const answer = await patient(() => owner.request('POST', `/api/${thing}s`, { name, visibility, ...body }))
  if (answer.status !== 201) throw new Error(`Making ${thing} ${name} answered ${answer.status}: ${answer.text}`)
}

async function share(thing: 'server' | 'group', name: string, role: ShareRole): Promise<void> {
  await bob.ok('PUT', `/api/${thing}s/${name}/shares/user:${role}`, { role })
}

function ask(caller: Client, row: Row, kind: Kind, name: string = kind): Promise<Answer> {
  count += 1
  const owner = kind === 'own' ? 'alice' : 'bob'
  const path = row.path
    .replace('{ref}', `${owner}~${name}`)
    .replace('{server}', 'bob~public')
    .replace('{tool}', TOOL)
    .replace('{name}', 'nobody')
    .replace('{subject}', 'user:admin')
    .replace('{id}', 'none')
  const visibility = kind === 'public' ? 'public' : 'private'
  const filled: Filled = { name, visibility, fresh: `fresh-${count}`, upstream: upstream.url, shared: 'bob~public' }
  const query = row.query === undefined ? '' : `?${row.query}`
  return patient(() => caller.request(row.method, path + query, row.body?.(filled)))
}

function expectStatus(answer: Answer, expected: Expected, what: string): void {
  const allowed = typeof expected === 'number' ? [expected] : expected
  if (allowed.includes(answer.status)) return
  throw new Error(`${what}: wanted ${allowed.join(' or ')}, got ${answer.status} ${answer.text.slice(0, 400)}`)
}

/** Checks the answer to somebody who is signed in: where the plugin of the route is off, it is the same for every role. */
function expectSignedIn(answer: Answer, row: Row, expected: Expected, what: string): void {
  const refusal = refusalWithout(row.path)
  if (refusal) expectRefusal(answer, refusal, what)
  else expectStatus(answer, expected, what)
}

/** The answer without the parts that differ per request: its id (of any length) and the time. */
function bytesOf(answer: Answer): object {
  const own = answer.headers.get('x-request-id')
  const headers = [...answer.headers].filter(([name]) => !['x-request-id', 'date', 'content-length'].includes(name))
  return { status: answer.status, headers, text: own === null ? answer.text : answer.text.replaceAll(own, 'ID') }
}

test('the matrix has every route of the API document, and no other', async () => {
  const { paths } = (await anonymous.request('GET', '/api/openapi.json')).json
  const documented = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item as object).map(method => `${method.toUpperCase()} ${path}`),
  )
  const rows = MATRIX.filter(row => isDocumented(row.path))
  expect(rows.map(row => `${row.method} ${row.path}`).sort()).toEqual(documented.sort())
})

describe('a foreign private thing answers as a missing one, byte for byte', () => {
  test.each(THINGS.map(row => [`${row.method} ${row.path}`, row] as const))('%s', async (_name, row) => {
    const missing = whenMissing.get(row)
    if (!missing) throw new Error('not asked before')
    expect(missing.status).toBe(404)
    expect(missing.headers.get('x-request-id')).toBeTruthy()
    expect(bytesOf(await ask(alice, row, 'foreign'))).toEqual(bytesOf(missing))
  })
})

test('a foreign access key answers as a missing one', async () => {
  const { key, id } = await bob.ok('POST', '/api/keys', { label: 'mine', scopes: ['mcp'] })
  const foreign: string = id ?? key.id
  const missing = `${foreign.slice(0, -1)}${foreign.endsWith('0') ? '1' : '0'}`
  for (const [method, suffix] of [
    ['POST', '/rotate'],
    ['DELETE', ''],
  ] as const) {
    const answers = await Promise.all(
      [foreign, missing].map(async each => {
        const answer = await patient(() => alice.request(method, `/api/keys/${each}${suffix}`))
        return JSON.stringify(bytesOf(answer)).replaceAll(each, 'KEY')
      }),
    )
    expect(answers[0]).toContain('"status":404')
    expect(answers[0]).toBe(answers[1])
  }
})

function asked(by: Client, { method, path }: DocumentedRoute, scope: string) {
  const at = FILLED[path] ?? path
  const body = method === 'POST' ? SCOPED_BODIES[path] : undefined
  return patient(() => (body ? by.request(method, at, { ...body, scope }) : by.request(method, `${at}?scope=${scope}`)))
}

test('every route with a scope takes it in the body or the query', async () => {
  expect(scoped.length).toBeGreaterThanOrEqual(refusalOfRecords() ? 9 : 14)
  // For bodies, the document shows the fields.
  const text = (await admin.request('GET', '/api/openapi.json')).json
  const inBodies = Object.entries(text.paths).flatMap(([path, item]) =>
    // biome-ignore lint/suspicious/noExplicitAny: the document as it is
    Object.values(item as Record<string, any>).flatMap(({ requestBody }) =>
      requestBody?.content['application/json']?.schema?.properties?.scope ? [path] : [],
    ),
  )
  expect(inBodies.sort()).toEqual(Object.keys(SCOPED_BODIES).filter(isDocumented).sort())
})

test('a user gets admin_only for scope=all, and is answered for scope=mine', async () => {
  for (const route of scoped) {
    const place = `${route.method} ${route.path}`
    const all = await asked(alice, route, 'all')
    expect([place, all.status, all.json.code]).toEqual([place, 403, 'admin_only'])
    const mine = await asked(alice, route, 'mine')
    expect([place, mine.status]).toEqual([place, refusalWithout(route.path)?.[0] ?? 200])
  }
  const one = await patient(() => alice.request('GET', '/api/monitoring/health?scope=all&server=none'))
  expect([one.status, one.json.code]).toEqual([403, 'admin_only'])
}, 120_000)

test('an administrator is answered for both', async () => {
  for (const route of scoped) {
    for (const scope of ['all', 'mine']) {
      const { status } = await asked(admin, route, scope)
      expect([route.path, scope, status]).toEqual([route.path, scope, refusalWithout(route.path)?.[0] ?? 200])
    }
  }
}, 120_000)

test('a start, a stop and an edit of one owner leave the server of that name of another owner as it is', async () => {
  for (const owner of [alice, bob]) await make(owner, 'server', 'twin', 'private')
  await online(alice, ['twin'])
  await online(bob, ['twin'])
  await alice.ok('PATCH', '/api/servers/twin', { description: 'of alice' })
  const stopped = await alice.ok('POST', '/api/servers/twin/stop?wait=30s')
  expect(stopped).toMatchObject({ ref: 'alice~twin', enabled: false, status: { state: 'offline' } })
  const other = await bob.ok('GET', '/api/servers/twin')
  expect(other).toMatchObject({ ref: 'bob~twin', enabled: true, status: { state: 'online' } })
  expect(other.description).toBeUndefined()
})

describe('each kind of caller gets what the matrix says', () => {
  test.each(THINGS.map(row => [`${row.method} ${row.path}`, row] as const))(
    '%s',
    async (name, row) => {
      expectStatus(await ask(anonymous, row, 'own'), 401, `${name} own, anonymous`)
      for (const caller of ['user', 'admin'] as const) {
        for (const kind of KINDS) {
          const what = `${name} ${kind}, ${caller}`
          const thing = row.consumes && kind !== 'missing' ? await consumable(row, kind) : kind
          const answer = await ask(caller === 'user' ? alice : admin, row, kind, thing)
          expectSignedIn(answer, row, row[caller][kind], what)
        }
      }
    },
    120_000,
  )

  test.each(THINGS.map(row => [`${row.method} ${row.path}`, row] as const))(
    '%s of somebody who shares it, in each role',
    async (name, row) => {
      for (const role of SHARE_ROLES) {
        const thing = row.consumes ? await consumable(row, 'foreign') : 'common'
        if (row.consumes) await share(row.thing, thing, role)
        const answer = await ask(colleagues[role], row, 'foreign', thing)
        const may = includesRole(role, row.least)
        expectSignedIn(answer, row, may ? (row.toShared ?? row.user.own) : 403, `${name}, ${role}`)
        if (!may && !refusalWithout(row.path))
          expect([name, answer.json.code, answer.json.role]).toEqual([name, 'not_owner', role])
      }
    },
    120_000,
  )

  test.each(PLAIN.map(row => [`${row.method} ${row.path}`, row] as const))('%s', async (name, row) => {
    expectStatus(await ask(anonymous, row, 'own'), row.anonymous, `${name}, anonymous`)
    if (row.user !== undefined) expectSignedIn(await ask(alice, row, 'own'), row, row.user, `${name}, user`)
    if (row.admin !== undefined) expectSignedIn(await ask(admin, row, 'own'), row, row.admin, `${name}, admin`)
  })
})

async function consumable(row: ThingRow, kind: Exclude<Kind, 'missing'>): Promise<string> {
  count += 1
  const name = `${kind}-${count}`
  await make(kind === 'own' ? alice : bob, row.thing, name, kind === 'public' ? 'public' : 'private')
  return name
}
