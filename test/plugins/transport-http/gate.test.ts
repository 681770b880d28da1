import { expect, test } from 'bun:test'
import { Gate } from '../../../plugins/transport-http/gate.ts'
import { until } from '../../support/wait.ts'

test('a thread that was held does not open the gate before what has come meanwhile was read', async () => {
  const gate = new Gate()
  gate.close()
  const sent: string[] = []
  gate.holds(() => sent.push('first'))
  gate.openWithin(300)
  const heldUntilMs = performance.now() + 400
  while (performance.now() < heldUntilMs) {
    // Blocks the thread until the whole wait is over by the clock.
  }
  // A turn of the loop, in which the head of a stream would be read.
  await new Promise(resolve => setTimeout(resolve, 1))
  expect(sent).toEqual([])
  await until(() => sent.length > 0, { what: 'the gate to open' })
  expect(gate.holds(() => {})).toBe(false)
})
