import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { serverRecord, startRig, until } from './support.ts'

const TIMES = 1_000

function liveArrays(): number {
  Bun.gc(true)
  return heapStats().objectTypeCounts.Array ?? 0
}

test(`${TIMES} ends of a connection leave nothing of themselves behind`, async () => {
  const rig = await startRig([serverRecord('a', { enabled: false })])
  try {
    const stop = async (times: number): Promise<void> => {
      for (let time = 0; time < times; time += 1) {
        rig.connections.stop('a')
        await Promise.resolve()
      }
    }
    await stop(TIMES)
    const before = liveArrays()
    await stop(TIMES)
    await until('what the ends held is given back', () => liveArrays() < before + TIMES / 4, 10_000)
  } finally {
    await rig.dispose()
  }
  // The stop of the server is a record of its state.
  expect(rig.logs.filter(({ level }) => level !== 'info')).toEqual([])
}, 120_000)
