import type { JsonObject } from '../../contract/json.ts'
import { readTags, TAGS_SCHEMA } from '../groups/tags.ts'
import { schemasOf } from '../json/field-table.ts'
import { type Fields, STRING_BYTES } from '../json/fields.ts'
import { checkName, isNameProblem, NAME_CHARACTERS } from '../names.ts'
import { RESULT_BYTES } from '../result-bytes.ts'
import { checkPassthroughHeader, HEADER_COUNT } from './address.ts'
import {
  HEALTH_CHECK_SCHEMA,
  LONGEST_TIMEOUT_MS,
  LONGEST_TIMER_MS,
  milliseconds,
  readHealthCheck,
} from './health-check.ts'
import { NAMES_SCHEMA, readNames, readToolOverrides, TOOL_OVERRIDES_SCHEMA } from './tool-override.ts'
import { VARIABLE_COUNT } from './variables.ts'

/** Secrets per server: each is sealed, opened at each start, and searched for in everything that the server writes. */
export const SECRET_COUNT = 1_000

/** Default of `timeout`: the default request timeout of the MCP SDK. */
const DEFAULT_TIMEOUT_MS = 60_000
/** Default of `maxTimeout`, in milliseconds, where `timeout` is not longer. */
export const DEFAULT_MAX_TIMEOUT_MS = 600_000
const LONGEST_MAX_TIMEOUT_MS = 86_400_000
/** Longest `startTimeout`, in milliseconds, and the most to which the hub extends the deadline of a start by itself. */
export const LONGEST_START_MS = 600_000
/** Default of `idleTimeout` for servers that start lazily, in milliseconds. */
export const DEFAULT_LAZY_IDLE_MS = 300_000

const SESSION_SCOPES = ['auto', 'shared', 'per-session', 'per-user'] as const
const OUTPUT_SCHEMAS = ['strict', 'loose', 'off'] as const
const ERAS = ['auto', 'legacy', 'modern'] as const
const VARIABLE_NAME = '^[A-Za-z_][A-Za-z0-9_.-]{0,127}$'

const LOGGING_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    callErrors: {
      ...{ type: 'boolean', default: true },
      description: 'Whether records of failed calls hold the first 500 characters of the error.',
    },
  },
  description: 'What the log holds of the calls of the server.',
}
const TEXT: JsonObject = { type: 'string', maxLength: STRING_BYTES }
/**
 * The fields of every server, whatever its transport, in the order in which they are validated. The API document, the reader of
 * the settings file and the forms use it as well.
 */
export const SERVER_TABLE = {
  name: {
    schema: {
      ...{ type: 'string', minLength: 1, maxLength: NAME_CHARACTERS },
      description: 'Unique among its owner’s servers; 1 to 64 characters, no `/ ~ :` or controls.',
    },
    read: readName,
  },
  description: {
    schema: { ...TEXT, description: 'What the server is for, as people and the smart group read it.' },
    read: (fields: Fields) => fields.text('description'),
  },
  tags: {
    schema: { ...TAGS_SCHEMA, description: 'Words by which people and rules find the server; letter case is ignored.' },
    read: readTags,
  },
  variables: {
    schema: {
      type: 'object',
      propertyNames: { type: 'string', pattern: VARIABLE_NAME },
      additionalProperties: TEXT,
      maxProperties: VARIABLE_COUNT,
      default: {},
      description: 'Values by name, which stand for `$` and the name in braces in other fields.',
    },
    read: readVariables,
  },
  timeout: {
    schema: {
      ...milliseconds(1, LONGEST_TIMEOUT_MS),
      default: DEFAULT_TIMEOUT_MS,
      description: 'Milliseconds that one request may take.',
    },
    read: (fields: Fields) => fields.integer('timeout', 1, LONGEST_TIMEOUT_MS, 'milliseconds') ?? DEFAULT_TIMEOUT_MS,
  },
  maxTimeout: {
    schema: {
      ...milliseconds(1, LONGEST_MAX_TIMEOUT_MS),
      description: 'Milliseconds to which progress extends a request; by default the larger of `timeout` and 600,000.',
    },
    read: (fields: Fields) => fields.integer('maxTimeout', 1, LONGEST_MAX_TIMEOUT_MS, 'milliseconds'),
  },
  startTimeout: {
    schema: {
      ...milliseconds(1, LONGEST_START_MS),
      description:
        'Milliseconds from a start to the end of the handshake; by default the hub’s `START_TIMEOUT`. Installing packages for the first time does not count.',
    },
    read: (fields: Fields) => fields.integer('startTimeout', 1, LONGEST_START_MS, 'milliseconds'),
  },
  maxResultBytes: {
    schema: {
      ...{ type: 'integer', minimum: RESULT_BYTES.least, maximum: RESULT_BYTES.most, default: RESULT_BYTES.usual },
      description: 'Bytes of the longest message that the server may send.',
    },
    read: (fields: Fields) =>
      unless(RESULT_BYTES.usual, fields.integer('maxResultBytes', RESULT_BYTES.least, RESULT_BYTES.most, 'bytes')),
  },
  visibility: {
    schema: {
      ...{ type: 'string', enum: ['private', 'public'], default: 'private' },
      description: '`public`: every signed-in user may use the server, and does not see its configuration.',
    },
    read: (fields: Fields) => fields.oneOf('visibility', ['private', 'public']) ?? 'private',
  },
  enabled: {
    schema: { type: 'boolean', default: true, description: 'Whether the hub runs or connects to the server.' },
    read: readEnabled,
  },
  session: {
    schema: {
      ...{ type: 'string', enum: [...SESSION_SCOPES], default: 'auto' },
      description: 'Who shares a connection to the server; `auto` follows from what the server asks of clients.',
    },
    read: (fields: Fields) => fields.oneOf('session', SESSION_SCOPES),
  },
  era: {
    schema: {
      ...{ type: 'string', enum: [...ERAS], default: 'auto' },
      description:
        'MCP version toward the server: `legacy` up to 2025-11-25, `modern` 2026-07-28, `auto` as each caller.',
    },
    read: (fields: Fields) => unless('auto', fields.oneOf('era', ERAS)),
  },
  start: {
    schema: {
      ...{ type: 'string', enum: ['eager', 'lazy'], default: 'eager' },
      description: '`eager`: with the hub; `lazy`: with the first call.',
    },
    read: (fields: Fields) => fields.oneOf('start', ['eager', 'lazy']) ?? 'eager',
  },
  idleTimeout: {
    schema: {
      ...milliseconds(1, LONGEST_TIMER_MS),
      description:
        'Milliseconds without a call after which the server is stopped; by default 300,000 for lazy, never for eager.',
    },
    read: (fields: Fields) => fields.integer('idleTimeout', 1, LONGEST_TIMER_MS, 'milliseconds'),
  },
  isolate: {
    schema: {
      type: 'boolean',
      default: false,
      description: 'Whether its connections have a worker thread of their own.',
    },
    read: (fields: Fields) => fields.boolean('isolate') ?? false,
  },
  healthCheck: { schema: HEALTH_CHECK_SCHEMA, read: readHealthCheck },
  logging: { schema: LOGGING_SCHEMA, read: readLogging },
  passthroughHeaders: {
    schema: {
      ...{ type: 'array', items: { type: 'string', maxLength: 256 }, maxItems: HEADER_COUNT, default: [] },
      description: 'Names of callers’ headers that are sent on to the server.',
    },
    read: readPassthroughHeaders,
  },
  tools: { schema: TOOL_OVERRIDES_SCHEMA, read: readToolOverrides },
  toolsDefault: {
    schema: {
      ...{ type: 'string', enum: ['on', 'off'], default: 'on' },
      description: '`off`: only the tools with `enabled: true` in `tools` are offered, and none that is added later.',
    },
    read: (fields: Fields) => unless('on', fields.oneOf('toolsDefault', ['on', 'off'])),
  },
  definitionPolicy: {
    schema: {
      ...{ type: 'string', enum: ['report', 'pin'], default: 'report' },
      description: '`pin`: a tool whose definition changed is blocked until it is approved.',
    },
    read: (fields: Fields) => unless('report', fields.oneOf('definitionPolicy', ['report', 'pin'])),
  },
  outputSchemas: {
    schema: {
      ...{ type: 'string', enum: [...OUTPUT_SCHEMAS] },
      description:
        'How output schemas are listed: `strict` as the server says, `loose` so that no result violates them, `off` not at all. By default `loose` for an HTTP API, else `strict`.',
    },
    read: (fields: Fields) => fields.oneOf('outputSchemas', OUTPUT_SCHEMAS),
  },
  prompts: {
    schema: { ...NAMES_SCHEMA, description: 'Names of the prompts that are offered.' },
    read: (fields: Fields) => unless('all', readNames(fields, 'prompts')),
  },
  resources: {
    schema: { ...NAMES_SCHEMA, description: 'URIs of the resources and templates that are offered.' },
    read: (fields: Fields) => unless('all', readNames(fields, 'resources')),
  },
  owner: {
    schema: {
      ...TEXT,
      description: 'The user whose server it is; by default the caller, and for administrators to say.',
    },
    read: (fields: Fields) => fields.string('owner'),
  },
  reviewed: {
    schema: {
      ...TEXT,
      description: 'The `review.hash` that was read: by it the server gets the rights of its owner.',
    },
    read: (fields: Fields) => fields.string('reviewed'),
  },
} as const

/** Fields that are read together with others, by `readServerBody` and by the reader of `enabled`. */
const READ_WITH_OTHERS: Readonly<Record<string, JsonObject>> = {
  transport: {
    ...{ type: 'string', maxLength: 64 },
    description: 'A transport whose plugin runs, with its fields in the schema `Transport.…`; inferred when absent.',
  },
  disabled: { type: 'boolean', description: 'The opposite of `enabled`, as other clients’ settings have it.' },
  secrets: {
    ...{ type: 'array', items: { type: 'string', maxLength: STRING_BYTES }, maxItems: SECRET_COUNT },
    description: 'JSON Pointers such as `/env/API_KEY` to the values that are sealed; by default found by their names.',
  },
}

/** The JSON Schema of each field that every server has. */
export const SERVER_SCHEMAS: Readonly<Record<string, JsonObject>> = { ...schemasOf(SERVER_TABLE), ...READ_WITH_OTHERS }

/** The fields of every server, whatever its transport. */
export const COMMON_FIELDS: readonly string[] = Object.keys(SERVER_SCHEMAS)

/** Response fields that a client may send back; they are ignored. */
export const ANSWER_FIELDS: readonly string[] = [
  ...['id', 'ref', 'revision', 'createdAt', 'updatedAt', 'status', 'origin', 'problem', 'review', 'template', 'role'],
]

/** Undefined for the default, which is left out of the settings. */
function unless<T, Usual extends T>(usual: Usual, value: T | undefined): Exclude<T, Usual> | undefined {
  return value === usual ? undefined : (value as Exclude<T, Usual> | undefined)
}

function readName(fields: Fields): string | undefined {
  if (!fields.required('name')) return undefined
  const checked = checkName('server', fields.raw('name'))
  if (isNameProblem(checked)) return fields.problem('name', checked.code, checked.detail)
  return checked.name
}

function readVariables(fields: Fields): Readonly<Record<string, string>> {
  if (!fields.atMost('variables', VARIABLE_COUNT)) return {}
  const variables = fields.stringMap('variables')
  if (!variables) return {}
  const nested = fields.nested('variables')
  const pattern = new RegExp(VARIABLE_NAME)
  for (const name of Object.keys(variables)) {
    if (pattern.test(name)) nested?.text(name)
    else {
      const detail = 'The name of a variable begins with a letter or "_", and holds letters, digits, "_", "." and "-"'
      nested?.problem(name, 'format', detail)
    }
  }
  return variables
}

/** Undefined for the default, which is left out of the settings. */
function readLogging(fields: Fields): { readonly callErrors: false } | undefined {
  const block = fields.nested('logging')
  block?.refuseUnknown(['callErrors'])
  return block?.boolean('callErrors') === false ? { callErrors: false } : undefined
}

/** `disabled` is used by settings files of other programs. */
function readEnabled(fields: Fields): boolean {
  const enabled = fields.boolean('enabled')
  const disabled = fields.boolean('disabled')
  if (enabled !== undefined && disabled !== undefined && enabled === disabled) {
    fields.problem('disabled', 'ambiguous', `"enabled" and "disabled" are both ${enabled}`)
  }
  return enabled ?? !(disabled ?? false)
}

function readPassthroughHeaders(fields: Fields): readonly string[] {
  const names = fields.strings('passthroughHeaders') ?? []
  if (names.length > HEADER_COUNT) {
    const detail = `At most ${HEADER_COUNT} headers are passed on, not ${names.length}`
    fields.problem('passthroughHeaders', 'headers_too_large', detail)
    return []
  }
  for (const [index, name] of names.entries()) {
    checkPassthroughHeader(name, `${fields.pointer('passthroughHeaders')}/${index}`, error => fields.errors.push(error))
  }
  return [...new Set(names.map(name => name.toLowerCase()))]
}
