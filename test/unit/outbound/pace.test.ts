import { expect, test } from 'bun:test'
import { PassThrough, Writable } from 'node:stream'
import { carry, createPace } from '../../../core/outbound/pace.ts'
import { until } from '../../support/wait.ts'

test('createPace() lets a burst pass, then makes what comes wait for its share', () => {
  const pace = createPace(1_000_000)
  const since = performance.now()
  // 50 ms of the rate are free after a rest.
  expect(pace(40_000)).toBe(0)
  // Less what has passed of them meanwhile.
  for (const [bytes, ms] of [
    [1_010_000, 1_000],
    [1_000_000, 2_000],
  ] as const) {
    const waitMs = pace(bytes)
    expect(waitMs).toBeWithin(ms - (performance.now() - since) - 1, ms + 1)
  }
})

test('carry() takes its time together with what shares its pace, passes on every byte in order, and holds one piece at most', async () => {
  const pace = createPace(1_000_000)
  const since = performance.now()
  let heldBytes = 0
  let mostBytes = 0
  const through = async (mark: number): Promise<Buffer> => {
    const [from, to] = [new PassThrough(), new PassThrough()]
    carry(from, to, {
      pace,
      held: bytes => {
        heldBytes += bytes
        mostBytes = Math.max(mostBytes, heldBytes)
      },
      gone: bytes => {
        heldBytes -= bytes
      },
    })
    for (let count = 0; count < 10; count += 1) from.write(Buffer.alloc(15_000, mark + count))
    from.end()
    return Buffer.concat(await to.toArray())
  }
  const carried = await Promise.all([through(0), through(100)])
  expect([heldBytes, mostBytes]).toEqual([0, 30_000])
  for (const [index, bytes] of carried.entries()) {
    const expected = Array.from({ length: 10 }, (_, count) => Buffer.alloc(15_000, index * 100 + count))
    expect(bytes.equals(Buffer.concat(expected))).toBe(true)
  }
  // 300,000 bytes less the burst.
  expect(performance.now() - since).toBeGreaterThan(240)
})

test('carry() gives back what was held for a taker that takes nothing when that goes', async () => {
  let heldBytes = 0
  const from = new PassThrough()
  const to = new Writable({ write: () => {} })
  const held = (bytes: number) => {
    heldBytes += bytes
  }
  carry(from, to, { pace: () => 0, held, gone: bytes => held(-bytes) })
  for (let count = 0; count < 5; count += 1) from.write(Buffer.alloc(1_000))
  await until(() => heldBytes > 0)
  expect(heldBytes).toBe(1_000)
  to.destroy()
  await until(() => heldBytes === 0)
  from.write(Buffer.alloc(1_000))
  await Bun.sleep(0)
  expect(heldBytes).toBe(0)
})
