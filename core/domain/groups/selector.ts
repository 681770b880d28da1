import type { JsonObject } from '../../contract/json.ts'
import type { GroupMember, GroupRecord } from '../../contract/records.ts'
import type { GroupSelector } from '../../features/groups.ts'
import { type Fields, STRING_BYTES } from '../json/fields.ts'
import { quoteName } from '../names.ts'
import { hasHidden } from '../text/visible-text.ts'

/** Most members that one selector chooses from. */
const VALUE_COUNT = 500
/** Longest value, in code points. */
const VALUE_CHARACTERS = 64
/** The names that APIs of models take for a property. */
const ARGUMENT = /^[A-Za-z0-9_.-]{1,64}$/
const TEXT: JsonObject = { type: 'string', maxLength: STRING_BYTES }

/** A selector as in the body; its references are not resolved yet. */
export interface SelectorInput extends GroupSelector {
  readonly members: readonly SelectedMember[]
}

/** A value of the argument, and the member that it chooses. */
export interface SelectedMember {
  readonly value: string
  /** `name` or `owner~name`. */
  readonly server: string
  /** The reference's position in the body. */
  readonly pointer: string
}

/** JSON Schema of a group's `selector`. */
export const SELECTOR_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    argument: {
      ...{ type: 'string', pattern: ARGUMENT.source, maxLength: 64 },
      description: 'Name of the argument that every tool and prompt of these members gets.',
    },
    members: {
      ...{ type: 'object', additionalProperties: TEXT, minProperties: 1, maxProperties: VALUE_COUNT },
      description: 'The members by the value that chooses each: `name` or `owner~name`.',
    },
    default: { ...TEXT, description: 'The value that applies where a caller leaves the argument out.' },
    description: { ...TEXT, description: 'Stands for the hub’s own description of the argument.' },
  },
  required: ['argument', 'members'],
  description: 'Members with the same tools, offered as one set of tools with an argument that chooses the member.',
}

/** Parses `selector`. */
export function readSelector(fields: Fields): SelectorInput | undefined {
  const block = fields.nested('selector')
  if (!block) return undefined
  block.refuseUnknown(['argument', 'members', 'default', 'description'])
  const argument = block.required('argument') ? readArgument(block) : undefined
  const members = block.required('members') ? readMembers(block) : []
  const preset = block.string('default')
  const description = block.text('description')
  if (preset !== undefined && members.length > 0 && !members.some(({ value }) => value === preset)) {
    const known = members.slice(0, 20).map(({ value }) => quoteName(value))
    block.problem('default', 'enum', `"default" is ${quoteName(preset)}; it must be one of ${known.join(', ')}`)
  }
  if (argument === undefined) return undefined
  return {
    ...{ argument, members },
    ...(preset === undefined ? {} : { default: preset }),
    ...(description === undefined ? {} : { description }),
  }
}

function readArgument(block: Fields): string | undefined {
  const name = block.string('argument')
  if (name === undefined || (ARGUMENT.test(name) && name !== '__proto__')) return name
  return block.problem('argument', 'format', `${quoteName(name)} is not 1 to 64 letters, digits, "_", "-" and "."`)
}

function readMembers(block: Fields): SelectedMember[] {
  if (!block.atMost('members', VALUE_COUNT)) return []
  const members = block.nested('members')
  const values = members?.names() ?? []
  if (members && values.length === 0) block.problem('members', 'length', '"members" of a selector names no member')
  return values.flatMap(value => {
    const server = members?.string(value)
    if (!members || server === undefined) return []
    if (!isValue(value)) {
      members.problem(
        value,
        'format',
        `The value ${quoteName(value)} is not 1 to ${VALUE_CHARACTERS} visible characters`,
      )
      return []
    }
    return [{ value, server, pointer: members.pointer(value) }]
  })
}

function isValue(value: string): boolean {
  const isShort = value.length <= 2 * VALUE_CHARACTERS && [...value].length <= VALUE_CHARACTERS
  return isShort && value.trim() === value && value !== '' && value !== '__proto__' && !hasHidden(value)
}

/** The `selector` of a group's body; undefined when the reader of the body sees none of its members. */
export function selectorBodyOf({
  selector,
  members,
}: Pick<GroupRecord, 'selector' | 'members'>): JsonObject | undefined {
  const selected = members.filter(isSelected)
  if (!selector || selected.length === 0) return undefined
  const { argument, description, default: preset } = selector
  return {
    argument,
    members: Object.fromEntries(selected.map(({ selectedBy, serverRef }) => [selectedBy, serverRef])),
    ...(selected.some(({ selectedBy }) => selectedBy === preset) && preset !== undefined ? { default: preset } : {}),
    ...(description === undefined ? {} : { description }),
  }
}

function isSelected(member: GroupMember): member is GroupMember & { readonly selectedBy: string } {
  return member.selectedBy !== undefined
}
