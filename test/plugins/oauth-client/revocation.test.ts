/** Tokens of sign-ins that end are taken back at their issuer (RFC 7009), and nothing waits for that. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { atMost } from '../../support/pace.ts'
import { callText, online, statusOf, toolNames } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { ScriptedIssuer } from './scripted-issuer.ts'

let issuer: Issuer
let server: GuardedServer
let hub: Hub
let root: Client
let ada: Client
let bob: Client

async function signIn(client: Client, person: string, ref = 'ada~notes', more: object = {}): Promise<string[]> {
  const { length } = issuer.given
  const { authorizeUrl } = await client.ok('POST', `/api/servers/${ref}/connect`, more)
  await client.ok('POST', '/api/connections/finish', { url: await signInAt(authorizeUrl, person) })
  return issuer.given.slice(length)
}

const add = (client: Client, name: string, more: object = {}) =>
  client.ok('POST', '/api/servers', { name, url: server.url, visibility: 'public', oauth: {}, ...more })
const taken = (tokens: readonly string[]) =>
  until(() => tokens.every(token => issuer.taken.includes(token)), {
    what: 'the tokens to be taken back',
    timeoutMs: 15_000,
  })

beforeAll(async () => {
  issuer = await Issuer.start()
  server = await GuardedServer.start(issuer)
  server.tools.set('bob-there', ['whoami', 'bob_only'])
  hub = await startHub({ env: LOOPBACK, ownProcess: true })
  root = await hub.setup()
  ;[ada, bob] = await Promise.all([hub.user('ada'), hub.user('bob')])
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await server?.stop()
  await issuer?.stop()
}, 120_000)

test('of a sign-in that its user ends, whose answer does not wait for the issuer', async () => {
  await add(ada, 'notes')
  const tokens = await signIn(bob, 'bob-there')
  expect(tokens).toHaveLength(2)
  const { items } = await bob.ok('GET', '/api/connections')
  const silent = Promise.withResolvers<void>()
  issuer.beforeTaking = silent.promise
  await bob.ok('DELETE', `/api/connections/${items[0].id}`)
  expect(issuer.taken).toEqual([])
  silent.resolve()
  await taken(tokens)
  issuer.beforeTaking = undefined
})

test('not of one that another sign-in at the same issuer replaces', async () => {
  const former = await signIn(bob, 'bob-there')
  await signIn(bob, 'bob-there')
  const client = await bob.mcp('/mcp/@ada/notes')
  await until(async () => (await toolNames(client)).includes('bob_only'), { what: 'the tools' })
  expect(await callText(client, 'bob_only')).toBe('bob-there')
  expect(issuer.taken.filter(token => former.includes(token))).toEqual([])
})

test('of all users of a server that is deleted, whose links end', async () => {
  const adas = await signIn(ada, 'ada-there')
  await online(ada, ['notes'])
  const client = await bob.mcp('/mcp/@ada/notes')
  await until(async () => (await toolNames(client)).includes('bob_only'), { what: 'the tools' })
  expect(server.toolsChanged('bob-there')).toBe(true)
  const before = performance.now()
  await ada.ok('DELETE', '/api/servers/notes')
  expect(performance.now() - before).toBeLessThan(atMost(2_000))
  await until(() => !server.toolsChanged('bob-there'), { what: 'the end of the link', timeoutMs: 5_000 })
  await taken(adas)
})

test('of a user who is deleted, with those of its servers', async () => {
  const eve = await hub.user('eve')
  await add(ada, 'others')
  await add(eve, 'own')
  const tokens = [
    ...(await signIn(eve, 'eve-there', 'ada~others')),
    ...(await signIn(eve, 'eve-there', 'eve~own')),
    ...(await signIn(bob, 'bob-there', 'eve~own')),
  ]
  await root.ok('DELETE', '/api/admin/users/eve?cascade=true')
  await taken(tokens)
})

test('of a server whose address leaves the resource, which asks for a sign-in from then on', async () => {
  const tokens = await signIn(bob, 'bob-there', 'ada~others')
  const other = await GuardedServer.start(issuer)
  await ada.ok('PATCH', '/api/servers/others', { url: other.url })
  await taken(tokens)
  const mine = async () => (await bob.ok('GET', '/api/servers/ada~others')).mine
  expect(await mine()).toMatchObject({ state: 'sign_in_needed', reason: { code: 'resource_changed' } })
  await ada.ok('PATCH', '/api/servers/others', { url: server.url })
  expect(await mine()).toMatchObject({ state: 'sign_in_needed', reason: { code: 'resource_changed' } })
  expect(other.calls.filter(({ authorization }) => authorization !== undefined)).toEqual([])
  await other.stop()
})

test('of the owner for all users, when the server goes to another', async () => {
  await add(ada, 'given')
  const tokens = await signIn(ada, 'ada-there', 'ada~given', { for: 'all' })
  await online(ada, ['given'])
  await root.ok('PATCH', '/api/servers/ada~given', { owner: 'bob' })
  await taken(tokens)
  await until(async () => (await statusOf(bob, 'given')).reason?.code === 'sign_in_needed', { what: 'the new owner' })
  expect(
    (await ada.ok('GET', '/api/connections')).items.filter(({ server }: { server: string }) => /given/.test(server)),
  ).toEqual([])
})

test('of a user with whom the server is no longer shared', async () => {
  await add(ada, 'shared', { visibility: 'private' })
  await ada.ok('PUT', '/api/servers/shared/shares/user:bob', { role: 'use' })
  const tokens = await signIn(bob, 'bob-there', 'ada~shared')
  await ada.ok('PATCH', '/api/servers/shared', { description: 'Still shared' })
  const client = await bob.mcp('/mcp/@ada/shared')
  await until(async () => (await toolNames(client)).includes('bob_only'), { what: 'the tools' })
  expect(issuer.taken.filter(token => tokens.includes(token))).toEqual([])
  await ada.ok('DELETE', '/api/servers/shared/shares/user:bob')
  await taken(tokens)
  await ada.ok('PATCH', '/api/servers/shared', { visibility: 'public' })
  const others = await signIn(bob, 'bob-there', 'ada~shared')
  await ada.ok('PATCH', '/api/servers/shared', { visibility: 'private' })
  await taken(others)
})

test('an issuer that is silent has two requests at a time of one user, and keeps nobody else waiting', async () => {
  let [open, most] = [0, 0]
  const never = Promise.withResolvers<void>()
  const silent = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    async fetch({ signal }) {
      open += 1
      most = Math.max(most, open)
      // The hub gives up after a while, and asks for the next token.
      signal.addEventListener('abort', () => {
        open -= 1
      })
      await never.promise
      return new Response()
    },
  })
  const [place, slow] = [new ScriptedIssuer(), new ScriptedIssuer()]
  place.raw = () => Response.json({ resource: `${place.url}/mcp`, authorization_servers: [slow.url] })
  slow.metadata = { revocation_endpoint: `http://127.0.0.1:${silent.port}/taken` }
  const mallory = await hub.user('mallory')
  /** The hub takes 50 requests a second of one user. */
  const admitted = (...asked: Parameters<Client['request']>) =>
    until(async () => {
      const given = await mallory.request(...asked)
      return given.status !== 429 && given
    })
  await add(mallory, 'slow', { url: `${place.url}/mcp` })
  const tokens = await signIn(bob, 'bob-there', 'ada~others')
  for (let round = 0; round < 60; round += 1) {
    const { authorizeUrl } = (await admitted('POST', '/api/servers/slow/connect', {})).json
    const back = await fetch(authorizeUrl, { redirect: 'manual' })
    const { id } = (await admitted('POST', '/api/connections/finish', { url: back.headers.get('location') })).json
    await admitted('DELETE', `/api/connections/${id}`)
  }
  const { items } = await bob.ok('GET', '/api/connections')
  for (const { id } of items) await bob.ok('DELETE', `/api/connections/${id}`)
  await taken(tokens)
  expect(most).toBe(2)
  const db = new Database(join(hub.dataDir, 'patchbay.db'), { readonly: true })
  const count = 'select count(*) as rows from plugin_oauth_client__held_token where next_at is not null'
  // One more is dropped a moment after it was stored.
  await until(() => db.query<{ rows: number }, []>(count).get()?.rows === 50, { what: '50 tokens that wait' })
  db.close()
  never.resolve()
  await Promise.all([silent.stop(true), place.stop(), slow.stop()])
})

test('of values that a user entered nothing is sent', async () => {
  const { length } = issuer.taken
  const key = { name: 'key', in: 'header', key: 'X-Key', label: 'Key' }
  await ada.ok('POST', '/api/servers', { name: 'keyed', url: server.url, visibility: 'public', bring: [key] })
  await bob.ok('PUT', '/api/servers/ada~keyed/connections/me', { values: { key: 'entered-by-bob' } })
  await ada.ok('DELETE', '/api/servers/keyed')
  const tokens = await signIn(bob, 'bob-there', 'ada~others')
  const { items } = await bob.ok('GET', '/api/connections')
  for (const { id } of items) await bob.ok('DELETE', `/api/connections/${id}`)
  await taken(tokens)
  expect(issuer.taken.slice(length).filter(token => !tokens.includes(token))).toEqual([])
})

test('after the hub was killed and the issuer was down', async () => {
  await add(ada, 'last')
  const tokens = await signIn(bob, 'bob-there', 'ada~last')
  issuer.takesNone = true
  await ada.ok('DELETE', '/api/servers/last')
  await hub.kill9()
  hub = await startHub({ env: LOOPBACK, folder: hub.folder, ownProcess: true, shiftedClock: true })
  await until(() => issuer.refusals > 0, { what: 'the first try', timeoutMs: 15_000 })
  issuer.takesNone = false
  expect(issuer.taken.filter(token => tokens.includes(token))).toEqual([])
  await hub.moveClock(60_000)
  await taken(tokens)
})
