import { heapStats } from 'bun:jsc'
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { SseParser } from '../../../core/transport-kit/sse-parser.ts'

/** Events that the parser reports for these pieces, one entry each. */
function parse(...pieces: readonly string[]): string[] {
  const told: string[] = []
  const parser = new SseParser({
    event: event => told.push(`${event.type}=${event.data}`),
    id: id => told.push(`id=${id}`),
    retry: milliseconds => told.push(`retry=${milliseconds}`),
    tooLong: ({ answers }) => told.push(`too long [${answers}]`),
  })
  for (const piece of pieces) parser.push(piece)
  return told
}

describe('SseParser', () => {
  test.each([
    ['one event', 'data: a\n\n', ['message=a']],
    ['data without a space', 'data:a\n\n', ['message=a']],
    ['only one space is taken off', 'data:  a\n\n', ['message= a']],
    ['several data lines', 'data: a\ndata: b\n\n', ['message=a\nb']],
    ['type and id', 'event: x\nid: 7\ndata: a\n\n', ['id=7', 'x=a']],
    ['an id without data', 'id: 7\ndata:\n\n', ['id=7']],
    ['an id without a data line', 'id: 7\n\n', ['id=7']],
    ['no event without data', 'event: x\n\ndata: a\n\n', ['message=a']],
    ['comments', ': ping\n\n:\ndata: a\n: x\n\n', ['message=a']],
    ['retry', 'retry: 250\n\nretry: x\nretry: -1\nretry: 1.5\n\n', ['retry=250']],
    ['CR LF', 'id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n', ['id=1', 'message=a', 'message=b']],
    ['CR', 'data: a\r\rdata: b\r\r', ['message=a', 'message=b']],
    ['a byte order mark', '\ufeffdata: a\n\n', ['message=a']],
    ['an id with NUL', 'id: a\0b\ndata: a\n\n', ['message=a']],
    ['unknown fields and lines without a colon', 'foo: bar\ndata\ndata: a\nx\n\n', ['message=\na']],
    ['an event that did not end', 'data: a\n\ndata: b\n', ['message=a']],
  ])('reads %s', (_what, text, expected) => {
    expect(parse(text)).toEqual([...expected])
    expect(parse(...text)).toEqual([...expected])
  })

  test('tells the same however the text is cut', () => {
    const line = fc.constantFrom(
      'data: a',
      'data: {"x":"é😀"}',
      'data:',
      'id: 5',
      'event: e',
      ': c',
      'retry: 3',
      '',
      '',
    )
    const ending = fc.constantFrom('\n', '\r\n', '\r')
    const lines = fc.array(fc.tuple(line, ending), { maxLength: 30 })
    fc.assert(
      fc.property(lines, fc.array(fc.nat(40), { maxLength: 20 }), (parts, cuts) => {
        const text = `${parts.map(part => part.join('')).join('')}\n\n`
        const pieces: string[] = []
        let at = 0
        for (const cut of cuts) {
          pieces.push(text.slice(at, at + cut))
          at += cut
        }
        expect(parse(...pieces, text.slice(at))).toEqual(parse(text))
      }),
    )
  })

  test('drops an event of more than 10 MiB, in one line or many, and reads on behind it', () => {
    const piece = 'x'.repeat(1024 * 1024)
    const feed = (start: string, text: string, end: string): string[] =>
      parse('data: 1\n\n', start, ...Array.from({ length: 11 }, () => text), end, 'data: 2\n\n')
    const other = ['message=1', 'too long []', 'message=2']
    expect(feed('', piece, '\n\n')).toEqual(other)
    expect(feed('', `data: ${piece}\n`, '\n')).toEqual(other)
    expect(feed('data: ', piece, '\n\n')).toEqual(other)
    expect(feed('data: {"jsonrpc":"2.0","id":5,"result":"', piece, '"}\n\n')).toEqual([
      'message=1',
      'too long [5]',
      'message=2',
    ])
    expect(feed('data: {"result":"', piece, '"\ndata: ,"jsonrpc":"2.0",\ndata: "id":5}\nid: 8\n\n')).toEqual([
      'message=1',
      'too long [5]',
      'id=8',
      'message=2',
    ])
    expect(feed('', `data: ${piece}\n\n`, '')).toHaveLength(13)
  })

  test('counts bytes, asks for its limit at each event, and gives up one that never ends', () => {
    let maxBytes = 1_000
    const told: string[] = []
    const parser = new SseParser(
      { event: ({ data }) => told.push(String(data.length)), tooLong: () => told.push('too long') },
      {
        get maxBytes() {
          return maxBytes
        },
      },
    )
    const send = (text: string): void => {
      for (const piece of [text.slice(0, -1), text.slice(-1)]) parser.push(piece)
    }
    send(`data: ${'x'.repeat(900)}\n\n`)
    send(`data: ${'ä'.repeat(900)}\n\n`)
    maxBytes = 2_000
    send(`data: ${'ä'.repeat(900)}\n\n`)
    expect(told).toEqual(['900', 'too long', '900'])
    const piece = 'x'.repeat(1024 * 1024)
    expect(() => {
      for (let count = 0; count < 300; count += 1) parser.push(piece)
    }).toThrow(RangeError)
  })

  test.each([
    ['character by character', 'x'],
    ['in lines of one character', 'data: x\n'],
  ])('holds an event that comes %s in little more memory than it has characters', (_, piece) => {
    const lengths: number[] = []
    const parser = new SseParser({ event: ({ data }) => void lengths.push(data.length) })
    const used = (): number => {
      Bun.gc(true)
      return heapStats().heapSize
    }
    const before = used()
    parser.push('data: ')
    for (let count = 0; count < 1_000_000; count += 1) parser.push(piece)
    expect(used() - before).toBeLessThan(16_000_000)
    parser.push('\n\n')
    expect(lengths).toEqual([piece === 'x' ? 1_000_000 : 2_000_005])
  })
})
