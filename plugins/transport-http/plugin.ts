import { definePlugin, type TransportContribution } from 'patchbay/contract'
import { REMOTE_CONFIG_SCHEMA } from 'patchbay/transport-kit'

/** The contribution of the Streamable HTTP transport. */
export const httpTransport: TransportContribution = {
  label: 'Remote server (streamable HTTP)',
  transport: 'streamable-http',
  modern: true,
  configSchema: REMOTE_CONFIG_SCHEMA,
  module: new URL('./transport.ts', import.meta.url).href,
}

/** Remote MCP servers over Streamable HTTP. */
export default definePlugin({
  name: 'transport-http',
  contract: 1,
  setup(context) {
    context.contribute('transport', 'streamable-http', httpTransport)
    return undefined
  },
})
