import { z } from 'zod'
import type { Assistant } from '../../../assistant/create.ts'
import { ENDPOINTS } from '../../../assistant/kind.ts'
import type { ConfigSource, HubConfig } from '../../../config/schema.ts'
import { type FieldError, HubError } from '../../../contract/errors.ts'
import { isAdmin } from '../../../domain/ownership.ts'
import type { Registry } from '../../../registry/api.ts'
import { ASSISTANT_SOCKET_PATH } from '../../../request/canonical-path.ts'
import { type Route, route } from '../../route.ts'
import { note, ownedRecordRoutes } from '../owned-records.ts'
import { exampleList, listOf, pageQuery, refParams } from '../schemas.ts'
import { tokensOf } from '../tool-views.ts'
import { page, recordReply, writeOptions } from '../views.ts'
import * as shapes from './endpoint-schemas.ts'

/** Dependencies of the routes of assistants. */
export interface AssistantRoutesDeps {
  readonly assistant: Assistant
  readonly registry: Pick<Registry, 'audit'>
  readonly config: {
    readonly values: Pick<HubConfig, 'assistantApiKey'>
    readonly sources: Readonly<Partial<Record<keyof HubConfig, ConfigSource>>>
  }
  /** Errors in the settings file. */
  readonly fileProblems: () => readonly FieldError[]
}

const tag = 'assistant'
const path = '/api/assistant/endpoints'
const one = { description: 'The endpoint', schema: shapes.endpoint, example: shapes.endpointExample }

/** Routes of endpoints that offer the tools of a group to assistants, and of the socket to which devices connect. */
export function assistantRoutes(deps: AssistantRoutesDeps): Route[] {
  const { assistant, registry } = deps
  const audited = { audited: 'assistant_endpoint', audit: registry.audit } as const
  return [
    bridgeRoute(deps),
    toolsRoute(assistant),
    route({
      method: 'POST',
      path: `${path}/{ref}/test`,
      access: 'user',
      tag,
      params: refParams,
      summary: 'Go the way of a connection once, and close it: nothing is saved, and no tool is called',
      responses: {
        200: { description: 'Each step with its outcome', schema: shapes.test, example: shapes.testExample },
      },
      async handle({ actor, params, info }) {
        info.keepOpen()
        const report = await assistant.test(actor, params.ref)
        note(audited, actor, info, 'test', await assistant.endpoints.get(actor, params.ref))
        return { body: report }
      },
    }),
    ...ownedRecordRoutes({
      ...{ ...audited, kind: ENDPOINTS, tag, path, records: assistant.endpoints },
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
        note(audited, actor, info, 'token', changed)
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
        note(audited, actor, info, 'reconnect', record)
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

/** Route of the settings that the page of assistants shows above the endpoints. */
function bridgeRoute({ assistant, config, fileProblems }: AssistantRoutesDeps): Route {
  const { values, sources } = config
  return route({
    method: 'GET',
    path: '/api/assistant',
    access: 'user',
    tag,
    summary: 'Whether assistants are served, where that is set, and the address at which devices dial in',
    responses: { 200: { description: 'The bridge', schema: shapes.bridge, example: shapes.bridgeExample } },
    async handle({ actor, info }) {
      const problems = fileProblems().filter(({ pointer }) => /^(?:\/systemConfig)?\/assistant\//.test(pointer))
      return {
        body: {
          enabled: assistant.enabled,
          source: sources.assistantEnabled ?? 'default',
          variable: 'ASSISTANT_ENABLED',
          hasBridge: assistant.hasBridge(),
          apiKey: {
            set: values.assistantApiKey !== undefined,
            source: sources.assistantApiKey ?? 'default',
            variable: 'ASSISTANT_API_KEY',
          },
          socket: `${info.baseUrl.replace(/^http/, 'ws')}${ASSISTANT_SOCKET_PATH}`,
          ...(isAdmin(actor) ? { fileProblems: problems } : {}),
        },
      }
    },
  })
}

function toolsRoute(assistant: Assistant): Route {
  return route({
    method: 'GET',
    path: `${path}/{ref}/tools`,
    access: 'user',
    tag,
    params: refParams,
    summary: 'The tools as the assistant of an endpoint gets them now, connected or not',
    responses: { 200: { description: 'The tools', schema: shapes.tools, example: shapes.toolsExample } },
    async handle({ actor, params }) {
      const { tools, leftOut } = await assistant.tools(actor, params.ref)
      const items = tools.map(tool => ({ ...tool, tokens: tokensOf(tool) }))
      const tokens = items.reduce((sum, tool) => sum + tool.tokens, 0)
      return { body: { items, total: items.length, leftOut, tokens } }
    },
  })
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
