import { z } from 'zod'
import { isAdmin } from '../../../domain/ownership.ts'
import { percentText, sizeText } from '../../../domain/size.ts'
import type { SystemUsage } from '../../../telemetry/system-usage.ts'
import { type Route, route } from '../../route.ts'

/** Dependencies of the route. */
export interface ResourcesDeps {
  readonly usage: () => SystemUsage
  /** HTTP connections with a request under way, and open WebSockets. */
  readonly activeConnections: () => number
  /** Streams and live WebSockets that a user has open. */
  readonly openStreams: (userId: string) => number
}

const text = z.string().nullable()
const count = z.number().int().nullable()
const amount = z.object({ used: text, total: text, usage: text })

const resources = z.object({
  cpu: z.object({ usage: text, cores: z.number().int(), loadAverage: z.array(z.number()).length(3) }),
  memory: amount,
  disk: amount,
  network: z.object({ bytesIn: count, bytesOut: count, connectionsActive: z.number().int() }),
  reasons: z.record(z.string(), z.string()).meta({ description: 'Why a figure is null, by the name of its part' }),
})

const example = {
  cpu: { usage: '12.5%', cores: 8, loadAverage: [0.42, 0.51, 0.48] },
  memory: { used: '1.2 GB', total: '8.0 GB', usage: '15.0%' },
  disk: { used: '41.5 GB', total: '100.0 GB', usage: '41.5%' },
  network: { bytesIn: 120_394, bytesOut: 981_233, connectionsActive: 4 },
  reasons: {},
}

const REASONS = {
  cpu: 'This system has no /proc/stat',
  memory: 'This system has neither a memory limit in /sys/fs/cgroup nor /proc/meminfo',
  disk: 'The data folder cannot be measured',
  network: 'This system has no /proc/net/dev',
}

/** The use of the machine's resources. */
export function resourceUsageRoutes({ usage, activeConnections, openStreams }: ResourcesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/monitoring/resources',
      access: 'user',
      summary: 'Use of processors, memory, disk and network',
      tag: 'monitoring',
      responses: { 200: { description: 'The figures; null where one cannot be had', schema: resources, example } },
      handle({ actor }) {
        const { cpu, cores, loadAverage, memory, disk, network } = usage()
        const missing = { cpu, memory, disk, network }
        return {
          body: {
            cpu: { usage: cpu === undefined ? null : percentText(cpu), cores, loadAverage },
            memory: amountOf(memory),
            disk: amountOf(disk),
            network: {
              bytesIn: network?.bytesIn ?? null,
              bytesOut: network?.bytesOut ?? null,
              // Users other than administrators must not learn the number of users: they get the number of their own
              // streams, plus this request.
              connectionsActive: isAdmin(actor) ? activeConnections() : openStreams(actor.userId) + 1,
            },
            reasons: Object.fromEntries(
              Object.entries(REASONS).filter(([part]) => missing[part as keyof typeof missing] === undefined),
            ),
          },
        }
      },
    }),
  ]
}

function amountOf(amount: { readonly used: number; readonly total: number } | undefined) {
  if (!amount) return { used: null, total: null, usage: null }
  const { used, total } = amount
  return { used: sizeText(used), total: sizeText(total), usage: percentText(total === 0 ? 0 : used / total) }
}
