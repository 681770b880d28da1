import { defineTransport, HubError, isJsonObject, type JsonObject, type TransportIo } from 'patchbay/contract'
import { HttpLink } from './http-link.ts'

/** Streamable HTTP (MCP 2025-03-26 and later): each message is a POST, answers come as JSON or as a stream of events. */
export default defineTransport({
  kind: 'messages',
  async open(config: JsonObject, io: TransportIo) {
    return new HttpLink(readUrl(config.url), readHeaders(config.headers), io)
  },
})

function readUrl(value: unknown): string {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new HubError('config_invalid', 'The server has no usable "url"; it must be an http or https address')
  }
  return url.href
}

function readHeaders(value: unknown): Readonly<Record<string, string>> {
  if (value === undefined) return {}
  const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string'
  const entries: [string, unknown][] = isJsonObject(value) ? Object.entries(value) : [['', value]]
  if (entries.every(isText)) return Object.fromEntries(entries)
  throw new HubError('config_invalid', 'The "headers" of the server must be an object of texts')
}
