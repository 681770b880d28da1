import { expect, test } from 'bun:test'
import { Jobs } from '../../../core/plugin-host/services/jobs.ts'
import { until } from '../../support/wait.ts'

function jobs() {
  const errors: string[] = []
  const stop = new AbortController()
  return { jobs: new Jobs({ error: message => void errors.push(message) }, stop.signal), stop, errors }
}

test('one run for all who ask under a key meanwhile, and another one afterwards', async () => {
  const { jobs: own } = jobs()
  let runs = 0
  const gate = Promise.withResolvers<void>()
  const work = async () => {
    runs += 1
    await gate.promise
    return runs
  }
  const both = Promise.all([own.once('a', work), own.once('a', work)])
  gate.resolve()
  expect(await both).toEqual([1, 1])
  expect(await own.once('a', work)).toBe(2)
})

test('a job that throws is logged and counted, whether at once or later, and runs again', async () => {
  const { jobs: own, stop, errors } = jobs()
  await expect(own.once('b', () => Promise.reject(new Error('no b')))).rejects.toThrow('no b')
  let runs = 0
  own.every(1_000, () => {
    runs += 1
    throw new Error('no rest')
  })
  await until(() => runs === 2, { what: 'two runs of a job' })
  stop.abort()
  expect(own.failed).toBe(3)
  expect(errors).toEqual([
    'A job of the plugin failed: no b',
    ...Array.from({ length: 2 }, () => 'A job of the plugin failed: no rest'),
  ])
})

test('a plugin that stops waits for its jobs, which are told to end', async () => {
  const { jobs: own, stop } = jobs()
  let ended = false
  const begun = Promise.withResolvers<void>()
  const running = own.once(
    'c',
    signal =>
      new Promise<void>(resolve => {
        begun.resolve()
        signal.addEventListener('abort', () => {
          ended = true
          resolve()
        })
      }),
  )
  await begun.promise
  stop.abort()
  await own.ended()
  expect(ended).toBe(true)
  await running
})

test('a job runs every second at most, and there are 16 of them', () => {
  const { jobs: own, stop } = jobs()
  expect(() => own.every(999, async () => undefined)).toThrow('every 1000 to')
  for (let at = 0; at < 16; at += 1) own.every(60_000, async () => undefined)
  expect(() => own.every(60_000, async () => undefined)).toThrow('at most 16')
  stop.abort()
})
