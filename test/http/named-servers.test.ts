/**
 * Routes that name a server or group in the query or the body, by each role. The matrix of access-matrix.test.ts has those with the name
 * in the path. And what users of a shared group get of it over REST.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { includesRole, SHARE_ROLES, type ThingRole } from '../../core/domain/ownership.ts'
import { type Client, type Hub, LOOPBACK, ROOT, startHub } from '../support/hub.ts'
import { type Refusal, refusalOfRecords, refusalWithout } from '../support/plugins-off.ts'
import { type Program, startProgram } from '../support/program.ts'
import { failureOf, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { documentedRoutes } from './documented-routes.ts'

setDefaultTimeout(120_000)

let upstream: Program
let hub: Hub
let bob: Client
let nora: Client
let colleagues: Readonly<Record<ThingRole, Client>>

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  hub = await startHub({ env: LOOPBACK })
  await hub.setup()
  bob = await hub.user('bob')
  nora = await hub.user('nora')
  colleagues = {
    ...{ use: await hub.user('use'), see: await hub.user('see'), change: await hub.user('change'), owner: bob },
  }
  for (const name of ['common', 'foreign', 'inner']) await bob.ok('POST', '/api/servers', { name, url: upstream.url })
  await nora.ok('POST', '/api/servers', { name: 'hers', url: upstream.url })
  await online(bob, ['common', 'foreign', 'inner'])
  await online(nora, ['hers'])
  await nora.ok('PUT', '/api/servers/hers/shares/user:bob', { role: 'use' })
  const members = [{ server: 'inner', tools: ['echo'] }, { server: 'nora~hers' }]
  await bob.ok('POST', '/api/groups', { name: 'common', naming: 'prefixed', members })
  await bob.ok('POST', '/api/groups', { name: 'foreign', members: ['inner'] })
  for (const role of SHARE_ROLES)
    for (const thing of ['servers', 'groups']) await bob.ok('PUT', `/api/${thing}/common/shares/user:${role}`, { role })
  await bob.ok('POST', '/api/servers/common/tools/echo/call', { arguments: { text: 'of bob alone' } })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await upstream?.stop()
}, 120_000)

interface Row {
  /** The path ends where the name goes, unless the body has it. */
  readonly ask: readonly [
    method: string,
    path: string,
    body?: (name: string) => { readonly type: string; readonly query: string },
  ]
  readonly least: ThingRole
}
const query = (text: (name: string) => string) => (name: string) => ({ type: 'metric', query: text(name) })
const table = (name: string) => ({ type: 'table', query: `tools{server="${name}"}` })
const ROWS: readonly Row[] = [
  { ask: ['GET', '/api/monitoring/metrics?server='], least: 'see' },
  { ask: ['GET', '/api/monitoring/health?server='], least: 'see' },
  { ask: ['GET', '/api/usage?by=user&server='], least: 'owner' },
  { ask: ['GET', '/api/servers?group='], least: 'use' },
  { ask: ['GET', '/api/logs/search?server='], least: 'use' },
  { ask: ['GET', '/api/monitoring/activity?server='], least: 'use' },
  { ask: ['POST', '/api/monitoring/query', query(name => `request_count{server="${name}"}`)], least: 'see' },
  { ask: ['POST', '/api/monitoring/query', query(name => `p95_response_time{server="${name}"}`)], least: 'see' },
  { ask: ['POST', '/api/monitoring/query', table], least: 'see' },
]
/** Answer with the caller's own calls alone, and have none for a server that it does not see. */
const OWN_CALLS = /logs\/search|activity/

/** The answer to those who may ask, where the hub is without the plugin that it needs; each query here reads records. */
const refusalOf = ([, path, body]: Row['ask']): Refusal | undefined =>
  body ? refusalOfRecords() : refusalWithout(path)

const ask = (by: Client, [method, path, body]: Row['ask'], name: string) =>
  body ? by.request(method, path, body(name)) : by.request(method, `${path}${name}`)

test('the table has every route with a server or group in its query', async () => {
  const routes = await documentedRoutes(await hub.setup())
  const named = routes.filter(({ query: names }) => ['server', 'group'].some(name => names.includes(name)))
  const rows = new Set(ROWS.map(({ ask: [method, path] }) => `${method} ${path.split('?')[0]}`))
  expect(named.map(({ method, path }) => `${method} ${path}`).filter(route => !rows.has(route))).toEqual([])
})

describe('a route that names a server or group', () => {
  test.each(ROWS.map(row => [`${row.ask[0]} ${row.ask[1]}${row.ask[2]?.('').query ?? ''}`, row] as const))(
    '%s answers those with the least role, and others as for a missing one',
    async (_name, row) => {
      const refusal = refusalOf(row.ask)
      for (const role of [...SHARE_ROLES, 'owner'] as const) {
        const { status, json } = await ask(colleagues[role], row.ask, 'bob~common')
        const may = includesRole(role, row.least)
        if (may && refusal) {
          expect([role, status, json.code]).toEqual([role, ...refusal])
          continue
        }
        expect([role, status, may || [json.code, json.role]]).toEqual([
          ...[role, may ? 200 : 403, may || ['not_owner', role]],
        ])
        if (role !== 'owner' && OWN_CALLS.test(row.ask[1])) expect([role, json.items]).toEqual([role, []])
      }
      const answers = ['bob~foreign', 'bob~missing'].map(async name => {
        const { status, text } = await ask(colleagues.change, row.ask, name)
        return [status, text.replaceAll(name, '?').replace(/"(?:requestId|instance)":"[^"]*"/g, '')]
      })
      const [foreign, missing] = await Promise.all(answers)
      expect(foreign).toEqual(missing)
    },
  )
})

describe('a shared group over REST', () => {
  test('has no member of somebody else, in any list, form or call', async () => {
    const paths = ['tools', 'openapi.json', 'client-config?client=cursor'].map(path => `/api/groups/bob~common/${path}`)
    for (const role of SHARE_ROLES) {
      const by = colleagues[role]
      for (const path of ['/api/groups/bob~common', '/api/groups?scope=visible', ...paths]) {
        const { status, text } = await by.request('GET', path)
        expect([role, path, status, text.includes('hers')]).toEqual([role, path, 200, false])
      }
      const listed = await by.ok('GET', '/api/servers?group=bob~common')
      const { items } = await by.ok('GET', '/api/groups/bob~common/tools')
      expect([role, listed.items, items.map(({ name }: { name: string }) => name)]).toEqual([role, [], ['inner_echo']])
      const called = async (tool: string) =>
        (await by.request('POST', `/api/groups/bob~common/tools/${tool}`, {})).status
      const tools = ['inner_echo', 'inner_whoami', 'hers_echo', 'hers_whoami']
      expect([role, ...(await Promise.all(tools.map(called)))]).toEqual([role, 200, 404, 404, 404])
    }
    expect((await bob.ok('GET', '/api/groups/common/tools')).items).toHaveLength(4)
  })
})

test('the reason of a failure is for the role see and above, with the address that it names', async () => {
  await bob.ok('POST', '/api/servers', { name: 'gone', url: 'http://127.0.0.1:9/inside' })
  for (const role of SHARE_ROLES) await bob.ok('PUT', `/api/servers/gone/shares/user:${role}`, { role })
  await until(async () => (await statusOf(bob, 'gone')).state === 'offline', { what: 'the server to be offline' })
  for (const role of SHARE_ROLES) {
    const by = colleagues[role]
    const client = await by.mcp('/mcp/@bob/gone')
    const texts = [
      (await by.request('GET', '/api/servers/bob~gone')).text,
      (await by.request('POST', '/api/servers/bob~gone/tools/echo/call', {})).text,
      (await failureOf(client.callTool({ name: 'echo', arguments: {} }))).message,
    ]
    await client.close()
    expect([role, ...texts.map(text => /127\.0\.0\.1:9/.test(text))]).toEqual([
      role,
      ...texts.map(() => role !== 'use'),
    ])
  }
})
