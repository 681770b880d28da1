import { z } from 'zod'
import type { Alerts } from '../../../alerts/create.ts'
import type { JsonObject } from '../../../contract/json.ts'
import type { LogStore } from '../../../features/log-store.ts'
import { type Route, route } from '../../route.ts'
import { timestamp, validatedByRegistry } from '../schemas.ts'

const body = validatedByRegistry(
  z.object({
    condition: z.string(),
    threshold: z.number().optional(),
    duration: z.union([z.string(), z.number()]).optional(),
    per: z.enum(['server', 'tool', 'owner', 'total']).optional(),
    keepFiringFor: z.union([z.string(), z.number()]).optional(),
    noData: z.enum(['keep', 'ok', 'alert']).optional(),
  }),
  { condition: 'error_rate[5m] > 5%', duration: '5m' },
)

const number = z.number().nullable()
const preview = z.object({
  condition: z.string().meta({ description: 'As it was read, in base units' }),
  now: z.array(
    z.object({
      subject: z.string(),
      value: z.union([z.number(), z.string(), z.null()]),
      holds: z.boolean().nullable().meta({ description: 'null: there is no data' }),
    }),
  ),
  past: z
    .object({
      from: timestamp,
      to: timestamp,
      stepMs: z.number().int(),
      fired: z.number().int().meta({ description: 'How often it would have fired' }),
      firings: z
        .array(z.object({ subject: z.string(), startsAt: timestamp, endsAt: timestamp.optional(), highest: number }))
        .meta({ description: 'The first 200' }),
      series: z
        .object({ subject: z.string(), values: z.array(number) })
        .optional()
        .meta({ description: 'Of the subject that fired most, or had the most calls; in equal steps' }),
    })
    .optional(),
  why: z.string().optional().meta({ description: 'Why there is no `past`' }),
})
const example = {
  condition: 'error_rate[300000ms] > 0.05',
  now: [{ subject: 'ann~fake', value: 0.02, holds: false }],
  past: {
    ...{ from: '2026-11-21T09:30:00.000Z', to: '2026-11-22T09:30:00.000Z', stepMs: 60_000, fired: 0, firings: [] },
    series: { subject: 'ann~fake', values: [0.01, null, 0.02] },
  },
}

/** Dependencies of the route. Without stored numbers, only the present result of a rule is shown. */
export interface RulePreviewDeps {
  readonly alerts: Pick<Alerts, 'preview'>
  readonly logStore: () => LogStore | undefined
}

/** Route that shows the results that a rule would have had, before it is saved. */
export function rulePreviewRoute({ alerts, logStore }: RulePreviewDeps): Route {
  return route({
    method: 'POST',
    path: '/api/monitoring/rule-preview',
    access: 'user',
    tag: 'alerts',
    reads: true,
    summary: 'What a rule would say now, and how often it would have fired over the last 24 hours',
    body,
    responses: { 200: { description: 'Nothing is changed', schema: preview, example } },
    async handle({ actor, body: given }) {
      const store = logStore()
      const records = store?.sink ? store.for(actor) : undefined
      return { body: await alerts.preview(actor, given as JsonObject, records) }
    },
  })
}
