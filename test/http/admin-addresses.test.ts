/** An administrator whose address is not in ADMIN_ADDRESSES has the rights of an ordinary user on every route. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Answer } from '../support/client.ts'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, PASSWORD, send, startHub, stdioFixture } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

setDefaultTimeout(120_000)

/** The test reaches the hub through a trusted proxy of its own address, so it can choose the address that the hub sees. */
const OUTSIDE = { 'x-forwarded-for': '203.0.113.9' }

let hub: Hub
let admin: Client
let other: Client

beforeAll(async () => {
  const env = { TRUSTED_PROXIES: '127.0.0.1', ADMIN_ADDRESSES: '127.0.0.1', ALLOWED_HOSTS: '127.0.0.1' }
  hub = await startHub({ env, settings: { mcpServers: { filed: stdioFixture('echo') } } })
  admin = await hub.setup()
  other = await hub.user('other')
  await admin.ok('POST', '/api/servers', { name: 'mine', ...stdioFixture('echo') })
  await admin.ok('POST', '/api/servers', { name: 'stopped', ...stdioFixture('echo'), enabled: false })
  await other.ok('POST', '/api/servers', { name: 'private', url: 'https://one.example/', enabled: false })
  await other.ok('POST', '/api/groups', { name: 'theirs', members: [] })
  await online(admin, ['mine', 'filed'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

const outside = (method: string, path: string, body?: object) => admin.request(method, path, body, OUTSIDE)
const told = ({ status, json }: Answer) => `${status} ${json.code ?? ''}`.trim()

/** Writes down the id of the user that it runs as. */
const tellTale = (file: string) => ({
  command: process.execPath,
  args: ['-e', `require('fs').writeFileSync(${JSON.stringify(file)}, String(process.getuid()))`],
})

test('administration is closed outside the list, and the account is an ordinary user’s', async () => {
  expect(told(await outside('GET', '/api/admin/users'))).toBe('403 address_not_allowed')
  for (const [method, path, body] of [
    ['GET', '/api/admin/processes'],
    ['GET', '/api/admin/audit'],
    ['GET', '/api/admin/plugins'],
    ['GET', '/api/system-settings'],
    ['GET', '/api/settings/system'],
    ['POST', '/api/admin/users', { username: 'new', password: PASSWORD }],
    ['PATCH', '/api/admin/users/other', { role: 'admin' }],
    ['DELETE', '/api/admin/users/other'],
  ] as const)
    expect([path, told(await outside(method, path, body))]).toEqual([
      path,
      expect.stringMatching(/^(?:403 address_not_allowed|404 route_not_found)$/) as unknown as string,
    ])
  expect((await outside('GET', '/api/auth/me')).json.role).toBe('user')
  expect((await admin.ok('GET', '/api/auth/me')).role).toBe('admin')
})

test('things of others are invisible and out of reach outside the list', async () => {
  expect(told(await outside('GET', '/api/servers?scope=all'))).toBe('403 admin_only')
  expect((await outside('GET', '/api/servers?scope=visible&owner=other')).json.items ?? []).toEqual([])
  expect(told(await outside('GET', '/api/keys?owner=other'))).toBe('404 user_not_found')
  for (const [method, path, body] of [
    ['GET', '/api/servers/other~private'],
    ['PATCH', '/api/servers/other~private', { enabled: true }],
    ['DELETE', '/api/servers/other~private'],
    ['POST', '/api/servers/other~private/start'],
  ] as const)
    expect(told(await outside(method, path, body))).toBe('404 server_not_found')
  expect(told(await outside('GET', '/api/groups/other~theirs'))).toBe('404 group_not_found')
  const given = await outside('POST', '/api/servers', { name: 'given', url: 'https://one.example/', owner: 'other' })
  expect(told(given)).toBe('403 field_forbidden')
  expect(told(await admin.request('GET', '/api/servers/other~private'))).toBe('200')
})

/** The answer that an ordinary user gets to the same request: the machine of the test may have a sandbox or not. */
const asOrdinary = async (method: string, path: string, body: object) => told(await other.request(method, path, body))

beyondCore(() => {
  test('no route starts a command outside the sandbox for an administrator outside the list', async () => {
    const file = (name: string) => join(hub.folder, `ran-${name}`)
    const body = (name: string) => ({ name, ...tellTale(file(name)) })
    expect(told(await outside('POST', '/api/servers', body('created')))).toBe(
      await asOrdinary('POST', '/api/servers', body('created')),
    )
    const batch = { servers: [body('batched')] }
    expect((await outside('POST', '/api/servers/batch', batch)).json.results[0].status).toBe(
      (await other.request('POST', '/api/servers/batch', batch)).json.results[0].status,
    )
    const document = { mcpServers: { imported: tellTale(file('imported')) } }
    await outside('POST', '/api/servers/import', { document })
    await outside('POST', '/api/servers/test', body('tried'))
    await outside('PATCH', '/api/servers/stopped', { ...tellTale(file('patched')), enabled: true })
    await outside('PUT', '/api/servers/stopped', { ...body('put'), name: 'stopped', enabled: true })
    for (const forbidden of [
      { name: 'plain', ...tellTale(file('plain')), sandbox: 'off' },
      { name: 'loader', ...tellTale(file('loader')), env: { LD_PRELOAD: '/x.so' } },
      { name: 'reach', ...tellTale(file('reach')), network: 'host' },
      { name: 'inner', url: 'http://127.0.0.1:9/' },
    ]) {
      const answer = told(await outside('POST', '/api/servers', forbidden))
      expect(answer).toStartWith('403 ')
      expect(answer).toBe(await asOrdinary('POST', '/api/servers', forbidden))
    }
    const names = ['created', 'batched', 'imported', 'stopped']
    const there = (await admin.ok('GET', '/api/servers')).items.filter((each: { name: string }) =>
      names.includes(each.name),
    )
    for (const { name, ...server } of there.filter((each: { name: string }) => each.name !== 'stopped'))
      expect([name, server.review?.network]).toEqual([name, 'none'])
    await until(
      async () => {
        const states = await Promise.all(there.map(({ name }: { name: string }) => statusOf(admin, name)))
        return states.every(({ state, reason }) => state !== 'connecting' || reason !== undefined)
      },
      { what: 'the limited servers to have been started once', timeoutMs: 60_000 },
    )
    const routes = ['created', 'batched', 'imported', 'tried', 'patched', 'put', 'plain', 'loader', 'reach']
    const ran = routes.filter(name => existsSync(file(name)) && readFileSync(file(name), 'utf8') === '0')
    expect(ran).toEqual([])
    for (const { name } of there) await admin.ok('DELETE', `/api/servers/${name}`)
  })
})

beyondCore(() => {
  test('a server that is there keeps running, may be described and stopped, and is not started again from outside', async () => {
    const { pid } = await statusOf(admin, 'mine')
    expect(told(await outside('PATCH', '/api/servers/mine', { description: 'seen from outside' }))).toBe('200')
    for (const verb of ['restart', 'refresh', 'start'])
      expect(told(await outside('POST', `/api/servers/mine/${verb}`))).toBe('403 address_not_allowed')
    expect((await statusOf(admin, 'mine')).pid).toBe(pid as number)
    const call = await outside('POST', '/api/servers/mine/tools/echo/call', { arguments: { text: 'x' } })
    expect(call.status).toBe(200)
    expect(told(await outside('POST', '/api/servers/mine/stop'))).toBe('202')
    expect(told(await outside('POST', '/api/servers/mine/start'))).toBe('403 address_not_allowed')
    expect(told(await admin.request('POST', '/api/servers/mine/start'))).toBe('202')
    await online(admin, ['mine'])
    expect((await admin.ok('GET', '/api/servers/mine')).review).toBeUndefined()
    expect(told(await outside('PATCH', '/api/servers/filed', { command: 'x' }))).toStartWith('403 ')
  })
})

test('a server configured from outside has fewer rights until it is reviewed at a listed address', async () => {
  const made = await outside('POST', '/api/servers', { name: 'remote', url: 'https://one.example/', enabled: false })
  expect([made.status, made.json.review.required, made.json.review.network]).toEqual([201, false, 'none'])
  const path = '/api/servers/remote'
  const inner = { url: 'http://127.0.0.1:9/' }
  // A change from a listed address does not remove the limit as a side effect; changes that need more rights are refused
  // until then.
  expect((await admin.ok('PATCH', path, { description: 'looked at' })).review.network).toBe('none')
  expect((await admin.ok('PUT', path, { ...made.json, timeout: 5000 })).review.network).toBe('none')
  expect(told(await admin.request('PATCH', path, inner))).toBe('409 review_required')
  const { hash } = (await admin.ok('GET', path)).review
  expect(told(await outside('PATCH', path, { reviewed: hash }))).toBe('403 address_not_allowed')
  expect(told(await admin.request('PATCH', path, { reviewed: '0'.repeat(64) }))).toBe('409 review_required')
  expect((await admin.ok('PATCH', path, { reviewed: hash })).review).toBeUndefined()
  expect((await admin.ok('PATCH', path, inner)).review).toBeUndefined()
  // A change from outside limits it again, and the answer is an ordinary user's, not a hint to review it.
  expect(told(await outside('PATCH', path, { url: 'http://127.0.0.1:10/' }))).toBe('403 url_address_blocked')
  const changed = await outside('PATCH', path, { url: 'https://two.example/' })
  expect(changed.json.review.network).toBe('none')
  expect((await outside('PUT', path, changed.json)).status).toBe(200)
})

beyondCore(() => {
  test('a harmless change beside it does not start a command outside the sandbox', async () => {
    await admin.ok('POST', '/api/servers', { name: 'plain-off', ...stdioFixture('echo'), enabled: false })
    const both = { enabled: true, description: 'switched on from outside' }
    expect(told(await outside('PATCH', '/api/servers/plain-off', both))).toBe('403 address_not_allowed')
    expect((await admin.ok('GET', '/api/servers/plain-off')).enabled).toBe(false)
  })
})

test('the live stream and an MCP session show outside only what an ordinary user sees', async () => {
  const inside = await openStream(admin)
  const wary = await openStream(admin, '', OUTSIDE)
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/stream`, { headers: OUTSIDE } as never)
  const heard: string[] = []
  socket.onmessage = ({ data }) => heard.push(String(data))
  await new Promise(resolve => socket.addEventListener('open', resolve, { once: true }))
  socket.send(JSON.stringify({ type: 'auth', token: admin.token }))
  await until(() => heard.includes('{"type":"ready"}'), { what: 'the socket to be ready' })
  await other.ok('PATCH', '/api/servers/private', { description: 'changed' })
  await admin.ok('PATCH', '/api/servers/mine', { description: 'changed as well' })
  const isOf = (name: string) => (event: { data: { data?: { name?: string } } }) => event.data.data?.name === name
  await inside.next(isOf('private'))
  await wary.next(isOf('mine'))
  await until(() => heard.some(text => text.includes('"mine"')), { what: 'the own event on the socket' })
  expect(wary.text()).not.toContain('private')
  expect(heard.join()).not.toContain('private')
  socket.close()
  // From a listed address, the same token gets the other events as well.
  const listed = new WebSocket(`${hub.url.replace('http', 'ws')}/api/stream`)
  const all: string[] = []
  listed.onmessage = ({ data }) => all.push(String(data))
  listed.onopen = () => listed.send(JSON.stringify({ type: 'auth', token: admin.token }))
  await until(() => all.includes('{"type":"ready"}'), { what: 'the second socket to be ready' })
  await other.ok('PATCH', '/api/servers/private', { description: 'changed once more' })
  await until(() => all.some(text => text.includes('"private"')), { what: 'the event of another owner' })
  listed.close()
  await Promise.all([inside.close(), wary.close()])
  // A session that was opened with an administrator's rights does not exist for the same credential elsewhere.
  const session = await new RawClient(hub, '/mcp/mine', admin.token).open()
  Object.assign(session.headers, OUTSIDE)
  const answer = await session.post({ jsonrpc: '2.0', id: 9, method: 'tools/list' })
  expect(answer.status).toBe(404)
})

test('an access key of the administrator has no more outside than its owner', async () => {
  const { secret } = await admin.ok('POST', '/api/keys', { label: 'k', scopes: ['api', 'mcp'] })
  const headers = { authorization: `Bearer ${secret}` }
  expect((await send(hub.url, 'GET', '/api/admin/users', undefined, headers)).status).toBe(200)
  const answer = await send(hub.url, 'GET', '/api/admin/users', undefined, { ...headers, ...OUTSIDE })
  expect(answer.json.code).toBe('address_not_allowed')
})
