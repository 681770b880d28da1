import { Buffer } from 'node:buffer'
import type { FieldError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerSettings, TransportName } from '../../contract/records.ts'
import { Fields, isPlainText } from '../json/fields.ts'
import { pointerToken } from '../json/json-pointer.ts'
import { quoteName } from '../names.ts'
import { checkHeaders, checkUrl } from './address.ts'
import { openapiAddresses, readOpenapi } from './openapi.ts'

/** Limit of an argument list or environment in bytes, well below every system's own. */
export const PROCESS_BYTES = 128 * 1024
const COMMAND_BYTES = 4096

/** The fields of each transport. */
export const FIELDS_OF: Readonly<Record<TransportName, readonly string[]>> = {
  stdio: ['command', 'args', 'env', 'cwd', 'sandbox', 'network'],
  sse: ['url', 'headers'],
  'streamable-http': ['url', 'headers'],
  openapi: ['openapi', 'headers'],
}

/** The fields of all transports, each once. */
export const TRANSPORT_FIELDS: readonly string[] = [...new Set(Object.values(FIELDS_OF).flat())]

/** A transport's own fields: as written, and with variables filled in. */
export interface TransportPart {
  readonly config: JsonObject
  readonly filled: JsonObject
}

/** Reports each field that belongs to another transport. */
export function refuseForeignFields(fields: Fields, transport: TransportName, era: ServerSettings['era']): void {
  for (const name of TRANSPORT_FIELDS) {
    if (!fields.has(name) || FIELDS_OF[transport].includes(name)) continue
    fields.problem(name, 'field_not_for_transport', `"${name}" has no meaning for the transport ${transport}`)
  }
  if (era === 'modern' && (transport === 'sse' || transport === 'openapi'))
    fields.problem('era', 'field_not_for_transport', `No server of the transport ${transport} speaks 2026-07-28`)
}

/** Validates the transport's fields: their form as written, their content as filled in. */
export function readTransport(
  transport: TransportName,
  raw: JsonObject,
  filled: JsonObject,
  errors: FieldError[],
): TransportPart | undefined {
  const before = errors.length
  const fields = new Fields(filled, '#', errors)
  if (transport === 'stdio') readStdio(fields)
  else if (transport === 'openapi') {
    readHeaders(fields)
    readOpenapi(fields)
  } else readRemote(fields)
  return errors.length === before ? { config: raw, filled } : undefined
}

function readStdio(fields: Fields): void {
  if (fields.required('command')) checkCommand(fields)
  // The total size is checked first, so that huge lists are not checked argument by argument.
  const args = fields.strings('args') ?? []
  if (tooLarge(fields, 'args', args)) return
  for (const [index, argument] of args.entries()) {
    if (isPlainText(argument)) continue
    const detail = `Argument ${index} holds a NUL character or half a character`
    fields.errors.push({ pointer: `${fields.pointer('args')}/${index}`, code: 'command_invalid', detail })
  }
  checkEnv(fields)
  const cwd = fields.string('cwd', COMMAND_BYTES)
  if (cwd !== undefined && (cwd === '' || !isPlainText(cwd))) {
    fields.problem('cwd', 'format', '"cwd" must be a path')
  }
  fields.oneOf('sandbox', ['full', 'off'])
  fields.oneOf('network', ['none', 'proxy', 'host'])
}

function checkCommand(fields: Fields): void {
  const command = fields.string('command', COMMAND_BYTES)
  if (command === undefined) return
  const wrong =
    command.trim() === ''
      ? 'is empty'
      : command !== command.trim() || /[\p{Cc}\p{Cs}]/u.test(command)
        ? 'begins or ends with a space, or holds a control character'
        : command.split(/[/\\]/).includes('..')
          ? 'climbs out of its folder by ".."'
          : undefined
  if (wrong) fields.problem('command', 'command_invalid', `The command ${quoteName(command)} ${wrong}`)
}

function checkEnv(fields: Fields): void {
  const env = fields.stringMap('env') ?? {}
  const texts = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  if (tooLarge(fields, 'env', texts)) return
  for (const [name, value] of Object.entries(env)) {
    const pointer = `${fields.pointer('env')}/${pointerToken(name)}`
    if (name === '' || /[=\s\p{Cc}\p{Cs}]/u.test(name)) {
      const detail = `${quoteName(name)} cannot be the name of a variable of the environment`
      fields.errors.push({ pointer, code: 'env_key_invalid', detail })
    }
    if (!isPlainText(value)) {
      const detail = `The value of ${quoteName(name)} holds a NUL character or half a character`
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

function readRemote(fields: Fields): void {
  const url = fields.required('url') ? fields.string('url') : undefined
  if (url !== undefined) checkUrl(url, fields.pointer('url'), error => fields.errors.push(error))
  readHeaders(fields)
}

function readHeaders(fields: Fields): void {
  checkHeaders(fields.stringMap('headers') ?? {}, fields.pointer('headers'), error => fields.errors.push(error))
}

/** All addresses of a filled-in transport part, with their pointers. */
export function addressesOf(transport: TransportName, filled: JsonObject): readonly { pointer: string; url: URL }[] {
  if (transport === 'stdio') return []
  const named = transport === 'openapi' ? openapiAddresses(filled) : [{ pointer: '#/url', text: filled.url }]
  return named.flatMap(({ pointer, text }) => {
    const url = typeof text === 'string' ? URL.parse(text) : null
    return url ? [{ pointer, url }] : []
  })
}
