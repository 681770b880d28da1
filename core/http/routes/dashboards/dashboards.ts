import { z } from 'zod'
import { HubError } from '../../../contract/errors.ts'
import { DASHBOARDS } from '../../../dashboards/dashboards.ts'
import { queryProblem, type Widget } from '../../../domain/dashboards/dashboard-body.ts'
import { parseWidgetQuery } from '../../../domain/dashboards/widget-query.ts'
import type { AuditRegistry } from '../../../registry/api.ts'
import type { OwnedRecords } from '../../../registry/owned/records.ts'
import { type Route, route } from '../../route.ts'
import { ownedRecordRoutes } from '../owned-records.ts'
import { refParams, timestamp } from '../schemas.ts'
import { asksForOwn, covered, rangeField, readRange, scopeField } from '../time-range.ts'
import { wrong } from '../wrong-field.ts'
import * as shapes from './dashboard-schemas.ts'
import { numberOf, rowsOf, seriesOf, type Viewer, type WidgetDeps } from './widget-data.ts'

/** Dependencies of the routes of dashboards. */
export interface DashboardRoutesDeps extends Omit<WidgetDeps, 'registry'> {
  readonly dashboards: OwnedRecords
  readonly registry: WidgetDeps['registry'] & { readonly audit: Pick<AuditRegistry, 'record'> }
}

const path = '/api/monitoring/dashboards'
const tag = 'monitoring'
const rangeAndScope = { range: rangeField('1h'), scope: scopeField }

/** Dashboards, and what their widgets show. */
export function dashboardRoutes(deps: DashboardRoutesDeps): Route[] {
  const { dashboards, registry } = deps
  /** Users for whom widgets are being read. */
  const reading = new Set<string>()
  return [
    ...ownedRecordRoutes({
      ...{ kind: DASHBOARDS, audited: 'dashboard', tag, path, records: dashboards, audit: registry.audit },
      ...{
        body: shapes.dashboardBody,
        patch: shapes.dashboardPatch,
        schema: shapes.dashboard,
        example: shapes.dashboardExample,
      },
    }),
    route({
      method: 'GET',
      path: `${path}/{ref}/data`,
      access: 'user',
      tag,
      params: refParams,
      query: z.strictObject(rangeAndScope),
      summary: 'What the widgets of a dashboard show, of your servers',
      responses: {
        200: { description: 'One answer for each widget', schema: shapes.dashboardData, example: shapes.dataExample },
      },
      async handle({ actor, params, query: { range, scope } }) {
        const mine = asksForOwn(actor, scope)
        if (reading.has(actor.userId)) {
          throw new HubError('rate_limited', 'One dashboard at a time is read for each user', { retryAfterSeconds: 1 })
        }
        reading.add(actor.userId)
        try {
          const { name, widgets } = await dashboards.get(actor, params.ref)
          const viewer = { actor, mine, rangeMs: readRange(range) }
          // One after the other, so that a dashboard is one question at a time to the store.
          const shown: object[] = []
          for (const widget of widgets as unknown as readonly Widget[]) {
            shown.push({ ...widget, ...(await answerOf(deps, viewer, widget)) })
          }
          return { body: { dashboard: name, timestamp: new Date().toISOString(), range, widgets: shown } }
        } finally {
          reading.delete(actor.userId)
        }
      },
    }),
    route({
      method: 'POST',
      path: '/api/monitoring/query',
      access: 'user',
      tag,
      reads: true,
      body: z.strictObject({ type: shapes.widgetType, query: z.string().max(512), ...rangeAndScope }).meta({
        examples: [{ type: 'chart', query: 'request_count by server over 1h', range: '1h' }],
      }),
      summary: 'What a widget with this query would show',
      responses: {
        200: {
          description: 'The answer',
          schema: z.object({ timestamp, ...shapes.widgetAnswer }),
          example: { timestamp: shapes.at, ...shapes.valueExample },
        },
      },
      async handle({ actor, body: { type, query, range, scope } }) {
        const problem = queryProblem(type, query)
        if (problem !== undefined) throw wrong('#/query', 'condition_invalid', problem)
        const viewer = { actor, mine: asksForOwn(actor, scope), rangeMs: readRange(range) }
        const data = await dataOf(deps, viewer, { type, query })
        return { body: { timestamp: new Date().toISOString(), ...data } }
      },
    }),
  ]
}

/** A widget that cannot be shown has an error; the others are shown. */
async function answerOf(deps: DashboardRoutesDeps, viewer: Viewer, widget: Widget): Promise<object> {
  try {
    return await dataOf(deps, viewer, widget)
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    return { error: { code: error.code, message: error.message } }
  }
}

async function dataOf(
  deps: DashboardRoutesDeps,
  viewer: Viewer,
  { type, query: text }: Pick<Widget, 'type' | 'query'>,
): Promise<object> {
  const read = parseWidgetQuery(text)
  if ('error' in read) throw wrong('#/query', 'condition_invalid', read.error)
  if (type === 'metric') return numberOf(deps, viewer, read.query)
  if (type === 'table') return rowsOf(deps, viewer, read.query)
  const { series, from, to, ...rest } = await seriesOf(deps, viewer, read.query)
  const points = series.map(line => ({
    ...line,
    points: line.points.map(([at, value]) => [new Date(at).toISOString(), value]),
  }))
  return { ...rest, ...covered({ from, to }), series: points }
}
