// Answers that nobody reads, of every route that answers much: they are on the account of the one who asked.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { HELD_BYTES } from '../../core/request/held-body.ts'
import type { Client } from '../support/hub.ts'
import { type Asked, UnreadHub } from '../support/unread-answers.ts'
import { mcpRequests, pluginRequests, readingRequests } from '../support/unread-requests.ts'
import { until } from '../support/wait.ts'

const MIB = 2 ** 20
/** Shorter answers are taken by the buffers of the system, most of 64 KiB to 1 MiB at once. */
const LONG_BYTES = 1.5 * MIB
const CONNECTIONS = 3
/** Of each answer, what the system has taken of it counts too, until the whole is taken. */
const SIZE = 3 * MIB

let unread: UnreadHub
let mallory: Client

beforeAll(async () => {
  unread = await UnreadHub.start({ document: SIZE, list: 14_000_000 })
  mallory = await unread.user('mallory')
  await unread.calm()
}, 240_000)
afterAll(() => unread?.stop(), 120_000)

/** A request with a long answer. */
interface Long {
  readonly asked: Asked
  readonly bytes: number
  /** The session or the era says which of several requests to one path it is. */
  readonly name: string
  readonly isStream: boolean
}

/** Of all that can be asked for, what answers much. */
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

/** What is known to answer much; the walk finds it by itself, and everything like it. */
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

test('every long answer is on the account until it is read, and others are answered meanwhile', async () => {
  const long = await longAnswers()
  const names = long.map(({ name }) => name)
  console.log(`long answers: ${names.join(', ')}`)
  expect(names).toEqual(expect.arrayContaining(KNOWN))
  const problems = await unread.attack('unread answers of every route', async () => {
    for (const { asked, bytes, name, isStream } of long) {
      // The time that a call took stands in its answer, in more or fewer digits; of a stream the system has taken some.
      const held = isStream ? bytes - MIB : bytes - 64
      for (let at = 0; at < CONNECTIONS; at += 1) await unread.send(mallory, asked)
      await until(async () => (await unread.used(mallory)) >= CONNECTIONS * held, {
        timeoutMs: 30_000,
        what: `${CONNECTIONS * held} bytes of ${name} on the account`,
      })
      await unread.leave(mallory)
    }
  })
  expect(problems).toEqual([])
}, 120_000)

test('a HEAD of any of them holds nothing', async () => {
  for (const { asked } of await longAnswers())
    if (asked.method === 'GET') await unread.send(mallory, { ...asked, method: 'HEAD' })
  await until(async () => (await unread.used(mallory)) === 0, { what: 'nothing on the account', timeoutMs: 30_000 })
  await unread.leave(mallory)
}, 120_000)

test('what a caller says does not come back at length in a refusal, which is on no account', async () => {
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

test('what does not fit is refused with quota_bytes, and the rest is taken again when the connections end', async () => {
  const asked = { method: 'GET', path: '/api/servers/pets/document' }
  const problems = await unread.attack('40 unread documents', async () => {
    for (let at = 0; at < 40; at += 1) await unread.send(mallory, asked)
    await until(async () => (await unread.read(mallory, asked)).status === 429, {
      timeoutMs: 30_000,
      what: 'a refusal',
    })
  })
  expect((await unread.read(mallory, asked)).json.code).toBe('quota_bytes')
  expect(problems).toEqual([])
  await unread.leave(mallory)
  expect((await unread.read(mallory, asked)).status).toBe(200)
}, 120_000)
