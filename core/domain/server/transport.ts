import { Buffer } from 'node:buffer'
import type { FieldError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { ServerSettings } from '../../contract/records.ts'
import { canonical } from '../json/canonical-json.ts'
import { Fields, isPlainText } from '../json/fields.ts'
import { pointerToken } from '../json/json-pointer.ts'
import { quoteName } from '../names.ts'
import { checkHeaders, checkUrl, HTTP_SCHEMES } from './address.ts'
import { checkCertificates, checkPrivateKey } from './certificates.ts'
import { looksLikeAddress } from './moved-secrets.ts'
import { openapiAddresses, readOpenapi, storedDocument } from './openapi.ts'
import { isSecretName } from './secrets.ts'
import { type FormatReader, readMembers, visitValues } from './transport-schema.ts'
import { propertiesOf, type Transport, type Transports, transportFields } from './transports.ts'

/** Limit of an argument list or environment in bytes, well below every system's own. */
export const PROCESS_BYTES = 128 * 1024
const COMMAND_BYTES = 4096

/** A transport's own fields: as written, and with variables filled in. */
export interface TransportPart {
  readonly config: JsonObject
  readonly filled: JsonObject
}

/** Reports each field that belongs to another transport, and an era that servers of this transport cannot have. */
export function refuseForeignFields(
  fields: Fields,
  transports: Transports,
  transport: Transport,
  era: ServerSettings['era'],
): void {
  for (const name of transportFields(transports)) {
    if (!fields.has(name) || transport.fields.includes(name)) continue
    fields.problem(name, 'field_not_for_transport', `"${name}" has no meaning for the transport ${transport.name}`)
  }
  if (era === 'modern' && !transport.modern)
    fields.problem('era', 'field_not_for_transport', `No server of the transport ${transport.name} speaks 2026-07-28`)
}

/** Reports each field of a plugin that does not run, unless the stored server has the same value. */
export function refuseClosedFields(
  fields: Fields,
  transports: Transports,
  flat: JsonObject,
  transport: string,
  stored: Pick<ServerSettings, 'transport' | 'config'> | undefined,
): void {
  const kept = stored?.transport === transport ? stored.config : {}
  for (const { field, plugin } of transports.serverFields.closed(transport, flat)) {
    if (canonical(flat[field] ?? null) === canonical(kept[field] ?? null)) continue
    const detail = `"${field}" belongs to the plugin ${quoteName(plugin)}, which does not run: an administrator can switch it on`
    fields.problem(field, 'unknown_field', detail)
  }
}

/** Validates the transport's fields: their form as written, their content as filled in. */
export function readTransport(
  transports: Transports,
  transport: Transport,
  raw: JsonObject,
  filled: JsonObject,
  errors: FieldError[],
): TransportPart | undefined {
  const before = errors.length
  readMembers(transport.schema, new Fields(filled, '#', errors), FORMATS)
  errors.push(...transports.serverFields.check(transport.name, filled))
  if (errors.length > before) return undefined
  return { config: withCredentials(transport, raw), filled: withCredentials(transport, filled) }
}

/** With `credentials: caller`, where a field by which callers are asked has a value and `credentials` has none. */
function withCredentials({ schema }: Transport, config: JsonObject): JsonObject {
  const properties = propertiesOf(schema)
  const isAsked = Object.keys(properties).some(
    name => properties[name]?.asksCallers === true && config[name] !== undefined,
  )
  return isAsked && config.credentials === undefined ? { ...config, credentials: 'caller' } : config
}

/** Formats that core reads by their meaning, anywhere in a transport's schema. */
const FORMATS: ReadonlyMap<string, FormatReader> = new Map<string, FormatReader>([
  ['command', checkCommand],
  ['command-arguments', checkArguments],
  ['environment', checkEnv],
  ['directory', checkDirectory],
  ['uri', checkAddress],
  ['http-headers', readHeaders],
  ['openapi', readOpenapi],
  ['certificates', checkCertificates],
  ['private-key', checkPrivateKey],
])

function checkArguments(fields: Fields, name: string): void {
  // The total size is checked first, so that huge lists are not checked argument by argument.
  const args = fields.strings(name) ?? []
  if (tooLarge(fields, name, args)) return
  for (const [index, argument] of args.entries()) {
    if (isPlainText(argument)) continue
    const detail = `Argument ${index} holds a NUL character or half a character`
    fields.errors.push({ pointer: `${fields.pointer(name)}/${index}`, code: 'command_invalid', detail })
  }
}

function checkDirectory(fields: Fields, name: string): void {
  const path = fields.string(name, COMMAND_BYTES)
  if (path === undefined || (path !== '' && isPlainText(path))) return
  fields.problem(name, 'format', `"${name}" must be a path`)
}

function checkCommand(fields: Fields, name: string): void {
  const command = fields.string(name, COMMAND_BYTES)
  if (command === undefined) return
  const wrong =
    command.trim() === ''
      ? 'is empty'
      : command !== command.trim() || /[\p{Cc}\p{Cs}]/u.test(command)
        ? 'begins or ends with a space, or holds a control character'
        : command.split(/[/\\]/).includes('..')
          ? 'climbs out of its folder by ".."'
          : undefined
  if (wrong) fields.problem(name, 'command_invalid', `The command ${quoteName(command)} ${wrong}`)
}

function checkEnv(fields: Fields, name: string): void {
  const env = fields.stringMap(name) ?? {}
  const texts = Object.entries(env).map(([key, value]) => `${key}=${value}`)
  if (tooLarge(fields, name, texts)) return
  for (const [key, value] of Object.entries(env)) {
    const pointer = `${fields.pointer(name)}/${pointerToken(key)}`
    if (key === '' || /[=\s\p{Cc}\p{Cs}]/u.test(key)) {
      const detail = `${quoteName(key)} cannot be the name of a variable of the environment`
      fields.errors.push({ pointer, code: 'env_key_invalid', detail })
    }
    if (!isPlainText(value)) {
      const detail = `The value of ${quoteName(key)} holds a NUL character or half a character`
      fields.errors.push({ pointer, code: 'env_value_invalid', detail })
    }
  }
}

function tooLarge(fields: Fields, name: string, texts: readonly string[]): boolean {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
  if (bytes <= PROCESS_BYTES) return false
  fields.problem(
    name,
    'args_too_large',
    `"${name}" has ${bytes} bytes; at most ${PROCESS_BYTES} can be handed to a process`,
  )
  return true
}

function checkAddress(fields: Fields, name: string, schema: JsonObject): void {
  const url = fields.string(name)
  if (url !== undefined) checkUrl(url, fields.pointer(name), error => fields.errors.push(error), schemesOf(schema))
}

function schemesOf({ schemes }: JsonObject): readonly string[] {
  return Array.isArray(schemes) ? schemes.filter(scheme => typeof scheme === 'string') : HTTP_SCHEMES
}

function readHeaders(fields: Fields, name: string): void {
  checkHeaders(fields.stringMap(name) ?? {}, fields.pointer(name), error => fields.errors.push(error))
}

/** An address in a configuration, with its pointer. */
export interface ConfiguredAddress {
  readonly pointer: string
  readonly url: URL
}

/** All addresses of a filled-in transport part. Empty for a transport whose plugin does not run. */
export function addressesOf(transport: Transport | undefined, filled: JsonObject): readonly ConfiguredAddress[] {
  const found: { pointer: string; text: string }[] = []
  visitFields(transport, filled, (schema, value, pointer) => {
    if (schema.format === 'openapi') found.push(...openapiAddresses(filled))
    else if (schema.format === 'uri' && typeof value === 'string') found.push({ pointer: `#${pointer}`, text: value })
  })
  return found.flatMap(({ pointer, text }) => {
    const url = URL.parse(text)
    return url ? [{ pointer, url }] : []
  })
}

/**
 * Describes the destination of a configuration's secrets, as a text to compare: its whole addresses, an inline document, the
 * program with its arguments, folder, environment and limits, headers that can name another host, and every other text that is
 * not secret. Pure secrets are left out: replacing one does not change the destination of the others.
 */
export function destinationOf(transport: Transport | undefined, filled: JsonObject): string {
  if (!transport) return canonical([null, filled])
  const parts: JsonValue[] = []
  visitFields(transport, filled, (schema, value, pointer) => {
    const isWhole = schema.format !== undefined || typeof value !== 'object'
    if (!isWhole || schema.writeOnly === true || schema.format === 'uri' || schema.format === 'openapi') return
    parts.push([pointer, leading(schema.format, value)])
  })
  const addresses = addressesOf(transport, filled).map(({ pointer, url }) => [pointer, url.href])
  // An inline document determines where calls and credentials go; another document may lead elsewhere.
  return canonical([transport.kind, ...parts, ...addresses, storedDocument(filled)?.sha256 ?? null])
}

/** The entries of an environment or of headers that can lead elsewhere; all of another value. */
function leading(format: JsonValue | undefined, value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value
  // A program may use any variable in any way: PATH or NODE_OPTIONS run other code.
  const leads =
    format === 'environment'
      ? (name: string, text: JsonValue) => !isSecretName(name) || looksLikeAddress('', text)
      : looksLikeAddress
  if (format !== 'environment' && format !== 'http-headers') return value
  return Object.fromEntries(Object.entries(value).filter(([name, text]) => leads(name, text)))
}

/** Calls `visit` for each value of a transport's own fields. */
function visitFields(
  transport: Transport | undefined,
  filled: JsonObject,
  visit: (schema: JsonObject, value: JsonValue, pointer: string) => void,
): void {
  for (const [name, schema] of Object.entries(transport ? propertiesOf(transport.schema) : {})) {
    const value = Object.hasOwn(filled, name) ? filled[name] : undefined
    visitValues(schema, value, visit, `/${pointerToken(name)}`)
  }
}
