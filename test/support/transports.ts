import { OpenTransports } from '../../core/domain/server/transports.ts'
import { checkBrought } from '../../plugins/oauth-client/fields/check-brought.ts'
import oauthClient from '../../plugins/oauth-client/plugin.ts'
import { httpTransport } from '../../plugins/transport-http/plugin.ts'
import { openapiTransport } from '../../plugins/transport-openapi/plugin.ts'
import { sseTransport } from '../../plugins/transport-sse/plugin.ts'
import { stdioTransport } from '../../plugins/transport-stdio/plugin.ts'

/** The transports of a hub with its bundled plugins, with the further fields of servers. */
export function bundledTransports(): OpenTransports {
  const transports = emptyTransports()
  for (const transport of [stdioTransport, httpTransport, sseTransport, openapiTransport]) transports.add(transport)
  const { name, serverFields = {} } = oauthClient
  transports.serverFields.declare(name, serverFields)
  for (const id of Object.keys(serverFields)) transports.serverFields.add(name, id, { check: checkBrought })
  return transports
}

/** The transports of a hub without plugins. */
export function emptyTransports(): OpenTransports {
  return new OpenTransports()
}
