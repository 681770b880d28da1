import { HubError, isJsonObject, type JsonObject } from 'patchbay/contract'
import { defineTransport, usableHeaders } from 'patchbay/transport-kit'

/** One JSON-RPC message per text message of a WebSocket with the subprotocol `mcp`. */
export default defineTransport({
  kind: 'messages',
  async open(config, io) {
    const { url, headers } = readConfig(config)
    const socket = await io.connect(url, {
      headers,
      protocols: ['mcp'],
      signal: io.signal,
      get maxBytes() {
        return io.maxResultBytes
      },
      message: text => io.message(text),
      tooLong: message => io.tooLong(message),
      closed: reason => io.closed(reason),
    })
    return {
      send: text => socket.send(text),
      close: () => socket.close(),
    }
  },
})

/** The hub validated it when it was saved; what it cannot know is checked here. */
function readConfig({ url, headers, accessToken }: JsonObject) {
  if (typeof url !== 'string') throw new HubError('config_invalid', 'The server has no "url"')
  const configured = Object.entries(isJsonObject(headers) ? headers : {}).map(([name, value]) => [name, String(value)])
  const bearer = typeof accessToken === 'string' ? { authorization: `Bearer ${accessToken}` } : {}
  return { url, headers: { ...bearer, ...usableHeaders(Object.fromEntries(configured)) } }
}
