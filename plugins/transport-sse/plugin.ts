import { definePlugin, type TransportContribution } from 'patchbay/contract'
import { REMOTE_CONFIG_SCHEMA } from 'patchbay/transport-kit'

/** The contribution of the first HTTP transport. */
export const sseTransport: TransportContribution = {
  label: 'Remote server (HTTP with SSE, MCP 2024-11-05)',
  transport: 'sse',
  configSchema: REMOTE_CONFIG_SCHEMA,
  module: new URL('./transport.ts', import.meta.url).href,
}

/** Remote MCP servers with the first HTTP transport (server-sent events). */
export default definePlugin({
  name: 'transport-sse',
  contract: 1,
  setup(context) {
    context.contribute('transport', 'sse', sseTransport)
    return undefined
  },
})
