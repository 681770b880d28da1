import { expect, spyOn, test } from 'bun:test'
import { SenderTurns } from '../../../core/http/sender-turns.ts'
import { turnsOf, work } from './loop-turns.ts'

/** Uses this much processor time of the thread; time of other processes does not count. */
function burn(ms: number): void {
  const used = () => Object.values(process.threadCpuUsage()).reduce((sum, us) => sum + us, 0) / 1_000
  const untilMs = used() + ms
  while (used() < untilMs);
}

test('parallel requests of one sender run one in a turn, in their order', async () => {
  const turns = new SenderTurns()
  const { at, end } = turnsOf()
  const done: (readonly [number, number])[] = []
  const requests = Array.from({ length: 5 }, async (_, number) => {
    const request = turns.begin('ada')
    await Promise.resolve()
    const waited = await request.wait()
    done.push([number, at()])
    request.end()
    return waited
  })
  expect(await Promise.all(requests)).toEqual([true, true, true, true, true])
  end()
  expect(done.map(([number]) => number)).toEqual([0, 1, 2, 3, 4])
  expect(new Set(done.map(([, turn]) => turn)).size).toBe(done.length)
})

test('a sender that has used its free time rests after each request; another does not', async () => {
  const turns = new SenderTurns()
  const timers = spyOn(globalThis, 'setTimeout')
  const restedMs = async (sender: string, ms: number): Promise<number> => {
    timers.mockClear()
    const [first, second] = [turns.begin(sender), turns.begin(sender)]
    await Promise.all([first.wait().then(() => burn(ms)), second.wait()])
    first.end()
    second.end()
    return timers.mock.calls.reduce((sum, [, delayMs = 0]) => sum + delayMs, 0)
  }
  try {
    // Little work is free. The best of three counts: a pause of a virtual machine counts as processor time.
    const little = [await restedMs('eve', 10), await restedMs('joe', 10), await restedMs('ada', 10)]
    expect(Math.min(...little)).toBe(0)
    expect(await restedMs('ada', 120)).toBeGreaterThanOrEqual(3 * 120)
    expect(await restedMs('ada', 10)).toBeGreaterThanOrEqual(3 * 10)
    expect(Math.min(await restedMs('bob', 10), await restedMs('kim', 10))).toBe(0)
  } finally {
    timers.mockRestore()
  }
})

test('a sender does not rest for the work of others in the same turns', async () => {
  const turns = new SenderTurns()
  // Others hold the thread for 40 ms between any two of its requests, more together than a sender has free.
  const others = setInterval(() => work(40), 1)
  await new Promise(resolve => setTimeout(resolve, 5))
  const timers = spyOn(globalThis, 'setTimeout')
  try {
    const requests = Array.from({ length: 12 }, () => turns.begin('ada'))
    await Promise.all(requests.map(request => request.wait().then(() => request.end())))
    expect(timers.mock.calls.reduce((sum, [, delayMs = 0]) => sum + delayMs, 0)).toBe(0)
  } finally {
    timers.mockRestore()
    clearInterval(others)
  }
})

test('a sender with one request waits for nothing', async () => {
  const turns = new SenderTurns()
  const { at, end } = turnsOf()
  for (let request = 0; request < 3; request += 1) {
    const turn = turns.begin('ada')
    expect(await turn.wait()).toBe(false)
    turn.end()
  }
  expect(at()).toBe(0)
  end()
})

test('no more than 100 requests of a sender wait', async () => {
  const turns = new SenderTurns()
  const requests = Array.from({ length: 103 }, () => turns.begin('ada'))
  const answers = await Promise.allSettled(requests.map(request => request.wait()))
  const refused = answers.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(3)
  expect(refused[0]).toMatchObject({ reason: { code: 'rate_limited', retryAfterSeconds: 1 } })
})
