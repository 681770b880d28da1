/** A large history: each kind of search is answered in time, and none of them holds the main thread. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { UserActor } from '../../../core/contract/records.ts'
import type { History } from '../../../plugins/log-database/client.ts'
import { parseQueryText } from '../../../plugins/log-database/query-text.ts'
import { extent } from '../../support/extent.ts'
import { openHistory } from '../../support/log-database.ts'
import { atMost } from '../../support/pace.ts'
import { batchOf } from '../../support/record-batch.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

const RECORDS = extent(50_000, 1_000_000)
const ROUNDS = extent(20, 50)
const BATCH = 1_000
const START = Date.parse('2026-11-22T09:00:00.000Z')
const WORDS = ['connection', 'upstream', 'answered', 'request', 'timeout', 'cache', 'session', 'worker', 'catalogue']

let folder: string
let history: History

/** Records as a hub with 40 servers of 20 owners writes them; some texts occur once, some are rare. */
function record(n: number): string {
  const word = (step: number): string => WORDS[(n * step) % WORDS.length] ?? ''
  const message =
    n % 50_000 === 7
      ? `unique needle-${n} in the hay`
      : n % 997 === 0
        ? `请求超时 ${word(3)} 连接已断开`
        : `${word(1)} ${word(5)} ${word(7)} of call ${n.toString(36)} took ${n % 4_096} ms`
  return `${JSON.stringify({
    level: n % 100 === 0 ? 'ERROR' : n % 20 === 0 ? 'WARN' : 'INFO',
    timestamp: new Date(START + n * 40).toISOString(),
    ...{ component: 'mcp', server: `server-${n % 40}`, serverId: `s-${n % 40}`, tool: `tool_${n % 300}` },
    ...{ status: n % 100 === 0 ? 'upstream_timeout' : 'success', duration: n % 4_096 },
    requestId: `req_${(n * 2_654_435_761).toString(16)}`,
    message,
  })}\n`
}

beforeAll(
  async () => {
    folder = await makeTemp('large-history')
    history = openHistory(
      { folder, retentionMs: 30 * 86_400_000, maxBytes: 8e9, table: 'log_record', indexes: [] },
      { debug() {}, info() {}, warn() {}, error() {} },
    )
    for (let first = 0; first < RECORDS; first += BATCH) {
      const numbers = Array.from({ length: BATCH }, (_, n) => first + n)
      const written = history.write(
        batchOf(
          numbers.map(record),
          numbers.map(n => `u${n % 20}`),
        ),
      )
      // Without a rest after each part: on a busy machine a batch would take longer than the thread is waited for.
      history.hurry()
      await written
    }
  },
  extent(180_000, 300_000),
)
afterAll(async () => {
  await history.close()
  await removeTemp(folder)
})

const person = (userId: string, role: 'user' | 'admin'): UserActor => ({
  ...{ kind: 'user', userId, name: userId, role, credential: { kind: 'local' } },
})
const admin = person('boss', 'admin')
const owner = person('u0', 'user')
const id = (RECORDS - 1_234) * 2_654_435_761

const SEARCHES: readonly (readonly [name: string, query: string, actor: UserActor])[] = [
  ['a phrase and a level', 'level:WARN "upstream timeout"', admin],
  ['a word that occurs once', 'needle-7', admin],
  ['Chinese', '超时', admin],
  ['four characters and a server', 'time server:server-7', admin],
  ['a fragment of an id', id.toString(16).slice(1, 9), admin],
  ['an owner, a level and a phrase', 'level:ERROR "request"', owner],
  ['nothing, by letters that are common', 'upstrequestworkerconnection', admin],
  ['an owner’s last records', '', owner],
]

test.each(SEARCHES)('%s: the newest hundred are found within 200 ms in 95 of 100 searches', async (name, q, actor) => {
  const reader = history.for(actor)
  const search = { where: parseQueryText(q), order: 'desc', limit: 100 } as const
  const times: number[] = []
  const holds: number[] = []
  const works: number[] = []
  let found = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedMs = performance.now()
    const searching = reader.search(search)
    let turnMs = performance.now()
    let workedMs = mainMs()
    let most = 0
    // All work of the main thread for a search falls into these turns.
    const watch = setInterval(() => {
      const nowMs = performance.now()
      holds.push(nowMs - turnMs)
      turnMs = nowMs
      const ms = mainMs()
      most = Math.max(most, ms - workedMs)
      workedMs = ms
    }, 0)
    const { items } = await searching
    clearInterval(watch)
    works.push(Math.max(most, mainMs() - workedMs))
    times.push(performance.now() - startedMs)
    found = items.length
  }
  const of = (all: readonly number[], share: number): number =>
    all.toSorted((a, b) => a - b)[Math.ceil(all.length * share) - 1] ?? 0
  const [p50, p95, worst] = [of(times, 0.5), of(times, 0.95), of(times, 1)]
  const held = Math.max(0, ...holds)
  console.log(
    `${RECORDS} records, ${name}: ${found} found, p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, worst ${worst.toFixed(1)} ms; main worked ${of(works, 0.95).toFixed(1)} ms in one turn, ${of(works, 1).toFixed(1)} at the most, and was held for ${held.toFixed(1)} ms`,
  )
  expect(p95).toBeLessThanOrEqual(atMost(200))
  // This is its own processor time, since other programs can hold it for longer. One collection of garbage may fall into a
  // search.
  expect(of(works, 0.95)).toBeLessThanOrEqual(atMost(2))
})

/** Processor time of this thread, in milliseconds. */
function mainMs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}
