/** The queue of long checks: callers take turns, with one thread at a time each, and slow owners leave one free. */
import { expect, test } from 'bun:test'
import type { Checked } from '../../../plugins/guards/check/check.ts'
import { CheckQueue } from '../../../plugins/guards/check/queue.ts'

/** A queue whose threads end checks, and whose clock moves, when the test says so. */
function opened() {
  const clock = { nowMs: 0 }
  const begun: { readonly name: string; end(): void }[] = []
  const answers = new Map<string, Promise<Checked>>()
  const queue = new CheckQueue(
    () => ({
      request: ({ text }) => {
        const done = Promise.withResolvers<Checked>()
        begun.push({ name: String(text), end: () => done.resolve({ findings: {} }) })
        return done.promise
      },
      end: () => undefined,
    }),
    () => clock.nowMs,
  )
  const ask = (owner: string, caller: string, number: number) => {
    const text = `${owner} ${caller} ${number}`
    answers.set(text, queue.check({ owner, caller }, { rules: [], text }, 1))
  }
  return { begun, answers, ask, clock }
}

test('callers take turns, each for one check', async () => {
  const { begun, answers, ask } = opened()
  const pairs = [
    ['ada', 'bob'],
    ['ada', 'cleo'],
    ['carl', 'bob'],
    ['carl', 'cleo'],
    ['carl', 'dan'],
  ] as const
  const turns = pairs.map(pair => pair.join(' '))
  for (const number of [1, 2, 3]) for (const [owner, caller] of pairs) ask(owner, caller, number)
  for (let ended = 0; ended < answers.size; ended += 1) {
    const running = begun.slice(ended).map(({ name }) => name.slice(0, -2))
    expect(running).toEqual([...new Set(running)])
    const oldest = begun[ended]
    oldest?.end()
    await answers.get(oldest?.name ?? '')
  }
  const rounds = [1, 2, 3].map(number => turns.map(turn => `${turn} ${number}`).toSorted())
  const names = begun.map(({ name }) => name)
  expect([0, 5, 10].map(from => names.slice(from, from + 5).toSorted())).toEqual(rounds)
  // One who is alone has one thread all the same.
  for (const number of [4, 5]) ask('ada', 'bob', number)
  expect(begun.slice(15).map(({ name }) => name)).toEqual(['ada bob 4'])
})

test('an owner whose check was slow leaves a thread to others', async () => {
  const { begun, answers, ask, clock } = opened()
  ask('slow', 'bob', 1)
  clock.nowMs = 1_001
  begun[0]?.end()
  await answers.get('slow bob 1')
  for (const [at, caller] of ['bob', 'cleo', 'dan', 'eve'].entries()) ask('slow', caller, at + 2)
  ask('ada', 'finn', 6)
  expect(begun.map(({ name }) => name)).toContain('ada finn 6')
})
