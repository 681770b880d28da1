import { HubError } from 'patchbay/contract'

const MAX_CHARACTERS = 8_192

/**
 * The address to which messages are posted, from the `endpoint` event. Only the configured origin is used: a server
 * must not redirect the hub, with the credentials of that server, to another one. Throws upstream_protocol.
 */
export function endpointUrl(text: string, configured: string): string {
  const url = text.length <= MAX_CHARACTERS ? URL.parse(text.trim(), configured) : null
  if (!url || `${url.username}${url.password}` !== '') {
    throw new HubError('upstream_protocol', 'The server named an "endpoint" that is no usable address')
  }
  const { origin } = new URL(configured)
  if (url.origin !== origin) {
    throw new HubError(
      'upstream_protocol',
      `The server named an "endpoint" outside its own origin, which is not used; it must be below ${origin}`,
    )
  }
  url.hash = ''
  return url.href
}
