/** Times at which an outbound endpoint dials, over simulated days, and the wire's forms of tools and results. */
import { describe, expect, test } from 'bun:test'
import { HubError, type JsonObject } from '../../core/contract/mod.ts'
import type { BridgeEndpoint, BridgeSocket, BridgeSocketEvents } from '../../core/features/mod.ts'
import { DialGate } from '../../plugins/assistant-bridge/dial-gate.ts'
import { readFrame } from '../../plugins/assistant-bridge/frames.ts'
import { listPage, offer } from '../../plugins/assistant-bridge/offered.ts'
import { OutboundLink } from '../../plugins/assistant-bridge/outbound.ts'
import { shortResult } from '../../plugins/assistant-bridge/result-text.ts'
import { ManualClock, settled } from '../support/manual-clock.ts'

const HOUR_MS = 60 * 60_000

interface Dialled {
  readonly atMs: number
  readonly events: BridgeSocketEvents
  readonly sent: string[]
  closed: number | undefined
}

/** An endpoint whose platform does what `answer` says: undefined opens. */
function world(answer: (dials: number) => HubError | undefined = () => undefined) {
  const clock = new ManualClock()
  const dials: Dialled[] = []
  const reports: string[] = []
  const tools: JsonObject[] = [{ name: 'good', description: 'd', inputSchema: { type: 'object' } }]
  const session = { changed: () => undefined as undefined, ended: () => undefined as undefined }
  const held: { calls: ((text: string) => void)[]; unreadable: number } = { calls: [], unreadable: 0 }
  const endpoint: BridgeEndpoint = {
    ...{ name: 'kitchen', version: '1', direction: 'outbound', limits: { tools: 64, resultCharacters: 2_000 } },
    report: (_level, message) => void reports.push(message),
    stateChanged() {},
    async open(events) {
      Object.assign(session, events)
      return {
        async tools() {
          held.unreadable -= 1
          if (held.unreadable >= 0) throw new HubError('server_offline', 'not now')
          return tools
        },
        call: () =>
          new Promise(resolve => held.calls.push(text => resolve({ result: { content: [{ type: 'text', text }] } }))),
        close() {},
      }
    },
    async checkAddress() {},
    async dial(events): Promise<BridgeSocket> {
      const dialled: Dialled = { atMs: clock.ms, events, sent: [], closed: undefined }
      dials.push(dialled)
      const error = answer(dials.length)
      if (error) throw error
      return {
        send: text => dialled.sent.push(text) > 0,
        ping: () => dialled.closed === undefined && pong() && events.alive(),
        close(code) {
          dialled.closed ??= code
          queueMicrotask(() => events.closed(undefined))
        },
      }
    },
  }
  let answersPings = true
  const pong = () => answersPings
  const link = new OutboundLink(endpoint, clock, new DialGate())
  return {
    ...{ clock, dials, reports, tools, session, held, link },
    mute: () => {
      answersPings = false
    },
  }
}

describe('an outbound endpoint', () => {
  test('stays connected for a day with a platform that answers pings', async () => {
    const { clock, dials, link } = world()
    await clock.advance(24 * HOUR_MS)
    expect([dials.length, link.status().state]).toEqual([1, 'connected'])
    await link.close(1_001, 0)
    expect(dials[0]?.closed).toBe(1_001)
  })

  test('dials for ever: after 1 s, doubling to 60 s', async () => {
    const { clock, dials, reports, link } = world(() => new HubError('connection_lost', 'gone'))
    await clock.advance(24 * HOUR_MS)
    const waits = dials.slice(1).map(({ atMs }, at) => atMs - (dials[at]?.atMs ?? 0))
    expect(waits.slice(0, 8)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    expect(dials.length).toBe(6 + Math.floor((24 * HOUR_MS - 63_000) / 60_000) + 1)
    expect(link.status()).toMatchObject({ state: 'backing_off', code: 'connection_lost' })
    expect(reports).toEqual(['The assistant endpoint is not connected: gone'])
    const before = dials.length
    link.reconnect()
    await clock.advance(0)
    expect(dials.length).toBe(before + 1)
    await link.close(1_000, 0)
    await clock.advance(HOUR_MS)
    expect(dials.length).toBe(before + 1)
  })

  test('starts again with 1 s after a connection that held a minute', async () => {
    const { clock, dials, link } = world(dials => (dials < 6 ? new HubError('connection_lost', 'gone') : undefined))
    await clock.advance(31_000)
    expect(link.status().state).toBe('connected')
    await clock.advance(61_000)
    const lostMs = clock.ms
    dials.at(-1)?.events.closed(4_004)
    await clock.advance(60_000)
    expect((dials.at(-1)?.atMs ?? 0) - lostMs).toBe(1_000)
    expect(link.status().closeCode).toBe(4_004)
    await link.close(1_000, 0)
  })

  test('closes what has been silent for 60 s, and dials again', async () => {
    const { clock, dials, link, mute } = world()
    await clock.advance(1_000)
    mute()
    await clock.advance(95_000)
    expect(dials.length).toBe(2)
    expect(dials[0]?.closed).toBe(1_001)
    await link.close(1_000, 0)
  })

  test('leaves a platform alone for ten minutes that closes with 1008, and for one where another took over', async () => {
    const { clock, dials, link } = world()
    await clock.advance(100)
    dials[0]?.events.closed(1_008)
    await clock.advance(599_000)
    expect([dials.length, link.status().code]).toEqual([1, 'token_refused'])
    await clock.advance(2_000)
    expect(dials.length).toBe(2)
    dials[1]?.events.closed(4_001)
    await clock.advance(2_000)
    dials[2]?.events.closed(4_001)
    await clock.advance(59_000)
    expect([dials.length, link.status().code]).toEqual([3, 'endpoint_in_use'])
    await clock.advance(2_000)
    expect(dials.length).toBe(4)
    await link.close(1_000, 0)
  })

  test('tells of other tools 3 s after the last change, and dials again once no call is in flight', async () => {
    const { clock, dials, tools, session, held, link } = world()
    await clock.advance(100)
    const [first] = dials
    const say = (message: object) => first?.events.message(JSON.stringify({ jsonrpc: '2.0', ...message }))
    say({ id: 1, method: 'initialize', params: {} })
    say({ method: 'notifications/initialized' })
    say({ id: 2, method: 'tools/call', params: { name: 'good' } })
    await clock.advance(100)
    session.changed()
    await clock.advance(10_000)
    expect(first?.sent.filter(text => text.includes('list_changed'))).toEqual([])
    tools.push({ name: 'other', inputSchema: { type: 'object' } })
    session.changed()
    await clock.advance(2_000)
    session.changed()
    await clock.advance(2_900)
    expect(first?.sent.some(text => text.includes('list_changed'))).toBe(false)
    await clock.advance(200)
    expect(first?.sent.some(text => text.includes('list_changed'))).toBe(true)
    await clock.advance(20_000)
    expect(dials.length).toBe(1)
    held.calls[0]?.('done')
    await clock.advance(10)
    expect(first?.sent.some(text => text.includes('"id":2,"result"'))).toBe(true)
    expect([dials.length, first?.closed]).toEqual([2, 1_000])
    await link.close(1_000, 0)
  })

  test('tells of other tools too when they cannot be read at first', async () => {
    const { clock, dials, tools, session, held, link } = world()
    await clock.advance(100)
    tools.push({ name: 'other', inputSchema: { type: 'object' } })
    held.unreadable = 2
    session.changed()
    await clock.advance(8_900)
    expect(dials.length).toBe(1)
    await clock.advance(200)
    expect(dials.length).toBe(2)
    await link.close(1_000, 0)
  })

  test('gives each request one answer: a call that hangs for 60 s, and the ninth of nine', async () => {
    const { clock, dials, held, link } = world()
    await clock.advance(100)
    for (let id = 1; id <= 9; id += 1)
      dials[0]?.events.message(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'good' } }))
    await clock.advance(100)
    expect(dials[0]?.sent.map(text => JSON.parse(text).id)).toEqual([9])
    await clock.advance(60_000)
    for (const resolve of held.calls) resolve('too late')
    await clock.advance(100)
    const answers = dials[0]?.sent.map(text => JSON.parse(text)) ?? []
    expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(answers.every(({ error }) => error.code === -32_603)).toBe(true)
    await link.close(1_000, 0)
  })

  test('of many endpoints four dial at once', async () => {
    const gate = new DialGate()
    const entered: number[] = []
    const leaves: (() => void)[] = []
    for (let at = 0; at < 10; at += 1)
      void gate.enter().then(leave => {
        entered.push(at)
        leaves.push(leave)
      })
    await settled()
    expect(entered).toEqual([0, 1, 2, 3])
    leaves[0]?.()
    leaves[0]?.()
    await settled()
    expect(entered).toEqual([0, 1, 2, 3, 4])
  })
})

describe('the wire', () => {
  test('pages stay below 50 KB, and what is too long or too many is named', () => {
    const tools = Array.from({ length: 70 }, (_, at) => ({
      ...{ name: `t${at}`, description: 'ä'.repeat(3_000) },
      inputSchema: { type: 'object', description: 'x'.repeat(at === 5 ? 60_000 : 4_000) },
    }))
    const offered = offer(tools, 64)
    expect(offered.names).toHaveLength(64)
    expect(offered.leftOut).toEqual(['t5', 't65', 't66', 't67', 't68', 't69'])
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const text = listPage(offered, cursor) ?? ''
      expect(Buffer.byteLength(text)).toBeLessThan(50_000)
      const page = JSON.parse(text) as { tools: { name: string; description: string }[]; nextCursor?: string }
      for (const { name, description } of page.tools) {
        seen.push(name)
        expect([...description]).toHaveLength(1_024)
      }
      cursor = page.nextCursor
    } while (cursor !== undefined)
    expect(seen).toEqual([...offered.names])
    for (const wrong of ['0', '99', 'x', 1, '-1']) expect(listPage(offered, wrong)).toBeUndefined()
    expect(listPage(offer([], 64), undefined)).toBe('{"tools":[]}')
  })

  test('results are texts, cut between characters', () => {
    const short = (content: object[], most = 100, more: object = {}) =>
      JSON.parse(shortResult({ content, ...more } as JsonObject, most)) as { content: { text: string }[] }
    const { content } = short([{ type: 'text', text: '😀'.repeat(200) }])
    expect([...(content[0]?.text ?? '')]).toHaveLength(100)
    expect(content[0]?.text).toEndWith('😀… [cut]')
    const texts = (items: object[]) => short(items).content.map(({ text }) => text)
    expect(texts([{ type: 'image', mimeType: 'image/png', data: 'A'.repeat(4_096) }])).toEqual([
      '[image image/png, 3 KB]',
    ])
    expect(texts([{ type: 'resource', resource: { uri: 'file:///x', text: 'inside' } }])).toEqual(['inside'])
    expect(texts([{ type: 'resource_link', name: 'n', uri: 'https://x/' }])).toEqual(['[link n https://x/]'])
    expect(short([], 100, { structuredContent: { a: 1 } }).content).toEqual([
      { type: 'text', text: '{"a":1}' },
    ] as never)
    const two = short([
      { type: 'text', text: 'a'.repeat(90) },
      { type: 'text', text: 'b'.repeat(90) },
    ])
    expect(two.content.map(({ text }) => text.length)).toEqual([90, 10])
  })

  test.each([
    ['{"jsonrpc":"2.0","id":0,"method":"ping"}', { kind: 'request', id: '0', method: 'ping', params: {} }],
    ['{"id":1.0,"method":"ping","jsonrpc":"2.0"}', { kind: 'request', id: '1.0', method: 'ping', params: {} }],
    ['{"jsonrpc":"2.0","id":1e400,"method":"m"}', { kind: 'request', id: '1e400', method: 'm', params: {} }],
    [
      '{"jsonrpc":"2.0","id":9007199254740993,"method":"m","params":{"id":1.5}}',
      { kind: 'request', id: '9007199254740993', method: 'm', params: { id: 1.5 } },
    ],
    ['{"jsonrpc":"2.0","id":"a","method":"ping"}', { kind: 'request', id: '"a"', method: 'ping', params: {} }],
    ['{"jsonrpc":"2.0","method":"notifications/x"}', { kind: 'notification', method: 'notifications/x' }],
    ['{"jsonrpc":"2.0","id":4,"result":{}}', { kind: 'response' }],
  ])('reads %s', (text, frame) => {
    expect(readFrame(text)).toEqual(frame as never)
  })

  test.each(['{', '[]', '1', '{}', '{"jsonrpc":"2.0","id":null,"method":"x"}', '{"id":1,"method":"x"}'])(
    'refuses %s',
    text => expect(readFrame(text).kind).toBe('malformed'),
  )
})
