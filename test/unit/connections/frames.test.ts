import { expect, test } from 'bun:test'
import { FrameQueue } from '../../../core/connections/protocol/frame-queue.ts'
import {
  type CallerFrame,
  connectionOf,
  decodeCallerFrame,
  decodeUpstreamFrame,
  eachFrame,
  encodeCallerFrame,
  encodeUpstreamFrame,
  type UpstreamFrame,
} from '../../../core/connections/protocol/frames.ts'
import { LONG_CHARACTERS } from '../../../core/domain/json/long-text.ts'

const text = '{"a":"1 2","b":"\\n"}'
const headers = { 'Mcp-Param-A': 'ü 1', b: '' }
const FROM_CALLERS: readonly CallerFrame[] = [
  { kind: 'call', id: 2, text },
  { kind: 'call-with-headers', id: 4, headers, style: 'converted', text },
  { kind: 'call-with-headers', id: 4, headers, style: 'written', text },
  { kind: 'call-with-headers', id: 4, headers: {}, style: 'as-is', text },
  { kind: 'cancel', id: 6, reason: 'gave up\n"now"' },
  { kind: 'send', text },
  { kind: 'answer', key: 3, text },
]
const FROM_UPSTREAMS: readonly UpstreamFrame[] = [
  ...(['complete', 'error', 'input'] as const).map(form => ({ kind: 'result', id: 345, form, text }) as const),
  { kind: 'result', id: 2, form: 'complete', text: '{}' },
  { kind: 'error', id: 2, text },
  ...(['failed', 'not-sent', 'repaired'] as const).map(
    form => ({ kind: 'failure', id: 8, form, code: 'upstream_timeout', message: 'It took 1 s' }) as const,
  ),
  { kind: 'failure', id: 8, form: 'failed', code: 'connection_lost', message: '' },
  { kind: 'progress', id: 2, text },
  { kind: 'notification', id: 0, text },
  { kind: 'request', id: 0, key: 12, text },
  { kind: 'withdrawn', key: 12 },
]

test('a frame is read as it was written, with the number of its connection', () => {
  for (const frame of FROM_CALLERS) {
    const line = encodeCallerFrame(907, frame)
    expect([connectionOf(line), decodeCallerFrame(line)]).toEqual([907, frame])
  }
  for (const frame of FROM_UPSTREAMS) {
    const line = encodeUpstreamFrame(12, frame)
    expect([connectionOf(line), decodeUpstreamFrame(line)]).toEqual([12, frame])
  }
})

test('no frame holds a line end, and joined frames are parted again', () => {
  const lines = FROM_UPSTREAMS.map(frame => encodeUpstreamFrame(1, frame))
  const parted: string[] = []
  eachFrame(lines.join('\n'), line => parted.push(line))
  expect(parted).toEqual(lines)
  const message = 'one\r\ntwo\nthree'
  const failure = { kind: 'failure', id: 1, form: 'failed', code: 'internal', message } as const
  expect(encodeUpstreamFrame(1, failure)).toEndWith(' one two three')
})

test('bytes that are no frame are refused and not taken for one', () => {
  for (const wrong of ['', 'z1 2 {}', '{"type":"ping"}']) {
    expect(() => decodeCallerFrame(wrong)).toThrow('no known kind')
    expect(() => decodeUpstreamFrame(wrong)).toThrow('no known kind')
  }
})

test('the frames of one turn are one message, a long one is a message of its own, and the order is kept', () => {
  const posted: string[] = []
  const turns: (() => void)[] = []
  const queue = new FrameQueue(
    flush => turns.push(flush),
    line => posted.push(line),
  )
  const long = 'x'.repeat(LONG_CHARACTERS + 1)
  for (const frame of ['a', 'b', long, 'c']) queue.push(frame)
  expect(posted).toEqual(['a\nb', long])
  for (const turn of turns) turn()
  queue.flush()
  expect(posted).toEqual(['a\nb', long, 'c'])
})
