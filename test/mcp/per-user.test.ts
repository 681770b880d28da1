import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atLeast } from '../support/pace.ts'
import { alive } from '../support/processes.ts'
import { type Answer, RawClient, SseReader } from '../support/raw-mcp.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'

const VARIED = { RESOURCES: '["test://one"]', CAPABILITIES: '{"resources":{"subscribe":true},"logging":{}}' }
const IDLE_MS = atLeast(1_500)

let hub: Hub
let ann: Client
let bob: Client
let eve: Client

beforeAll(async () => {
  hub = await startHub({
    env: { STDIO_POLICY: 'admin' },
    settings: {
      mcpServers: {
        mine: { ...stdioFixture('varied', VARIED), session: 'per-user', visibility: 'public' },
        brief: { ...stdioFixture('echo'), session: 'per-user', visibility: 'public', idleTimeout: IDLE_MS },
        gone: { ...stdioFixture('echo'), session: 'per-user', visibility: 'public' },
      },
    },
  })
  ann = await hub.setup()
  bob = await hub.user('bob')
  eve = await hub.user('eve')
  // "brief" may be asleep again by the time of the check.
  await online(ann, ['mine', 'gone'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

const path = (name: string) => `/mcp/@admin/${name}`
const connectionsOf = async (name: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: the test says what it expects
  ((await statusOf(ann, name)) as any).connections as { shared: number; user: number; session: number }
const pidAt = async (who: Client, name: string) =>
  JSON.parse(await callText(await who.mcp(path(name)), 'whoami')).pid as number
/** The marks of the callers whose calls the process behind this client has received. */
async function marks(client: RawClient): Promise<string[]> {
  const { result } = await client.call('tools/call', { name: 'seen', arguments: {} })
  const seen = JSON.parse(result.content[0].text) as { params?: { arguments?: { mark?: string } } }[]
  return seen.map(({ params }) => params?.arguments?.mark).filter(mark => mark !== undefined)
}
const text = ({ result }: Answer) => result.content[0].text as string

test('all of one user share a connection, sessions and modern clients and REST alike, and nobody else is on it', async () => {
  const [key, other] = [await ann.mcpKey(), await bob.mcpKey()]
  const asked = { sampling: {}, elicitation: {}, roots: {} }
  const first = await new RawClient(hub, path('mine'), key).open('2025-11-25', asked)
  const second = await new RawClient(hub, path('mine'), key).open('2025-06-18')
  const modern = new RawModern(hub, path('mine'), key)
  const theirs = await new RawClient(hub, path('mine'), other).open('2025-11-25', asked)
  const mark = (by: string) => ({ name: 'name', arguments: { mark: by } })
  await Promise.all([
    first.call('tools/call', mark('ann 1')),
    second.call('tools/call', mark('ann 2')),
    modern.call('tools/call', mark('ann modern'), { capabilities: asked }),
    ann.ok('POST', '/api/servers/mine/tools/name/call', { arguments: { mark: 'ann REST' } }),
    theirs.call('tools/call', mark('bob')),
    new RawModern(hub, path('mine'), other).call('tools/call', mark('bob modern')),
  ])
  expect((await marks(first)).sort()).toEqual(['ann 1', 'ann 2', 'ann REST', 'ann modern'])
  expect(await marks(second)).toEqual(await marks(first))
  expect((await marks(theirs)).sort()).toEqual(['bob', 'bob modern'])
  expect(await connectionsOf('mine')).toMatchObject({ shared: 1, session: 0, lease: 0, user: 2 })
})

test('nothing can be asked over it, whatever its callers offer', async () => {
  const asked = { sampling: {}, elicitation: {}, roots: {} }
  const legacy = await new RawClient(hub, path('mine'), await ann.mcpKey()).open('2025-11-25', asked)
  const seen = JSON.parse(text(await legacy.call('tools/call', { name: 'seen', arguments: {} })))
  const [hello] = seen as { method: string; params: { capabilities: object } }[]
  // Apps need no requests to the client.
  const apps = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } }
  expect([hello?.method, hello?.params.capabilities]).toEqual(['initialize', { extensions: apps }])
  const ask = { name: 'ask', arguments: { method: 'roots/list' } }
  expect(JSON.parse(text(await legacy.call('tools/call', ask)))).toMatchObject({ error: -32601 })
  const modern = new RawModern(hub, path('mine'), await ann.mcpKey())
  expect(JSON.parse(text(await modern.call('tools/call', ask, { capabilities: asked })))).toMatchObject({
    error: -32601,
  })
})

test('its notifications reach sessions and listen streams of its user, and of nobody else', async () => {
  const keys = [await ann.mcpKey(), await bob.mcpKey()]
  const sessions = await Promise.all(keys.map(key => new RawClient(hub, path('mine'), key).open()))
  const streams: SseReader[] = []
  for (const session of sessions) {
    streams.push(new SseReader(await session.get()))
    await session.call('resources/subscribe', { uri: 'test://one' })
    await session.call('logging/setLevel', { level: 'debug' })
  }
  const listens = await Promise.all(
    keys.map(async key => {
      const filter = { notifications: { resourceSubscriptions: ['test://one'] } }
      return new SseReader(await new RawModern(hub, path('mine'), key).send('subscriptions/listen', filter))
    }),
  )
  for (const listen of listens) expect((await listen.message())?.method).toContain('acknowledged')
  const say = (index: number, method: string, params: object) =>
    sessions[index]!.send('tools/call', { name: 'say', arguments: { method, params } }).then(response =>
      response.text(),
    )
  // A log message of Bob's call is on the stream of his call; Ann's update comes first on both of her streams, and then a later one.
  await say(1, 'notifications/message', { level: 'error', data: 'of bob' })
  await say(0, 'notifications/resources/updated', { uri: 'test://one', of: 'ann' })
  await say(1, 'notifications/resources/updated', { uri: 'test://one', of: 'bob' })
  for (const [index, of] of ['ann', 'bob'].entries())
    for (const stream of [streams[index], listens[index]])
      expect((await stream?.message())?.params).toMatchObject({ uri: 'test://one', of })
  await Promise.all([...streams, ...listens].map(stream => stream.close()))
  for (const session of sessions) await session.delete()
}, 120_000)

test('it ends when it was idle for idleTimeout, not with the session, and the next call opens it again', async () => {
  const session = await new RawClient(hub, path('brief'), await bob.mcpKey()).open()
  const pid = JSON.parse(text(await session.call('tools/call', { name: 'whoami' }))).pid
  await session.delete()
  expect(await pidAt(bob, 'brief')).toBe(pid)
  await until(() => !alive(pid), { timeoutMs: 60_000, what: 'the idle connection to end' })
  expect(await connectionsOf('brief')).toMatchObject({ user: 0 })
  expect(await pidAt(bob, 'brief')).not.toBe(pid)
}, 120_000)

test('it ends when its user is disabled or deleted, and no other one does', async () => {
  const [mine, of] = [await pidAt(bob, 'gone'), await pidAt(eve, 'gone')]
  await ann.ok('PATCH', '/api/admin/users/eve', { disabled: true })
  await until(() => !alive(of), { what: 'the process of a disabled user to be gone' })
  expect(alive(mine)).toBe(true)
  const dan = await hub.user('dan')
  const theirs = await pidAt(dan, 'gone')
  await ann.ok('DELETE', '/api/admin/users/dan')
  await until(() => !alive(theirs), { what: 'the process of a deleted user to be gone' })
  expect(await pidAt(bob, 'gone')).toBe(mine)
}, 120_000)

test('it ends when its user may not use the server any more, and when the server stops', async () => {
  const [own, of] = [await pidAt(ann, 'gone'), await pidAt(bob, 'gone')]
  await ann.ok('PATCH', '/api/servers/gone', { visibility: 'private' })
  await until(() => !alive(of), { what: 'the process of somebody who lost access to be gone' })
  expect(alive(own)).toBe(true)
  await ann.ok('POST', '/api/servers/gone/stop')
  await until(() => !alive(own), { what: 'the last one to be gone' })
  expect(await connectionsOf('gone')).toEqual({ shared: 0, session: 0, lease: 0, user: 0 } as never)
}, 120_000)
