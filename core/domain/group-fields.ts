import type { FieldError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { MemberTool, Visibility } from '../contract/records.ts'
import { canonical } from './json/canonical-json.ts'
import { Fields } from './json/fields.ts'
import { checkName, isNameProblem } from './names.ts'
import {
  ARGUMENTS_SCHEMA,
  allOrArray,
  readArguments,
  readNames,
  readToolName,
  rejectDuplicates,
} from './server/tool-override.ts'

const LARGEST_RESULT_BYTES = 2 ** 30

/** One field of a body: what the validator reads and what the API document says. */
export interface BodyField<T> {
  /** JSON Schema, with the description for the API document. */
  readonly schema: JsonObject
  /** Undefined where the field is absent or invalid; problems are added to `fields`. */
  readonly read: (fields: Fields) => T | undefined
}

type BodyTable = Readonly<Record<string, BodyField<unknown>>>
type Read<Field> = Field extends BodyField<infer T> ? T : never
type Always<Table extends BodyTable> = {
  [Name in keyof Table]: undefined extends ReturnType<Table[Name]['read']> ? never : Name
}[keyof Table]

/** The values of a table's fields: those that have a default are always present. */
export type BodyValues<Table extends BodyTable> = { readonly [Name in Always<Table>]: Read<Table[Name]> } & {
  readonly [Name in Exclude<keyof Table, Always<Table>>]?: NonNullable<ReturnType<Table[Name]['read']>>
}

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

/** Reads all fields of a table; absent values are left out. */
export function readTable<Table extends BodyTable>(table: Table, fields: Fields): BodyValues<Table> {
  const values = Object.entries(table).map(([name, { read }]) => [name, read(fields)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as BodyValues<Table>
}

const NAMES = {
  anyOf: [
    { type: 'string', const: 'all' },
    { type: 'array', items: { type: 'string' } },
  ],
}
const TOOL = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    as: { type: 'string' },
    description: { type: 'string' },
    arguments: ARGUMENTS_SCHEMA,
  },
  required: ['name'],
}

/** The fields of a group's member, besides its server. */
export const MEMBER_TABLE = {
  alias: {
    schema: { type: 'string', description: 'Stands for the server’s name where tool names are prefixed' },
    read: (fields: Fields) => (fields.has('alias') ? readName(fields, 'alias', 'alias') : undefined),
  },
  tools: {
    schema: {
      anyOf: [
        { type: 'string', const: 'all' },
        { type: 'array', items: { anyOf: [{ type: 'string' }, TOOL] } },
      ],
    },
    read: readTools,
  },
  prompts: { schema: NAMES, read: (fields: Fields) => readNames(fields, 'prompts') },
  resources: { schema: NAMES, read: (fields: Fields) => readNames(fields, 'resources') },
} satisfies BodyTable

/** The names of {@link MEMBER_TABLE}. */
export const MEMBER_FIELDS: readonly string[] = Object.keys(MEMBER_TABLE)

/** The fields of a group's body, in the order in which they are validated. */
export const GROUP_TABLE = {
  name: {
    schema: { type: 'string', description: '1 to 64 characters; no `/ ~ :` or controls' },
    read: (fields: Fields) => (fields.required('name') ? readName(fields, 'group', 'name') : undefined),
  },
  description: { schema: { type: 'string' }, read: (fields: Fields) => fields.text('description') },
  owner: {
    schema: { type: 'string', description: 'Administrators only; default is the caller' },
    read: (fields: Fields) => fields.string('owner'),
  },
  visibility: {
    schema: { type: 'string', enum: ['private', 'public'] },
    read: (fields: Fields): Visibility => fields.oneOf('visibility', ['private', 'public']) ?? 'private',
  },
  naming: {
    schema: { type: 'string', enum: ['auto', 'prefixed'] },
    read: (fields: Fields): 'auto' | 'prefixed' => fields.oneOf('naming', ['auto', 'prefixed']) ?? 'auto',
  },
  resultLimit: {
    schema: { type: 'integer', minimum: 1, maximum: LARGEST_RESULT_BYTES, description: 'Bytes' },
    read: (fields: Fields) => fields.integer('resultLimit', 1, LARGEST_RESULT_BYTES, 'bytes'),
  },
  members: {
    schema: {
      type: 'array',
      items: {
        anyOf: [
          { type: 'string' },
          {
            type: 'object',
            properties: { ...schemasOf(MEMBER_TABLE), server: { type: 'string' } },
            required: ['server'],
          },
        ],
      },
      description: 'A server’s `name` or `owner~name`, or an object with more about it',
    },
    read: readMembers,
  },
} satisfies BodyTable

/** The name of `members` in settings files of other hubs. */
const SERVERS: JsonObject = {
  type: 'array',
  items: {},
  description: 'Another name of `members`, as the settings of other hubs have it',
}

/** Every field of a group's body. */
export const GROUP_FIELDS: readonly string[] = [...Object.keys(GROUP_TABLE), 'servers']

/** The JSON Schema of each field of a group's body, by name. */
export const GROUP_SCHEMAS: Readonly<Record<string, JsonObject>> = { ...schemasOf(GROUP_TABLE), servers: SERVERS }

/** The JSON Schema of each field of a table, by name. */
export function schemasOf(table: BodyTable): Record<string, JsonObject> {
  return Object.fromEntries(Object.entries(table).map(([name, { schema }]) => [name, schema]))
}

function readName(fields: Fields, kind: 'group' | 'alias', field: string): string | undefined {
  const checked = checkName(kind, fields.raw(field))
  return isNameProblem(checked) ? fields.problem(field, checked.code, checked.detail) : checked.name
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
  fields.refuseUnknown(['server', 'name', ...MEMBER_FIELDS])
  const field = fields.has('server') || !fields.has('name') ? 'server' : 'name'
  if (!fields.required(field)) return undefined
  const server = fields.string(field)
  const parts = readTable(MEMBER_TABLE, fields)
  return server === undefined ? undefined : { server, pointer: fields.pointer(field), ...parts }
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
