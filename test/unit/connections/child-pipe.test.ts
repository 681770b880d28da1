import { expect, test } from 'bun:test'
import { LinePipe } from '../../../core/connections/worker/child-pipe.ts'

const LIMITS = { maxBytes: 10_000_000, tooLong: () => undefined }

/** How often a pipe that gets these bytes at once makes its child wait; `useful`: each line answers a call. */
function pauses(bytes: string, countAsAnswer = false): number {
  let count = 0
  const pipe = new LinePipe({ ...LIMITS, closed: () => undefined, expecting: () => false })
  pipe.attach({
    write: data => data.length,
    pause: () => {
      count += 1
    },
    resume: () => undefined,
    end: () => undefined,
    destroy: () => undefined,
  })
  pipe.onLine(() => {
    if (countAsAnswer) pipe.countAsAnswer()
  })
  pipe.received(Buffer.from(bytes))
  pipe.destroy()
  return count
}

test('a child that writes many lines of no use has to wait, however short they are', () => {
  expect(pauses('{}\n'.repeat(300))).toBe(1)
  expect(pauses(`${'x'.repeat(200_000)}\n`)).toBe(1)
})

test('a child does not wait for some lines, nor for any number that answer calls', () => {
  expect(pauses('{}\n'.repeat(100))).toBe(0)
  expect(pauses('{}\n'.repeat(10_000), true)).toBe(0)
})

test('lines that were read with a flood wait with it, in order, and count when the child has ended', () => {
  const lines: string[] = []
  let resumed = 0
  const pipe = new LinePipe({ ...LIMITS, closed: () => lines.push('closed'), expecting: () => false })
  const nothing = (): void => undefined
  const resume = (): void => {
    resumed += 1
  }
  pipe.attach({ write: data => data.length, pause: nothing, resume, end: nothing, destroy: nothing })
  pipe.onLine(line => lines.push(line))
  const all = Array.from({ length: 5_000 }, (_, index) => String(index))
  pipe.received(Buffer.from(all.slice(0, 4_000).join('\n')))
  expect(lines.length).toBeLessThan(4_000)
  pipe.received(Buffer.from(`\n${all.slice(4_000).join('\n')}\n`))
  pipe.ended()
  expect(lines).toEqual([...all, 'closed'])
  expect(resumed).toBe(0)
})
