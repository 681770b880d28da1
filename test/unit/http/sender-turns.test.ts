import { expect, test } from 'bun:test'
import { SenderTurns } from '../../../core/http/sender-turns.ts'
import { turnsOf, work } from './loop-turns.ts'

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

test('who has used up what is free rests after each request, and another does not', async () => {
  const turns = new SenderTurns()
  const took = async (sender: string, ms: number): Promise<number> => {
    const [first, second] = [turns.begin(sender), turns.begin(sender)]
    const beganMs = performance.now()
    await Promise.all([first.wait().then(() => work(ms)), second.wait()])
    first.end()
    second.end()
    return performance.now() - beganMs
  }
  // Little work is free, and the next request comes at once.
  expect(await took('ada', 10)).toBeLessThan(30)
  expect(await took('ada', 120)).toBeGreaterThan(120 + 95)
  expect(await took('ada', 10)).toBeGreaterThan(10 + 29)
  expect(await took('bob', 10)).toBeLessThan(30)
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
