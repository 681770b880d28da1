import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import type { BodyText } from './bodies.ts'
import type { Discriminators } from './kinds.ts'
import { type Operation, shownOperation } from './operations.ts'
import type { Parameter, ParameterText } from './parameters.ts'
import { CannotBuild, type References } from './references.ts'
import type { Responses } from './responses.ts'
import { cut } from './schema-keywords.ts'
import { SchemaWriter, TooMuch } from './schema-writer.ts'

const MAX_DESCRIPTION = 4_000
/** An input that is longer than this after references are inlined is written with references instead. */
const INLINED_BYTES = 8 * 1024
/** Bytes of an input above which it is written without its alternatives. */
const KINDS_BYTES = 64 * 1024
const OUTPUT_BYTES = 8 * 1024
/** Most values of an output schema; more would exceed its limit in bytes. */
const OUTPUT_NODES = 1_500

/** Parts of one operation for `toolDefinition`. */
export interface ToolParts {
  readonly name: string
  readonly operation: Operation
  readonly parameters: readonly (readonly [Parameter, ParameterText])[]
  readonly body: (BodyText & { readonly required: boolean }) | undefined
  readonly responses: Responses
  readonly references: References
  readonly budget: { nodes: number }
  /** Undefined if the document has no discriminator. `budget` is only for them. */
  readonly kinds: { readonly discriminators: Discriminators; readonly budget: { nodes: number } } | undefined
}

/** The definition of one tool. Throws CannotBuild when its schemas cannot be written. */
export function toolDefinition(parts: ToolParts): JsonObject & { readonly inputSchema: JsonObject } {
  const { name, operation } = parts
  const outputSchema = outputOf(parts)
  return {
    name,
    description: describe(operation),
    inputSchema: inputSchema(parts),
    ...(outputSchema ? { outputSchema } : {}),
    annotations: annotationsOf(operation),
  }
}

function describe(operation: Operation): string {
  const { description, summary, deprecated } = operation.definition
  const found = [description, summary].find(text => typeof text === 'string' && text.trim() !== '')
  const shown = typeof found === 'string' ? cut(found.trim(), MAX_DESCRIPTION) : undefined
  return [
    ...(deprecated === true ? ['Deprecated.'] : []),
    ...(shown === undefined ? [] : [shown]),
    shownOperation(operation),
  ].join('\n\n')
}

function annotationsOf({ method, definition: { summary } }: Operation): JsonObject {
  return {
    ...(typeof summary === 'string' && summary.trim() !== '' ? { title: cut(summary.trim(), 200) } : {}),
    readOnlyHint: method === 'get' || method === 'head',
    ...(method === 'put' || method === 'delete' ? { idempotentHint: true } : {}),
    ...(method === 'delete' ? { destructiveHint: true } : {}),
    openWorldHint: true,
  }
}

/** With the kinds of schemas that have a discriminator, unless they make it too long. */
function inputSchema(parts: ToolParts): JsonObject {
  const { kinds, ...rest } = parts
  if (kinds) {
    try {
      const schema = smaller({ ...parts, budget: kinds.budget })
      if (JSON.stringify(schema).length <= KINDS_BYTES) return schema
    } catch (error) {
      // It is too large, or a kind refers to a missing part of the document.
      if (!(error instanceof CannotBuild)) throw error
    }
  }
  return smaller({ ...rest, kinds: undefined })
}

/** Most clients understand inlined schemas best, as long as they are short. */
function smaller(parts: ToolParts): JsonObject {
  let inlined: JsonObject | undefined
  try {
    const written = inputOf(parts, 'inlined')
    inlined = written.schema
    if (!written.referred || JSON.stringify(inlined).length <= INLINED_BYTES) return inlined
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error
  }
  const { schema: shared } = inputOf(parts, 'shared')
  return inlined && JSON.stringify(inlined).length <= JSON.stringify(shared).length ? inlined : shared
}

function inputOf(
  parts: ToolParts,
  mode: 'inlined' | 'shared',
): { readonly schema: JsonObject; readonly referred: boolean } {
  const { references, budget, kinds } = parts
  const discriminators = kinds?.discriminators
  const writer = new SchemaWriter(references, { mode, direction: 'input', budget, discriminators })
  const properties: JsonObject = {}
  const required: string[] = []
  const add = (
    name: string,
    schema: JsonValue | undefined,
    description: string | undefined,
    isRequired: boolean,
  ): void => {
    const written = writer.write(schema)
    const object = typeof written === 'boolean' ? {} : written
    properties[name] = description === undefined ? object : { ...object, description: cut(description, 2_000) }
    if (isRequired) required.push(name)
  }
  for (const [parameter, { schema, description, deprecated }] of parts.parameters) {
    add(
      parameter.argument,
      schema,
      deprecated ? `Deprecated. ${description ?? ''}`.trim() : description,
      parameter.required,
    )
  }
  if (parts.body) add('body', parts.body.schema, parts.body.description, parts.body.required)
  const definitions = writer.definitions()
  return {
    schema: {
      type: 'object',
      properties,
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
      ...(definitions ? { $defs: definitions } : {}),
    },
    referred: writer.referred,
  }
}

/**
 * The schema of the first success in JSON, where every success is such an object: clients reject a result without the
 * structured content that a tool has declared.
 */
function outputOf({ responses, references }: ToolParts): JsonObject | undefined {
  const schemas = responses
    .filter(([status]) => /^2(?:\d\d|XX)$/i.test(status))
    .map(([, response]) => jsonSchemaOf(response, references))
  if (schemas[0] === undefined || schemas.includes(undefined)) return undefined
  try {
    // A schema that is too long to be sent need not be completed.
    const writer = new SchemaWriter(references, {
      mode: 'inlined',
      direction: 'output',
      budget: { nodes: OUTPUT_NODES },
    })
    const root = writer.write(references.follow(schemas[0]))
    const definitions = writer.definitions()
    if (typeof root === 'boolean') return undefined
    const schema: JsonObject = { ...root, type: 'object', ...(definitions ? { $defs: definitions } : {}) }
    return JSON.stringify(schema).length <= OUTPUT_BYTES ? schema : undefined
  } catch (error) {
    // An output schema is optional.
    if (error instanceof TooMuch) return undefined
    throw error
  }
}

/** The schema of a response that is always a JSON object. */
function jsonSchemaOf(response: JsonObject | undefined, references: References): JsonValue | undefined {
  const content = isJsonObject(response?.content) ? Object.entries(response.content) : []
  const isJson = ([type]: [string, JsonValue]): boolean => /^(?:application|text)\/(?:[\w.+-]+\+)?json\b/i.test(type)
  if (content.length === 0 || !content.every(isJson)) return undefined
  const media = references.follow(content[0]?.[1])
  const schema = references.follow(media?.schema)
  return schema && isObjectSchema(schema) ? media?.schema : undefined
}

function isObjectSchema({ type, nullable, properties }: JsonObject): boolean {
  if (nullable === true) return false
  if (Array.isArray(type)) return type.length === 1 && type[0] === 'object'
  return type === 'object' || (type === undefined && isJsonObject(properties))
}
