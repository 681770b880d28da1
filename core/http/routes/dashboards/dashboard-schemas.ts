import { z } from 'zod'
import { timestamp, validatedByRegistry } from '../schemas.ts'

export const at = '2026-11-22T09:30:00.000Z'

/** Kinds of widgets: one number, lines over time, or rows. */
export const widgetType = z.enum(['metric', 'chart', 'table'])

const widget = z.object({
  type: widgetType,
  title: z.string().optional().meta({ description: 'At most 128 characters' }),
  query: z.string().meta({ description: 'Such as `request_count by server over 24h limit 5`' }),
  visualization: z.enum(['single-stat', 'line-chart', 'table']).optional().meta({ description: 'By the type' }),
})
const fields = z.object({
  name: z.string().meta({ description: '1 to 64 characters' }),
  widgets: z.array(widget).meta({ description: 'At most 40' }),
})
const exampleFields = {
  name: 'mine',
  widgets: [{ type: 'metric', title: 'Calls', query: 'request_count', visualization: 'single-stat' }],
}

/** Body of a dashboard; its validation names the column of a mistake in a query. */
export const dashboardBody = validatedByRegistry(fields, exampleFields)
/** Some of its fields. */
export const dashboardPatch = validatedByRegistry(fields.partial(), { name: 'other' })

/** A dashboard in responses. */
export const dashboard = fields.extend({
  id: z.string().optional(),
  ref: z.string(),
  owner: z.string().optional(),
  origin: z.enum(['api', 'file']).optional(),
  builtIn: z.boolean().meta({ description: 'Everybody has it, and nobody changes it' }),
  revision: z.number().int().optional(),
  createdAt: timestamp.optional(),
  updatedAt: timestamp.optional(),
})

/** An example of {@link dashboard}. */
export const dashboardExample = {
  ...{ id: '5c1f', ref: 'ann~mine', owner: 'ann', ...exampleFields, origin: 'api', builtIn: false, revision: 1 },
  ...{ createdAt: at, updatedAt: at },
}

const unit = z.enum(['ms', 'ratio', 'per_second', 'count', 'any'])
const number = z.number().nullable()

/** Data of a widget; its members depend on its type. */
export const widgetAnswer = {
  unit: unit.optional(),
  value: number.optional().meta({ description: 'Of a metric; null: there is no number' }),
  from: timestamp.optional().meta({ description: 'Of a chart: where its time begins' }),
  to: timestamp.optional(),
  stepMs: z.number().int().optional(),
  series: z
    .array(z.object({ label: z.string(), points: z.array(z.tuple([timestamp, number])) }))
    .optional()
    .meta({ description: 'Of a chart; a step without data is missing' }),
  columns: z.array(z.object({ name: z.string(), unit: unit.optional() })).optional(),
  rows: z.array(z.array(z.union([z.string(), z.number(), z.null()]))).optional(),
}

/** Data of a dashboard. */
export const dashboardData = z.object({
  dashboard: z.string(),
  timestamp,
  range: z.string(),
  widgets: z.array(
    widget.extend({
      ...widgetAnswer,
      error: z.object({ code: z.string(), message: z.string() }).optional(),
    }),
  ),
})

/** An example of an answer. */
export const valueExample = { unit: 'count', value: 120 }
/** An example of {@link dashboardData}. */
export const dataExample = {
  ...{ dashboard: 'mine', timestamp: at, range: '1h' },
  widgets: [{ ...exampleFields.widgets[0], ...valueExample }],
}
