import { definePlugin } from 'patchbay/contract'
import { REMOTE_CONFIG_SCHEMA } from 'patchbay/transport-kit'

/** Remote MCP servers over Streamable HTTP. */
export default definePlugin({
  name: 'transport-http',
  contract: 1,
  setup(context) {
    context.contribute('transport', 'streamable-http', {
      label: 'Remote server (streamable HTTP)',
      transport: 'streamable-http',
      configSchema: REMOTE_CONFIG_SCHEMA,
      module: new URL('./transport.ts', import.meta.url).href,
    })
    return undefined
  },
})
