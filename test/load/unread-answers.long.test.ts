// Like unread-routes.test.ts, but by weight: everything that one user, or several at once, can request and leave unread.
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type { Client } from '../support/hub.ts'
import { type Asked, MOST_RESIDENT_MIB, UnreadHub } from '../support/unread-answers.ts'
import { until } from '../support/wait.ts'

const MIB = 2 ** 20
/** Duration of an attack when all of it is sent. */
const SECONDS = 6
const DOCUMENT: Asked = { method: 'GET', path: '/api/servers/pets/document' }
const LIST: Asked = { method: 'GET', path: '/api/servers/admin~lists/tools' }

let unread: UnreadHub
let users: readonly Client[]
let mallory: Client

beforeAll(async () => {
  unread = await UnreadHub.start({ document: 15_000_000, list: 14_000_000 })
  const made: Client[] = []
  for (let at = 0; at < 8; at += 1) made.push(await unread.user(`mallory${at}`))
  users = made
  mallory = made[0] as Client
  await unread.calm()
}, 240_000)

afterEach(async () => {
  await unread.leave(users)
  await until(() => unread.residentMiB() < MOST_RESIDENT_MIB, { what: 'the memory given back', timeoutMs: 30_000 })
}, 120_000)

afterAll(() => unread?.stop(), 120_000)

function call(size: number, headers: Readonly<Record<string, string>> = {}): Asked {
  return { method: 'POST', path: '/api/servers/heavy/tools/bytes/call', body: { arguments: { size } }, headers }
}

async function send(user: Client, asked: Asked, times: number): Promise<void> {
  for (let at = 0; at < times; at += 1) {
    await unread.send(user, asked)
    // Requests beyond the rate would be refused before they weigh anything.
    if (at % 50 === 49) await Bun.sleep(1_000)
  }
}

async function attack(name: string, work: () => Promise<unknown>): Promise<void> {
  const problems = await unread.attack(name, async () => {
    await work()
    await Bun.sleep(SECONDS * 1_000)
  })
  expect(problems).toEqual([])
}

const weights: readonly (readonly [name: string, asked: Asked, times: number])[] = [
  ['80 calls of 9.7 MB', call(9_700_000), 80],
  ['30 calls of 63 MiB', call(63 * MIB), 30],
  ['30 calls of 63 MiB as streams', call(63 * MIB, { Accept: 'text/event-stream' }), 30],
  ['60 documents', DOCUMENT, 60],
  ['60 heads of documents', { ...DOCUMENT, method: 'HEAD' }, 60],
  ['60 ranges of documents', { ...DOCUMENT, headers: { Range: 'bytes=0-99' } }, 60],
  ['60 documents of a group', { method: 'GET', path: '/api/groups/g/openapi.json' }, 60],
  ['40 results of a group', { ...call(0), path: '/api/groups/g/tools/bytes', body: { size: 9_700_000 } }, 40],
  ['100 lists', LIST, 100],
  ['100 compressed lists', { ...LIST, headers: { 'Accept-Encoding': 'gzip' } }, 100],
  ['40 exports', { method: 'POST', path: '/api/export', body: {} }, 40],
  ['100 searches', { method: 'GET', path: '/api/logs?limit=1000' }, 100],
  ['100 times the API document', { method: 'GET', path: '/api/openapi.json' }, 100],
]

test.each(weights)(
  '%s that nobody reads',
  async (name, asked, times) => {
    await attack(name, () => send(mallory, asked, times))
  },
  120_000,
)

test('documents that are asked for on one connection without reading', async () => {
  await attack('pipelined documents', async () => {
    for (let at = 0; at < 20; at += 1) await unread.sendPipelined(mallory, DOCUMENT.path, 10)
  })
}, 120_000)

test('documents that are read at one byte a second', async () => {
  const timers: ReturnType<typeof setInterval>[] = []
  await attack('documents read byte by byte', async () => {
    for (let at = 0; at < 30; at += 1) {
      const socket = await unread.send(mallory, DOCUMENT)
      timers.push(setInterval(() => socket.read(1), 1_000))
    }
  })
  for (const timer of timers) clearInterval(timer)
}, 120_000)

test('several users at once', async () => {
  await attack('30 calls and 10 documents of each of 8 users', () =>
    Promise.all(
      users.map(async user => {
        await send(user, DOCUMENT, 10)
        await send(user, call(9_700_000), 30)
      }),
    ),
  )
}, 120_000)
