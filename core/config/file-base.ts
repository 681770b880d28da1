import { isAbsolute, resolve } from 'node:path'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { looksMasked } from '../domain/server/secrets.ts'

/** Base of relative paths and commands in server entries of a settings file. */
export interface FileBase {
  /** The settings file's own folder. */
  readonly folder: string
  /** The program that runs the hub: `process.execPath`. */
  readonly runtime: string
  /** The hub's entry file, which that program is started with. Undefined: the program is the hub itself. */
  readonly program?: string | undefined
}

/**
 * The command in a file entry that means the hub's own program, so that a settings file works on every machine: `{"command":
 * "patchbay", "args": ["sample-server"]}` needs neither PATH nor a working folder.
 */
export const OWN_COMMAND = 'patchbay'

function isStdio(body: JsonObject): boolean {
  if (body.transport !== undefined) return body.transport === 'stdio'
  return typeof body.command === 'string' && body.url === undefined && body.openapi === undefined
}

function ownArguments({ program }: FileBase): readonly string[] {
  return program === undefined ? [] : [program]
}

/**
 * Resolves a file entry's command and `cwd` to absolute ones. `ownFolder` leaves `cwd` unchanged: servers of ordinary
 * users run in a folder of their own and may use no other.
 */
export function resolveEntry(body: JsonObject, base: FileBase, ownFolder: boolean): JsonObject {
  if (!isStdio(body)) return body
  const resolved = { ...body }
  if (body.command === OWN_COMMAND && (body.args === undefined || Array.isArray(body.args))) {
    resolved.command = base.runtime
    resolved.args = [...ownArguments(base), ...(body.args ?? [])]
  }
  if (ownFolder) return resolved
  if (body.cwd === undefined) resolved.cwd = base.folder
  else if (typeof body.cwd === 'string' && !isAbsolute(body.cwd)) resolved.cwd = resolve(base.folder, body.cwd)
  return resolved
}

/** The inverse of `resolveEntry`, for writing. `present` is the entry in the file now. */
export function unresolveEntry(body: JsonObject, present: JsonObject, base: FileBase): JsonObject {
  const written = { ...body }
  const own = ownArguments(base)
  const { args } = body
  if (Array.isArray(args) && body.command === base.runtime && own.every((part, at) => part === args[at])) {
    written.command = OWN_COMMAND
    written.args = args.slice(own.length)
  }
  if (typeof body.cwd === 'string') {
    const before: JsonValue | undefined = present.cwd
    if (body.cwd === resolve(base.folder, typeof before === 'string' ? before : '.')) {
      delete written.cwd
      if (before !== undefined) written.cwd = before
    }
  }
  return written
}

/**
 * Restores the inline OpenAPI document of `present` in `wanted` when that holds the placeholder that the API shows for
 * a stored document: a client that sends it back wants the document unchanged.
 */
export function keepDocument(wanted: JsonObject, present: JsonObject): JsonObject {
  const { openapi } = wanted
  if (!isJsonObject(openapi) || openapi.document === undefined) return wanted
  const { document: _, ...rest } = openapi
  const schema = isJsonObject(present.openapi) ? present.openapi.schema : undefined
  const keeps = rest.schema === undefined && rest.url === undefined && schema !== undefined
  return { ...wanted, openapi: keeps ? { ...rest, schema } : rest }
}

/**
 * Replaces every mask that the API shows for a secret with the value that `present` has there: a client that sends a
 * mask back wants the value unchanged. A mask without a value in `present` is removed.
 */
export function keepMasked(wanted: JsonObject, present: JsonObject): JsonObject {
  return unmasked(wanted, present) as JsonObject
}

function unmasked(wanted: JsonValue, present: JsonValue | undefined): JsonValue | undefined {
  if (typeof wanted === 'string') return looksMasked(wanted) ? present : wanted
  if (Array.isArray(wanted)) {
    const before = Array.isArray(present) ? present : []
    return wanted.map((item, index) => unmasked(item, before[index])).filter(item => item !== undefined)
  }
  if (!isJsonObject(wanted)) return wanted
  const before = isJsonObject(present) ? present : {}
  const members = Object.entries(wanted)
    .map(([key, value]) => [key, unmasked(value, Object.hasOwn(before, key) ? before[key] : undefined)] as const)
    .filter((member): member is [string, JsonValue] => member[1] !== undefined)
  return Object.fromEntries(members)
}
