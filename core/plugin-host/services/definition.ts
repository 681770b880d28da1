import { ERROR_CODES } from '../../contract/codes.ts'
import { isJsonObject } from '../../contract/json.ts'
import type { Cleanup, PluginDefinition } from '../../contract/plugin.ts'

type Definition = PluginDefinition<unknown>

const NAMES = {
  needs: /^[a-z0-9][a-z0-9-]{0,63}\??$/,
  limits: /^[a-z][A-Za-z0-9]{0,63}$/,
  points: /^[a-z][A-Za-z0-9]{0,63}$/,
  migrations: /^\d{4}-[a-z0-9-]{1,59}$/,
} as const
const MOST_WORDS = 1_000
const MOST_WORD_CHARACTERS = 1_000

/**
 * Throws Error with the first part of a definition that is not as the contract says. Bundled plugins are written together, so
 * that their codes need no plugin's name, and the paths that they claim do not meet.
 */
export function checkDefinition(definition: Definition, isBundled = false): void {
  const { name, needs = [], limits = {}, points = {}, migrations = {}, errors = {}, events = {} } = definition
  const word = name.replaceAll('-', '_')
  wanted('needs', needs, NAMES.needs)
  wanted('limits', Object.keys(limits), NAMES.limits)
  wanted('points', Object.keys(points), NAMES.points)
  wanted('migrations', Object.keys(migrations), NAMES.migrations)
  wanted('errors', Object.keys(errors), new RegExp(isBundled ? '^[a-z][a-z0-9_]{2,64}$' : `^${word}_[a-z0-9_]{1,64}$`))
  for (const [part, names, form] of ofBundledAlone(definition)) wanted(part, names, isBundled ? form : /^(?!)/)
  wanted('events', Object.keys(events), new RegExp(`^${word}\\.[a-z0-9_]{1,64}$`))
  wanted('variables', Object.keys(definition.variables ?? {}), new RegExp(`^${word.toUpperCase()}_[A-Z0-9_]{1,64}$`))
  checkVariables(definition)
  checkAudiences(events)
  checkWords(definition.words)
  for (const [limit, value] of Object.entries(limits))
    if (!Number.isSafeInteger(value) || value < 0) throw new Error(`its limit "${limit}" is no whole number`)
  checkErrors(errors)
}

/** Members that bundled plugins have alone, with the names in them: most are known whether their plugin runs or not. */
function ofBundledAlone(
  definition: Definition,
): readonly (readonly [part: string, names: readonly string[], RegExp])[] {
  const { claims = [], unavailable, systemSettings = [], programs = {}, logComponents = [] } = definition
  const keys = (part: object | undefined): readonly string[] => Object.keys(part ?? {})
  const folders = Object.values(programs).map(({ folder }) => folder)
  const [word, dashed] = [/^[a-z][A-Za-z0-9]{0,63}$/, /^[a-z][a-z0-9-]{0,63}$/]
  return [
    ['claims', claims, /^\/[^*]*\*?$/],
    ['unavailable', unavailable ? [unavailable.code] : [], /./],
    ['systemSettings', systemSettings, word],
    ['hubSettings', keys(definition.hubSettings), word],
    ['programs', keys(programs), word],
    ['programs', folders, dashed],
    ['serverFields', keys(definition.serverFields), dashed],
    ['attachedSettings', keys(definition.attachedSettings), word],
    ['healthChecks', keys(definition.healthChecks), word],
    ['metrics', keys(definition.metrics), /^[a-z][a-z0-9_]{0,63}$/],
    ['logComponents', logComponents, dashed],
    ['commands', keys(definition.commands), dashed],
    ['leftBehind', keys(definition.leftBehind), word],
  ]
}

/** Throws Error for a contribution whose id the definition must name, and does not. */
export function requireDeclared(definition: Definition | undefined, point: string, id: string): void {
  const part = DECLARED[point]
  if (part === undefined || Object.hasOwn(definition?.[part] ?? {}, id)) return
  throw new Error(`its contribution "${id}" to "${point}" is not named in "${part}" of its definition`)
}

/** Points whose contributions are described before the plugin runs, and the member of the definition that does. */
const DECLARED: Readonly<Record<string, 'healthChecks' | 'metrics' | undefined>> = {
  healthCheck: 'healthChecks',
  metric: 'metrics',
}

/** Returns what a setup returned. Throws Error for what is no function. */
export function checkedCleanup(returned: unknown): Cleanup {
  if (returned === undefined || returned === null) return undefined
  if (typeof returned === 'function') return returned as Cleanup
  throw new Error(`its setup returned ${typeof returned} instead of nothing or a function that ends it`)
}

/** Each variable has a member of the configuration. A schema that cannot be written as JSON Schema may have any. */
function checkVariables({ variables = {}, config }: Definition): void {
  const { properties } = (config ? writtenConfig(config) : { properties: {} }) ?? {}
  if (!isJsonObject(properties)) return
  for (const [variable, member] of Object.entries(variables))
    if (!Object.hasOwn(properties, member))
      throw new Error(
        `its variable "${variable}" is for "${String(member).slice(0, 80)}", which "config" does not have`,
      )
}

function writtenConfig(config: NonNullable<Definition['config']>): { readonly properties?: unknown } | undefined {
  try {
    const written: unknown = config['~standard'].jsonSchema?.input({ target: 'draft-2020-12' })
    return isJsonObject(written) ? written : undefined
  } catch {
    return undefined
  }
}

function checkAudiences(events: NonNullable<Definition['events']>): void {
  for (const [event, { audience }] of Object.entries(events))
    if (audience !== 'owner' && audience !== 'public')
      throw new Error(`its event "${event}" has the audience "${String(audience).slice(0, 80)}": "owner" or "public"`)
}

function checkErrors(errors: NonNullable<Definition['errors']>): void {
  for (const [code, { status, title, remedy }] of Object.entries(errors)) {
    if (Object.hasOwn(ERROR_CODES, code))
      throw new Error(`"errors" of its definition has "${code}", which is a code of the hub`)
    const isWhole = Number.isInteger(status) && status >= 400 && status <= 599
    if (!isWhole || !title || !remedy || remedy.length > 160)
      throw new Error(
        `its error "${code}" needs a status of 400 to 599, a title, and a remedy of at most 160 characters`,
      )
  }
}

function checkWords(words: Definition['words'] = {}): void {
  const texts = Object.entries(words).flat()
  if (texts.length > 2 * MOST_WORDS) throw new Error(`its "words" are more than ${MOST_WORDS}`)
  const wrong = texts.find(text => typeof text !== 'string' || text.length > MOST_WORD_CHARACTERS)
  if (wrong === undefined) return
  const shown = String(wrong).slice(0, 80)
  throw new Error(`its "words" have "${shown}…", which is no text of at most ${MOST_WORD_CHARACTERS} characters`)
}

function wanted(part: string, names: readonly string[], form: RegExp): void {
  if (!Array.isArray(names)) throw new Error(`"${part}" of its definition is no list`)
  const wrong = names.find(each => !form.test(each))
  if (wrong !== undefined)
    throw new Error(`"${part}" of its definition has "${wrong.slice(0, 80)}", which is not of the form ${form.source}`)
}
