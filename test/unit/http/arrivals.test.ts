import { expect, test } from 'bun:test'
import { Arrivals } from '../../../core/http/arrivals.ts'
import { turnsOf, work } from './loop-turns.ts'

/** The senders whose requests ran, each with its piece. */
type Ran = readonly (readonly [string, number])[]

/** Starts requests of these senders in one turn. Each of them holds the thread. */
async function started(senders: readonly string[], ms: number): Promise<Ran> {
  return (await timed(senders, ms)).ran
}

/** `turnMs`: how long the turn took in which they came. */
async function timed(senders: readonly string[], ms: number): Promise<{ readonly ran: Ran; readonly turnMs: number }> {
  const arrivals = new Arrivals()
  const ran: (readonly [string, number])[] = []
  const { at, end } = turnsOf()
  const beganMs = performance.now()
  const starting = senders.map(sender =>
    arrivals.start(
      () => sender,
      () => {
        work(ms)
        ran.push([sender, at()])
      },
    ),
  )
  const turnMs = performance.now() - beganMs
  await Promise.all(starting)
  end()
  return { ran, turnMs }
}

test('quick requests are started at once, in order', async () => {
  const senders = Array.from({ length: 100 }, (_, at) => `s${at}`)
  let attempt = await timed(senders, 0)
  // Repeated, since time also passes while the thread has no processor.
  for (let again = 0; attempt.turnMs > 4 && again < 50; again += 1) attempt = await timed(senders, 0)
  expect(attempt.ran).toEqual(senders.map(sender => [sender, 0]))
})

test('slow requests are started in several turns, and no turn takes much longer than 5 ms', async () => {
  const ran = await started(Array<string>(20).fill('ada'), 3)
  const perTurn = new Map<number, number>()
  for (const [, turn] of ran) perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1)
  expect(ran).toHaveLength(20)
  // The second one ends after 6 ms; on a machine that paused, one may have run alone.
  expect(Math.max(...perTurn.values())).toBe(2)
})

test('a sender with many waiting requests delays those of others by one', async () => {
  const ran = await started([...Array<string>(20).fill('mallory'), 'ada', 'bob'], 6)
  const order = ran.map(([sender]) => sender)
  expect(order.slice(0, 4).toSorted()).toEqual(['ada', 'bob', 'mallory', 'mallory'])
})

test('while some wait, later ones do not go first', async () => {
  const arrivals = new Arrivals()
  const ran: string[] = []
  const start = (name: string) =>
    arrivals.start(
      () => 'ada',
      () => {
        work(6)
        ran.push(name)
      },
    )
  const first = [start('a'), start('b'), start('c')]
  await new Promise(setImmediate)
  await Promise.all([...first, start('d')])
  expect(ran).toEqual(['a', 'b', 'c', 'd'])
})

test('an error that a request throws or rejects with is passed on, at once and later', async () => {
  const arrivals = new Arrivals()
  const failing = (error: Error) =>
    arrivals.start(
      () => 'ada',
      () => {
        work(6)
        throw error
      },
    )
  expect(() => failing(new Error('now'))).toThrow('now')
  await expect(failing(new Error('later'))).rejects.toThrow('later')
  expect(
    await arrivals.start(
      () => 'ada',
      () => 7,
    ),
  ).toBe(7)
})
