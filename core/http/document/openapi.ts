import type { OpenAPIV3_1 as V31 } from 'openapi-types'
import { z } from 'zod'
import { ERROR_CODES } from '../../contract/codes.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { nextTurn } from '../../domain/next-turn.ts'
import type { Transports } from '../../domain/server/transports.ts'
import { type RunnableRoute, runnable } from '../pipeline.ts'
import { fullPath, type PluginSchemaRoute } from '../plugin-routes.ts'
import type { ResponseSpec, Route } from '../route.ts'
import { pluginOperation } from './plugin-operations.ts'
import { RAW_BODY } from './raw-body.ts'
import { transportFieldsAdder, transportSchemas } from './transport-fields.ts'

/** The hub's own extension of an operation. */
interface Access {
  readonly 'x-access': RunnableRoute['access']
}

type Operation = V31.OperationObject<Access>
type ParameterSchema = NonNullable<V31.ParameterObject['schema']>

/** Parts that plugins add to the document: the fields of transports, and the configuration of kinds of channels. */
export interface DescribedPlugins {
  readonly transports: Transports
  /** Each with `type`, `label` and `configSchema`. */
  readonly channelTypes: readonly JsonObject[]
  readonly routes: readonly PluginSchemaRoute[]
  readonly codes: readonly string[]
  /** Records of the hub that plugins answer with. */
  readonly records: Readonly<Record<'server', Required<Pick<ResponseSpec, 'schema' | 'example'>>>>
}

/**
 * Longest time for which the work on the document holds the event loop, in milliseconds; one operation may exceed it by a few
 * ms.
 */
const HELD_MS = 2

/**
 * The API as an OpenAPI 3.1 document, generated from the schemas that validate requests. `x-access` is an operation's
 * entry in the access table: public, user or admin. It is about 100 ms of work, made in pieces between which requests are
 * handled.
 */
export async function openApiDocument(
  routes: readonly Route[],
  version: string,
  { transports, channelTypes, routes: ofPlugins, codes, records }: DescribedPlugins,
): Promise<JsonObject> {
  const addFields = transportFieldsAdder(transports)
  let since = performance.now()
  const finished = async (part: object): Promise<JsonObject> => {
    // Through JSON text, which drops undefined members and shares no objects with the schemas.
    const plain = addFields(JSON.parse(JSON.stringify(part)) as JsonObject)
    if (performance.now() - since > HELD_MS) {
      await nextTurn()
      since = performance.now()
    }
    return plain
  }
  const { schema, example } = records.server
  const written = { server: { schema: jsonSchema(schema, 'output') as JsonObject, example: example as JsonValue } }
  const paths: Record<string, JsonObject> = {}
  for (const route of routes.map(runnable)) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: await finished(operation(route)) }
  }
  for (const route of ofPlugins) {
    const path = fullPath(route).replace('*}', '}')
    paths[path] = {
      ...paths[path],
      [route.described.method.toLowerCase()]: await finished(pluginOperation(route, written)),
    }
  }
  const schemas: Record<string, JsonObject> = { Problem: await finished(jsonSchema(problemOf(codes), 'output')) }
  const named = { ...transportSchemas(transports), ...channelSchemas(channelTypes) }
  for (const [name, schema] of Object.entries(named)) schemas[name] = await finished(schema)
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'Patchbay',
      version,
      description:
        'A hub for MCP servers. Times are ISO 8601 UTC; durations are milliseconds unless a schema says more.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: [
      ...new Set([...routes.map(route => route.tag), ...ofPlugins.map(({ described: { tag = 'plugins' } }) => tag)]),
    ].map(name => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A session token, or an access key with scope "api"' },
      },
      schemas,
      responses: {
        Problem: {
          description: 'A refusal, as RFC 9457 says',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
    },
  } satisfies V31.Document<Access> & JsonObject
}

/** The schema of the `config` of each kind of channel, by the name that the document gives it. */
function channelSchemas(types: readonly JsonObject[]): Readonly<Record<string, JsonObject>> {
  return Object.fromEntries(
    types.map(({ type, label, configSchema }) => [
      `Channel.${String(type)}`,
      { title: label ?? null, ...(isJsonObject(configSchema) ? configSchema : {}) },
    ]),
  )
}

const problem = z
  .looseObject({
    type: z.string().meta({ examples: ['/errors/server_not_found'] }),
    title: z.string(),
    status: z.number().int(),
    code: z.string(),
    detail: z.string(),
    instance: z.string(),
    requestId: z.string(),
    errors: z
      .array(
        z.object({
          ...{ pointer: z.string(), code: z.string(), detail: z.string() },
          suggestion: z
            .record(z.string(), z.unknown())
            .optional()
            .meta({ description: 'The fields in the form that is meant, as a JSON Merge Patch (RFC 7396)' }),
        }),
      )
      .optional(),
    hint: z.string().optional(),
    changedAt: z.string().optional().meta({ description: 'Of `version_conflict`: when the record was changed' }),
    changedBy: z.string().optional().meta({
      description: 'Of `version_conflict`: by whom, if you may see that: yourself, or anybody for an administrator',
    }),
  })
  .meta({ description: 'An error. The code is stable; the texts are for people.' })

/** A refusal with the codes of the hub and of the plugins that run. */
function problemOf(ofPlugins: readonly string[]) {
  const codes = new Set([...Object.keys(ERROR_CODES), ...ofPlugins])
  return problem.extend({ code: z.enum([...codes] as [string, ...string[]]) }).meta(problem.meta() ?? {})
}

/** Bytes: in OpenAPI 3.1 a schema says nothing of them. */
function operation(route: RunnableRoute): Operation {
  const body = route.body && { ...schemaAndExample(route.body) }
  const optional = route.body?.safeParse(undefined).success === true
  return {
    operationId: operationId(route),
    summary: route.summary,
    tags: [route.tag],
    'x-access': route.access,
    security: route.access === 'public' ? [] : [{ bearer: [] }],
    parameters: [...pathParameters(route), ...queryParameters(route)],
    ...(body ? { requestBody: { required: !optional, content: { 'application/json': body } } } : {}),
    ...(route.rawBody === undefined ? {} : { requestBody: RAW_BODY }),
    responses: {
      ...Object.fromEntries(Object.entries(route.responses).map(([status, spec]) => [status, responseOf(spec)])),
      default: { $ref: '#/components/responses/Problem' },
    },
  }
}

/** For `GET /api/servers/{ref}/tools` the result is `getServersRefTools`. */
function operationId({ method, path }: RunnableRoute): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter(word => word !== '' && word !== 'api')
  return method.toLowerCase() + words.map(word => word[0]?.toUpperCase() + word.slice(1)).join('')
}

function responseOf({
  description,
  schema,
  example,
  contentType = 'application/json',
}: ResponseSpec): V31.ResponseObject {
  if (!schema && example === undefined) return { description }
  const content = {
    ...(schema ? { schema: jsonSchema(schema, 'output') } : {}),
    ...(example === undefined ? {} : { example }),
  }
  return { description, content: { [contentType]: content } }
}

function pathParameters({ path, params }: RunnableRoute): V31.ParameterObject[] {
  const schemas = properties(params)
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: schemas[name] ?? { type: 'string' },
  }))
}

function queryParameters({ query }: RunnableRoute): V31.ParameterObject[] {
  const required = query ? ((jsonSchema(query, 'input').required ?? []) as string[]) : []
  return Object.entries(properties(query)).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(required.includes(name) ? { required: true } : {}),
    schema,
  }))
}

function properties(schema: z.ZodType | undefined): Record<string, ParameterSchema> {
  return schema ? ((jsonSchema(schema, 'input').properties ?? {}) as Record<string, ParameterSchema>) : {}
}

function schemaAndExample(schema: z.ZodType): V31.MediaTypeObject {
  const { examples, ...rest } = jsonSchema(schema, 'input')
  return { schema: rest, ...(Array.isArray(examples) && examples.length > 0 ? { example: examples[0] } : {}) }
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io, unrepresentable: 'any' })
  return rest
}
