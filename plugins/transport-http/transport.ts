import type { JsonObject } from 'patchbay/contract'
import { defineTransport, readRemoteConfig, type TransportIo } from 'patchbay/transport-kit'
import { HttpLink } from './http-link.ts'

/** Streamable HTTP (MCP 2025-03-26 and later): each message is a POST, responses are JSON or a stream of events. */
export default defineTransport({
  kind: 'messages',
  async open(config: JsonObject, io: TransportIo) {
    const { url, headers } = readRemoteConfig(config)
    return new HttpLink(url, headers, io)
  },
})
