import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isJsonObject } from '../../contract/json.ts'
import { fullPath, type PluginSchemaRoute } from '../plugin-routes.ts'
import { RAW_BODY } from './raw-body.ts'

/** Records of the hub. */
type Records = Readonly<Record<'server', { readonly schema: JsonObject; readonly example: JsonValue }>>

/** The operation of a plugin's route in the API document. */
export function pluginOperation(route: PluginSchemaRoute, records: Records): JsonObject {
  const { described } = route
  const { method, access, summary, body, rawBody, answers } = described
  const operation: Record<string, JsonValue | undefined> = {
    operationId: operationId(method, fullPath(route)),
    summary,
    tags: [described.tag ?? 'plugins'],
    'x-access': access,
    'x-plugin': route.plugin,
    security: access === 'public' ? [] : [{ bearer: [] }],
    parameters: [...pathParameters(described), ...queryParameters(described)],
    ...(body ? { requestBody: { required: true, content: { 'application/json': bodyOf(body) } } } : {}),
    ...(rawBody === undefined ? {} : { requestBody: RAW_BODY }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerOf(answer, records)])),
      default: { $ref: '#/components/responses/Problem' },
    },
  }
  return operation as JsonObject
}

function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter(word => word !== '' && word !== 'api')
  return method.toLowerCase() + words.map(word => word[0]?.toUpperCase() + word.slice(1)).join('')
}

function bodyOf({ examples, ...schema }: JsonObject): JsonObject {
  return { schema, ...(Array.isArray(examples) && examples.length > 0 ? { example: examples[0] ?? null } : {}) }
}

type Answer = PluginSchemaRoute['described']['answers'][string]

function answerOf(answer: Answer, records: Records): JsonObject {
  const { description, schema: own, of, example: given, contentType = 'application/json' } = answer
  const record = of && records[of]
  const schema = own && record ? { anyOf: [own, record.schema] } : (own ?? record?.schema)
  const example = given ?? record?.example
  if (!schema && example === undefined) return { description }
  const content = { ...(schema ? { schema } : {}), ...(example === undefined ? {} : { example: example as JsonValue }) }
  return { description, content: { [contentType]: content } }
}

function pathParameters({ path, params }: PluginSchemaRoute['described']): JsonObject[] {
  return [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: propertiesOf(params)[name] ?? { type: 'string' },
  }))
}

function queryParameters({ query }: PluginSchemaRoute['described']): JsonObject[] {
  const required = Array.isArray(query?.required) ? query.required : []
  return Object.entries(propertiesOf(query)).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(required.includes(name) ? { required: true } : {}),
    schema,
  }))
}

function propertiesOf(schema: JsonObject | undefined): JsonObject {
  return isJsonObject(schema?.properties) ? schema.properties : {}
}
