import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { beyondCore } from '../support/extent.ts'
import type { Client, Hub } from '../support/hub.ts'
import { atLeast, atMost } from '../support/pace.ts'
import { type Answer, RawClient, type SseEvent, SseReader } from '../support/raw-mcp.ts'
import { type BesideReference, besideReference } from '../support/reference.ts'
import { inFlight } from '../support/servers.ts'
import { least, timed, until } from '../support/wait.ts'
import { sharedFixture } from './shared-fixture.ts'

let world: BesideReference
let hub: Hub
let admin: Client
let key = ''

beforeAll(async () => {
  world = await besideReference('legacy', remote => ({
    settings: {
      mcpServers: {
        varied: sharedFixture('varied', { CAPABILITIES: '{"logging":{}}' }),
        slow: sharedFixture('slow'),
        remote,
      },
      groups: [{ name: 'g', servers: ['varied', 'slow', 'remote'] }],
    },
  }))
  ;({ hub, admin } = world)
  key = await admin.mcpKey()
}, 120_000)

afterAll(() => world?.stop(), 120_000)

const open = (path = '/mcp/g', version?: string): Promise<RawClient> => new RawClient(hub, path, key).open(version)

const emit = (args: object, progressToken?: unknown) => ({
  name: 'emit',
  arguments: args,
  ...(progressToken === undefined ? {} : { _meta: { progressToken } }),
})

/** All messages of a stream up to its end. */
async function rest(reader: SseReader): Promise<Answer[]> {
  const found: Answer[] = []
  for (let message = await reader.message(); message; message = await reader.message()) found.push(message)
  return found
}

async function cancelledUpstream(): Promise<number> {
  const client = await open('/mcp/slow')
  const { result } = await client.call('tools/call', { name: 'cancelled' })
  return Number(result.content[0].text)
}

describe('P-08 notifications', () => {
  test('P-08 come through one by one, within 100 ms of the upstream’s sending', async () => {
    const client = await open()
    const slowest = async (args: object): Promise<number> => {
      const reader = new SseReader(await client.send('tools/call', emit(args, 'token')))
      const delays: number[] = []
      for (let message = await reader.message(); message?.method; message = await reader.message()) {
        const { params } = message as { params?: { message?: string; data?: { at: number } } }
        const at = params?.data?.at ?? JSON.parse(params?.message ?? '').at
        delays.push(Date.now() - at)
      }
      expect(delays).toHaveLength(8)
      return Math.max(...delays)
    }
    const inProgress = { count: 8, gapMs: 40 }
    for (const args of [inProgress, { ...inProgress, log: 'error' }])
      expect(await least(() => slowest(args))).toBeLessThanOrEqual(atMost(100))
  })

  test('P-08 a GET stream opens within 100 ms while every upstream is silent, and has a comment at once', async () => {
    const client = await open('/mcp/slow')
    const opening = async (): Promise<number> => {
      const { value, ms } = await timed(async () => {
        const response = await client.get()
        const reader = new SseReader(response)
        return { response, first: await reader.next(), reader }
      })
      const { headers } = value.response
      expect(headers.get('content-type')).toBe('text/event-stream')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-accel-buffering')).toBe('no')
      expect(headers.get('content-encoding')).toBeNull()
      expect(value.first?.comment).toBe('ok')
      await value.reader.close()
      return ms
    }
    expect(await least(opening)).toBeLessThan(atMost(100))
  })

  beyondCore(() => {
    test('P-08 a silent call begins as a stream after 5 s, and a silent stream has a sign of life within 30 s', async () => {
      const client = await open('/mcp/slow')
      const get = new SseReader(await client.get())
      const start = performance.now()
      const response = await client.send('tools/call', { name: 'wait', arguments: { ms: 6_000 } })
      expect(performance.now() - start).toBeGreaterThan(4_500)
      expect(performance.now() - start).toBeLessThan(atMost(6_500))
      expect(response.headers.get('content-type')).toBe('text/event-stream')
      const [answer] = await rest(new SseReader(response))
      expect(answer?.result.content[0].text).toBe('waited 6000')
      // The first comment and the priming event came at the beginning.
      let event: SseEvent | undefined
      do event = await get.next()
      while (event && performance.now() - start < 8_000)
      expect(event?.comment).toBe('ok')
      expect(performance.now() - start).toBeLessThan(atMost(30_000))
      await get.close()
    }, 120_000)
  })
})

describe('P-09 Last-Event-ID', () => {
  test('P-09 replays missed events of that call, once, in order, and continues with new ones', async () => {
    const client = await open()
    const other = await open()
    const leaving = new AbortController()
    const response = await fetch(`${hub.url}/mcp/g`, {
      method: 'POST',
      headers: client.headers,
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 'long',
        method: 'tools/call',
        params: emit({ count: 12, gapMs: 50, text: 'done' }, 'p'),
      }),
      signal: leaving.signal,
    })
    const reader = new SseReader(response)
    const seen: number[] = []
    let last: string | undefined
    while (seen.length < 3) {
      const event = await reader.event()
      last = event?.id
      seen.push(JSON.parse(event?.data ?? '').params.progress)
    }
    leaving.abort()
    // A call of the same session meanwhile has a stream of its own, and none of it is replayed.
    await rest(new SseReader(await client.send('tools/call', emit({ count: 2, text: 'second' }, 'q'))))
    // Another session learns nothing from the id.
    const foreign = await other.get({ 'last-event-id': last ?? '' })
    const foreignReader = new SseReader(foreign)
    expect((await foreignReader.next())?.comment).toBe('ok')
    expect((await foreignReader.next())?.data ?? '').toBe('')
    await foreignReader.close()

    const resumed = new SseReader(await client.get({ 'last-event-id': last ?? '' }))
    const messages = await rest(resumed)
    const progress = messages.filter(({ method }) => method).map(({ params }) => Number(params?.progress))
    expect([...seen, ...progress]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(messages.at(-1)).toMatchObject({ id: 'long', result: { content: [{ text: 'done' }] } })

    // Resuming from the same place gives the same messages; at the end, nothing is left to resume.
    const again = await rest(new SseReader(await client.get({ 'last-event-id': last ?? '' })))
    expect(again).toHaveLength(messages.length)
  }, 120_000)

  test('P-09 of the stream of its own replays list changes that came while nobody was connected', async () => {
    const client = await open()
    const first = new SseReader(await client.get())
    await first.next()
    await client.call('tools/call', { name: 'say', arguments: { method: 'notifications/tools/list_changed' } })
    const event = await first.event()
    expect(JSON.parse(event?.data ?? '').method).toBe('notifications/tools/list_changed')
    await first.close()
    await Bun.sleep(1_000)
    await client.call('tools/call', { name: 'say', arguments: { method: 'notifications/tools/list_changed' } })
    // It is announced within 250 ms of the rereading, and the ring keeps it.
    await Bun.sleep(800)
    const second = new SseReader(await client.get({ 'last-event-id': event?.id ?? '' }))
    expect((await second.message())?.method).toBe('notifications/tools/list_changed')
    await second.close()
  })

  test('P-09 that was never given, or is garbage, replays nothing and is no error', async () => {
    const client = await open()
    for (const id of ['x', '1.2.3', '', 'a'.repeat(2_000), '%00', '-1.-1.-1']) {
      const response = await client.get({ 'last-event-id': id })
      expect([id, response.status]).toEqual([id, 200])
      const reader = new SseReader(response)
      expect((await reader.next())?.comment).toBe('ok')
      await reader.close()
    }
  })
})

describe('P-10 a client that drops its POST', () => {
  test('P-10 has not cancelled: the upstream works on, and the answer waits for Last-Event-ID', async () => {
    const before = await cancelledUpstream()
    const client = await open()
    const leaving = new AbortController()
    const response = await fetch(`${hub.url}/mcp/g`, {
      method: 'POST',
      headers: client.headers,
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'wait', arguments: { ms: 700 }, _meta: { progressToken: 1 } },
      }),
      signal: leaving.signal,
    })
    const event = await new SseReader(response).event()
    leaving.abort()
    await Bun.sleep(900)
    expect(await cancelledUpstream()).toBe(before)
    const answers = await rest(new SseReader(await client.get({ 'last-event-id': event?.id ?? '' })))
    expect(answers.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: 'waited 700' }] } })
  })

  beyondCore(() => {
    test('P-10 before anything came keeps its id in flight until the answer, and the session continues', async () => {
      const client = await open()
      const leaving = new AbortController()
      const body = {
        jsonrpc: '2.0',
        id: 5,
        method: 'tools/call',
        params: { name: 'wait', arguments: { ms: atLeast(1_000) } },
      }
      const work = fetch(`${hub.url}/mcp/g`, {
        method: 'POST',
        headers: client.headers,
        body: JSON.stringify(body),
        signal: leaving.signal,
      }).catch(() => undefined)
      await inFlight(admin)
      leaving.abort()
      await work
      expect((await client.send('ping', undefined, 5)).status).toBe(400)
      await until(async () => (await client.send('ping', undefined, 5)).status === 200, { what: 'the id to be free' })
    })
  })
})

describe('a session that ends in mid-call', () => {
  test('DELETE cancels its calls upstream within 1 s and closes its streams', async () => {
    const before = await cancelledUpstream()
    const client = await open()
    const get = new SseReader(await client.get())
    await get.next()
    const calls = [1, 2].map(id =>
      client.send('tools/call', { name: 'wait', arguments: { ms: 20_000 }, _meta: { progressToken: id } }, id),
    )
    const readers = (await Promise.all(calls)).map(response => new SseReader(response))
    for (const reader of readers) await reader.message()
    const start = performance.now()
    expect((await client.delete()).status).toBe(204)
    for (const reader of readers) {
      const left = await rest(reader)
      expect(left.every(({ method }) => method === 'notifications/progress')).toBe(true)
    }
    expect(await rest(get)).toEqual([])
    await until(async () => (await cancelledUpstream()) === before + 2, { what: 'both to be cancelled' })
    expect(performance.now() - start).toBeLessThan(atMost(1_000))
  })
})

describe('P-13 progress', () => {
  test('P-13 comes only for a token that was sent, with the token’s own type, rising, none after the answer', async () => {
    const client = await open()
    const plain = await client.send('tools/call', emit({ count: 5 }))
    expect(plain.headers.get('content-type')).toBe('application/json')
    await plain.text()
    for (const token of [0, '', 'ä"\\', 5.5, -1, '0']) {
      const messages = await rest(new SseReader(await client.send('tools/call', emit({ count: 4, gapMs: 5 }, token))))
      const notices = messages.slice(0, -1)
      expect(notices.map(({ params }) => params?.progressToken)).toEqual([token, token, token, token])
      expect(notices.map(({ params }) => params?.progress)).toEqual([1, 2, 3, 4])
      expect(messages.at(-1)?.result).toBeDefined()
    }
    const big = '9007199254740993'
    const body = `{"jsonrpc":"2.0","id":${big},"method":"tools/call","params":{"name":"emit","arguments":{"count":1},"_meta":{"progressToken":${big}}}}`
    const text = await (await client.post(body)).text()
    expect(text).toContain(`"progressToken":${big}`)
    expect(text).toContain(`"id":${big},"result"`)
    for (const token of [null, true, {}, []]) {
      const answer = await client.send('tools/call', emit({ count: 3 }, token))
      expect([token, answer.headers.get('content-type')]).toEqual([token, 'application/json'])
      await answer.text()
    }
  })
})

describe('P-22 ping', () => {
  test('P-22 of an upstream is answered under its own id, and other requests of a shared one are refused at once', async () => {
    const client = await open('/mcp/varied')
    const ask = async (method: string) => {
      const { value, ms } = await timed(() => client.call('tools/call', { name: 'ask', arguments: { method } }))
      expect(ms).toBeLessThan(atMost(1_000))
      return JSON.parse(value.result.content[0].text)
    }
    expect(await ask('ping')).toEqual({ id: 'ask 1', result: {} })
    expect(await ask('sampling/createMessage')).toEqual({ id: 'ask 2', error: -32601 })
    expect(await ask('no/such')).toEqual({ id: 'ask 3', error: -32601 })
  })

  beyondCore(() => {
    test('P-22 is answered in 100 ms while every upstream hangs, to 20 clients at once', async () => {
      const client = await open()
      const hanging = Array.from({ length: 20 }, (_, index) =>
        client.send('tools/call', { name: 'wait', arguments: { ms: 1_500 } }, `h${index}`),
      )
      const others = await Promise.all(Array.from({ length: 20 }, () => open()))
      const all = async (): Promise<number> => {
        const times = await Promise.all(others.map(other => timed(() => other.call('ping'))))
        expect(times.map(({ value }) => value.result)).toEqual(Array(20).fill({}))
        return Math.max(...times.map(({ ms }) => ms))
      }
      expect(await least(all)).toBeLessThan(atMost(100))
      for (const work of hanging) await (await work).text()
    })
  })
})
