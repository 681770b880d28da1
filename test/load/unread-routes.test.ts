// Unread answers of every route with long answers: they count for the user who asked.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { HELD_BYTES } from '../../core/request/held-body.ts'
import type { Client } from '../support/hub.ts'
import { type Asked, MOST_RESIDENT_MIB, UnreadHub } from '../support/unread-answers.ts'
import { mcpRequests, pluginRequests, readingRequests } from '../support/unread-requests.ts'
import { until } from '../support/wait.ts'

const MIB = 2 ** 20
/** The buffers of the system take shorter answers, most of 64 KiB to 1 MiB at once. */
const LONG_BYTES = 1.5 * MIB
const CONNECTIONS = 3
/** The account holds a whole answer until all of it is taken, including the part that the system has taken already. */
const SIZE = 3 * MIB

let unread: UnreadHub
let mallory: Client
let long: readonly Long[]

beforeAll(async () => {
  unread = await UnreadHub.start({ document: SIZE, list: 14_000_000 })
  mallory = await unread.user('mallory')
  long = await longAnswers()
}, 240_000)
afterAll(() => unread?.stop(), 120_000)

/** A request with a long answer. */
interface Long {
  readonly asked: Asked
  readonly bytes: number
  /** The session or the era distinguishes several requests to one path. */
  readonly name: string
  readonly isStream: boolean
}

/** All requests with long answers. */
async function longAnswers(): Promise<readonly Long[]> {
  const found: Long[] = []
  const all = [
    ...(await readingRequests(mallory, SIZE)),
    ...(await pluginRequests(unread.admin, SIZE)),
    ...(await mcpRequests(unread.hub, mallory, SIZE)),
  ]
  for (const asked of all) {
    if (/^\/api\/stream/.test(asked.path)) continue
    const { text, headers } = await unread.read(mallory, asked)
    if (text.length < LONG_BYTES) continue
    const isStream = headers.get('content-type') === 'text/event-stream'
    found.push({ asked, bytes: text.length, name: nameOf(asked), isStream })
  }
  return found
}

function nameOf({ method, path, body, headers = {} }: Asked): string {
  const { method: rpc, params } = (body ?? {}) as { method?: string; params?: { name?: string } }
  if (!path.startsWith('/mcp')) return `${method} ${path.replace(/\?.*/, '')}`
  const era = headers['mcp-session-id'] === undefined ? 'modern' : 'session'
  return [era, path, rpc, params?.name].filter(Boolean).join(' ')
}

/** A message under another id, since a session refuses one that is in flight. */
function withId(asked: Asked, id: number): Asked {
  return asked.path.startsWith('/mcp') ? { ...asked, body: { ...(asked.body as object), id } } : asked
}

function isOfSession({ asked }: Pick<Long, 'asked'>): boolean {
  return asked.headers?.['mcp-session-id'] !== undefined
}

/** True for a body that the hub reads from its database while the client takes it: one part of 1 MiB is in memory. */
function isReadInParts({ path }: Asked): boolean {
  return path.endsWith('/document')
}

/** Requests with long answers that are known; the walk must find them by itself, with everything like them. */
const KNOWN = [
  'GET /api/servers/pets/document',
  'GET /api/groups/g/openapi.json',
  'POST /api/servers/heavy/tools/bytes/call',
  'POST /api/groups/g/tools/bytes',
  'POST /api/export',
  ...['inside', 'apart'].flatMap(plugin =>
    ['whole', 'announced', 'short', 'stream', 'refusal'].map(path => `GET /api/plugins/heavy-${plugin}/${path}`),
  ),
  ...['modern', 'session'].flatMap(era => [`${era} /mcp/heavy tools/call bytes`, `${era} /mcp/heavy tools/call notes`]),
]

test('every long answer is on the account until it is read', async () => {
  const names = long.map(({ name }) => name)
  console.log(`long answers: ${names.join(', ')}`)
  expect(names).toEqual(expect.arrayContaining(KNOWN))
  // A session keeps the events of its streams for a client that resumes them; those are read last.
  const ordered = long.toSorted((one, other) => Number(isOfSession(one)) - Number(isOfSession(other)))
  let kept = await unread.used(mallory)
  for (const { asked, bytes, name, isStream } of ordered) {
    // The time that a call took is in its answer, with more or fewer digits; the system has taken a part of a stream.
    const held = isReadInParts(asked) ? Math.min(bytes - 64, MIB) : isStream ? bytes - MIB : bytes - 64
    const before = await unread.used(mallory)
    // One after the other: some documents are written for one request of a user at a time.
    for (let at = 1; at <= CONNECTIONS; at += 1) {
      await unread.send(mallory, withId(asked, at))
      await until(async () => (await unread.used(mallory)) - before >= at * held, {
        timeoutMs: 30_000,
        what: `${at * held} bytes of ${name} on the account`,
      })
    }
    if (isStream && isOfSession({ asked })) kept += CONNECTIONS * (bytes + MIB)
    await unread.leave([mallory], kept)
  }
  expect(unread.residentMiB()).toBeLessThan(MOST_RESIDENT_MIB)
}, 120_000)

test('a HEAD of any of them holds nothing', async () => {
  const before = await unread.used(mallory)
  for (const { asked } of long) if (asked.method === 'GET') await unread.send(mallory, { ...asked, method: 'HEAD' })
  await until(async () => (await unread.used(mallory)) <= before, {
    what: 'nothing more on the account',
    timeoutMs: 30_000,
  })
  await unread.leave([mallory], await unread.used(mallory))
}, 120_000)

test('a refusal does not repeat a long input of the caller, since no account counts it', async () => {
  const text = 'x'.repeat(2 * HELD_BYTES)
  const said = {
    name: text,
    uri: text,
    cursor: text,
    taskId: text,
    level: text,
    requestState: text,
    ref: { type: text },
  }
  for (const asked of await mcpRequests(unread.hub, mallory, 1)) {
    const { method, id, jsonrpc, params } = asked.body as Record<string, object>
    const body = { jsonrpc, id, method, params: { ...params, ...said, [text]: text } }
    const { text: answer } = await unread.read(mallory, { ...asked, body })
    const isList = answer.length > LONG_BYTES
    if (!isList) expect([nameOf(asked), answer.length < HELD_BYTES]).toEqual([nameOf(asked), true])
    const unknown = { ...body, method: text }
    const headers = { ...asked.headers, ...(asked.headers?.['mcp-method'] ? { 'mcp-method': 'x' } : {}) }
    expect((await unread.read(mallory, { ...asked, headers, body: unknown })).text.length).toBeLessThan(HELD_BYTES)
  }
}, 120_000)

test('answers that do not fit are refused with quota_bytes, and accepted again when the connections end', async () => {
  const body = { arguments: { size: 3 * MIB } }
  const asked = { method: 'POST', path: '/api/servers/heavy/tools/bytes/call', body }
  for (let at = 0; at < 40; at += 1) await unread.send(mallory, asked)
  await until(async () => (await unread.read(mallory, asked)).status === 429, {
    timeoutMs: 30_000,
    what: 'a refusal',
  })
  expect((await unread.read(mallory, asked)).json.code).toBe('quota_bytes')
  await unread.leave([mallory], await unread.used(mallory))
  expect((await unread.read(mallory, asked)).status).toBe(200)
}, 120_000)
