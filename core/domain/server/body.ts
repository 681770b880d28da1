import { type FieldError, HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { ServerSettings } from '../../contract/records.ts'
import { OPENAPI_LIMITS } from '../../transport-kit/openapi-document.ts'
import { canonical } from '../json/canonical-json.ts'
import { Fields } from '../json/fields.ts'
import { JSON_DEPTH, JSON_MEMBERS, type JsonLimits } from '../json/json-guard.ts'
import { pointerPath } from '../json/json-pointer.ts'
import { validationError } from '../validation-error.ts'
import { readCommon } from './common.ts'
import { mapOwnTexts, pointsIntoDocument } from './openapi.ts'
import { secretFields, secretPointers } from './secrets.ts'
import { ANSWER_FIELDS, COMMON_FIELDS, SECRET_COUNT } from './server-table.ts'
import { checkPins } from './tool-override.ts'
import { readTransport, refuseClosedFields, refuseForeignFields } from './transport.ts'
import { readTransportName, transportWord } from './transport-name.ts'
import { withSchemaWords } from './transport-schema.ts'
import { type Transports, transportFields } from './transports.ts'
import { expandVariables, textFiller } from './variables.ts'

/** Limits of the JSON of one server: of a request body, and of the result of a patch. */
export const SERVER_JSON = {
  depth: JSON_DEPTH,
  members: JSON_MEMBERS,
  characters: 1024 * 1024,
  foreign: { endings: ['/openapi/schema'], depth: OPENAPI_LIMITS.depth, members: OPENAPI_LIMITS.nodes },
} as const satisfies JsonLimits

/** A valid body in its flat form. */
export interface ParsedServerBody {
  /** Secrets in plain text, variables not filled in. */
  readonly settings: ServerSettings
  /** `settings.config` with `${variables}` filled in. */
  readonly filled: JsonObject
  /** The owner's name in the body. */
  readonly owner?: string
  /** The hash of the stored configuration that the sender has reviewed and accepts. */
  readonly reviewed?: string
  /** True when the body listed the secrets itself. */
  readonly secretsListed: boolean
  /** Unknown fields, when they are ignored. */
  readonly ignored: readonly FieldError[]
}

/** Differences between bodies of the API and of the settings file. */
export interface ServerBodyOptions {
  /** The settings file is shared with other programs, so their fields are allowed there. Default `refuse`. */
  readonly unknownFields?: 'refuse' | 'ignore'
  /** The stored server, opened, that the body is to replace: its own fields stay valid while its plugin does not run. */
  readonly stored?: ServerSettings
  /**
   * `ignore`: fields of plugins that do not run are taken, since they are checked later: with the record, or those of the settings
   * file when the plugin runs. Default `refuse`.
   */
  readonly closedFields?: 'ignore' | 'refuse'
}

/**
 * The flat form of a body: `{name, config: {…}}` is flattened, `type` renamed to `transport`, a transport's name spelt as the
 * hub does, and the address of an API's document put into `openapi`. A field with two different values is added to `errors` as
 * `ambiguous`.
 */
export function flattenServerBody(body: JsonObject, errors: FieldError[]): JsonObject {
  const { config, ...outer } = body
  let flat: JsonObject = outer
  if (config !== undefined) {
    if (isJsonObject(config)) flat = mergeOnce(outer, withoutConfig(config, errors), errors)
    else errors.push({ pointer: '#/config', code: 'type', detail: '"config" must be an object' })
  }
  const { type, ...rest } = flat
  const { transport = type } = rest
  if (transport === undefined) return withApi(rest, errors)
  const name = transportWord(transport)
  if (type !== undefined && canonical(name) !== canonical(transportWord(type)))
    errors.push({ pointer: '#/type', code: 'ambiguous', detail: '"type" and "transport" say different things' })
  return withApi({ ...rest, transport: name }, errors)
}

/** Beside `transport: openapi` the field `url` is the address of the document; `openapi` may be that address as a text. */
function withApi(flat: JsonObject, errors: FieldError[]): JsonObject {
  const { url, openapi: given, ...rest } = flat
  const openapi = typeof given === 'string' ? { url: given } : given
  const isBeside = flat.transport === 'openapi' && url !== undefined
  if (!isBeside) return openapi === given || openapi === undefined ? flat : { ...flat, openapi }
  if (openapi !== undefined && !isJsonObject(openapi)) return flat
  if (openapi?.url !== undefined && canonical(openapi.url) !== canonical(url))
    errors.push({ pointer: '#/url', code: 'ambiguous', detail: '"url" and the "url" in "openapi" are different' })
  return { ...rest, openapi: { ...openapi, url } }
}

/** The error for a body with these problems; for a nested `body`, pointers lead into its `config`. */
export function serverInvalid(errors: readonly FieldError[], body: JsonObject): HubError {
  const tooLarge = errors.find(error => error.code === 'openapi_too_large')
  if (tooLarge) return new HubError('openapi_too_large', tooLarge.detail, { errors: [tooLarge] })
  const { config, ...outer } = body
  if (!isJsonObject(config)) return validationError(errors, 'The server cannot be saved')
  const nested = errors.map(error => {
    const [field] = pointerPath(error.pointer.slice(1)) ?? []
    const inside =
      field !== undefined && field !== 'config' && Object.hasOwn(config, field) && !Object.hasOwn(outer, field)
    return inside ? { ...error, pointer: `#/config${error.pointer.slice(1)}` } : error
  })
  return validationError(nested, 'The server cannot be saved')
}

/** Parses a flat body; problems are added to `errors`. Undefined when there are any. */
export function readServerBody(
  transports: Transports,
  flat: JsonObject,
  errors: FieldError[],
  options: ServerBodyOptions = {},
): ParsedServerBody | undefined {
  const fields = new Fields(flat, '#', errors)
  const ignored: FieldError[] = []
  const unknown = new Fields(flat, '#', options.unknownFields === 'ignore' ? ignored : errors)
  const keptFields = Object.keys(options.stored?.config ?? {})
  unknown.refuseUnknown([...COMMON_FIELDS, ...transportFields(transports), ...keptFields, ...ANSWER_FIELDS])

  const { settings, name, owner, reviewed } = readCommon(fields)
  const transport = readTransportName(transports, fields, flat, options.stored)
  const expanded = expandVariables(settings.variables)
  errors.push(...expanded.errors)
  if (transport?.open) {
    refuseForeignFields(fields, transports, transport.open, settings.era)
    if (options.closedFields !== 'ignore') refuseClosedFields(fields, transports, flat, transport.name, options.stored)
  }
  const picked = pick(flat, transport?.open?.fields ?? keptFields)
  const raw = transport?.open ? withSchemaWords(transport.open.schema, picked) : picked
  const fill = textFiller(expanded.values, errors)
  const filled = mapOwnTexts(raw, (text, pointer) => fill(text, `#${pointer}`))
  const config = transport?.open
    ? readTransport(transports, transport.open, raw, filled, errors)
    : { config: raw, filled }
  if (transport?.kept && canonical(raw) !== canonical(transport.kept)) {
    const detail = `The plugin of the transport ${transport.name} does not run, so that its fields cannot be changed now`
    fields.problem('transport', 'enum', detail)
  }
  checkPins(settings.tools, fill)
  const secrets = readSecrets(transports, fields, flat, options.stored)

  if (errors.length > 0 || !name || !transport || !config || !secrets) return undefined
  return {
    settings: {
      ...settings,
      name,
      transport: transport.name,
      ...(transport.inferred ? { transportInferred: true } : {}),
      config: config.config,
      secrets,
    },
    filled: config.filled,
    ...(owner === undefined ? {} : { owner }),
    ...(reviewed === undefined ? {} : { reviewed }),
    secretsListed: fields.has('secrets'),
    ignored,
  }
}

/** The settings of a server of which only the name can be read. */
export function emptySettings(name: string, transport: string): ServerSettings {
  return { ...readCommon(new Fields({})).settings, name, transport, config: {}, secrets: [] }
}

/** The flat body of settings, in the form that {@link readServerBody} accepts. Secrets are copied unchanged. */
export function serverBodyOf(settings: ServerSettings): JsonObject {
  return {
    name: settings.name,
    ...(settings.description === undefined ? {} : { description: settings.description }),
    ...(settings.tags === undefined ? {} : { tags: [...settings.tags] }),
    transport: settings.transport,
    ...settings.config,
    timeout: settings.timeoutMs,
    maxTimeout: settings.maxTimeoutMs,
    ...(settings.startTimeoutMs === undefined ? {} : { startTimeout: settings.startTimeoutMs }),
    ...(settings.maxResultBytes === undefined ? {} : { maxResultBytes: settings.maxResultBytes }),
    visibility: settings.visibility,
    enabled: settings.enabled,
    variables: { ...settings.variables },
    ...(settings.session === undefined ? {} : { session: settings.session }),
    ...(settings.era === undefined ? {} : { era: settings.era }),
    start: settings.start,
    ...(settings.idleTimeoutMs === undefined ? {} : { idleTimeout: settings.idleTimeoutMs }),
    isolate: settings.isolate,
    healthCheck: { ...settings.healthCheck } as JsonObject,
    ...(settings.logging === undefined ? {} : { logging: { ...settings.logging } }),
    passthroughHeaders: [...settings.passthroughHeaders],
    // Not copied: bodies are never changed in place, and a copy of thousands of overrides takes tens of milliseconds.
    tools: settings.tools as unknown as JsonObject,
    ...(settings.toolsDefault === undefined ? {} : { toolsDefault: settings.toolsDefault }),
    ...(settings.definitionPolicy === undefined ? {} : { definitionPolicy: settings.definitionPolicy }),
    ...(settings.outputSchemas === undefined ? {} : { outputSchemas: settings.outputSchemas }),
    ...(settings.prompts === undefined ? {} : { prompts: namesOf(settings.prompts) }),
    ...(settings.resources === undefined ? {} : { resources: namesOf(settings.resources) }),
    secrets: [...settings.secrets],
  }
}

function namesOf(names: 'all' | readonly string[]): JsonValue {
  return names === 'all' ? names : [...names]
}

function readSecrets(
  transports: Transports,
  fields: Fields,
  flat: JsonObject,
  stored: ServerSettings | undefined,
): readonly string[] | undefined {
  if (!fields.has('secrets')) {
    const found = [...new Set([...secretPointers(transports, flat), ...keptSecrets(transports, flat, stored)])]
    if (found.length <= SECRET_COUNT) return found
    const detail = `${found.length} values are secrets by their names; a server has at most ${SECRET_COUNT}`
    return fields.problem('secrets', 'length', detail)
  }
  if (!fields.atMost('secrets', SECRET_COUNT)) return undefined
  const listed = fields.strings('secrets')
  if (!listed) return undefined
  const known = secretFields(transports)
  for (const [index, pointer] of listed.entries()) {
    const field = pointer.split('/')[1] ?? ''
    const spelt = pointer.startsWith('/') && !/~(?![01])/.test(pointer)
    const listable = (spelt && known.includes(field)) || stored?.secrets.includes(pointer)
    if (listable && !pointsIntoDocument(pointer)) continue
    const detail = `"secrets" holds JSON Pointers to values in ${known.join(', ')}, such as /env/API_KEY`
    fields.errors.push({ pointer: `#/secrets/${index}`, code: 'format', detail })
  }
  return [...new Set(listed)]
}

/** Returns the secrets of a stored server whose plugin does not run, since no schema states its secret fields. */
function keptSecrets(transports: Transports, flat: JsonObject, stored: ServerSettings | undefined): readonly string[] {
  if (!stored || flat.transport !== stored.transport || transports.of(stored.transport)) return []
  return stored.secrets
}

/** The nested form is flattened once only. */
function withoutConfig({ config, ...inner }: JsonObject, errors: FieldError[]): JsonObject {
  if (config === undefined) return inner
  errors.push({ pointer: '#/config/config', code: 'unknown_field', detail: '"config" is not a field within "config"' })
  return inner
}

function mergeOnce(outer: JsonObject, inner: JsonObject, errors: FieldError[]): JsonObject {
  for (const [name, value] of Object.entries(inner)) {
    if (!Object.hasOwn(outer, name) || canonical(outer[name] ?? null) === canonical(value)) continue
    const detail = `"${name}" stands in the body and in "config" with different values`
    errors.push({ pointer: `#/${name}`, code: 'ambiguous', detail })
  }
  return { ...inner, ...outer }
}

function pick(flat: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap(name => {
      const value = flat[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
