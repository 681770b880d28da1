/** Servers that ask each user for a value of its own, such as an API key: in a header, and in the environment of a process. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer } from '../../support/issuer.ts'
import { callText, online, statusOf, toolNames } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

const ADAS = 'adas-key-5f0c81d2e7'
const BOBS = ['bobs-key-$&$', '{env:HOME}{{x}}{value}'].join('')
const KEY = {
  name: 'key',
  in: 'header',
  key: 'Authorization',
  format: 'Bearer {value}',
  label: 'API key',
  help: 'See /keys',
}
const echo = `${import.meta.dir}/../../support/mcp-servers/echo.ts`

let issuer: Issuer
let server: GuardedServer
let hub: Hub
let root: Client
let ada: Client
let bob: Client

async function enter(client: Client, ref: string, values: object) {
  const { status, json } = await client.request('PUT', `/api/servers/${ref}/connections/me`, { values })
  return { status, json }
}

beforeAll(async () => {
  issuer = await Issuer.start()
  server = await GuardedServer.start(issuer)
  server.known.set(ADAS, 'ada-there').set(BOBS, 'bob-there')
  server.tools.set('ada-there', ['whoami', 'ada_only'])
  server.tools.set('bob-there', ['whoami', 'bob_only'])
  hub = await startHub({ env: LOOPBACK })
  root = await hub.setup()
  ;[ada, bob] = await Promise.all([hub.user('ada'), hub.user('bob')])
  await ada.ok('POST', '/api/servers', { name: 'keyed', url: server.url, visibility: 'public', bring: [KEY] })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await server?.stop()
  await issuer?.stop()
}, 120_000)

test('a server waits for the value of its owner, and names the page', async () => {
  await until(async () => (await statusOf(ada, 'keyed')).reason?.code === 'authorization_required', {
    what: 'the reason',
  })
  const { mine, credentials, id } = await ada.ok('GET', '/api/servers/keyed')
  expect(credentials).toBe('caller')
  const connectUrl = `${hub.url}/connect/${id}`
  expect(mine).toMatchObject({ state: 'sign_in_needed', reason: { code: 'authorization_required' }, connectUrl })
  const place = await bob.ok('GET', `/api/connections/servers/${id}`)
  expect(place).toMatchObject({
    host: new URL(server.url).host,
    bring: [{ name: 'key', label: 'API key', help: 'See /keys' }],
  })
  expect((await ada.ok('GET', '/api/connections')).wanting).toMatchObject([{ server: 'ada~keyed' }])
  expect(await toolNames(await ada.mcp('/mcp/keyed'))).toEqual(['keyed_sign_in'])
})

test('each call carries the value of its caller, as it was entered, and each caller lists its own', async () => {
  expect(await enter(ada, 'keyed', { key: ADAS })).toMatchObject({ status: 200, json: { state: 'active', issuer: '' } })
  await online(ada, ['keyed'])
  const adas = await ada.mcp('/mcp/keyed')
  expect(await callText(adas, 'ada_only')).toBe('ada-there')
  const bobs = await bob.mcp('/mcp/@ada/keyed')
  expect(await toolNames(bobs)).toEqual(['keyed_sign_in'])
  await enter(bob, 'ada~keyed', { key: BOBS })
  await until(async () => (await toolNames(bobs)).includes('bob_only'), { what: 'the tools of bob' })
  expect(await callText(bobs, 'bob_only')).toBe('bob-there')
  expect(new Set(server.calls.map(({ authorization }) => authorization))).toEqual(
    new Set([`Bearer ${ADAS}`, `Bearer ${BOBS}`]),
  )
})

test('the value is in no list, log or export, and its deletion ends its use', async () => {
  const paths = ['/api/connections', '/api/servers/ada~keyed', '/api/export', '/api/logs/search']
  for (const client of [root, bob])
    for (const path of paths) {
      const isExport = path === '/api/export'
      const { status, text } = await client.request(isExport ? 'POST' : 'GET', path, isExport ? {} : undefined)
      expect({ path, status, leaks: text.includes('bobs-key') }).toEqual({ path, status: 200, leaks: false })
    }
  const { items } = await bob.ok('GET', '/api/connections')
  expect(items).toMatchObject([{ server: 'ada~keyed', state: 'active', issuer: '', clientId: '' }])
  expect((await ada.request('DELETE', `/api/connections/${items[0].id}`)).status).toBe(404)
  await bob.ok('DELETE', `/api/connections/${items[0].id}`)
  const called = await bob.request('POST', '/api/servers/ada~keyed/tools/whoami/call', { arguments: {} })
  expect(called).toMatchObject({ status: 503, json: { code: 'authorization_required' } })
  expect(called.json.connectUrl ?? called.json.detail).toContain('/connect/')
})

test('a refused value is asked for again', async () => {
  await enter(bob, 'ada~keyed', { key: 'revoked-meanwhile' })
  const client = await bob.mcp('/mcp/@ada/keyed')
  await until(async () => (await toolNames(client)).join() === 'keyed_sign_in', { what: 'the refusal' })
  expect((await bob.ok('GET', '/api/servers/ada~keyed')).mine).toMatchObject({ state: 'refused' })
})

test('another origin of the server gets no value that was entered for the former one', async () => {
  const other = await GuardedServer.start(issuer)
  try {
    await ada.ok('PATCH', '/api/servers/keyed', { url: other.url })
    await until(async () => (await statusOf(ada, 'keyed')).reason?.code === 'resource_changed', { what: 'the reason' })
    expect(other.calls).toEqual([])
    expect((await ada.ok('GET', '/api/servers/keyed')).mine).toMatchObject({ reason: { code: 'resource_changed' } })
  } finally {
    await ada.ok('PATCH', '/api/servers/keyed', { url: server.url })
    await other.stop()
  }
})

test('a program has a process for each user, with the value of that user in its environment', async () => {
  const token = { name: 'token', in: 'env', key: 'THEIR_TOKEN', label: 'Token' }
  await root.ok('POST', '/api/servers', {
    ...{ name: 'program', command: process.execPath, args: [echo], visibility: 'public', bring: [token] },
  })
  await until(async () => (await statusOf(root, 'program')).reason?.code === 'authorization_required', {
    what: 'the reason',
  })
  await enter(root, 'program', { token: 'roots-own-value' })
  await online(root, ['program'])
  await enter(bob, `${root.name}~program`, { token: 'bobs-own-value' })
  const [roots, bobs] = [await root.mcp('/mcp/program'), await bob.mcp(`/mcp/@${root.name}/program`)]
  const env = async (client: typeof roots) => callText(client, 'env', { name: 'THEIR_TOKEN' })
  await until(async () => (await toolNames(bobs)).includes('env'), { what: 'the tools' })
  expect([await env(roots), await env(bobs)]).toEqual(['roots-own-value', 'bobs-own-value'])
  // Another value takes another process.
  await enter(bob, `${root.name}~program`, { token: 'bobs-next-value' })
  await until(async () => (await env(bobs).catch(() => '')) === 'bobs-next-value', { what: 'the next value' })
  const reason = async () => (await bob.ok('GET', `/api/servers/${root.name}~program`)).mine.reason?.code
  await root.ok('PATCH', '/api/servers/program', { description: 'a program', timeout: 30_000 })
  expect(await reason()).toBeUndefined()
  for (const change of [{ network: 'host' }, { args: [echo, 'else'] }, { env: { A: 'b' } }]) {
    await enter(bob, `${root.name}~program`, { token: 'bobs-next-value' })
    await root.ok('PATCH', '/api/servers/program', change)
    expect([change, await reason()]).toEqual([change, 'resource_changed'])
  }
})

describe('refuses', () => {
  test.each([
    ['host', { in: 'header', key: 'Host' }],
    ['connection', { in: 'header', key: 'connection' }],
    ['cookie', { in: 'header', key: 'Cookie' }],
    ['a forwarded address', { in: 'header', key: 'X-Forwarded-For' }],
    ['a line break in a name', { in: 'header', key: 'X-A\r\nX-B' }],
    ['a variable for an address', { in: 'env', key: 'TOKEN' }],
    ['a form without the value', { in: 'header', key: 'X-Key', format: 'Bearer' }],
  ])('%s', async (_, field) => {
    const body = { name: 'bad', url: server.url, bring: [{ name: 'key', label: 'Key', ...field }] }
    expect(await ada.request('POST', '/api/servers', body)).toMatchObject({
      status: 400,
      json: { code: 'validation_failed' },
    })
  })

  test.each(['LD_PRELOAD', 'NODE_OPTIONS', 'PATH', 'PYTHONPATH', 'BASH_ENV', 'GIT_CONFIG_KEY_0', 'https_proxy', 'a=b'])(
    'the variable %s',
    async key => {
      const body = {
        name: 'bad',
        command: process.execPath,
        args: [echo],
        bring: [{ name: 'k', label: 'K', in: 'env', key }],
      }
      expect(await root.request('POST', '/api/servers', body)).toMatchObject({ status: 400 })
    },
  )

  test('values with a line break, of a megabyte, that are not asked for, or that are missing', async () => {
    for (const values of [
      { key: 'a\r\nX-Admin: 1' },
      { key: 'x'.repeat(8_193) },
      { key: 'right', other: 'x' },
      { key: '' },
      {},
    ])
      expect(await enter(bob, 'ada~keyed', values)).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
    expect(await enter(bob, 'ada~keyed', { key: 'x'.repeat(1_048_576) })).toMatchObject({ status: 413 })
    expect(await enter(bob, 'ada~missing', { key: 'x' })).toMatchObject({ status: 404 })
    const bring = ['one', 'two', 'three'].map(name => ({ ...KEY, name, key: `X-${name}` }))
    await ada.ok('POST', '/api/servers', { name: 'many', url: server.url, visibility: 'public', bring })
    const all = (text: string) => ({ one: text, two: text, three: text })
    expect(await enter(bob, 'ada~many', all('x'.repeat(6_000)))).toMatchObject({ status: 400 })
    expect(await enter(bob, 'ada~many', all('x'.repeat(5_000)))).toMatchObject({ status: 200 })
  })

  test('values for a server of another that is private, and for all users of another’s server', async () => {
    await ada.ok('POST', '/api/servers', { name: 'private', url: server.url, bring: [KEY] })
    expect(await enter(bob, 'ada~private', { key: 'x' })).toMatchObject({ status: 404 })
    await ada.ok('PATCH', '/api/servers/private', { credentials: 'owner', visibility: 'public' })
    expect(await enter(bob, 'ada~private', { key: 'x' })).toMatchObject({ status: 403, json: { code: 'not_owner' } })
  })
})
