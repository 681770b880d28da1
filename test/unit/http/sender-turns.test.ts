import { expect, test } from 'bun:test'
import { nextTurn } from '../../../core/domain/next-turn.ts'
import { SenderTurns } from '../../../core/http/sender-turns.ts'

/** Holds the thread. */
function work(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

/** The turns of the event loop in which something happened, counted from now. */
function turnsOf(): { readonly at: () => number; readonly end: () => void } {
  let turn = 0
  let over = false
  const count = (): void => {
    turn += 1
    if (!over) setImmediate(count)
  }
  setImmediate(count)
  return {
    at: () => turn,
    end: () => {
      over = true
    },
  }
}

test('parallel requests of one sender run one part in a turn, in their order', async () => {
  const turns = new SenderTurns()
  const { at, end } = turnsOf()
  const done: (readonly [number, number])[] = []
  const requests = Array.from({ length: 5 }, async (_, request) => {
    const ended = turns.begin('ada')
    await Promise.resolve()
    await turns.turn('ada')
    done.push([request, at()])
    ended()
  })
  await Promise.all(requests)
  end()
  // The last one is alone by then, and waits for nothing.
  expect(done.map(([request]) => request).toSorted()).toEqual([0, 1, 2, 3, 4])
  expect(new Set(done.map(([, turn]) => turn)).size).toBe(done.length)
})

test('who has used up what is free rests after each part, and another does not', async () => {
  const turns = new SenderTurns()
  const ended = [turns.begin('ada'), turns.begin('ada'), turns.begin('bob'), turns.begin('bob')]
  const took = async (sender: string, ms: number): Promise<number> => {
    const beganMs = performance.now()
    await Promise.all([turns.turn(sender).then(() => work(ms)), turns.turn(sender)])
    return performance.now() - beganMs
  }
  // Little work is free, and the next part comes at once.
  expect(await took('ada', 10)).toBeLessThan(30)
  expect(await took('ada', 120)).toBeGreaterThan(120 + 95)
  expect(await took('ada', 10)).toBeGreaterThan(10 + 29)
  expect(await took('bob', 10)).toBeLessThan(30)
  for (const end of ended) end()
})

test('a sender with one request waits for nothing', async () => {
  const turns = new SenderTurns()
  const ended = turns.begin('ada')
  const { at, end } = turnsOf()
  await turns.turn('ada')
  await turns.turn('ada')
  expect(at()).toBe(0)
  end()
  ended()
})

test('of all that wait for the next turn one goes on in each', async () => {
  const { at, end } = turnsOf()
  const seen = await Promise.all(
    Array.from({ length: 6 }, async () => {
      await nextTurn()
      return at()
    }),
  )
  end()
  expect(new Set(seen).size).toBe(seen.length)
})
