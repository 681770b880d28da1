/** Calls in flight when their caller loses access to their target: no result comes, by any way, and they end at once. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ClientOptions, Client as NewClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { failureOf, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const SECRET = 'what-was-held'
const ENDS_WITHIN_MS = 5_000
let hub: Hub
let admin: Client
let carol: Client
let release = ''
const opened: NewClient[] = []
const sockets: WebSocket[] = []

beforeAll(async () => {
  hub = await startHub({ env: { ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: 'the-key-of-every-endpoint' } })
  release = join(hub.folder, 'release')
  admin = await hub.setup()
  carol = await hub.user('carol')
  await hub.user('dana', 'admin')
  await admin.ok('POST', '/api/servers', {
    name: 'other',
    visibility: 'public',
    session: 'shared',
    ...stdioFixture('echo'),
  })
  await online(admin, ['other'])
  await restore()
}, 120_000)

afterAll(async () => {
  for (const socket of sockets) socket.close()
  await Promise.allSettled(opened.splice(0).map(client => client.close()))
  await hub?.stop()
}, 120_000)

/**
 * Restores the server to its state at the beginning of each test, by the same process if that still runs, and carol's group
 * with it.
 */
async function restore(session = 'shared'): Promise<void> {
  for (const file of [release, `${release}.begun`]) rmSync(file, { force: true })
  await admin.ok('PATCH', '/api/admin/users/dana', { disabled: false })
  await admin.request('DELETE', '/api/servers/admin~holding')
  await carol.request('DELETE', '/api/assistant/endpoints/box')
  await carol.request('DELETE', '/api/groups/g')
  const rights = { session, visibility: 'public' }
  const { status } = await admin.request('PATCH', '/api/servers/dana~holding', { ...rights, tools: { hold: null } })
  const server = stdioFixture('holding', { RELEASE: release })
  if (status === 404) await admin.ok('POST', '/api/servers', { name: 'holding', owner: 'dana', ...rights, ...server })
  await online(admin, ['dana~holding'])
  await carol.ok('POST', '/api/groups', { name: 'g', members: ['dana~holding', 'admin~other'] })
}

interface Held {
  /** The text of whatever the call ended with. */
  readonly outcome: Promise<string>
  /** Everything that came with it, log messages too. */
  readonly heard: () => string
}

const asText = (work: Promise<unknown>): Promise<string> =>
  work.then(
    value => JSON.stringify(value),
    (error: { message?: string; data?: unknown }) => `${error.message} ${JSON.stringify(error.data)}`,
  )

async function legacy(path: string, method: keyof typeof REQUESTS, sse = false): Promise<Held> {
  const client = await carol.mcp(path, { sse })
  const outcome = asText(REQUESTS[method](client as unknown as Requester))
  return { outcome, heard: () => '' }
}

async function modern(path: string, method: keyof typeof REQUESTS): Promise<Held> {
  const options: ClientOptions = { versionNegotiation: { mode: { pin: '2026-07-28' } } }
  const client = new NewClient({ name: 'lost', version: '1.0.0' }, options)
  const authorization = `Bearer ${await carol.mcpKey()}`
  await client.connect(
    new StreamableHTTPClientTransport(new URL(path, hub.url), { requestInit: { headers: { authorization } } }),
  )
  opened.push(client)
  return { outcome: asText(REQUESTS[method](client as unknown as Requester)), heard: () => '' }
}

async function rest(_path: string, _method: string, accept = 'application/json'): Promise<Held> {
  let heard = ''
  const outcome = carol
    .request('POST', '/api/servers/dana~holding/tools/hold/call', { arguments: {} }, { accept })
    .then(answer => {
      heard += answer.text
      return answer.text
    })
  return { outcome, heard: () => heard }
}

async function groupRoute(accept = 'application/json', group = 'g'): Promise<Held> {
  const answer = carol.request('POST', `/api/groups/${group}/tools/hold`, {}, { accept })
  return { outcome: answer.then(({ text }) => text), heard: () => '' }
}

/** A device that is connected to the hub, and asks for the tool of its group. */
async function assistant(): Promise<Held> {
  const made = await carol.ok('POST', '/api/assistant/endpoints', { name: 'box', direction: 'inbound', group: 'g' })
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/assistant/ws?token=${made.token}`)
  sockets.push(socket)
  let heard = ''
  const outcome = new Promise<string>(resolve => {
    socket.onmessage = ({ data }) => {
      heard += data
      if (JSON.parse(data).id === 7) resolve(data)
    }
    socket.onclose = () => resolve(`${heard} closed`)
  })
  await new Promise(resolve => {
    socket.onopen = resolve
  })
  const params = { name: 'hold', arguments: {} }
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }))
  return { outcome, heard: () => heard }
}

/** Methods that both official clients have. */
interface Requester {
  callTool(params: object): Promise<unknown>
  getPrompt(params: object): Promise<unknown>
  readResource(params: object): Promise<unknown>
  complete(params: object): Promise<unknown>
  listTools(): Promise<{ tools: { name: string }[] }>
  listPrompts(): Promise<{ prompts: { name: string }[] }>
}

const REQUESTS = {
  tool: async (client: Requester) => client.callTool({ name: 'hold', arguments: {} }),
  prompt: async (client: Requester) => client.getPrompt({ name: 'held' }),
  resource: async (client: Requester) => client.readResource({ uri: 'held://one' }),
  completion: async (client: Requester) =>
    client.complete({ ref: { type: 'ref/prompt', name: 'held' }, argument: { name: 'a', value: '' } }),
}

const LOSSES: Readonly<Record<string, () => Promise<unknown>>> = {
  'made private': () => admin.ok('PATCH', '/api/servers/dana~holding', { visibility: 'private' }),
  'taken out of the group': () => carol.ok('DELETE', '/api/groups/g/members/dana~holding'),
  'without the tool in the group': () =>
    carol.ok('PATCH', '/api/groups/g', { members: [{ server: 'dana~holding', tools: ['long'] }, 'admin~other'] }),
  'with the tool switched off': () =>
    admin.ok('PATCH', '/api/servers/dana~holding', { tools: { hold: { enabled: false } } }),
  'of a disabled owner': () => admin.ok('PATCH', '/api/admin/users/dana', { disabled: true }),
  'given away, and private': () =>
    admin.ok('PATCH', '/api/servers/dana~holding', { owner: 'admin', visibility: 'private' }),
  deleted: () => admin.ok('DELETE', '/api/servers/dana~holding'),
  'no longer shared': () => admin.ok('DELETE', '/api/servers/dana~holding/shares/user:carol'),
  'no longer shared with her team': () => admin.ok('PATCH', '/api/admin/teams/crew', { members: [] }),
  'in a group that is no longer shared': () => admin.ok('DELETE', '/api/groups/dana~ours/shares/user:carol'),
  'taken out of the shared group': () => admin.ok('DELETE', '/api/groups/dana~ours/members/dana~holding'),
}

/** Makes the server private, and gives carol the way to it that the loss takes. */
async function prepare(loss: string): Promise<void> {
  if (!loss.includes('share')) return
  const ofGroup = loss.includes('group')
  const path = ofGroup ? '/api/groups/dana~ours' : '/api/servers/dana~holding'
  await admin.request('DELETE', '/api/groups/dana~ours')
  if (ofGroup) await admin.ok('POST', '/api/groups', { name: 'ours', owner: 'dana', members: ['dana~holding'] })
  await admin.request('DELETE', '/api/admin/teams/crew')
  await admin.ok('POST', '/api/admin/teams', { name: 'crew', members: ['carol'] })
  const subject = loss.includes('team') ? 'team:crew' : 'user:carol'
  await admin.ok('PUT', `${path}/shares/${subject}`, { role: 'use' })
  await admin.ok('PATCH', '/api/servers/dana~holding', { visibility: 'private' })
}

const NOT_FOUND =
  /tool_not_found|prompt_not_found|resource_not_found|server_not_found|group_not_found|session_not_found|You may no longer use/

type Case = readonly [who: string, loss: keyof typeof LOSSES, begin: () => Promise<Held>]

/** Each way to call once, and each loss once. */
const CORE: readonly Case[] = [
  ['a legacy session at a group', 'made private', () => legacy('/mcp/g', 'tool')],
  ['a legacy session at a group', 'taken out of the group', () => legacy('/mcp/g', 'tool')],
  ['a legacy session at a group', 'without the tool in the group', () => legacy('/mcp/g', 'tool')],
  ['a legacy session at the server', 'made private', () => legacy('/mcp/@dana/holding', 'tool')],
  ['the older pair', 'made private', () => legacy('/sse/g', 'tool', true)],
  ['a prompt', 'made private', () => legacy('/mcp/g', 'prompt')],
  ['a completion', 'made private', () => legacy('/mcp/g', 'completion')],
  ['a modern client', 'with the tool switched off', () => modern('/mcp/g', 'tool')],
  ['a modern client at the server', 'made private', () => modern('/mcp/@dana/holding', 'resource')],
  ['the route of a group’s tool', 'taken out of the group', () => groupRoute('application/vnd.patchbay.result+json')],
  ['an assistant', 'made private', () => assistant()],
  ['REST', 'of a disabled owner', () => rest('', '')],
  ['REST as a stream', 'given away, and private', () => rest('', '', 'text/event-stream')],
  ['REST', 'deleted', () => rest('', '')],
  ['a legacy session at a group', 'no longer shared', () => legacy('/mcp/g', 'tool')],
  ['a legacy session at the server', 'no longer shared', () => legacy('/mcp/@dana/holding', 'tool')],
  ['a modern client', 'no longer shared', () => modern('/mcp/@dana/holding', 'tool')],
  ['REST', 'no longer shared', () => rest('', '')],
  ['an assistant', 'no longer shared', () => assistant()],
  ['REST', 'no longer shared with her team', () => rest('', '')],
  ['a legacy session', 'in a group that is no longer shared', () => legacy('/mcp/@dana/ours', 'tool')],
  ['the route of a tool', 'in a group that is no longer shared', () => groupRoute(undefined, 'dana~ours')],
  ['a modern client', 'taken out of the shared group', () => modern('/mcp/@dana/ours', 'tool')],
]
const REST_OF_CASES: readonly Case[] = [
  ['a legacy session at a group', 'of a disabled owner', () => legacy('/mcp/g', 'tool')],
  ['a legacy session at a group', 'given away, and private', () => legacy('/mcp/g', 'tool')],
  ['a resource', 'made private', () => legacy('/mcp/g', 'resource')],
  ['a modern client', 'made private', () => modern('/mcp/g', 'tool')],
  ['a modern client’s prompt', 'taken out of the group', () => modern('/mcp/g', 'prompt')],
  ['REST', 'made private', () => rest('', '')],
  ['the route of a group’s tool', 'made private', () => groupRoute()],
  ['the route of a group’s tool', 'of a disabled owner', () => groupRoute()],
  ['an assistant', 'of a disabled owner', () => assistant()],
]

/** The server has been asked, and holds its answer back. */
async function underWay(): Promise<void> {
  await until(() => existsSync(`${release}.begun`), { what: 'the call to reach the server' })
}

describe('a call in flight', () => {
  for (const [who, loss, begin] of extent(CORE, [...CORE, ...REST_OF_CASES])) {
    test(`by ${who} ends when its server is ${loss}`, async () => {
      await restore()
      await prepare(loss)
      const { outcome, heard } = await begin()
      let ended = false
      void outcome.then(() => {
        ended = true
      })
      await underWay()
      const startedMs = performance.now()
      await LOSSES[loss]?.()
      const text = await outcome
      expect(performance.now() - startedMs).toBeLessThan(atMost(ENDS_WITHIN_MS))
      writeFileSync(release, '')
      expect(ended).toBe(true)
      expect(text).toMatch(NOT_FOUND)
      expect(`${text}${heard()}`).not.toContain(SECRET)
    }, 120_000)
  }

  for (const [who, begin] of [
    ['a group', () => legacy('/mcp/g', 'tool')],
    ['REST', () => rest('', '')],
    ['a modern client', () => modern('/mcp/g', 'tool')],
  ] as const)
    test(`by ${who} whose answer comes with the change delivers nothing`, async () => {
      await restore()
      const { outcome } = await begin()
      await underWay()
      await LOSSES['made private']?.()
      // The server answers within 20 ms, before the change is noticed.
      writeFileSync(release, '')
      const text = await outcome
      expect(text).toMatch(NOT_FOUND)
      expect(text).not.toContain(SECRET)
    }, 120_000)

  test('of a member that stays continues while another one leaves', async () => {
    await restore()
    const { outcome } = await legacy('/mcp/g', 'tool')
    const own = await rest('', '')
    await underWay()
    await carol.ok('DELETE', '/api/groups/g/members/admin~other')
    await admin.ok('PATCH', '/api/servers/dana~holding', { description: 'changed' })
    writeFileSync(release, '')
    expect(await outcome).toContain(SECRET)
    expect(await own.outcome).toContain(SECRET)
  }, 120_000)
})

beyondCore(() => {
  test('log messages of a server that went private do not reach sessions that had a connection of their own', async () => {
    await restore('per-session')
    const heard: string[] = []
    const client = await carol.mcp('/mcp/g', {
      prepare: one => {
        one.fallbackNotificationHandler = async notice => void heard.push(JSON.stringify(notice))
      },
    })
    const call = failureOf(client.callTool({ name: 'hold', arguments: {} }))
    await until(() => heard.some(text => text.includes('still held')))
    await LOSSES['made private']?.()
    await call
    const count = heard.length
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).not.toContain('hold')
    await client.callTool({ name: 'echo', arguments: { text: 'x' } })
    expect(heard.slice(count).filter(text => text.includes('still held'))).toEqual([])
  }, 120_000)
})

describe('the kept rest of a long result', () => {
  async function cut(loss = ''): Promise<{ readonly client: Requester; readonly handle: string }> {
    await restore()
    await prepare(loss)
    await carol.ok('PATCH', '/api/groups/g', { resultLimit: 200 })
    const client = (await carol.mcp('/mcp/g')) as unknown as Requester
    const shown = JSON.stringify(await client.callTool({ name: 'long', arguments: {} }))
    expect(shown).not.toContain(SECRET)
    return { client, handle: /read on by ([\w-]+)/.exec(shown)?.[1] ?? '' }
  }

  const read = async ({ client, handle }: { client: Requester; handle: string }): Promise<string> =>
    JSON.stringify(await client.callTool({ name: 'patchbay_read_result', arguments: { handle } }))

  test('is read while the server is there', async () => {
    const kept = await cut()
    expect(await read(kept)).toContain('xxxx')
    await carol.ok('PATCH', '/api/groups/g', { resultLimit: 100_000 })
    expect(await read(kept)).toContain(SECRET)
  }, 120_000)

  const losses = ['made private', 'no longer shared', 'taken out of the group', 'of a disabled owner', 'deleted']
  for (const loss of extent(losses.slice(0, 2), losses))
    test(`is not read once the server is ${loss}`, async () => {
      const kept = await cut(loss)
      await carol.ok('PATCH', '/api/groups/g', { resultLimit: 100_000 })
      await LOSSES[loss]?.()
      const text = await read(kept)
      expect(text).toContain('isError')
      expect(text).not.toContain('xxxx')
    }, 120_000)
})
