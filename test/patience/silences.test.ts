import { test } from 'bun:test'
import { startHub } from '../support/hub.ts'
import { silencedAlert } from '../support/silenced-alert.ts'

test('a silence holds a message back, and an alert is repeated', async () => {
  const hub = await startHub()
  try {
    await silencedAlert(await hub.setup(), true)
  } finally {
    await hub.stop()
  }
}, 600_000)
