import { expect, test } from 'bun:test'
import { join } from 'node:path'

test('a record of usual fields leaves the garbage collector next to nothing, with a queue that is full and with counters', async () => {
  // This runs in a process of its own: other tests leave objects too, and make the runtime compile the log for all their
  // uses.
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'fixtures/log-garbage.ts')])
  const left = JSON.parse(await new Response(child.stdout).text()) as number[]
  expect(left).toHaveLength(7)
  // Neither the least counts, which a collection in between may have made, nor the first ones, which may not be compiled yet.
  // The number is about 500, and was 35,000; one object a record would make it 5,000.
  expect(left.toSorted((a, b) => a - b)[1]).toBeLessThan(2_500)
}, 20_000)
