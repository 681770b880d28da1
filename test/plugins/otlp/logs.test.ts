/** Log records at an OpenTelemetry collector: each arrives once, whatever is refused on the way. */

import { describe, expect, test } from 'bun:test'
import type { LogSink } from '../../../core/features/log-sinks.ts'
import { createGuardedFetch } from '../../../core/outbound/create.ts'
import { Collector } from '../../../plugins/otlp/collector.ts'
import { createLogSink } from '../../../plugins/otlp/logs.ts'
import { extent } from '../../support/extent.ts'
import { startHub, stdioFixture } from '../../support/hub.ts'
import { OtlpCollector } from '../../support/otlp-collector.ts'
import { callText, online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

const fetch = createGuardedFetch({ rights: { networks: [], admin: true }, instanceId: 'test' })
const line = (message: string, more: object = {}): string =>
  JSON.stringify({ level: 'INFO', timestamp: '2026-11-22T09:30:00.250Z', component: 'mcp', message, ...more })
const lines = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => line(`m${n}`))

function sinkFor(endpoint: string) {
  const { write } = createLogSink(new Collector({ endpoint, headers: {}, fetch }), 'hub') as Extract<
    LogSink,
    { readonly takes: 'lines' }
  >
  return (batch: readonly string[]) => write(batch, new AbortController().signal)
}

test('a record has its time, severity, body, trace and all other fields as attributes', async () => {
  await using collector = new OtlpCollector()
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const more = { traceId, duration: 12, ratio: 0.5, ok: true, none: null, of: { a: ['x', 1] } }
  await sinkFor(`${collector.endpoint}/`)([line('tools/call', more)])
  const nanos = '1795339800250000000'
  expect(collector.records).toEqual([
    {
      resource: { 'service.name': 'hub' },
      record: {
        ...{ timeUnixNano: nanos, observedTimeUnixNano: nanos, severityNumber: 9, severityText: 'INFO' },
        ...{ traceId, spanId: '', flags: 1, droppedAttributesCount: 0 },
        body: { stringValue: 'tools/call' },
        attributes: [
          { key: 'component', value: { stringValue: 'mcp' } },
          { key: 'duration', value: { intValue: 12 } },
          { key: 'ratio', value: { doubleValue: 0.5 } },
          { key: 'ok', value: { boolValue: true } },
          {
            key: 'of',
            value: {
              kvlistValue: {
                values: [{ key: 'a', value: { arrayValue: { values: [{ stringValue: 'x' }, { intValue: 1 }] } } }],
              },
            },
          },
        ],
      },
    },
  ])
})

describe('a request refused', () => {
  test.each(extent([429, 503, 401], [429, 502, 503, 504, 401, 404]))(
    'with %d is sent again, and the accepted part of the batch is not',
    async status => {
      await using collector = new OtlpCollector()
      const write = sinkFor(collector.endpoint)
      const large = [...lines(3), line('x'.repeat(5_000_000)), line('last')]
      let taken = 0
      collector.answer = () => (taken++ === 1 ? new Response('', { status }) : undefined)
      await expect(write(large)).rejects.toMatchObject({ code: 'delivery_failed' })
      expect(await write(large)).toEqual({ rejected: 0 })
      expect(collector.messages.map(text => text.slice(0, 4))).toEqual(['m0', 'm1', 'm2', 'xxxx', 'last'])
    },
  )

  test('for good, or said to be left out, counts as rejected', async () => {
    await using collector = new OtlpCollector()
    const write = sinkFor(collector.endpoint)
    collector.answer = () => new Response('no', { status: 400 })
    expect(await write(lines(3))).toEqual({ rejected: 3 })
    collector.answer = () => Response.json({ partialSuccess: { rejectedLogRecords: '2', errorMessage: 'too old' } })
    expect(await write(lines(5))).toEqual({ rejected: 2 })
  })

  test('as too large is halved; one record that is too large is rejected', async () => {
    await using collector = new OtlpCollector()
    const isLarge = (record: object): boolean => JSON.stringify(record).length > 3_000
    collector.answer = records =>
      records.length > 4 || records.some(isLarge) ? new Response('', { status: 413 }) : undefined
    const batch = [...lines(9), line('x'.repeat(4_000)), line('last')]
    expect(await sinkFor(collector.endpoint)(batch)).toEqual({ rejected: 1 })
    expect(collector.messages).toHaveLength(10)
  })

  test('nothing is lost if nobody listens, or if the answer is a redirect elsewhere', async () => {
    await expect(sinkFor('http://127.0.0.1:1')(lines(1))).rejects.toMatchObject({ code: 'delivery_failed' })
    await using collector = new OtlpCollector()
    await using elsewhere = new OtlpCollector()
    const location = `${elsewhere.endpoint}/v1/logs`
    collector.answer = () => new Response('', { status: 307, headers: { location } })
    expect(await sinkFor(collector.endpoint)(lines(1))).toEqual({ rejected: 1 })
    expect(elsewhere.requests).toBe(0)
  })
})

test('a hub whose settings file has the former name sends its calls there, with a key that no answer and no log shows', async () => {
  await using collector = new OtlpCollector()
  const config = { endpoint: collector.endpoint, headers: { 'api-key': 'otlp-key-canary' } }
  const hub = await startHub({
    settings: {
      mcpServers: { echo: { ...stdioFixture('echo'), session: 'shared' } },
      plugins: [{ use: 'sink-otlp', config }],
    },
  })
  try {
    const admin = await hub.setup()
    await online(admin, ['echo'])
    const client = await admin.mcp('/mcp/echo')
    for (let n = 0; n < 5; n += 1) await callText(client, 'echo', { text: `${n}` })
    await until(() => collector.messages.filter(text => text === 'tools/call').length >= 5)
    expect([...collector.keys]).toEqual(['otlp-key-canary'])
    const call = collector.records.find(({ record }) => JSON.stringify(record).includes('tools/call'))
    expect(call).toMatchObject({ resource: { 'service.name': 'patchbay' }, record: { severityNumber: 9 } })
    const shown = await Promise.all(
      ['plugins', 'settings', 'logging'].map(async what => (await admin.request('GET', `/api/admin/${what}`)).text),
    )
    for (const text of [...shown, hub.log()]) expect(text).not.toContain('otlp-key-canary')
  } finally {
    await hub.stop()
  }
}, 120_000)
