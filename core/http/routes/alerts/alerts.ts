import { z } from 'zod'
import { CHANNELS, nestedChannel } from '../../../alerts/channels.ts'
import type { Alerts } from '../../../alerts/create.ts'
import { RULES } from '../../../alerts/rules.ts'
import type { LogStore } from '../../../features/log-store.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { ownedRecordRoutes } from '../owned-records.ts'
import { exampleList, listOf, pageFields, pageQuery, refParams } from '../schemas.ts'
import { page } from '../views.ts'
import * as shapes from './alert-schemas.ts'
import { rulePreviewRoute } from './preview.ts'

/** Dependencies of the routes of alerts. */
export interface AlertRoutesDeps {
  readonly alerts: Alerts
  readonly registry: Pick<Registry, 'audit'>
  readonly logStore: () => LogStore | undefined
}

const tag = 'alerts'
const base = '/api/monitoring'
const idParams = z.object({ id: z.string().min(1).max(64) })
const owner = z.string().max(256).optional().meta({ description: 'Another user; administrators only' })

/** Alert rules, notification channels, silences, and what fired. */
export function alertRoutes(deps: AlertRoutesDeps): Route[] {
  const { alerts, registry } = deps
  const common = { audit: registry.audit, tag } as const
  return [
    ...ownedRecordRoutes({
      ...{ ...common, kind: RULES, audited: 'alert_rule', path: `${base}/rules`, records: alerts.rules },
      ...{ body: shapes.ruleBody, patch: shapes.rulePatch, schema: shapes.rule, example: shapes.ruleExample },
      deletes: 'Delete a rule; what it fires ends without a message',
    }),
    ...ownedRecordRoutes({
      ...{ ...common, kind: CHANNELS, audited: 'alert_channel', path: `${base}/channels`, records: alerts.channels },
      ...{
        body: shapes.channelBody,
        patch: shapes.channelPatch,
        schema: shapes.channel,
        inForm: change => nestedChannel(change).body,
        example: shapes.channelExample,
      },
    }),
    channelTypesRoute(deps),
    ...deliveryRoutes(deps),
    ...silenceRoutes(deps),
    ...incidentRoutes(deps),
    testRoute(deps),
    testChannelRoute(deps),
    rulePreviewRoute(deps),
  ]
}

function channelTypesRoute({ alerts }: AlertRoutesDeps): Route {
  return route({
    method: 'GET',
    path: `${base}/channel-types`,
    access: 'user',
    tag,
    query: pageQuery,
    summary: 'The kinds of channel that plugins offer you, with the schema of their configuration',
    responses: {
      200: {
        description: 'A page of kinds',
        schema: listOf(shapes.channelType),
        example: exampleList(shapes.channelTypeExample),
      },
    },
    handle: ({ actor, query }) => ({ body: page(alerts.channelTypes(actor), query) }),
  })
}

function deliveryRoutes({ alerts }: AlertRoutesDeps): Route[] {
  const path = `${base}/channels/{ref}/deliveries`
  return [
    route({
      method: 'GET',
      path,
      access: 'user',
      tag,
      params: refParams,
      query: pageQuery,
      summary: 'What went to a channel, the newest first',
      responses: {
        200: {
          description: 'A page of deliveries',
          schema: listOf(shapes.delivery),
          example: exampleList(shapes.deliveryExample),
        },
      },
      async handle({ actor, params, query }) {
        return { body: { ...(await alerts.deliveries(actor, params.ref, query)), ...query } }
      },
    }),
    route({
      method: 'POST',
      path: `${path}/{id}/retry`,
      access: 'user',
      tag,
      params: refParams.extend({ id: z.string().min(1).max(64) }),
      summary: 'Send a message once more, under its id',
      responses: { 202: { description: 'It waits to be sent' } },
      async handle({ actor, params }) {
        await alerts.retry(actor, params.ref, params.id)
        return { status: 202 }
      },
    }),
  ]
}

function silenceRoutes({ alerts, registry }: AlertRoutesDeps): Route[] {
  const path = `${base}/silences`
  return [
    route({
      method: 'GET',
      path,
      access: 'user',
      tag,
      query: z.strictObject({ owner, ...pageFields }),
      summary: 'Your silences, the earliest end first',
      responses: {
        200: {
          description: 'A page of silences',
          schema: listOf(shapes.silence),
          example: exampleList(shapes.silenceExample),
        },
      },
      async handle({ actor, query }) {
        return { body: page(await alerts.silences.list(actor, query.owner), query) }
      },
    }),
    route({
      method: 'POST',
      path,
      access: 'user',
      tag,
      body: shapes.silenceBody,
      summary: 'Hold back messages for a time; what still fires then is sent',
      responses: { 201: { description: 'The silence', schema: shapes.silence, example: shapes.silenceExample } },
      async handle({ actor, body, info }) {
        const made = await alerts.silences.create(actor, body)
        const entry = { action: 'alert_silence.create', target: made.id, ownerId: actor.userId, request: info }
        registry.audit.record(actor, entry)
        return { status: 201, headers: { location: `${info.baseUrl}${path}/${made.id}` }, body: made }
      },
    }),
    route({
      method: 'DELETE',
      path: `${path}/{id}`,
      access: 'user',
      tag,
      params: idParams,
      summary: 'End a silence now',
      responses: { 204: { description: 'Gone' } },
      async handle({ actor, params, info }) {
        await alerts.silences.remove(actor, params.id)
        const entry = { action: 'alert_silence.delete', target: params.id, ownerId: actor.userId, request: info }
        registry.audit.record(actor, entry)
        return { status: 204 }
      },
    }),
  ]
}

function incidentRoutes({ alerts }: AlertRoutesDeps): Route[] {
  const state = z.enum(['firing', 'resolved']).optional()
  return [
    route({
      method: 'GET',
      path: `${base}/alerts`,
      access: 'user',
      tag,
      query: z.strictObject({ state, owner, ...pageFields }),
      summary: 'What fired by your rules, the newest first',
      responses: {
        200: {
          description: 'A page of alerts',
          schema: listOf(shapes.alert),
          example: exampleList(shapes.alertExample),
        },
      },
      async handle({ actor, query: { limit, offset, ...filter } }) {
        const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
        return { body: { ...(await alerts.list(actor, { limit, offset, ...given })), limit, offset } }
      },
    }),
    route({
      method: 'POST',
      path: `${base}/alerts/{id}/ack`,
      access: 'user',
      tag,
      params: idParams,
      summary: 'Acknowledge an alert: its message is not repeated',
      responses: { 200: { description: 'The alert', schema: shapes.alert, example: shapes.alertExample } },
      async handle({ actor, params }) {
        return { body: await alerts.acknowledge(actor, params.id) }
      },
    }),
  ]
}

function testRoute({ alerts }: AlertRoutesDeps): Route {
  return route({
    method: 'POST',
    path: `${base}/test-alert`,
    access: 'user',
    tag,
    summary: 'Send a message of kind `test` to every enabled channel of a rule, and say what the rule says now',
    body: z
      .strictObject({
        rule: z.string().min(1).max(256).meta({ description: 'Its name, or `owner~name`' }),
        send: z.boolean().default(true).meta({ description: '`false`: nothing is sent, the rule is judged alone' }),
      })
      .meta({ examples: [{ rule: 'down' }] }),
    responses: { 200: { description: 'By subject', schema: shapes.testResult, example: shapes.testExample } },
    async handle({ actor, body }) {
      return { body: await alerts.test(actor, body.rule, body.send) }
    },
  })
}

function testChannelRoute({ alerts }: AlertRoutesDeps): Route {
  return route({
    method: 'POST',
    path: `${base}/channels/{ref}/test`,
    access: 'user',
    tag,
    params: refParams,
    summary: 'Send a message of kind `test` to a channel, also to one that is off or that no rule uses',
    responses: {
      200: {
        description: 'How it went',
        schema: shapes.testDelivery,
        example: shapes.testDeliveryExample,
      },
    },
    handle: async ({ actor, params }) => ({ body: await alerts.testChannel(actor, params.ref) }),
  })
}
