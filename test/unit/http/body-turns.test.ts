import { expect, test } from 'bun:test'
import { BodyTurns, type LargeBody } from '../../../core/outbound/body-turns.ts'
import { until } from '../../support/wait.ts'

class Body implements LargeBody {
  proceeded = 0

  proceed(): void {
    this.proceeded += 1
  }
}

test('large bodies run one after the other, and one that leaves before its turn is skipped', () => {
  const turns = new BodyTurns()
  const [first, second, third] = [new Body(), new Body(), new Body()] as const
  expect(turns.enter(first)).toBe(true)
  expect(turns.enter(second)).toBe(false)
  expect(turns.enter(third)).toBe(false)
  turns.leave(second)
  expect(third.proceeded).toBe(0)
  turns.leave(first)
  expect([second.proceeded, third.proceeded]).toEqual([0, 1])
  turns.leave(third)
  expect(turns.enter(first)).toBe(true)
})

test('a body that stops in the middle lets the next run beside it, and ends no other turn', async () => {
  const turns = new BodyTurns(10)
  const [stuck, second, third] = [new Body(), new Body(), new Body()] as const
  expect(turns.enter(stuck)).toBe(true)
  expect(turns.enter(second)).toBe(false)
  await until(() => second.proceeded === 1)
  turns.leave(stuck)
  expect(turns.enter(third)).toBe(false)
  turns.leave(second)
  expect(third.proceeded).toBe(1)
})
