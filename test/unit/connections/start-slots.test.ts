import { expect, test } from 'bun:test'
import { StartSlots } from '../../../core/connections/start-slots.ts'
import { until } from '../../support/wait.ts'

/** The names that have got a place, in order, each with a function that gives the place back. */
function waiting(slots: StartSlots) {
  const got: { readonly name: string; readonly release: () => void }[] = []
  const ask = (owner: string, name: string): void =>
    void slots.acquire(owner).then(release => got.push({ name, release }))
  return { ask, got, names: () => got.map(({ name }) => name) }
}

test('StartSlots gives places to owners by turns, and to each owner’s servers in order', async () => {
  const { ask, got, names } = waiting(new StartSlots(2))
  for (let n = 0; n < 20; n += 1) ask('ann', `a${n}`)
  ask('bob', 'b0')
  ask('bob', 'b1')
  ask('carl', 'c0')
  await Promise.resolve()
  expect(names()).toEqual(['a0', 'a1'])
  for (let next = 0; next < 6; next += 1) {
    got[next]?.release()
    await Promise.resolve()
  }
  expect(names()).toEqual(['a0', 'a1', 'a2', 'b0', 'c0', 'a3', 'b1', 'a4'])
})

test('StartSlots takes a place back once, however often it is given', async () => {
  const { ask, got, names } = waiting(new StartSlots(1))
  for (const name of ['a', 'b', 'c']) ask('ann', name)
  await Promise.resolve()
  for (let again = 0; again < 3; again += 1) got[0]?.release()
  await Promise.resolve()
  expect(names()).toEqual(['a', 'b'])
})

test('StartSlots lets a paced user start some at once, with a pause after each, and others meanwhile', async () => {
  const slots = new StartSlots(8)
  const got: string[] = []
  const releases: (() => void)[] = []
  const ask = (user: string, name: string, atOnce?: number) =>
    void slots.acquire(user, atOnce === undefined ? {} : { atOnce }).then(release => {
      got.push(name)
      releases.push(release)
    })
  for (const name of ['a', 'b', 'c', 'd']) ask('eve', name, 2)
  ask('eve', 'own')
  ask('bob', 'e', 2)
  await until(() => got.length === 4)
  expect(got).toEqual(['a', 'b', 'own', 'e'])
  releases[0]?.()
  await Promise.resolve()
  expect(got).toHaveLength(4)
  await until(() => got.length === 5, { what: 'the next start of the paced user' })
  expect(got.at(-1)).toBe('c')
})
