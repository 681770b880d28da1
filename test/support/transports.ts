import { OpenTransports } from '../../core/domain/server/transports.ts'
import { httpTransport } from '../../plugins/transport-http/plugin.ts'
import { openapiTransport } from '../../plugins/transport-openapi/plugin.ts'
import { sseTransport } from '../../plugins/transport-sse/plugin.ts'
import { stdioTransport } from '../../plugins/transport-stdio/plugin.ts'

/** The transports of a hub with its bundled plugins. */
export function bundledTransports(): OpenTransports {
  const transports = emptyTransports()
  for (const transport of [stdioTransport, httpTransport, sseTransport, openapiTransport]) transports.add(transport)
  return transports
}

/** The transports of a hub without plugins. */
export function emptyTransports(): OpenTransports {
  return new OpenTransports()
}
