import { isAbsolute, resolve } from 'node:path'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { looksMasked } from '../domain/server/secrets.ts'

/** What a server entry of the settings file is relative to. */
export interface FileBase {
  /** The settings file's own folder. */
  readonly folder: string
  /** The program that runs the hub: `process.execPath`. */
  readonly runtime: string
  /** The hub's entry file, which that program is started with. */
  readonly program: string
}

/**
 * The command of a file entry that stands for this very program, so that a settings file runs wherever the hub runs:
 * `{"command": "patchbay", "args": ["sample-server"]}` needs nothing on PATH and no folder to start in.
 */
export const OWN_COMMAND = 'patchbay'

function isStdio(body: JsonObject): boolean {
  if (body.transport !== undefined) return body.transport === 'stdio'
  return typeof body.command === 'string' && body.url === undefined && body.openapi === undefined
}

/**
 * A file entry made independent of where the hub was started. `ownFolder` keeps `cwd` as it is: servers of ordinary users
 * work in a folder of their own, and no other is allowed to them.
 */
export function resolveEntry(body: JsonObject, base: FileBase, ownFolder: boolean): JsonObject {
  if (!isStdio(body)) return body
  const resolved = { ...body }
  if (body.command === OWN_COMMAND && (body.args === undefined || Array.isArray(body.args))) {
    resolved.command = base.runtime
    resolved.args = [base.program, ...(body.args ?? [])]
  }
  if (ownFolder) return resolved
  if (body.cwd === undefined) resolved.cwd = base.folder
  else if (typeof body.cwd === 'string' && !isAbsolute(body.cwd)) resolved.cwd = resolve(base.folder, body.cwd)
  return resolved
}

/** The other way round, for writing: `present` is what the file says now. */
export function unresolveEntry(body: JsonObject, present: JsonObject, base: FileBase): JsonObject {
  const written = { ...body }
  if (Array.isArray(body.args) && body.command === base.runtime && body.args[0] === base.program) {
    written.command = OWN_COMMAND
    written.args = body.args.slice(1)
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
 * `wanted` with the inline OpenAPI document that `present` has, where `wanted` holds the stand-in that the API shows for a
 * stored document: whoever sends it back means the document that is there.
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
 * `wanted` with every mask that the API shows in place of a secret replaced by what `present` has there: whoever sends one
 * back means the value that is there. A mask for nothing is left out.
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
