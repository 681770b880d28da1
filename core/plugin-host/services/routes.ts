import { z } from 'zod'
import { type FieldError, HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { PluginDefinition } from '../../contract/plugin.ts'
import type { PluginRoute, RouteAnswer, RouteRequest } from '../../contract/routes.ts'
import type { ConfigSchema } from '../../contract/schema.ts'
import { cutShort } from '../../domain/cut-short.ts'
import { pointerToken } from '../../domain/json/json-pointer.ts'
import { MOST_ERRORS, validationError } from '../../domain/validation-error.ts'
import type { DescribedRoute, RawRouteRequest } from '../../http/plugin-routes.ts'
import { check, closed } from '../../http/validate.ts'

/** A route of a plugin: its description, and its handler. */
export interface OpenRoute {
  readonly described: DescribedRoute
  /** The error for a raw body that is too long. */
  readonly tooLarge?: () => HubError
  /** Checks the fields of a request, and answers it. */
  handle(request: RawRouteRequest, signal: AbortSignal): Promise<RouteAnswer>
}

type AnyRoute = PluginRoute<unknown, unknown, unknown, 'public'>
type Part = 'params' | 'query' | 'body'

const PATH = /^(?:\/(?:[a-z0-9][a-z0-9._-]{0,63}|\{[a-z][A-Za-z0-9]{0,31}\})){1,8}$/
/** The same for a whole path, whose last parameter may stand for several segments. */
const WHOLE_PATH =
  /^(?:\/(?:[A-Za-z0-9.~_-]{1,64}|\{[a-z][A-Za-z0-9]{0,31}\})){0,8}(?:\/\{[a-z][A-Za-z0-9]{0,31}\*\})?$/
const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const ACCESS: readonly string[] = ['public', 'user', 'admin']
const MOST_BODY = 1_048_576
const MOST_RAW_BODY = 64 * MOST_BODY
const MOST_SCHEMA = 64 * 1024

/** Checks a route as its plugin has declared it. Throws Error with what is wrong. */
export function openRoute(route: AnyRoute): OpenRoute {
  const where = `route ${String(route.method)} ${String(route.path).slice(0, 256)}`
  const wrong = problemOf(route)
  if (wrong !== undefined) throw new Error(`${where}: ${wrong}`)
  const schemas: { [P in Part]?: JsonObject } = {}
  for (const part of ['params', 'query', 'body'] as const) {
    const schema = route[part]
    if (schema) schemas[part] = writtenSchema(schema, `${where}: its "${part}"`)
  }
  const answers = Object.entries(route.answers).map(([status, { description, schema, of, example, contentType }]) => {
    const written = schema ? { schema: writtenSchema(schema, `${where}: its answer ${status}`, 'output') } : {}
    const record = { ...(of === undefined ? {} : { of }), ...(contentType === undefined ? {} : { contentType }) }
    return [status, { description, ...written, ...record, ...(example === undefined ? {} : { example }) }]
  })
  const { method, path, access, summary, reads, bodyLimit, rawBody, timeoutMs, audit } = route
  const { whole, ownCredential, ownLimit, anyQuery, tag } = route
  const options = { reads, bodyLimit, rawBody, timeoutMs, audit, whole, ownCredential, ownLimit, anyQuery, tag }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return {
    ...(route.tooLarge ? { tooLarge: route.tooLarge } : {}),
    described: {
      ...{ method, path, access, summary, ...schemas },
      answers: Object.fromEntries(answers),
      ...Object.fromEntries(given),
    },
    async handle({ params, query, body, ...rest }, signal) {
      const errors: FieldError[] = []
      const fields = {
        params: checked(route.params, params, 'params', schemas.params, errors),
        query: checked(route.query, query, 'query', schemas.query, errors),
        body: checked(route.body, body, 'body', schemas.body, errors),
      }
      if (errors.length > 0) throw validationError(errors.slice(0, MOST_ERRORS))
      const request: RouteRequest<unknown, unknown, unknown, 'public'> = { ...fields, ...rest, signal }
      return route.handle(request)
    },
  }
}

function problemOf(route: AnyRoute): string | undefined {
  const { method, path, access, summary, answers, audit = 'a', whole, ownCredential, ownLimit } = route
  if (!METHODS.includes(method)) return `its method is none of ${METHODS.join(', ')}`
  if (!(whole ? WHOLE_PATH : PATH).test(path)) return 'its path is not of the form /words/{name}'
  if (ownCredential && access !== 'public') return 'it reads its own credential, so that its access is "public"'
  if (ownLimit && !ownCredential) return 'it has a limit of its own without reading credentials of its own'
  if (!ACCESS.includes(access)) return `its access is none of ${ACCESS.join(', ')}`
  if (typeof summary !== 'string' || summary === '') return 'it has no summary'
  if (Object.keys(answers ?? {}).length === 0) return 'it names no answer'
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(audit)) return 'its audit is no word of lower-case letters, digits and "_"'
  return problemOfBody(route)
}

function problemOfBody({ method, body, bodyLimit = 1, rawBody }: AnyRoute): string | undefined {
  if (!(bodyLimit >= 1 && bodyLimit <= MOST_BODY)) return `its body has 1 to ${MOST_BODY} bytes`
  if (rawBody === undefined) return undefined
  if (!(rawBody >= 1 && rawBody <= MOST_RAW_BODY)) return `its raw body has 1 to ${MOST_RAW_BODY} bytes`
  return body || method === 'GET' ? 'a raw body takes the place of "body", and GET has none' : undefined
}

/** A schema as JSON Schema. Throws Error for one that cannot be written so, or is too long. */
export function writtenSchema(
  schema: ConfigSchema<unknown>,
  where: string,
  side: 'input' | 'output' = 'input',
): JsonObject {
  const { jsonSchema } = schema['~standard']
  const text = JSON.stringify((jsonSchema?.[side] ?? jsonSchema?.input)?.({ target: 'draft-2020-12' }))
  const written: unknown = text === undefined ? undefined : JSON.parse(text)
  if (!isJsonObject(written)) throw new Error(`${where} cannot be written as JSON Schema`)
  if (text.length > MOST_SCHEMA)
    throw new Error(`${where} has a JSON Schema of ${text.length} characters, at most ${MOST_SCHEMA}`)
  if (text.includes('"$ref":')) throw new Error(`${where} has references in its JSON Schema, which routes cannot have`)
  const { $schema: _, ...rest } = written
  return rest
}

/** Fields as their schema returns them; those that it does not name are refused. Throws `validation_failed`. */
export function checkedFields(schema: ConfigSchema<JsonObject>, fields: JsonObject, written: JsonObject): JsonObject {
  const errors: FieldError[] = []
  const value = checked(schema, fields, 'body', written, errors)
  if (errors.length > 0) throw validationError(errors.slice(0, MOST_ERRORS))
  return value as JsonObject
}

function checked(
  schema: ConfigSchema<unknown> | undefined,
  value: unknown,
  part: Part,
  written: JsonObject | undefined,
  errors: FieldError[],
): unknown {
  if (!schema) return part === 'params' ? value : undefined
  // As the hub's own routes: the same words for the same mistakes.
  if (schema instanceof z.ZodType) {
    const verdict = check(closed(schema), value, part)
    if ('value' in verdict) return verdict.value
    errors.push(...verdict.errors)
    return undefined
  }
  errors.push(...unknownFields(value, part, written))
  const verdict = schema['~standard'].validate(value)
  if (verdict instanceof Promise)
    throw new Error(`The schema of "${part}" checks with a promise, which a route cannot wait for`)
  if (!verdict.issues) return verdict.value
  for (const { path = [], message } of verdict.issues.slice(0, MOST_ERRORS))
    errors.push({ pointer: pointerOf(path.map(keyOf), part), code: 'format', detail: message })
  return undefined
}

/** Reports fields of a body or a query that its schema does not name, as the hub's own routes do. */
function unknownFields(value: unknown, part: Part, written: JsonObject | undefined): FieldError[] {
  const { properties, additionalProperties = false } = written ?? {}
  if (part === 'params' || additionalProperties !== false || !isJsonObject(properties)) return []
  const unknown = Object.keys(value ?? {}).filter(name => !Object.hasOwn(properties, name))
  return unknown.slice(0, MOST_ERRORS).map(name => ({
    pointer: pointerOf([name], part),
    code: 'unknown_field',
    detail: `There is no ${part === 'query' ? 'query parameter' : 'field'} ${JSON.stringify(cutShort(name, 64))}`,
  }))
}

function pointerOf(path: readonly string[], part: Part): string {
  if (part === 'query') return `?${path[0] ?? ''}`.slice(0, 65)
  if (part === 'params') return `{${path[0] ?? ''}}`
  return `#${path.map(name => `/${pointerToken(name).slice(0, 64)}`).join('')}`
}

function keyOf(part: unknown): string {
  return String(typeof part === 'object' && part !== null && 'key' in part ? part.key : part)
}

/** Throws `validation_failed` in the words of the hub where `error` is one, otherwise `internal`, which names the plugin. */
export function attributed(error: unknown, plugin: string, errors: PluginDefinition['errors'] = {}): HubError {
  // A contribution to a point of the plugin's refuses by the plugin's codes, whose meaning it does not have.
  const own = error instanceof HubError && !error.own && Object.hasOwn(errors, error.code) && errors[error.code]
  if (own) return Object.assign(error, { own })
  if (error instanceof HubError) return error
  return new HubError('internal', `The plugin "${plugin}" failed at this path`, { cause: error })
}
