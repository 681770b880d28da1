import type { FieldError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { GroupRecord, MemberTool, Visibility } from '../contract/records.ts'
import { canonical } from './json/canonical-json.ts'
import { Fields } from './json/fields.ts'
import { checkName, isNameProblem, nameKey } from './names.ts'
import { allOrArray, readArguments, readNames, readToolName, rejectDuplicates } from './server/tool-override.ts'
import { validationError } from './validation-error.ts'

const LARGEST_RESULT_BYTES = 2 ** 30
const ANSWER_FIELDS = [
  'id',
  'ref',
  'revision',
  'createdAt',
  'updatedAt',
  'origin',
  'endpoint',
  'status',
  'tokens',
  'warnings',
  'tools',
]
/** Every field of a group's body. `servers` is the name of `members` in settings files of other hubs. */
export const GROUP_FIELDS: readonly string[] = [
  'name',
  'description',
  'owner',
  'visibility',
  'naming',
  'members',
  'servers',
  'resultLimit',
] as const
const MEMBER_FIELDS = ['server', 'name', 'alias', 'tools', 'prompts', 'resources'] as const

/** A member as in the body; its reference is not resolved yet. */
export interface MemberInput {
  /** `name` or `owner~name`. */
  readonly server: string
  /** The reference's position in the body. */
  readonly pointer: string
  readonly alias?: string
  readonly tools: 'all' | readonly MemberTool[]
  readonly prompts: 'all' | readonly string[]
  readonly resources: 'all' | readonly string[]
}

/** A valid body with the defaults filled in; absent `owner`: the caller. */
export interface ParsedGroupBody {
  readonly name: string
  readonly description?: string
  readonly owner?: string
  readonly visibility: Visibility
  readonly naming: 'auto' | 'prefixed'
  readonly resultLimitBytes?: number
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
  let name: string | undefined
  if (fields.required('name')) {
    const checked = checkName('group', fields.raw('name'))
    if (isNameProblem(checked)) fields.problem('name', checked.code, checked.detail)
    else name = checked.name
  }
  const description = fields.text('description')
  const owner = fields.string('owner')
  const visibility = fields.oneOf('visibility', ['private', 'public']) ?? 'private'
  const naming = fields.oneOf('naming', ['auto', 'prefixed']) ?? 'auto'
  const resultLimitBytes = fields.integer('resultLimit', 1, LARGEST_RESULT_BYTES, 'bytes')
  const members = readMembers(fields)
  if (errors.length > 0 || name === undefined) return undefined
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...(owner === undefined ? {} : { owner }),
    visibility,
    naming,
    ...(resultLimitBytes === undefined ? {} : { resultLimitBytes }),
    members,
  }
}

/** Parses one member without its server, the body of `PUT …/members/{server}`. Throws `validation_failed`. */
export function parseMemberBody(server: string, body: JsonObject): MemberInput {
  const errors: FieldError[] = []
  const fields = new Fields(body, '#', errors)
  fields.refuseUnknown(['alias', 'tools', 'prompts', 'resources'])
  const member = { server, pointer: '#', ...readMemberParts(fields) }
  if (errors.length > 0) throw validationError(errors, 'The member cannot be saved')
  return member
}

/** The body of a group, in the form that {@link parseGroupBody} accepts. */
export function groupBodyOf(group: GroupRecord): JsonObject {
  return {
    name: group.name,
    ...(group.description === undefined ? {} : { description: group.description }),
    visibility: group.visibility,
    naming: group.naming,
    members: group.members.map(member => ({
      server: member.serverRef,
      ...(member.alias === undefined ? {} : { alias: member.alias }),
      tools: member.tools === 'all' ? 'all' : member.tools.map(tool => structuredClone(tool) as unknown as JsonObject),
      prompts: member.prompts === 'all' ? 'all' : [...member.prompts],
      resources: member.resources === 'all' ? 'all' : [...member.resources],
    })),
    ...(group.resultLimitBytes === undefined ? {} : { resultLimit: group.resultLimitBytes }),
  }
}

function readMembers(fields: Fields): readonly MemberInput[] {
  const given = fields.has('members') ? 'members' : 'servers'
  if (fields.has('members') && fields.has('servers')) {
    if (canonical(fields.raw('members') ?? null) !== canonical(fields.raw('servers') ?? null)) {
      fields.problem('servers', 'ambiguous', '"members" and "servers" say different things')
    }
  }
  return (fields.array(given) ?? []).flatMap((item, index) => {
    const member = readMember(item, `${fields.pointer(given)}/${index}`, fields.errors)
    return member ? [member] : []
  })
}

function readMember(item: JsonValue, pointer: string, errors: FieldError[]): MemberInput | undefined {
  if (typeof item === 'string') return { server: item, pointer, tools: 'all', prompts: 'all', resources: 'all' }
  if (!isJsonObject(item)) {
    errors.push({ pointer, code: 'type', detail: 'A member is a server’s name, or an object with "server"' })
    return undefined
  }
  const fields = new Fields(item, pointer, errors)
  fields.refuseUnknown(MEMBER_FIELDS)
  const field = fields.has('server') || !fields.has('name') ? 'server' : 'name'
  if (!fields.required(field)) return undefined
  const server = fields.string(field)
  const parts = readMemberParts(fields)
  return server === undefined ? undefined : { server, pointer: fields.pointer(field), ...parts }
}

function readMemberParts(fields: Fields): Omit<MemberInput, 'server' | 'pointer'> {
  let alias: string | undefined
  if (fields.has('alias')) {
    const checked = checkName('alias', fields.raw('alias'))
    if (isNameProblem(checked)) fields.problem('alias', checked.code, checked.detail)
    else alias = checked.name
  }
  return {
    ...(alias === undefined ? {} : { alias }),
    tools: readTools(fields),
    prompts: readNames(fields, 'prompts'),
    resources: readNames(fields, 'resources'),
  }
}

function readTools(fields: Fields): 'all' | readonly MemberTool[] {
  if (!fields.has('tools') || fields.raw('tools') === 'all') return 'all'
  const list = allOrArray(fields, 'tools')
  const tools = list.flatMap((item, index): MemberTool[] => {
    if (typeof item === 'string') return [{ name: item }]
    const pointer = `${fields.pointer('tools')}/${index}`
    if (!isJsonObject(item)) {
      fields.errors.push({ pointer, code: 'type', detail: 'A tool is a name, or an object with "name"' })
      return []
    }
    const tool = new Fields(item, pointer, fields.errors)
    tool.refuseUnknown(['name', 'as', 'description', 'arguments'])
    const name = tool.required('name') ? tool.string('name') : undefined
    const as = readToolName(tool, 'as')
    const description = tool.text('description')
    if (name === undefined) return []
    return [
      {
        name,
        ...(as === undefined ? {} : { as }),
        ...(description === undefined ? {} : { description }),
        ...readArguments(tool),
      },
    ]
  })
  rejectDuplicates(
    fields,
    'tools',
    tools.map(tool => tool.name),
  )
  return tools
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
