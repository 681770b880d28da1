import { expect, test } from 'bun:test'
import { Silence } from '../../../core/store/silence.ts'
import { atLeast } from '../../support/pace.ts'

const never = new Promise<never>(() => {})

test('within() ends what waits for a database that says nothing, and tells the work that it counts no more', async () => {
  const silence = new Silence(30)
  let isOver = () => false
  const waiting = silence.within(over => {
    isOver = over
    return never
  })
  expect(isOver()).toBe(false)
  await expect(waiting).rejects.toMatchObject({ code: 'storage_unavailable' })
  expect(isOver()).toBe(true)
})

test('within() does not cut what takes longer while the database answers', async () => {
  const silentMs = atLeast(300)
  const silence = new Silence(silentMs)
  const began = performance.now()
  const outcome = silence.within(async over => {
    while (performance.now() - began < 2.5 * silentMs) {
      silence.recordAnswer()
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    return over() ? 'cut' : 'whole'
  })
  expect(await outcome).toBe('whole')
})

test('within() hands on what the work comes to', async () => {
  const silence = new Silence(1_000)
  expect(await silence.within(async () => 1)).toBe(1)
  const failure = new Error('no')
  await expect(silence.within(() => Promise.reject(failure))).rejects.toBe(failure)
})
