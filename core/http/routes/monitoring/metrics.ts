import { HubError } from '../../../contract/errors.ts'
import type { UserActor } from '../../../contract/records.ts'
import { isLocalAddress } from '../../../domain/address.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { equalSecrets } from '../../../secrets/equal-secrets.ts'
import { type Route, route } from '../../route.ts'

/** Dependencies of `/metrics`. */
export interface MetricsDeps {
  /** METRICS_TOKEN. */
  readonly metricsToken: string | undefined
  /** All metrics as they are now, in the text format of Prometheus. */
  readonly metricsText: () => Promise<string>
}

const example =
  '# HELP patchbay_servers Configured servers by state\n# TYPE patchbay_servers gauge\npatchbay_servers{state="online"} 3\n'

/** The route that Prometheus reads. */
export function metricsRoutes(deps: MetricsDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/metrics',
      access: 'public',
      summary: 'Metrics for Prometheus: with METRICS_TOKEN, or without one from the local network; or an administrator',
      tag: 'monitoring',
      anyQuery: true,
      responses: { 200: { description: 'The text format 0.0.4', contentType: 'text/plain', example } },
      async handle({ request, info, actor }) {
        refuseStrangers(deps.metricsToken, request, info, actor)
        return { text: await deps.metricsText(), type: 'text/plain; version=0.0.4; charset=utf-8' }
      },
    }),
  ]
}

/** Throws `unauthenticated`, or `admin_only` for an ordinary user. */
function refuseStrangers(
  token: string | undefined,
  { headers }: Request,
  { clientAddress, untrustedForwarding }: RequestInfo,
  actor: UserActor | undefined,
): void {
  if (actor) {
    if (actor.role === 'admin' && !actor.restricted) return
    throw new HubError('admin_only', 'Metrics are open to administrators and to METRICS_TOKEN')
  }
  const given = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1]
  if (token !== undefined && given !== undefined && equalSecrets(given, token)) return
  // A token that is set is always required: a wrong credential is rejected from a near address too.
  const isNear = token === undefined && given === undefined && !untrustedForwarding && isLocalAddress(clientAddress)
  if (isNear) return
  throw new HubError('unauthenticated', 'Metrics need the METRICS_TOKEN as bearer token', {
    hint: 'Set METRICS_TOKEN; without it only addresses of the local network and administrators may read them.',
  })
}
