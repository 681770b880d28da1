import { createHash } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, resolve as resolvePath } from 'node:path'
import { HubError } from '../contract/errors.ts'
import { CONTRACT, type PluginDefinition } from '../contract/plugin.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'
import { MOST_ERRORS } from '../domain/validation-error.ts'

/** One entry of `plugins` in the settings file. */
export interface PluginEntry {
  /** An npm package name, a path that begins with `.` or `/`, or the name of a bundled plugin. */
  readonly use: string
  /** Runs it in its own worker thread. Default true for plugins that are not bundled. */
  readonly isolate?: boolean
  /** A failure of this plugin ends the start of the hub. Default false. */
  readonly required?: boolean
  /** Default true. */
  readonly enabled?: boolean
  readonly config?: unknown
  /** Numbers that replace those of the plugin's definition. */
  readonly limits?: Readonly<Record<string, number>>
}

/** A plugin file that passed the checks. */
export interface ResolvedPlugin {
  /** Absolute path of the entry file. */
  readonly file: string
  readonly sha256: string
}

/**
 * Finds a plugin's entry file. Packages and relative paths resolve from `folder`, the settings file's own. Throws when
 * it does not exist, or when an account other than root and the hub's user could have written it: a plugin runs with
 * all of the hub's rights.
 */
export async function resolvePlugin(use: string, folder: string): Promise<ResolvedPlugin> {
  const isPath = use.startsWith('.') || isAbsolute(use)
  const found = isPath ? resolvePath(folder, use) : Bun.resolveSync(use, folder)
  const file = await realpath(found)
  refuseWritableByOthers(file, await stat(file))
  const sha256 = createHash('sha256')
    .update(await Bun.file(file).bytes())
    .digest('hex')
  return { file, sha256 }
}

/** Throws for a file that an account other than root and the hub's user could have written. */
export function refuseWritableByOthers(
  file: string,
  { mode, uid }: { readonly mode: number; readonly uid: number },
): void {
  const self = process.getuid?.()
  if (self === undefined || ((uid === self || uid === 0) && (mode & 0o022) === 0)) return
  throw new Error(
    `Plugin file ${file} can be written by others; it must belong to the hub's user and be writable by it alone (chmod go-w)`,
  )
}

/** Validates a plugin's default export; throws with the reason when it is not a definition. */
export function asDefinition(loaded: unknown, use: string): PluginDefinition<unknown> {
  const candidate = typeof loaded === 'object' && loaded !== null && 'default' in loaded ? loaded.default : undefined
  if (!isDefinition(candidate)) {
    throw new Error(`Plugin "${use}" has no default export made by definePlugin({name, contract, setup})`)
  }
  if (candidate.contract !== CONTRACT) {
    throw new Error(
      `Plugin "${use}" was written for contract ${String(candidate.contract)}; this hub offers contract ${CONTRACT}`,
    )
  }
  // Two dashes would be the two underscores that end the plugin's part in the names of its tables.
  if (!/^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/.test(candidate.name)) {
    const wanted = 'lower-case letters and digits with single dashes between them are wanted, at most 64'
    throw new Error(`Plugin "${use}" is named "${candidate.name}"; ${wanted}`)
  }
  return candidate
}

function isDefinition(value: unknown): value is PluginDefinition<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    'setup' in value &&
    typeof value.setup === 'function' &&
    'contract' in value
  )
}

/**
 * Validates a plugin's configuration block by its own schema. Throws `validation_failed` with a pointer below
 * `#/config` for each invalid field, the first 50 of them.
 */
export async function parsePluginConfig<Config>(
  definition: PluginDefinition<Config>,
  config: unknown,
): Promise<Config> {
  if (!definition.config) {
    if (config === undefined) return undefined as Config
    const detail = `Plugin "${definition.name}" takes no configuration, but "config" was given`
    throw new HubError('validation_failed', detail, {
      errors: [{ pointer: '#/config', code: 'unknown_field', detail }],
    })
  }
  const verdict = await definition.config['~standard'].validate(config ?? {})
  if (!verdict.issues) return verdict.value
  const errors = verdict.issues.slice(0, MOST_ERRORS).map(({ path = [], message }) => ({
    pointer: `#/config${path.map(part => `/${pointerToken(String(pathKey(part)))}`).join('')}`,
    code: 'format' as const,
    detail: message,
  }))
  const places = errors.map(({ pointer, detail }) => `${pointer}: ${detail}`).join('; ')
  throw new HubError('validation_failed', `The configuration of plugin "${definition.name}" is not valid: ${places}`, {
    errors,
  })
}

function pathKey(part: unknown): unknown {
  return typeof part === 'object' && part !== null && 'key' in part ? part.key : part
}
