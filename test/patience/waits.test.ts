/** Tests that take time but no work, which wait side by side. */
import { test } from 'bun:test'
import { beyondCore } from '../support/extent.ts'
import { startHub } from '../support/hub.ts'
import { silencedAlert } from '../support/silenced-alert.ts'
import { hangingPlugins, lateSetup } from './hanging-plugins.ts'
import { lostAlert } from './lost-alert.ts'
import { openStreams } from './open-streams.ts'

test.concurrent(
  'a server is lost, the alert fires once, the hub is killed, and one message says that it is resolved',
  lostAlert,
  600_000,
)

test.concurrent(
  'streams live as long as their readers: SSE, WebSocket and MCP are silent for a minute, one that is half open is closed',
  openStreams,
  600_000,
)

test.concurrent('hanging plugins that are switched off together cost the wait of one', hangingPlugins, 600_000)

test.concurrent('things left by a plugin whose setup took too long are cleaned up when it ends', lateSetup, 600_000)

// The other database's family shows the same without the repeat.
beyondCore(() => {
  test.concurrent('a silence holds a message back, and an alert is repeated', async () => {
    const hub = await startHub()
    try {
      await silencedAlert(await hub.setup(), true)
    } finally {
      await hub.stop()
    }
  }, 600_000)
})
