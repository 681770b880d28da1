import type { FieldError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { GroupRecord, Visibility } from '../contract/records.ts'
import type { GroupInstructions } from '../features/groups.ts'
import { GROUP_FIELDS, GROUP_TABLE, MEMBER_FIELDS, MEMBER_TABLE, type MemberInput } from './group-fields.ts'
import { type SelectorInput, selectorBodyOf } from './groups/selector.ts'
import { readTable } from './json/field-table.ts'
import { Fields } from './json/fields.ts'
import { nameKey } from './names.ts'
import { validationError } from './validation-error.ts'

export type { MemberInput } from './group-fields.ts'

/** Members of a response, which a body may repeat. */
const ANSWER_FIELDS = [
  'id',
  'ref',
  'revision',
  'createdAt',
  'updatedAt',
  'origin',
  'endpoint',
  'role',
  'status',
  'tokens',
  'warnings',
  'tools',
]
/** A valid body with the defaults filled in; absent `owner`: the caller. */
export interface ParsedGroupBody {
  readonly name: string
  readonly description?: string
  readonly owner?: string
  readonly visibility: Visibility
  readonly naming: 'auto' | 'prefixed'
  readonly resultLimitBytes?: number
  readonly instructions?: GroupInstructions
  readonly tags?: readonly string[]
  readonly selector?: SelectorInput
  readonly members: readonly MemberInput[]
}

/** Parses a whole body. Throws `validation_failed` with all invalid fields (at most 50). */
export function parseGroupBody(
  body: JsonObject,
  options: { unknownFields?: 'refuse' | 'ignore' } = {},
): ParsedGroupBody {
  const errors: FieldError[] = []
  const parsed = readGroupBody(body, errors, options)
  if (!parsed) throw validationError(errors, 'The group cannot be saved')
  return parsed
}

/** The same, but adds problems to `errors`. Undefined when there are any. */
export function readGroupBody(
  body: JsonObject,
  errors: FieldError[],
  options: { unknownFields?: 'refuse' | 'ignore' } = {},
): ParsedGroupBody | undefined {
  const fields = new Fields(body, '#', errors)
  if (options.unknownFields !== 'ignore') fields.refuseUnknown([...GROUP_FIELDS, ...ANSWER_FIELDS])
  const { name, resultLimit, ...rest } = readTable(GROUP_TABLE, fields)
  if (errors.length > 0 || name === undefined) return undefined
  return { name, ...rest, ...(resultLimit === undefined ? {} : { resultLimitBytes: resultLimit }) }
}

/** Parses one member without its server, the body of `PUT …/members/{server}`. Throws `validation_failed`. */
export function parseMemberBody(server: string, body: JsonObject): MemberInput {
  const errors: FieldError[] = []
  const fields = new Fields(body, '#', errors)
  fields.refuseUnknown(MEMBER_FIELDS)
  const member = { server, pointer: '#', ...readTable(MEMBER_TABLE, fields) }
  if (errors.length > 0) throw validationError(errors, 'The member cannot be saved')
  return member
}

/** The body of a group, in the form that {@link parseGroupBody} accepts. */
export function groupBodyOf(group: GroupRecord): JsonObject {
  const selector = selectorBodyOf(group)
  return {
    name: group.name,
    ...(group.description === undefined ? {} : { description: group.description }),
    ...(group.instructions === undefined ? {} : { instructions: { ...group.instructions } }),
    ...(group.tags === undefined ? {} : { tags: [...group.tags] }),
    visibility: group.visibility,
    naming: group.naming,
    members: group.members.map(member => ({
      server: member.serverRef,
      ...(member.alias === undefined ? {} : { alias: member.alias }),
      tools: member.tools === 'all' ? 'all' : member.tools.map(tool => structuredClone(tool) as unknown as JsonObject),
      prompts: member.prompts === 'all' ? 'all' : [...member.prompts],
      resources: member.resources === 'all' ? 'all' : [...member.resources],
    })),
    ...(selector === undefined ? {} : { selector }),
    ...(group.resultLimitBytes === undefined ? {} : { resultLimit: group.resultLimitBytes }),
  }
}

/** An alias that two members share, compared case-folded. */
export function sharedAlias(members: readonly { readonly alias?: string }[]): string | undefined {
  const seen = new Set<string>()
  for (const { alias } of members) {
    if (alias === undefined) continue
    const key = nameKey(alias)
    if (seen.has(key)) return alias
    seen.add(key)
  }
  return undefined
}
