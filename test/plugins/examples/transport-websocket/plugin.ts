import { definePlugin } from 'patchbay/contract'

/** Remote MCP servers over WebSocket. */
export default definePlugin({
  name: 'transport-websocket',
  contract: 1,
  setup(context) {
    context.contribute('transport', 'websocket', {
      label: 'Remote server (WebSocket)',
      transport: 'websocket',
      configSchema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        required: ['url'],
        additionalProperties: false,
        properties: {
          url: {
            type: 'string',
            format: 'uri',
            schemes: ['ws', 'wss'],
            title: 'Address',
            description: 'The MCP endpoint, ws or wss.',
          },
          headers: {
            type: 'object',
            format: 'http-headers',
            additionalProperties: { type: 'string' },
            title: 'Headers',
            description: 'Sent with the request that opens the connection.',
          },
          accessToken: {
            type: 'string',
            writeOnly: true,
            minLength: 8,
            maxLength: 4096,
            title: 'Access token',
            description: 'Sent as "Authorization: Bearer …".',
          },
        },
      },
      module: new URL('./transport.ts', import.meta.url).href,
    })
    return undefined
  },
})
