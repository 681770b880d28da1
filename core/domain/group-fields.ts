import type { FieldError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { MemberTool, Visibility } from '../contract/records.ts'
import { INSTRUCTIONS_SCHEMA, readInstructions } from './groups/instructions.ts'
import { readSelector, SELECTOR_SCHEMA } from './groups/selector.ts'
import { readTags, TAGS_SCHEMA } from './groups/tags.ts'
import { canonical } from './json/canonical-json.ts'
import { type BodyTable, readTable, schemasOf } from './json/field-table.ts'
import { Fields, STRING_BYTES } from './json/fields.ts'
import { checkName, isNameProblem, NAME_CHARACTERS } from './names.ts'
import {
  ARGUMENTS_SCHEMA,
  allOrArray,
  NAMES,
  NAMES_SCHEMA,
  readArguments,
  readNames,
  readToolName,
  rejectDuplicates,
  TOOL_CHARACTERS,
} from './server/tool-override.ts'

const LARGEST_RESULT_BYTES = 2 ** 30
/** Most members of one group. */
export const MEMBER_COUNT = 500

const NAME: JsonObject = { type: 'string', minLength: 1, maxLength: NAME_CHARACTERS }
const TEXT: JsonObject = { type: 'string', maxLength: STRING_BYTES }
const TOOL_NAME: JsonObject = { type: 'string', maxLength: TOOL_CHARACTERS }

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

const TOOL: JsonObject = {
  type: 'object',
  properties: {
    name: { ...TEXT, description: 'The tool’s original name.' },
    as: { ...TOOL_NAME, description: 'The name under which this group offers it.' },
    description: { ...TEXT, description: 'Stands for the tool’s own description in this group.' },
    arguments: ARGUMENTS_SCHEMA,
  },
  required: ['name'],
}

/** The fields of a group's member, besides its server. */
export const MEMBER_TABLE = {
  alias: {
    schema: { ...NAME, description: 'Stands for the server’s name where tool names are prefixed.' },
    read: (fields: Fields) => (fields.has('alias') ? readName(fields, 'alias', 'alias') : undefined),
  },
  tools: {
    schema: {
      anyOf: [
        { type: 'string', const: 'all' },
        { type: 'array', items: { anyOf: [TEXT, TOOL] }, maxItems: NAMES },
      ],
      default: 'all',
      description: 'The tools that the group takes of the server, by their original names.',
    },
    read: readTools,
  },
  prompts: {
    schema: { ...NAMES_SCHEMA, description: 'Names of the prompts that the group takes of the server.' },
    read: (fields: Fields) => readNames(fields, 'prompts'),
  },
  resources: {
    schema: { ...NAMES_SCHEMA, description: 'URIs of the resources and templates that the group takes of the server.' },
    read: (fields: Fields) => readNames(fields, 'resources'),
  },
} satisfies BodyTable

/** The names of {@link MEMBER_TABLE}. */
export const MEMBER_FIELDS: readonly string[] = Object.keys(MEMBER_TABLE)

/** The fields of a group's body, in the order in which they are validated. */
export const GROUP_TABLE = {
  name: {
    schema: {
      ...NAME,
      description: 'Unique among its owner’s groups; 1 to 64 characters, no `/ ~ :` or controls.',
    },
    read: (fields: Fields) => (fields.required('name') ? readName(fields, 'group', 'name') : undefined),
  },
  description: {
    schema: { ...TEXT, description: 'What the group is for, as people and the smart group read it.' },
    read: (fields: Fields) => fields.text('description'),
  },
  instructions: { schema: INSTRUCTIONS_SCHEMA, read: readInstructions },
  tags: {
    schema: { ...TAGS_SCHEMA, description: 'Words by which people and rules find the group; letter case is ignored.' },
    read: readTags,
  },
  owner: {
    schema: {
      ...TEXT,
      description: 'The user whose group it is; by default the caller, and for administrators to say.',
    },
    read: (fields: Fields) => fields.string('owner'),
  },
  visibility: {
    schema: {
      ...{ type: 'string', enum: ['private', 'public'], default: 'private' },
      description: '`public`: every signed-in user may use the group, with those of its members that are public.',
    },
    read: (fields: Fields): Visibility => fields.oneOf('visibility', ['private', 'public']) ?? 'private',
  },
  naming: {
    schema: {
      ...{ type: 'string', enum: ['auto', 'prefixed'], default: 'auto' },
      description: '`prefixed`: every tool name begins with its server’s; `auto`: only where two tools have one name.',
    },
    read: (fields: Fields): 'auto' | 'prefixed' => fields.oneOf('naming', ['auto', 'prefixed']) ?? 'auto',
  },
  resultLimit: {
    schema: {
      ...{ type: 'integer', minimum: 1, maximum: LARGEST_RESULT_BYTES },
      description: 'Bytes beyond which the results of tools are truncated; by default none.',
    },
    read: (fields: Fields) => fields.integer('resultLimit', 1, LARGEST_RESULT_BYTES, 'bytes'),
  },
  members: {
    schema: {
      type: 'array',
      items: {
        anyOf: [
          TEXT,
          {
            type: 'object',
            properties: {
              ...schemasOf(MEMBER_TABLE),
              server: { ...TEXT, description: 'The member: `name` or `owner~name`.' },
            },
            required: ['server'],
          },
        ],
      },
      ...{ maxItems: MEMBER_COUNT, default: [] },
      description: 'The servers of the group: `name` or `owner~name`, or an object with what is taken of the server.',
    },
    read: readMembers,
  },
  selector: { schema: SELECTOR_SCHEMA, read: readSelector },
} satisfies BodyTable

/** The name of `members` in settings files of other hubs. */
const SERVERS: JsonObject = {
  type: 'array',
  items: {},
  maxItems: MEMBER_COUNT,
  description: 'Another name of `members`, as the settings of other hubs have it.',
}

/** Every field of a group's body. */
export const GROUP_FIELDS: readonly string[] = [...Object.keys(GROUP_TABLE), 'servers']

/** The JSON Schema of each field of a group's body, by name. */
export const GROUP_SCHEMAS: Readonly<Record<string, JsonObject>> = { ...schemasOf(GROUP_TABLE), servers: SERVERS }

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
