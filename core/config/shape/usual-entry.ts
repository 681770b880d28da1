import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { pointerToken } from '../../domain/json/json-pointer.ts'
import type { EntryFields } from './entry-fields.ts'
import { pairsOf } from './pairs.ts'
import { countsSeconds } from './server.ts'
import { withSignInNames } from './sign-in.ts'
import { type Waits, withWaits } from './waits.ts'

/** An entry of any client in the members that most clients use. */
export interface UsualEntry {
  readonly entry: JsonObject
  /** Names of members in the document, where they differ: `command/args` for a member of a member. */
  readonly written: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
}

/** Members around the command or the address of an entry. */
const AROUND = ['transport', 'config', 'configuration', 'connection', 'params', 'server', 'requestInit', 'request_init']
const INSIDE = ['command', 'cmd', 'args', 'url', 'uri', 'headers', 'env', 'type', 'serverUrl', 'httpUrl', 'server_url']

/** Other programs' names by the letters of a member: our own name. */
const NAMES: Readonly<Record<string, string>> = {
  ...{ command: 'command', cmd: 'command', program: 'command', executable: 'command' },
  ...{ args: 'args', arguments: 'args', arg: 'args', argv: 'args' },
  ...{ env: 'env', envs: 'env', environment: 'env', environmentvariables: 'env', envvariables: 'env' },
  ...{ cwd: 'cwd', workingdirectory: 'cwd', workingdir: 'cwd', workdir: 'cwd', dir: 'cwd', directory: 'cwd' },
  ...{ url: 'url', serveruri: 'url', sseurl: 'url', mcpurl: 'url', endpointurl: 'url', connectorurl: 'url' },
  ...{ headers: 'headers', httpheaders: 'headers', customheaders: 'headers', requestheaders: 'headers' },
  ...{ type: 'type', transport: 'transport', connectiontype: 'transport', protocol: 'transport' },
  ...{ enabled: 'enabled', isenabled: 'enabled', active: 'enabled', isactive: 'isActive' },
  ...{ disabled: 'disabled', isdisabled: 'disabled', disable: 'disabled', description: 'description' },
}
/** `server_url` and `transport_type` by the names under which they are read. */
const SAME_LETTERS: Readonly<Record<string, string>> = {
  ...{ serverurl: 'serverUrl', httpurl: 'httpUrl', baseurl: 'baseUrl', transporttype: 'transportType' },
}

/** The approval of calls. */
const APPROVAL = 'which calls need no approval stays with the client'
const SIGN_IN = 'the sign-in stays with the client; set a header with a token'
/** Members that are left out, by their letters, with the reason and what to write; plugins add those of their fields. */
const LEFT: Readonly<Record<string, string>> = {
  envfile: 'the hub reads no file of variables; write its variables into "env"',
  ...{ trust: APPROVAL, requireapproval: APPROVAL, autoapproveall: APPROVAL, approvalmode: APPROVAL },
  headershelper: 'the hub runs no program that makes headers; set the headers',
  ssereadtimeout: 'a stream may be silent as long as it likes',
  settings: 'settings of an extension stay with the client; give the "command" that it runs',
  connectorid: 'a connector of the client has no address here; give the "url" of its server',
}

/** The entry in the usual members. `pointer`: its place in the document. */
export function usualEntry(written: JsonObject, pointer: string, fields: EntryFields): UsualEntry {
  const names: Record<string, string> = {}
  const warnings: string[] = []
  const flat = renamed(flattened(written, names), names)
  const kept = withoutLeft(flat, { ...LEFT, ...fields.left }, path => {
    const [member = ''] = path.split(':', 1)
    warnings.push(`left out: ${pointer}/${names[member] ?? pointerToken(member)}:${path.slice(member.length + 1)}`)
  })
  const entry: Record<string, JsonValue> = trimmed(kept)
  for (const field of ['env', 'headers'] as const) {
    const value = entry[field]
    if (value !== undefined && value !== null) entry[field] = pairsOf(value, field)
  }
  readAddress(entry, warnings)
  const signed = withSignInNames(entry, fields.auth.kinds)
  for (const key of ['auth', 'authentication']) {
    if (signed[key] !== undefined && signed[key] !== null && !/^none$/i.test(String(signed[key])))
      warnings.push(`left out: ${pointer}/${key}: ${fields.auth.left ?? SIGN_IN}`)
  }
  const { auth: _, authentication: __, ...rest } = signed
  const waits = withTimes(rest)
  return { entry: waits.entry, written: { ...names, ...waits.written }, warnings: [...warnings, ...waits.warnings] }
}

/** Entries with a list of approved tools have a rule of their own for `timeout`. */
function withTimes(entry: JsonObject): Waits {
  const { timeout, ...others } = entry
  if (!countsSeconds(entry) || timeout === undefined) return withWaits(entry)
  const waits = withWaits(others)
  const isNumber = typeof timeout === 'string' && /^\d+$/.test(timeout)
  const own = isNumber ? Number(timeout) : typeof timeout === 'string' ? withWaits({ timeout }).entry.timeout : timeout
  return { ...waits, entry: { ...waits.entry, timeout: own ?? timeout } }
}

/** Members that are empty count as absent; blanks around a program or an address are none of it. */
const TRIMMED = ['command', 'url', 'serverUrl', 'httpUrl', 'baseUrl', 'endpoint', 'uri', 'type', 'transport', 'cwd']

function trimmed(entry: JsonObject): Record<string, JsonValue> {
  const result: Record<string, JsonValue> = { ...entry }
  for (const field of TRIMMED) {
    const value = entry[field]
    if (typeof value !== 'string') continue
    if (value.trim() === '') delete result[field]
    else result[field] = value.trim()
  }
  if (entry.args === '') delete result.args
  // A line end behind an argument comes from a file, and no program wants it.
  if (Array.isArray(entry.args))
    result.args = entry.args.map(arg => (typeof arg === 'string' ? arg.replace(/\r?\n$/, '') : arg))
  return result
}

function nameIn(names: Readonly<Record<string, string>>, member: string): string {
  return names[member] ?? member
}

/** The members of `transport`, `config` and the like, and of a command that is an object, as those of the entry. */
function flattened(entry: JsonObject, names: Record<string, string>): JsonObject {
  const result: Record<string, JsonValue> = { ...entry }
  for (const key of AROUND) {
    const inner = entry[key]
    if (!isJsonObject(inner) || !INSIDE.some(member => Object.hasOwn(inner, member))) continue
    delete result[key]
    spread(result, inner, key, names)
  }
  const { command } = result
  if (!isJsonObject(command)) return result
  delete result.command
  const { path, ...rest } = command
  spread(result, { ...(path === undefined ? {} : { command: path }), ...rest }, 'command', names)
  if (path !== undefined) names.command = 'command/path'
  return result
}

function spread(
  result: Record<string, JsonValue>,
  inner: JsonObject,
  key: string,
  names: Record<string, string>,
): void {
  for (const [member, value] of Object.entries(inner)) {
    if (result[member] !== undefined && result[member] !== null) continue
    result[member] = value
    names[member] = `${key}/${member}`
  }
}

function renamed(entry: JsonObject, names: Record<string, string>): JsonObject {
  const result = new Map(Object.entries(entry))
  for (const [key, value] of Object.entries(entry)) {
    const letters = key.toLowerCase().replaceAll(/[^a-z]/g, '')
    const known = { ...NAMES, ...SAME_LETTERS }
    const name = Object.hasOwn(known, letters) ? known[letters] : undefined
    if (name === undefined || name === key || (entry[name] !== undefined && entry[name] !== null)) continue
    result.delete(key)
    result.set(name, value)
    names[name] = nameIn(names, key)
  }
  return Object.fromEntries(result)
}

function withoutLeft(
  entry: JsonObject,
  left: Readonly<Record<string, string>>,
  leave: (path: string) => void,
): JsonObject {
  const kept = Object.entries(entry).filter(([key, value]) => {
    const letters = key.toLowerCase().replaceAll(/[^a-z]/g, '')
    const reason = Object.hasOwn(left, letters) ? left[letters] : undefined
    const isEmpty = key === 'settings' && isJsonObject(value) && Object.keys(value).length === 0
    if (reason !== undefined && value !== null && value !== false) leave(`${key}: ${reason}`)
    return reason === undefined && !isEmpty && !(key === 'source' && value === 'custom')
  })
  return Object.fromEntries(kept)
}

/** Longest address without a scheme. */
const MOST_ADDRESS = 2_048
/** A host without a scheme, as people write an address. */
const HOST = /^(?:localhost|\[[\da-f:]+\]|[\w-]+(?:\.[\w-]+)+)(?::\d{1,5})?(?:[/?#]\S*)?$/i

/** The address of a text without a scheme: `https`, but for this machine and for addresses of its network. */
export function addressOf(text: string): string | undefined {
  if (text.length > MOST_ADDRESS || !HOST.test(text)) return undefined
  const isNear =
    /^(?:localhost|\[|127\.|10\.|192\.168\.|0\.0\.0\.0|172\.(?:1[6-9]|2\d|3[01])\.|host\.docker\.internal)/i.test(text)
  return `${isNear ? 'http' : 'https'}://${text}`
}

function readAddress(entry: Record<string, JsonValue>, warnings: string[]): void {
  for (const field of ['url', 'serverUrl', 'httpUrl', 'baseUrl', 'endpoint', 'uri']) {
    const text = entry[field]
    const address = typeof text === 'string' ? addressOf(text.trim()) : undefined
    if (address === undefined) continue
    entry[field] = address
    warnings.push(`its address has no scheme: it counts as ${address.split(':', 1)[0]}://`)
  }
}
