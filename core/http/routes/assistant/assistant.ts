import { z } from 'zod'
import type { Assistant } from '../../../assistant/create.ts'
import { HubError } from '../../../contract/errors.ts'
import type { Registry } from '../../../registry/api.ts'
import { ASSISTANT_SOCKET_PATH } from '../../../request/canonical-path.ts'
import { type Route, route } from '../../route.ts'
import { note, ownedRecordRoutes } from '../owned-records.ts'
import { exampleList, listOf, pageQuery, refParams } from '../schemas.ts'
import { page, recordReply, writeOptions } from '../views.ts'
import * as shapes from './endpoint-schemas.ts'

/** What the routes of assistants need. */
export interface AssistantRoutesDeps {
  readonly assistant: Assistant
  readonly registry: Pick<Registry, 'audit'>
}

const tag = 'assistant'
const path = '/api/assistant/endpoints'
const one = { description: 'The endpoint', schema: shapes.endpoint, example: shapes.endpointExample }

/** Endpoints at which assistants meet the tools of a group, and the socket at which they dial in. */
export function assistantRoutes({ assistant, registry }: AssistantRoutesDeps): Route[] {
  const kind = { what: 'endpoint', tag, audit: registry.audit } as const
  return [
    ...ownedRecordRoutes({
      ...{ ...kind, path, records: assistant.endpoints },
      ...{ body: shapes.endpointBody, patch: shapes.endpointPatch },
      ...{ schema: shapes.endpoint, example: shapes.endpointExample },
    }),
    route({
      method: 'POST',
      path: `${path}/{ref}/token`,
      access: 'user',
      tag,
      params: refParams,
      summary: 'A new token for an inbound endpoint; the old one opens nothing any more',
      responses: { 200: one },
      async handle({ actor, params, info, request }) {
        const changed = await assistant.newToken(actor, params.ref, writeOptions(request.headers))
        note(kind, actor, info, 'token', changed)
        return recordReply(changed)
      },
    }),
    route({
      method: 'POST',
      path: `${path}/{ref}/reconnect`,
      access: 'user',
      tag,
      params: refParams,
      summary: 'End what is open and dial again, without waiting for the next attempt',
      responses: { 202: one },
      async handle({ actor, params, info }) {
        const record = await assistant.reconnect(actor, params.ref)
        note(kind, actor, info, 'reconnect', record)
        return { status: 202, body: record }
      },
    }),
    route({
      method: 'GET',
      path: `${path}/{ref}/messages`,
      access: 'user',
      tag,
      params: refParams,
      query: pageQuery,
      summary: 'What went over an endpoint last, without contents; the newest first',
      responses: {
        200: {
          description: 'A page of messages',
          schema: listOf(shapes.message),
          example: exampleList(shapes.messageExample),
        },
      },
      async handle({ actor, params, query }) {
        return { body: page(await assistant.messages(actor, params.ref), query) }
      },
    }),
    socketRoute(assistant),
  ]
}

function socketRoute(assistant: Assistant): Route {
  const query = z.strictObject({
    token: z.string().min(1).max(256).optional().meta({ description: 'Of an inbound endpoint' }),
    endpoint: z.string().min(1).max(256).optional().meta({ description: '`owner~name`, with ASSISTANT_API_KEY' }),
  })
  return route({
    method: 'GET',
    path: ASSISTANT_SOCKET_PATH,
    access: 'public',
    tag,
    query,
    summary: 'A WebSocket at which an assistant uses the tools of an inbound endpoint',
    responses: { 426: { description: 'Always, without an upgrade' } },
    ownCredential: true,
    async upgrade({ info, request, query: { token, endpoint } }) {
      const authorization = request.headers.get('authorization')
      const handler = await assistant.admit({ token, endpoint, authorization, addressKey: info.addressKey })
      if (!info.upgrade?.(handler)) throw upgradeRequired()
    },
    handle() {
      throw upgradeRequired()
    },
  })
}

function upgradeRequired(): HubError {
  return new HubError('upgrade_required', 'Assistants connect here by WebSocket')
}
