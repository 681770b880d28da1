import { definePlugin } from 'patchbay/contract'

/** Remote MCP servers over streamable HTTP. */
export default definePlugin({
  name: 'transport-http',
  contract: 1,
  setup(context) {
    context.contribute('transport', 'streamable-http', {
      label: 'Remote server (streamable HTTP)',
      transport: 'streamable-http',
      configSchema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        required: ['url'],
        additionalProperties: false,
        properties: {
          url: { type: 'string', format: 'uri', maxLength: 8192, description: 'The MCP endpoint, http or https.' },
          headers: {
            type: 'object',
            maxProperties: 64,
            additionalProperties: { type: 'string', maxLength: 8192 },
            description: 'Sent with every request. Host, framing headers and Mcp-* cannot be set.',
          },
        },
      },
      module: new URL('./transport.ts', import.meta.url).href,
    })
    return undefined
  },
})
