/** Spans of a user who calls without end leave those of others their place. */
import { expect, test } from 'bun:test'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { SpanQueue } from '../../../plugins/otlp/span-queue.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const span = (name: string) => ({ name }) as ReadableSpan

test('spans of other users are kept while one user fills the queue of a collector that does not answer', async () => {
  const batches: { readonly spans: readonly ReadableSpan[]; readonly done: (ok: boolean) => void }[] = []
  const queue = new SpanQueue(
    spans =>
      new Promise((resolve, reject) => {
        batches.push({ spans, done: ok => (ok ? resolve(0) : reject(new Error('no'))) })
      }),
    silent,
  )
  const end = (name: string, userId: string) => {
    const ended = span(name)
    queue.holds(ended, userId)
    queue.onEnd(ended)
  }
  // The first batch is under way and is not answered.
  for (let n = 0; n < 512; n += 1) end('first', 'eve')
  for (let n = 0; n < 1_000; n += 1) end('eve', 'eve')
  for (let n = 0; n < 20; n += 1) end('ben', 'ben')
  for (let n = 0; n < 5_000; n += 1) end('eve', 'eve')
  for (let n = 0; n < 20; n += 1) end('ben', 'ben')
  const dropped = 6_000 + 40 - 2_048
  expect(queue.counts()).toEqual({ sent: 0, failed: 0, dropped })
  const stopped = queue.shutdown()
  const sent: string[] = []
  for (let at = 0; sent.length < 512 + 2_048; at += 1) {
    while (batches.length <= at) await Promise.resolve()
    const { spans, done } = batches[at] as (typeof batches)[number]
    expect(spans.length).toBeLessThanOrEqual(512)
    sent.push(...spans.map(({ name }) => name))
    done(at !== 0)
  }
  await stopped
  expect(sent.filter(name => name === 'ben')).toHaveLength(40)
  expect(queue.counts()).toEqual({ sent: 2_048, failed: 512, dropped })
})
