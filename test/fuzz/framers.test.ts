import { describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { LineFramer } from '../../core/connections/worker/line-framer.ts'
import { HubError } from '../../core/contract/errors.ts'
import { ChunkedReader, decoderFor, Utf8Reader } from '../../core/outbound/body.ts'
import { type SseEvent, SseParser } from '../../core/transport-kit/sse-parser.ts'
import { check, cuts, hostileText, pieces } from '../support/fuzz.ts'

/** Bytes of text and of anything else; UTF-8 that is cut, overlong or wrong among them. */
function hostileBytes(...words: readonly string[]): fc.Arbitrary<Buffer> {
  const text = hostileText(...words).map(part => Buffer.from(part))
  const raw = fc.uint8Array({ maxLength: 12 }).map(bytes => Buffer.from(bytes))
  const odd = fc
    .constantFrom('c3', 'c3a9', 'e282', 'f09f9880', 'f09f98', 'ed a0 80', 'ff', 'c0af', 'efbbbf')
    .map(hex => Buffer.from(hex.replaceAll(' ', ''), 'hex'))
  return fc.array(fc.oneof(text, raw, odd), { maxLength: 8 }).map(parts => Buffer.concat(parts))
}

describe('whatever the cuts, the same comes out:', () => {
  test('LineFramer', async () => {
    const run = (parts: readonly Buffer[], maxBytes: number): readonly string[] => {
      const seen: string[] = []
      const framer = new LineFramer({
        maxBytes,
        line: line => seen.push(`line ${line}`),
        tooLong: () => seen.push('too long'),
        overflow: () => seen.push('overflow'),
      })
      for (const part of parts) framer.push(part)
      return seen
    }
    await check(
      fc.property(hostileBytes('\n', '\r\n', '\r', '{}', 'é'), cuts, (bytes, places) => {
        const whole = run([bytes], 1_000)
        expect(run(pieces(bytes, places), 1_000)).toEqual(whole)
        const lines = bytes.toString('latin1').split('\n').slice(0, -1)
        expect(whole).toEqual(lines.map(line => `line ${Buffer.from(line.replace(/\r$/, ''), 'latin1').toString()}`))
      }),
    )
  })

  test('LineFramer at its limit: every other line, before and after one that is dropped', async () => {
    await check(
      fc.property(fc.array(fc.nat(30), { minLength: 1, maxLength: 8 }), cuts, (lengths, places) => {
        const bytes = Buffer.from(lengths.map(length => `${'x'.repeat(length)}\n`).join(''))
        const seen: number[] = []
        let dropped = 0
        const framer = new LineFramer({
          maxBytes: 20,
          line: line => seen.push(line.length),
          tooLong: () => {
            dropped += 1
            seen.push(-1)
          },
          overflow: () => seen.push(-2),
        })
        for (const part of pieces(bytes, places)) framer.push(part)
        // A line that came whole in one piece was no burden to hold.
        expect(dropped).toBeLessThanOrEqual(lengths.filter(length => length > 20).length)
        expect(
          seen.map((length, index) => (length === -1 && (lengths[index] ?? 0) > 20 ? lengths[index] : length)),
        ).toEqual(lengths)
      }),
    )
  })

  test('SseParser, which also agrees with a parser written line by line after the standard', async () => {
    const run = (texts: readonly string[]): readonly unknown[] => {
      const seen: unknown[] = []
      const parser = new SseParser({
        event: event => seen.push(event),
        id: id => seen.push({ id }),
        retry: ms => seen.push({ retry: ms }),
      })
      for (const text of texts) parser.push(text)
      return seen
    }
    const words = [
      'data: a\n',
      'data:b',
      'data',
      'id: 1\n',
      'id',
      'event: x\n',
      'retry: 5\n',
      'retry: x\n',
      ': c\n',
      '\n',
      '\r',
      '\r\n',
      ':',
      ' ',
      '\0',
      '\ufeff',
      '\n\n',
    ]
    await check(
      fc.property(hostileText(...words), cuts, (text, places) => {
        const at = [...places.map(place => place % (text.length + 1)), text.length].sort((a, b) => a - b)
        const cut = at.map((end, index) => text.slice(at[index - 1] ?? 0, end))
        const whole = run([text])
        expect(run(cut)).toEqual(whole)
        expect(whole.filter(entry => typeof entry === 'object' && entry !== null && 'data' in entry)).toEqual(
          eventsOf(text),
        )
      }),
    )
  })

  test('Utf8Reader and ChunkedReader', async () => {
    await check(
      fc.property(hostileBytes('é', '😀', 'x'), cuts, (bytes, places) => {
        const reader = new Utf8Reader()
        const text =
          pieces(bytes, places)
            .map(part => (part.length === 0 ? '' : reader.push(part)))
            .join('') + reader.end()
        expect(text).toBe(bytes.toString())
      }),
    )
    const chunked = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 6 })
    const ends = fc.constantFrom('0\r\n\r\n', '0\r\nA: b\r\n\r\n', '00;x=y\r\n\r\n')
    await check(
      fc.property(chunked, ends, cuts, fc.nat(5), (chunks, end, places, surplus) => {
        const body = Buffer.concat(chunks)
        const framed = chunks.flatMap(chunk => [
          Buffer.from(`${chunk.length.toString(16)}\r\n`),
          Buffer.from(chunk),
          Buffer.from('\r\n'),
        ])
        const bytes = Buffer.concat([...framed, Buffer.from(end), Buffer.alloc(surplus, 120)])
        const reader = new ChunkedReader()
        const got: Buffer[] = []
        let used = 0
        for (const part of pieces(bytes, places)) used += reader.push(part, piece => got.push(Buffer.from(piece)))
        expect(reader.done).toBe(true)
        expect(used).toBe(bytes.length - surplus)
        expect(Buffer.concat(got).equals(body)).toBe(true)
      }),
    )
  })

  test('ChunkedReader on anything: the same bytes and the same refusal', async () => {
    const run = (parts: readonly Buffer[]): readonly unknown[] => {
      const reader = new ChunkedReader()
      let body = ''
      let used = 0
      try {
        for (const part of parts)
          used += reader.push(part, piece => {
            body += piece.toString('latin1')
          })
        return [body, used, reader.done]
      } catch (error) {
        expect(error).toBeInstanceOf(HubError)
        return [body, (error as HubError).code]
      }
    }
    await check(
      fc.property(
        hostileBytes('5\r\n', 'hello', '\r\n', '0\r\n\r\n', 'a', ';', '\n', 'ffffffff\r\n'),
        cuts,
        (bytes, places) => {
          expect(run(pieces(bytes, places))).toEqual(run([bytes]))
        },
      ),
    )
  })

  test('a compressed body', async () => {
    const read = (parts: readonly Buffer[]): Promise<string> =>
      new Promise(resolve => {
        const got: Buffer[] = []
        const decoder = decoderFor('gzip', {
          bytes: bytes => got.push(Buffer.from(bytes)),
          end: () => resolve(Buffer.concat(got).toString('latin1')),
          fail: error => resolve(`failed: ${error.code}`),
        })
        for (const part of parts) decoder?.push(part)
        decoder?.end()
      })
    await check(
      fc.asyncProperty(hostileBytes('aaaa', 'b'), cuts, fc.boolean(), fc.nat(), async (body, places, spoil, at) => {
        const bytes = gzipSync(body)
        if (spoil) bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ (1 << (at % 8))
        const whole = await read([bytes])
        if (!spoil) expect(whole).toBe(body.toString('latin1'))
        const cut = await read(pieces(bytes, places))
        if (whole.startsWith('failed')) expect(cut).toBe(whole)
        else expect(cut).toBe(whole)
      }),
      { share: 0.2 },
    )
  })
})

/** The events of a whole text, as the HTML standard's grammar has them. */
function eventsOf(text: string): SseEvent[] {
  const events: SseEvent[] = []
  let type = ''
  let data: string[] = []
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
  for (const line of lines.slice(0, -1)) {
    if (line === '') {
      if (data.join('\n') !== '') events.push({ type: type || 'message', data: data.join('\n') })
      type = ''
      data = []
      continue
    }
    const [, field = '', value = ''] = /^([^:]*)(?::\u0020?(.*))?$/s.exec(line) ?? []
    if (field === 'data') data.push(value)
    if (field === 'event') type = value
  }
  return events
}
