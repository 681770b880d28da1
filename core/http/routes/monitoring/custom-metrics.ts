import { z } from 'zod'
import { LIMITS } from '../../../config/limits.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { isAdmin } from '../../../domain/ownership.ts'
import { hasHidden } from '../../../domain/text/visible-text.ts'
import { validationError } from '../../../domain/validation-error.ts'
import { type CustomMetrics, METRIC_NAME, TAKEN_LABELS } from '../../../telemetry/custom-metrics.ts'
import { type Route, route } from '../../route.ts'
import { check } from '../../validate.ts'
import { exampleList, limitedRecord, listOf, pageFields, timestamp } from '../schemas.ts'
import { asksForOwn, scopeField } from '../time-range.ts'
import { page } from '../views.ts'
import { freeNumbers } from './free-metrics.ts'

/** Dependencies of the routes. */
export interface CustomMetricsDeps {
  readonly custom: Pick<CustomMetrics, 'add' | 'list' | 'value'>
}

const path = '/api/monitoring/custom-metrics'
const tag = 'monitoring'

const FORM = 'must begin with one of a-z and have at most 64 of a-z, 0-9 and _'
const name = z.string().regex(METRIC_NAME, FORM)
const label = name.refine(text => !TAKEN_LABELS.includes(text), { message: 'this label is the hub’s own' })
const labelText = z
  .string()
  .max(128)
  .refine(text => !hasHidden(text), { message: 'must have no hidden characters' })
const metric = z
  .strictObject({
    name,
    kind: z.enum(['counter', 'gauge']),
    value: z.number(),
    labels: limitedRecord(label, labelText, LIMITS.customMetricLabels).default({}),
  })
  .refine(({ kind, value }) => kind === 'gauge' || value >= 0, {
    path: ['value'],
    params: { code: 'range' },
    message: 'a counter only rises',
  })
const seen = z.object({
  name,
  kind: z.enum(['counter', 'gauge']),
  value: z.number(),
  labels: z.record(z.string(), z.string()),
  ownerId: z.string(),
  updatedAt: timestamp,
})
const listed = z.strictObject({ metrics: z.array(metric).min(1).max(LIMITS.customMetricsPerReport) })
/** Either the list, or free-form numbers: at the top of the body, or as `metrics`. */
const report = z
  .unknown()
  .superRefine((input, { addIssue }) => {
    if (!isJsonObject(input as JsonValue)) addIssue({ code: 'invalid_type', expected: 'object', input })
  })
  .meta({
    ...{ type: 'object', description: 'A list `metrics`, or nested objects of numbers, which are gauges' },
    examples: [{ metrics: [{ name: 'orders', kind: 'counter', value: 3, labels: { shop: 'north' } }] }],
  }) as unknown as z.ZodType<JsonObject>
const example = { name: 'orders', kind: 'counter', value: 3, labels: { shop: 'north' } }

/** Numbers that users count for themselves. */
export function customMetricRoutes({ custom }: CustomMetricsDeps): Route[] {
  return [
    route({
      method: 'POST',
      path,
      access: 'user',
      summary:
        'Report numbers of your own: a list of counters, which are added to, and gauges; or free-form objects of numbers',
      tag,
      body: report,
      responses: {
        200: { description: 'All were taken', schema: z.object({ taken: z.number().int() }), example: { taken: 1 } },
      },
      handle({ actor, body }) {
        const { metrics } = body
        if (!Array.isArray(metrics)) return { body: { taken: addFree(custom, actor.userId, body) } }
        const checked = check(listed, body, 'body')
        if ('errors' in checked) throw validationError(checked.errors)
        const { metrics: updates } = checked.value as z.output<typeof listed>
        custom.add(actor.userId, updates)
        return { body: { taken: updates.length } }
      },
    }),
    route({
      method: 'GET',
      path,
      access: 'user',
      summary: 'Your reported numbers, since the start of the hub',
      tag,
      query: z.strictObject({ ...pageFields, scope: scopeField }),
      responses: {
        200: {
          description: 'A page of them',
          schema: listOf(seen),
          example: exampleList({ ...example, ownerId: '01JD7C0A11', updatedAt: '2026-11-22T09:30:00.000Z' }),
        },
      },
      handle({ actor, query: { scope, ...paging } }) {
        const found = custom.list(!asksForOwn(actor, scope) && isAdmin(actor) ? 'all' : actor.userId)
        const shown = found.map(({ updatedAtMs, ...rest }) => ({
          ...rest,
          updatedAt: new Date(updatedAtMs).toISOString(),
        }))
        return { body: page(shown, paging) }
      },
    }),
  ]
}

/** Adds the numbers of a free-form report. Throws `validation_failed` with all mistakes. */
function addFree(custom: CustomMetricsDeps['custom'], ownerId: string, body: JsonObject): number {
  const { metrics, ...others } = body
  const isNested = isJsonObject(metrics) && Object.keys(others).length === 0
  const { numbers, errors } = isNested ? freeNumbers(metrics, '#/metrics') : freeNumbers(body)
  if (errors.length > 0) throw validationError(errors)
  custom.add(
    ownerId,
    numbers.map(({ update }) => update),
    index => numbers[index]?.pointer ?? '#',
  )
  return numbers.length
}
