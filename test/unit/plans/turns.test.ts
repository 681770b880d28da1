/** Plans on copies are made one at a time, and the pause of one user does not delay others. */
import { expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { PlanTurns } from '../../../core/plans/turns.ts'

const WORK_MS = 200

/** `order` lists the users whose imports began and ended. */
function turns() {
  const order: string[] = []
  const all = new PlanTurns()
  const run = (user: string, ms: number) =>
    all.take(user, 'import', async () => {
      order.push(`${user} begins`)
      await sleep(ms)
      order.push(`${user} ends`)
      return user
    })
  return { order, run, take: <T>(user: string, work: () => Promise<T>) => all.take(user, 'import', work) }
}

test('one at a time, in the order of the requests', async () => {
  const { order, run } = turns()
  expect(await Promise.all([run('a', 20), run('b', 1), run('c', 1)])).toEqual(['a', 'b', 'c'])
  expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})

test('the pause after an import holds the same user alone', async () => {
  const { order, run } = turns()
  await run('a', WORK_MS)
  const startedMs = performance.now()
  const again = run('a', 1)
  await run('b', 1)
  // The order proves it, whatever the machine does meanwhile.
  expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
  await again
  expect(performance.now() - startedMs).toBeGreaterThan(2 * WORK_MS)
  expect(order.slice(4)).toEqual(['a begins', 'a ends'])
})

test('one of a user at a time, a failed one too, and twenty in all', async () => {
  const { run, take } = turns()
  const first = run('a', 20)
  expect(run('a', 1)).rejects.toMatchObject({ code: 'overloaded', message: 'Another import of yours is under way' })
  const others = Array.from({ length: 19 }, (_, n) => run(`u${n}`, 1))
  expect(run('z', 1)).rejects.toMatchObject({ code: 'overloaded', message: 'Too many imports are under way' })
  await Promise.all([first, ...others])
  const failing = take('f', () => Promise.reject(new Error('no')))
  expect(failing).rejects.toThrow('no')
  await failing.catch(() => undefined)
  expect(await run('f', 1)).toBe('f')
  expect(await run('z', 1)).toBe('z')
})
