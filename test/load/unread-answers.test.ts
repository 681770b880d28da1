// Answers that nobody reads, of every route that answers much: they are on the account of the one who asked.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Client } from '../support/hub.ts'
import { type Asked, readingRequests, UnreadHub } from '../support/unread-answers.ts'
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
}, 120_000)
afterAll(() => unread?.stop(), 120_000)

/** The longest answer to each route, by method and path as they are asked. */
async function longAnswers(): Promise<{ asked: Asked; bytes: number }[]> {
  const found: { asked: Asked; bytes: number }[] = []
  for (const asked of await readingRequests(mallory, SIZE)) {
    if (/^\/api\/stream/.test(asked.path)) continue
    const { text } = await unread.read(mallory, asked)
    if (text.length > LONG_BYTES) found.push({ asked, bytes: text.length })
  }
  return found
}

test('every long answer is on the account until it is read, and others are answered meanwhile', async () => {
  const long = await longAnswers()
  const names = long.map(({ asked: { method, path } }) => `${method} ${path}`)
  console.log(`long answers: ${names.join(', ')}`)
  for (const expected of [
    'GET /api/servers/pets/document',
    'GET /api/groups/g/openapi.json',
    'POST /api/servers/heavy/tools/bytes/call',
    'POST /api/groups/g/tools/bytes',
    'POST /api/export',
  ])
    expect(names).toContain(expected)
  const problems = await unread.attack('unread answers of every route', async () => {
    for (const { asked, bytes } of long) {
      for (let at = 0; at < CONNECTIONS; at += 1) {
        await unread.send(mallory, asked)
        // The time that a call took stands in its answer, in more or fewer digits.
        const wanted = (at + 1) * (bytes - 64)
        await until(async () => (await unread.used(mallory)) >= wanted, {
          timeoutMs: 30_000,
          what: `${wanted} bytes of ${asked.method} ${asked.path} on the account`,
        })
      }
      await unread.leave(mallory)
    }
  })
  expect(problems).toEqual([])
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
