import { access, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { JsonObject } from '../contract/json.ts'
import { codeOf } from './atomic-write.ts'
import { prepareDataDir } from './data-dir.ts'
import { type ConfigLayer, type Environment, pluginVariable, readEnvironment } from './env.ts'
import { type ConfigLayers, type Layered, mergeLayers, readJsonLayer, type Surroundings } from './layers.ts'
import { checkLogFile } from './log-file.ts'
import { IS_ONE_FILE } from './one-file.ts'
import { openSettingsFile, type SettingsFile } from './settings-file.ts'
import { type FileAdditions, NO_ADDITIONS } from './shape/additions.ts'
import { StartError } from './start-error.ts'

/** In the working directory; DATA_DIR overrides it. */
export const DEFAULT_DATA_DIR = '.patchbay'
/** The settings file's default name, in the data folder. */
export const SETTINGS_NAME = 'mcp_settings.json'

const PACKAGE = fileURLToPath(new URL('../../', import.meta.url))
/** The hub's entry file, which `"command": "patchbay"` in the settings file starts. */
const PROGRAM = IS_ONE_FILE ? undefined : join(PACKAGE, 'core', 'main.ts')

/** Inputs that `loadConfig` cannot determine itself. */
export interface LoadOptions {
  /** True when standard output is a terminal. Default: detected. */
  readonly isTerminal?: boolean
  /** Additions of features and plugins to the settings file, and their settings. Default: none. */
  readonly additions?: FileAdditions
  /** Receives later warnings of the settings file, as sentences for the log. */
  readonly onWarning?: (message: string) => void
}

/** The configuration before the store is open. */
export interface LoadedConfig extends Layered {
  readonly settings: SettingsFile
  /** Ignored or suspicious values, as sentences for the log. */
  readonly warnings: readonly string[]
  /** The configuration with the settings made through the API, which rank below environment and file. */
  withStored(stored: Readonly<JsonObject>): Layered & { readonly warnings: readonly string[] }
  /** The text of a variable that a plugin names; undefined when it is unset, or one of the hub's own. */
  variable(name: string): string | undefined
}

/**
 * Reads the configuration that is available before the store is open: environment over settings file over default.
 * Creates the data folder, and a copy of the sample settings file in it when there is no other. Relative paths are
 * resolved from `cwd`. Throws StartError: env_invalid, secret_too_short, log_file_forbidden (2), settings_* (78),
 * data_dir_unwritable (1).
 */
export async function loadConfig(env: Environment, cwd: string, options: LoadOptions = {}): Promise<LoadedConfig> {
  const { onWarning, additions = NO_ADDITIONS } = options
  const known = additions.settings
  const fromEnv = readEnvironment(env, known)
  const dataDir = resolve(cwd, fromEnv.dataDir ?? DEFAULT_DATA_DIR)
  const found = await findSettingsFile(fromEnv.settingsFile, cwd, dataDir)
  await prepareDataDir(dataDir)
  const settingsFile = found ?? (await copySample(dataDir))
  const settings = await openSettingsFile(settingsFile, {
    dataDir,
    runtime: process.execPath,
    program: PROGRAM,
    ...(onWarning ? { onWarning } : {}),
    additions,
  })
  const warnings = [...settings.state.warnings]
  const file = readJsonLayer(settings.state.systemConfig, 'systemConfig', known, message => warnings.push(message))
  const layers: ConfigLayers = {
    env: absolutePaths(fromEnv, cwd),
    file: absolutePaths(file, dirname(settingsFile)),
    store: {},
  }
  const around: Surroundings = {
    dataDir,
    settingsFile,
    isTerminal: options.isTerminal ?? process.stdout.isTTY === true,
  }
  const written = { env, file: settings.state.systemConfig, store: {} }
  const layered = mergeLayers(layers, around, written, known)
  if (layered.config.logFile !== undefined) await checkLogFile(layered.config.logFile, dataDir, [settingsFile])
  return {
    ...layered,
    settings,
    warnings,
    variable: name => pluginVariable(env, name, known),
    withStored(stored) {
      const more: string[] = []
      const store = readJsonLayer(stored, 'stored settings', known, message => more.push(message))
      return { ...mergeLayers({ ...layers, store }, around, { ...written, store: stored }, known), warnings: more }
    },
  }
}

function absolutePaths(layer: ConfigLayer, folder: string): ConfigLayer {
  return layer.logFile === undefined ? layer : { ...layer, logFile: absoluteFile(layer.logFile, folder) }
}

/** Like `resolve`, but keeps a slash at the end, which denotes a folder. */
function absoluteFile(path: string, folder: string): string {
  return path.endsWith('/') ? `${resolve(folder, path)}/` : resolve(folder, path)
}

/**
 * The existing settings file: SETTINGS_FILE, else that of the working folder, else that of the data folder. Throws
 * env_invalid when SETTINGS_FILE does not exist: starting with the sample instead would look like an empty hub.
 */
export async function findSettingsFile(
  named: string | undefined,
  cwd: string,
  dataDir: string,
): Promise<string | undefined> {
  if (named !== undefined) {
    const path = resolve(cwd, named)
    if (await exists(path)) return path
    throw new StartError(
      'env_invalid',
      `SETTINGS_FILE is "${named}", and ${path} does not exist; wanted: a file that does`,
    )
  }
  for (const path of [resolve(cwd, SETTINGS_NAME), join(dataDir, SETTINGS_NAME)]) if (await exists(path)) return path
  return undefined
}

async function copySample(dataDir: string): Promise<string> {
  const path = join(dataDir, SETTINGS_NAME)
  try {
    await writeFile(path, await readFile(join(PACKAGE, SETTINGS_NAME)), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return path
    throw new StartError('data_dir_unwritable', `Cannot copy the sample settings file to ${path}: ${codeOf(error)}`, {
      cause: error,
    })
  }
  return path
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
