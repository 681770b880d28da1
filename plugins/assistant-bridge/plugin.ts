import { definePlugin } from 'patchbay/contract'
import type { BridgeEndpoint } from 'patchbay/features'
import { CLOCK } from './clock.ts'
import { DialGate } from './dial-gate.ts'
import { InboundLink } from './inbound.ts'
import { OutboundLink } from './outbound.ts'
import { preview, testEndpoint } from './trial.ts'

/** Serves tools to assistant platforms and voice devices: MCP over WebSocket, dialled by either side. */
export default definePlugin({
  name: 'assistant-bridge',
  contract: 1,
  setup(context) {
    const gate = new DialGate()
    const stopped = new AbortController()
    context.contribute('bridge', 'assistant', {
      serve: (endpoint: BridgeEndpoint) =>
        endpoint.direction === 'outbound'
          ? new OutboundLink(endpoint, CLOCK, gate)
          : new InboundLink(endpoint, CLOCK, gate),
      preview,
      test: endpoint => testEndpoint({ endpoint, clock: CLOCK, gate, signal: stopped.signal }),
    })
    return () => stopped.abort()
  },
})
