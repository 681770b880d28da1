import { isAbsolute, resolve } from 'node:path'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'

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

/** The mask that the API shows in place of a secret: whoever sends it back means the value that is there. */
const MASK = '••••'

/** `wanted` with every mask replaced by what `present` has in its place; a mask for nothing is left out. */
export function keepMasked(wanted: JsonObject, present: JsonValue | undefined): JsonObject {
  const before = isJsonObject(present) ? present : {}
  const kept: [string, JsonValue][] = []
  for (const [key, value] of Object.entries(wanted)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (typeof value !== 'string' || !value.startsWith(MASK)) {
      kept.push([key, isJsonObject(value) ? keepMasked(value, old) : value])
    } else if (old !== undefined) kept.push([key, old])
  }
  return Object.fromEntries(kept)
}
