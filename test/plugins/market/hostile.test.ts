/** Faulty answers of registries and catalogues: the last list stays whole, the error is kept, memory is bounded. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { JsonObject } from '../../../core/contract/json.ts'
import { beyondCore, extent } from '../../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { until } from '../../support/wait.ts'

const MiB = 1024 * 1024
const OFFICIAL = 'io.modelcontextprotocol.registry/official'
const entry = (name: string) => ({
  server: {
    ...{ name: `com.example/${name}`, description: 'x', version: '1.0.0' },
    packages: [{ registryType: 'npm', identifier: name, version: '1.0.0', transport: { type: 'stdio' } }],
  },
  _meta: { [OFFICIAL]: { status: 'active', isLatest: true } },
})

type Respond = (url: URL) => Response

/** Bytes sent of a body that never ends. */
let sentBytes = 0
function endless(head: string, piece: string): Response {
  sentBytes = 0
  const encoder = new TextEncoder()
  const chunk = encoder.encode(piece.repeat(Math.ceil((64 * 1024) / piece.length)))
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(head))
    },
    pull(controller) {
      sentBytes += chunk.length
      if (sentBytes > 1024 * MiB) controller.close()
      else controller.enqueue(chunk)
    },
  })
  return new Response(body, { headers: { 'content-type': 'application/json' } })
}

let hub: Hub
let admin: Client
let outside: ReturnType<typeof Bun.serve>
let trap: ReturnType<typeof Bun.serve>
let respond: Respond
let trapped = 0

beforeAll(async () => {
  outside = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: request => respond(new URL(request.url)) })
  trap = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      trapped += 1
      return Response.json({ servers: [], templates: [] })
    },
  })
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  const registries = { reg: outside.url.href }
  await admin.ok('PATCH', '/api/admin/plugins/market-registry', { config: { registries } })
  const catalogues = { cat: { url: new URL('catalogue.json', outside.url).href } }
  await admin.ok('PATCH', '/api/admin/plugins/market-json', { config: { catalogues } })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await outside?.stop(true)
  await trap?.stop(true)
}, 120_000)

const residentMiB = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${hub.pid}/status`, 'utf8'))?.[1]) / 1024
/** The highest value since the last reset. */
const peakMiB = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${hub.pid}/status`, 'utf8'))?.[1]) / 1024
const refresh = (source: string) => admin.ok('POST', `/api/market/sources/${source}/refresh`)
const total = async (source: string) => (await admin.ok('GET', `/api/market/templates?source=${source}`)).total

const goodPage: Respond = url => {
  const at = Number(url.searchParams.get('cursor') ?? 0)
  const servers = [entry(`a${at}`), entry(`b${at}`)]
  return Response.json({ servers, metadata: { nextCursor: at < 3 ? String(at + 1) : null } })
}
const onPage3 =
  (answer: Respond): Respond =>
  url =>
    url.searchParams.get('cursor') === '2' ? answer(url) : goodPage(url)

const HOSTILE: readonly (readonly [string, Respond, RegExp])[] = [
  ['500', () => new Response('no', { status: 500 }), /answered 500/],
  ['HTML', () => new Response('<!doctype html><p>sign in'), /JSON|array/],
  ['a redirect to loopback', () => Response.redirect(trap.url.href, 302), /answered 302|redirect/i],
  ['nothing', () => new Response(''), /JSON|ends/],
  ['a document that is cut', () => new Response('{"servers": [{"server": {"name": "x"'), /JSON|ends/],
  ['1 GB of one text', () => endless('{"servers": [{"x": "', 'y'), /larger|large|bytes/i],
  [
    '1 GB of entries',
    () => endless('{"servers": [', `${JSON.stringify(entry('x'))},`),
    /larger|large|more than|bytes/i,
  ],
  ['1 GB of brackets', () => endless('[', '['), /larger|large|bytes/i],
]

/** The suite takes these of them, so that each kind is tried with one of the two. */
const some = (...names: string[]) =>
  extent(
    HOSTILE.filter(([name]) => names.includes(name)),
    HOSTILE,
  )

describe('a registry whose third page is', () => {
  test.each(some('500', 'a document that is cut'))(
    '%s keeps its last list, whole',
    async (_what, answer, message) => {
      respond = goodPage
      expect(await refresh('reg')).toMatchObject({ state: 'ready', templates: 8 })
      respond = onPage3(answer)
      const before = residentMiB()
      const state = await refresh('reg')
      expect(state).toMatchObject({
        state: 'failed',
        templates: 8,
        lastError: { message: expect.stringMatching(message) },
      })
      expect([await total('reg'), trapped]).toEqual([8, 0])
      expect(sentBytes).toBeLessThan(64 * MiB)
      expect(residentMiB() - before).toBeLessThan(200)
    },
    120_000,
  )

  // `market-lists.test.ts` shows that a list must end, and the pages of 1 GB show that a page is bounded.
  beyondCore(() => {
    test('never the last: it is given up after 1,000, and the list stays', async () => {
      respond = goodPage
      await refresh('reg')
      let asked = 0
      respond = () => {
        asked += 1
        return Response.json({ servers: [entry(`e${asked}`)], metadata: { nextCursor: `c${asked}` } })
      }
      const state = await refresh('reg')
      expect(state).toMatchObject({ templates: 8, lastError: { message: expect.stringContaining('no end') } })
      expect([asked, await total('reg')]).toEqual([1_000, 8])
    }, 120_000)

    test('larger, again and again: 200 MiB are the most', async () => {
      respond = goodPage
      await refresh('reg')
      const padding = new TextEncoder().encode(`, "padding": "${'z'.repeat(7 * MiB)}"}`)
      let asked = 0
      respond = url => {
        // The hub may read the other source meanwhile.
        if (url.pathname.endsWith('catalogue.json')) return new Response('no', { status: 500 })
        asked += 1
        const head = new TextEncoder().encode(`{"servers": [], "metadata": {"nextCursor": "c${asked}"}`)
        return new Response(new Blob([head, padding]))
      }
      await refresh('reg')
      // It takes longer than a refresh is waited for.
      const state = await until(
        async () => {
          const { items } = await admin.ok('GET', '/api/market/sources')
          return items.find(({ id, lastError }: JsonObject) => id === 'reg' && lastError !== undefined)
        },
        { timeoutMs: 60_000 },
      )
      expect(state).toMatchObject({ templates: 8, lastError: { message: 'The list is larger than 200 MiB' } })
      expect(asked).toBe(29)
      expect(peakMiB()).toBeLessThan(600)
    }, 120_000)
  })
})

/** Entries of a catalogue, about the largest that is taken. */
const LARGE = 20_000

describe('a catalogue that is', () => {
  const good: Respond = () => Response.json([entry('a'), entry('b')])

  test.each(some('HTML', 'a redirect to loopback', '1 GB of entries'))(
    '%s keeps its last list, whole',
    async (_what, answer, message) => {
      respond = good
      // A reading that the hub had begun by itself answers the first time.
      await until(async () => (await refresh('cat')).templates === 2, { timeoutMs: 60_000, what: 'the good list' })
      respond = answer
      const before = residentMiB()
      const state = await refresh('cat')
      expect(state).toMatchObject({
        state: 'failed',
        templates: 2,
        lastError: { message: expect.stringMatching(message) },
      })
      expect([await total('cat'), trapped]).toEqual([2, 0])
      expect(sentBytes).toBeLessThan(128 * MiB)
      expect(residentMiB() - before).toBeLessThan(200)
    },
    120_000,
  )

  test('full of entries that are none leaves them out, and counts', async () => {
    const bomb = JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`)
    const odd = [null, 7, 'x', [], {}, bomb, { variants: 'x' }, { variants: [] }, { installations: { a: null } }]
    const proto = '{"__proto__": {"installations": {"n": {"command": "npx", "args": ["-y", "a@1.0.0"]}}}}'
    respond = () => Response.json([...odd, { name: 'x'.repeat(300_000) }, entry('a'), entry('a')])
    expect(await refresh('cat')).toMatchObject({ state: 'ready', templates: 1 })
    respond = () => new Response(proto)
    expect(await refresh('cat')).toMatchObject({ state: 'ready', templates: 1 })
    expect(await admin.ok('GET', '/health')).toMatchObject({ status: 'ok' })
  })

  beyondCore(() => {
    test('large leaves others answered meanwhile', async () => {
      const many = Array.from({ length: LARGE }, (_, at) => ({ ...entry(`n${at}`), note: 'x'.repeat(1_000) }))
      const text = JSON.stringify(many)
      expect(text.length).toBeLessThan(32 * MiB)
      respond = () => new Response(text)
      let isRead = false
      const reading = refresh('cat').finally(() => {
        isRead = true
      })
      let answers = 0
      while (!isRead) {
        expect((await admin.request('GET', '/health')).status).toBe(200)
        answers += 1
      }
      expect(await reading).toMatchObject({ state: 'ready', templates: LARGE })
      expect(answers).toBeGreaterThan(LARGE / 2_000)
    }, 120_000)
  })
})
