import { expect, test } from 'bun:test'
import { AnswerWindow } from '../../../core/connections/worker/answer-window.ts'
import { LinePipe } from '../../../core/connections/worker/child-pipe.ts'

const body = () => {
  const seen = {
    proceeded: 0,
    proceed() {
      seen.proceeded += 1
    },
  }
  return seen
}

test('the window is full from its limit on, and releases waiting calls once enough are settled', () => {
  const window = new AnswerWindow(100)
  let opened = 0
  window.sent(60)
  expect(window.full).toBe(false)
  window.sent(60)
  expect(window.full).toBe(true)
  window.whenOpen(() => {
    opened += 1
  })
  window.settled(10)
  expect(opened).toBe(0)
  window.settled(60)
  expect([opened, window.full]).toEqual([1, false])
})

test('a body over HTTP waits for its turn while the window is full', () => {
  const window = new AnswerWindow(100)
  const [first, second] = [body(), body()]
  window.sent(100)
  expect(window.turns.enter(first)).toBe(false)
  window.settled(100)
  expect(first.proceeded).toBe(1)
  window.sent(100)
  expect(window.turns.enter(second)).toBe(false)
  window.turns.leave(first)
  expect(second.proceeded).toBe(0)
  window.settled(100)
  expect(second.proceeded).toBe(1)
})

test('a program is not read while the window of its owner is full; nothing of it is lost', () => {
  const window = new AnswerWindow(100)
  const lines: string[] = []
  const carrier: string[] = []
  const pipe = new LinePipe({
    closed: () => undefined,
    expecting: () => true,
    maxBytes: 1_000_000,
    tooLong: () => undefined,
    window,
  })
  pipe.attach({
    write: data => data.length,
    pause: () => carrier.push('pause'),
    resume: () => carrier.push('resume'),
    end() {},
    destroy() {},
  })
  pipe.onLine(line => {
    lines.push(line.slice(0, 6))
    pipe.countAsAnswer()
    window.sent(100)
  })
  const padding = 'x'.repeat(20_000)
  pipe.received(Buffer.from(`first ${padding}\nsecond ${padding}\nthird ${padding}\n`))
  expect(lines).toEqual(['first '])
  pipe.received(Buffer.from('fourth\n'))
  expect(lines).toEqual(['first '])
  for (let open = 0; open < 3; open += 1) window.settled(100)
  expect(lines).toEqual(['first ', 'second', 'third ', 'fourth'])
  expect(carrier.at(-1)).toBe('pause')
  window.settled(100)
  expect(carrier.at(-1)).toBe('resume')
})
