/** `scope=all` is for administrators, on every route that takes a scope; a user is refused rather than answered with less. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { type DocumentedRoute, documentedRoutes } from './documented-routes.ts'

/** Bodies that name a scope, and are whole otherwise. */
const BODIES: Readonly<Record<string, object>> = {
  '/api/logs/search': { query: { level: 'ERROR' } },
  '/api/monitoring/query': { type: 'metric', query: 'servers_total' },
}
/** Where `thing` has to be there. */
const THINGS: Readonly<Record<string, string>> = {
  '/api/monitoring/dashboards/thing/data': '/api/monitoring/dashboards/system-overview/data',
}

let hub: Hub
let admin: Client
let alice: Client
let routes: readonly DocumentedRoute[]

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  alice = await hub.user('alice')
  routes = (await documentedRoutes(admin)).filter(
    ({ method, path, query }) => query.includes('scope') || (method === 'POST' && Object.hasOwn(BODIES, path)),
  )
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

function asked(by: Client, { method, path }: DocumentedRoute, scope: string) {
  const at = THINGS[path] ?? path
  const body = method === 'POST' ? BODIES[path] : undefined
  return body ? by.request(method, at, { ...body, scope }) : by.request(method, `${at}?scope=${scope}`)
}

test('every route with a scope takes it in the body or the query', async () => {
  expect(routes.length).toBeGreaterThanOrEqual(14)
  // Of bodies the document shows the fields.
  const text = (await admin.request('GET', '/api/openapi.json')).json
  const inBodies = Object.entries(text.paths).flatMap(([path, item]) =>
    // biome-ignore lint/suspicious/noExplicitAny: the document as it is
    Object.values(item as Record<string, any>).flatMap(({ requestBody }) =>
      requestBody?.content['application/json']?.schema?.properties?.scope ? [path] : [],
    ),
  )
  expect(inBodies.sort()).toEqual(Object.keys(BODIES).sort())
})

test('a user gets admin_only for scope=all, and is answered for scope=mine', async () => {
  alice.patient = true
  for (const route of routes) {
    const place = `${route.method} ${route.path}`
    const all = await asked(alice, route, 'all')
    expect([place, all.status, all.json.code]).toEqual([place, 403, 'admin_only'])
    const mine = await asked(alice, route, 'mine')
    expect([place, mine.status]).toEqual([place, 200])
  }
  const one = await alice.request('GET', '/api/monitoring/health?scope=all&server=none')
  expect([one.status, one.json.code]).toEqual([403, 'admin_only'])
}, 120_000)

test('an administrator is answered for both', async () => {
  admin.patient = true
  for (const route of routes) {
    for (const scope of ['all', 'mine']) {
      const { status } = await asked(admin, route, scope)
      expect([route.path, scope, status]).toEqual([route.path, scope, 200])
    }
  }
}, 120_000)
