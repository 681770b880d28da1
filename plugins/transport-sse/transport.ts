import type { JsonObject } from 'patchbay/contract'
import { defineTransport, readRemoteConfig, type TransportIo } from 'patchbay/transport-kit'
import { SseLink } from './sse-link.ts'

/** HTTP with server-sent events as of MCP 2024-11-05: one GET stream carries all responses, each message is a POST. */
export default defineTransport({
  kind: 'messages',
  async open(config: JsonObject, io: TransportIo) {
    const link = new SseLink(readRemoteConfig(config), io)
    await link.open()
    return link
  },
})
