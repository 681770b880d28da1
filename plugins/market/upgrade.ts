import { isJsonObject, type JsonObject, type JsonValue, type ServerRecord } from 'patchbay/contract'
import { type Draft, entered, fillVariant, looksMasked, pointerToken, valueAt } from 'patchbay/plugin-kit'
import { readInputs, type ShownInput, shownInput } from './inputs.ts'
import { type Choices, type Conflict, mergeFields, TEMPLATE_FIELDS } from './merge.ts'
import { hashOf, permissionsOf, warningsOf } from './plan.ts'
import type { InstalledTemplate, MarketTemplate, TemplateOrigin } from './types.ts'

/** A user's choices for changing to another version. */
export interface UpgradeWishes {
  /** Values of inputs that are new or get another value. */
  readonly inputs: Readonly<Record<string, string>>
  /** Decisions for places that both the user and the template changed. */
  readonly choices: Choices
}

/** The version to change to. */
export interface UpgradeTarget
  extends Pick<InstalledTemplate, 'version' | 'variant' | 'inputs'>,
    Pick<MarketTemplate, 'status' | 'message'> {}

/** Preview of changing a server to another version of its template. */
export interface UpgradePlan {
  readonly from: string
  readonly to: string
  /** The words of the command before and after, as in the server's configuration. Empty for a remote server. */
  readonly argvBefore: readonly string[]
  readonly argv: readonly string[]
  /** Every field that gets another value, secrets masked; null if there is none. */
  readonly changes: readonly { readonly pointer: string; readonly from: JsonValue; readonly to: JsonValue }[]
  readonly inputs: {
    readonly kept: readonly string[]
    readonly added: readonly ShownInput[]
    readonly removed: readonly string[]
  }
  /** Pointers of kept manual changes. */
  readonly kept: readonly string[]
  readonly conflicts: readonly (Conflict & { readonly choice?: 'keep' | 'take' })[]
  /** Names of required inputs without a value. */
  readonly missing: readonly string[]
  readonly warnings: readonly string[]
  readonly permissions: JsonObject
  /** True when the server is enabled, so that it reconnects with the changes. */
  readonly reconnects: boolean
}

/** A change to another version: its preview, and what it is made of. */
export interface UpgradeDraft extends Draft<UpgradePlan> {
  /** The server's new flat body; kept secrets are masks. */
  readonly body: JsonObject
  /** Facts about the template that are stored with the server afterwards. */
  readonly installed: Omit<InstalledTemplate, 'installedAt'>
}

/**
 * Returns the draft of changing `record` to `target`. `present`: its flat body, secrets masked. Fields without manual changes
 * follow the template; inputs, names of tools, time limits and all other fields stay. Throws `validation_failed` for wrong
 * inputs.
 */
export function draftUpgrade(
  record: Pick<ServerRecord, 'id' | 'revision' | 'enabled'>,
  present: JsonObject,
  origin: TemplateOrigin,
  target: UpgradeTarget,
  { inputs: given, choices }: UpgradeWishes,
): UpgradeDraft {
  const held = isJsonObject(present.variables) ? present.variables : {}
  const known = knownInputs(origin, held)
  const { values, missing } = readInputs(target.inputs, target.variant, given, known)
  const installed = fillVariant(origin.variant, origin.inputs, known, origin.variables)
  const offered = fillVariant(target.variant, target.inputs, values, origin.variables, Object.keys(held))
  const merged = mergeFields(installed.body, present, offered.body, choices)
  const fields = new Set<string>(TEMPLATE_FIELDS)
  const rest = Object.fromEntries(Object.entries(present).filter(([name]) => !fields.has(name)))
  const kept = Object.keys(offered.variables).filter(name => known.has(name) && !Object.hasOwn(given, name))
  const body = withVariables({ ...rest, ...merged.fields }, held, { origin, offered, kept })
  const added = target.inputs.filter(({ name }) => !origin.inputs.some(input => input.name === name))
  const removed = origin.inputs.filter(({ name }) => !target.inputs.some(input => input.name === name))
  const changes = changesOf(present, body)
  const shown = {
    ...{ from: origin.version, to: target.version, argvBefore: wordsOf(present), argv: wordsOf(body), changes },
    inputs: { kept, added: added.map(shownInput), removed: removed.map(({ name }) => name) },
    kept: merged.kept,
    conflicts: merged.conflicts.map(conflict => {
      const choice = choices[conflict.pointer]
      return { ...conflict, ...(choice === undefined ? {} : { choice }) }
    }),
    missing,
    warnings: warningsOf(target, target.variant),
    permissions: permissionsOf(target.variant, offered.secrets),
    reconnects: record.enabled && changes.length > 0,
  }
  const entry = { id: record.id, revision: record.revision, given, choices }
  const { version, variant, inputs } = target
  const whole = { ...entry, target: { version, variant, inputs }, body, shown }
  return {
    body,
    installed: { version, variant, inputs, variables: offered.variables },
    ...{ shown, missing, decides: [whole as unknown as JsonValue] },
  }
}

/** The inputs that the server has, by name; of secrets the mask. */
function knownInputs({ inputs, variables }: InstalledTemplate, held: JsonObject): ReadonlyMap<string, string> {
  return new Map(
    inputs.flatMap(({ name }) => {
      const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
      const value = variable !== undefined && Object.hasOwn(held, variable) ? held[variable] : undefined
      return typeof value === 'string' ? [[name, looksMasked(value) ? value : entered(value)] as const] : []
    }),
  )
}

interface Sides {
  readonly origin: TemplateOrigin
  readonly offered: ReturnType<typeof fillVariant>
  readonly kept: readonly string[]
}

/** Returns the body with the variables that are still used, new ones, and the list of secrets. */
function withVariables(body: JsonObject, held: JsonObject, { origin, offered, kept }: Sides): JsonObject {
  const ofTemplate = new Set(Object.values(origin.variables))
  const { variables: _, secrets, ...others } = body
  const text = JSON.stringify(others)
  const stay = Object.entries(held).filter(([name]) => !ofTemplate.has(name) || text.includes(`\${${name}}`))
  const keeps = new Set(kept.map(name => offered.variables[name]))
  const filled = isJsonObject(offered.body.variables) ? offered.body.variables : {}
  const wanted = Object.entries(filled).filter(([name]) => !keeps.has(name) && text.includes(`\${${name}}`))
  const variables = Object.fromEntries([...stay, ...wanted])
  const whole = { ...others, variables }
  const listed = [
    ...(Array.isArray(secrets) ? secrets : []),
    ...(Array.isArray(offered.body.secrets) ? offered.body.secrets : []),
  ]
  const present = listed.filter(pointer => typeof pointer === 'string' && typeof valueAt(whole, pointer) === 'string')
  return { ...whole, secrets: [...new Set(present)] }
}

function wordsOf({ command, args }: JsonObject): string[] {
  if (typeof command !== 'string') return []
  return [command, ...(Array.isArray(args) ? args.filter(word => typeof word === 'string') : [])]
}

const COMPARED = [...TEMPLATE_FIELDS, 'variables'] as const

/** Returns the changes, with entries of maps one by one. A secret that was entered again is shown as a mask. */
function changesOf(before: JsonObject, after: JsonObject): UpgradePlan['changes'] {
  const secrets = new Set(Array.isArray(after.secrets) ? after.secrets : [])
  const flat = (body: JsonObject): Map<string, JsonValue> =>
    new Map(
      COMPARED.flatMap((field): [string, JsonValue][] => {
        const value = body[field]
        if (value === undefined) return []
        if (!isJsonObject(value)) return [[`/${field}`, value]]
        return Object.entries(value).map(([name, item]) => [`/${field}/${pointerToken(name)}`, item])
      }),
    )
  const [one, two] = [flat(before), flat(after)]
  const shown = (pointer: string, value: JsonValue | undefined): JsonValue =>
    typeof value === 'string' && secrets.has(pointer) && !looksMasked(value) ? '••••' : (value ?? null)
  return [...new Set([...one.keys(), ...two.keys()])]
    .filter(pointer => hashOf(one.get(pointer) ?? null) !== hashOf(two.get(pointer) ?? null))
    .map(pointer => ({ pointer, from: shown(pointer, one.get(pointer)), to: shown(pointer, two.get(pointer)) }))
}
