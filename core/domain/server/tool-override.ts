import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { ArgumentOverride, ToolOverride } from '../../contract/records.ts'
import type { Fields } from '../json/fields.ts'
import { kind, STRING_BYTES } from '../json/fields.ts'
import { mapStrings, pointerToken } from '../json/json-pointer.ts'
import { quoteName } from '../names.ts'
import { hasHidden, visibleName } from '../text/visible-text.ts'
import type { FillText } from './variables.ts'

/** Longest name of a tool that an override names or gives, in UTF-16 code units. */
export const TOOL_CHARACTERS = 256
const ARGUMENTS = 256
/** Limit of overrides and of allowed names per server; equals a catalogue's limit per kind. */
export const NAMES = 5_000
/** Limit of one pinned or default value, as JSON. */
const VALUE_CHARACTERS = 64 * 1024

const TEXT: JsonObject = { type: 'string', maxLength: STRING_BYTES }

/** JSON Schema of the `arguments` of a tool, for the API document. */
export const ARGUMENTS_SCHEMA: JsonObject = {
  type: 'object',
  propertyNames: { type: 'string' },
  additionalProperties: {
    type: 'object',
    properties: {
      pin: { description: 'Always sent, whatever the caller says; not in the schema.' },
      default: { description: 'Sent where the caller leaves the argument out.' },
      hidden: { type: 'boolean', default: false, description: 'Not in the schema, and not the caller’s to set.' },
      description: { ...TEXT, description: 'Stands for the argument’s own description.' },
    },
  },
  maxProperties: ARGUMENTS,
  description: 'What the hub does with arguments of the tool, by the argument’s name.',
}

/** JSON Schema of a server's `tools`. */
export const TOOL_OVERRIDES_SCHEMA: JsonObject = {
  type: 'object',
  propertyNames: { type: 'string', maxLength: TOOL_CHARACTERS },
  additionalProperties: {
    type: 'object',
    properties: {
      enabled: { type: 'boolean', description: 'Whether the tool is offered; by default what `toolsDefault` says.' },
      name: { type: 'string', maxLength: TOOL_CHARACTERS, description: 'The name under which it is offered.' },
      description: { ...TEXT, description: 'Stands for the tool’s own description.' },
      arguments: ARGUMENTS_SCHEMA,
    },
  },
  maxProperties: NAMES,
  default: {},
  description: 'What is different of single tools, by the tool’s original name.',
}

/** JSON Schema of `all` or allowed names, without a description. */
export const NAMES_SCHEMA: JsonObject = {
  anyOf: [
    { type: 'string', const: 'all' },
    { type: 'array', items: { type: 'string' }, maxItems: NAMES },
  ],
  default: 'all',
}

/** Parses a server's `tools`: overrides by original tool name, with hidden characters shown as in its list. */
export function readToolOverrides(fields: Fields): Readonly<Record<string, ToolOverride>> {
  const tools = fields.atMost('tools', NAMES) ? fields.nested('tools') : undefined
  if (!tools) return {}
  const overrides: [string, ToolOverride][] = []
  for (const original of Object.keys(fields.object('tools') ?? {})) {
    const block = tools.nested(original)
    if (!block) continue
    // `__proto__` could not be removed again through a body.
    if (original.length > TOOL_CHARACTERS || original === '__proto__') {
      tools.problem(original, 'format', `${quoteName(original)} cannot be the name of a tool`)
      continue
    }
    block.refuseUnknown(['enabled', 'name', 'description', 'arguments'])
    const enabled = block.boolean('enabled')
    const name = readToolName(block, 'name')
    const description = block.text('description')
    overrides.push([
      visibleName(original),
      {
        ...(enabled === undefined ? {} : { enabled }),
        ...(name === undefined ? {} : { name }),
        ...(description === undefined ? {} : { description }),
        ...readArguments(block),
      },
    ])
  }
  return Object.fromEntries(overrides)
}

/** The new name of a tool; made unique and valid where names are exposed. */
export function readToolName(fields: Fields, field: string): string | undefined {
  const name = fields.string(field, TOOL_CHARACTERS)
  if (name === undefined) return undefined
  if (name.trim() !== '' && !hasHidden(name)) return name
  return fields.problem(field, 'format', `${quoteName(name)} cannot be the name of a tool`)
}

/** Parses the `arguments` of a tool: `{name → {pin, default, hidden, description}}`. */
export function readArguments(tool: Fields): { readonly arguments?: Readonly<Record<string, ArgumentOverride>> } {
  const block = tool.nested('arguments')
  if (!block) return {}
  const names = Object.keys(tool.object('arguments') ?? {})
  if (names.length > ARGUMENTS) {
    tool.problem(
      'arguments',
      'length',
      `"arguments" names ${names.length} arguments; at most ${ARGUMENTS} can be shaped`,
    )
    return {}
  }
  const rules = names.flatMap(name => {
    const rule = block.nested(name)
    return rule ? [[name, readArgument(rule)] as const] : []
  })
  return { arguments: Object.fromEntries(rules) }
}

function readArgument(rule: Fields): ArgumentOverride {
  rule.refuseUnknown(['pin', 'default', 'hidden', 'description'])
  const pin = readValue(rule, 'pin')
  const preset = readValue(rule, 'default')
  const hidden = rule.boolean('hidden')
  const description = rule.text('description')
  if (pin !== undefined && preset !== undefined) {
    rule.problem('default', 'ambiguous', 'A pinned argument has no use for a default: callers cannot leave it out')
  }
  return {
    ...(pin === undefined ? {} : { pin }),
    ...(preset === undefined ? {} : { default: preset }),
    ...(hidden === undefined ? {} : { hidden }),
    ...(description === undefined ? {} : { description }),
  }
}

function readValue(rule: Fields, field: 'pin' | 'default'): JsonValue | undefined {
  const value = rule.raw(field)
  if (value === undefined || JSON.stringify(value).length <= VALUE_CHARACTERS) return value
  return rule.problem(field, 'length', `The ${kind(value)} in "${field}" is longer than ${VALUE_CHARACTERS} characters`)
}

/** Pinned arguments may contain variables, which are filled in at each call. */
export function checkPins(tools: Readonly<Record<string, ToolOverride>>, fill: FillText): void {
  for (const [tool, { arguments: rules = {} }] of Object.entries(tools))
    for (const [name, { pin }] of Object.entries(rules)) {
      if (pin === undefined) continue
      const at = `/tools/${pointerToken(tool)}/arguments/${pointerToken(name)}/pin`
      mapStrings(pin, (text, pointer) => fill(text, `#${pointer}`), at)
    }
}

/** `all`, or the allowed names, for `prompts` and `resources` of servers and members. */
export function readNames(fields: Fields, field: 'prompts' | 'resources'): 'all' | readonly string[] {
  if (!fields.has(field) || fields.raw(field) === 'all') return 'all'
  const list = allOrArray(fields, field)
  const names = list.filter(item => typeof item === 'string')
  if (names.length < list.length) fields.problem(field, 'type', `"${field}" must be "all" or an array of strings`)
  rejectDuplicates(fields, field, names)
  return names
}

/** Returns an empty list for any other value, whose problem is added to `fields`. */
export function allOrArray(fields: Fields, field: string): JsonValue[] {
  if (!fields.atMost(field, NAMES)) return []
  const value = fields.raw(field)
  if (Array.isArray(value)) return value
  if (typeof value === 'string')
    fields.problem(field, 'enum', `"${field}" is ${quoteName(value)}; it must be "all" or an array`)
  else fields.problem(field, 'type', `"${field}" must be "all" or an array`)
  return []
}

/** Adds the problem `duplicate` for each repeated name. */
export function rejectDuplicates(fields: Fields, field: string, names: readonly string[]): void {
  const seen = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) fields.problem(field, 'duplicate', `${quoteName(name)} comes twice in "${field}"`)
    seen.add(name)
  }
}
