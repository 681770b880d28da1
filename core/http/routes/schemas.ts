import { z } from 'zod'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { wordIn } from '../../domain/spelling/words.ts'

/** JSON of any shape from an upstream. */
export const anyJson = z.unknown() as z.ZodType<JsonValue>
/** A JSON object with any members. */
export const anyObject = z.record(z.string(), z.unknown())

/** A time in the hub's format: ISO 8601 UTC with milliseconds. */
export const timestamp = z.string().meta({ description: 'ISO 8601 UTC with milliseconds', format: 'date-time' })

/** `name` (the caller's own first) or `owner~name`. */
const ref = z.string().min(1).max(256).meta({ description: '`name`, the caller’s own first, or `owner~name`' })

/** Path parameters of one server or group. */
export const refParams = z.object({ ref })
/** Path parameters of one tool; a tool name has at most 512 characters. */
export const refToolParams = z.object({ ref, tool: z.string().min(1).max(512) })
/** Path parameters of one server in a group. */
export const refServerParams = z.object({ ref, server: ref })

/** A whole number in a query: decimal digits only, no other number syntax of JavaScript. */
export function wholeNumber(min: number, max: number) {
  const digits = z.string().transform(text => (/^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN))
  return digits.pipe(z.int().min(min).max(max))
}

/** A map of at most `most` entries, which are counted before any is read: reading thousands takes tens of milliseconds. */
export function limitedRecord<Key extends z.core.$ZodRecordKey, Value extends z.ZodType>(
  key: Key,
  value: Value,
  most: number,
) {
  const whole = z.record(key, value)
  const { $schema, ...shown } = z.toJSONSchema(whole, { io: 'input', unrepresentable: 'any' })
  const counted = z.unknown().superRefine((given, context) => {
    const count = typeof given === 'object' && given !== null ? Object.keys(given).length : 0
    if (count <= most) return
    context.addIssue({
      code: 'custom',
      message: `has ${count} entries; at most ${most} are taken`,
      params: { code: 'length' },
    })
  })
  return counted.pipe(whole).meta({ ...shown, maxProperties: most })
}

/** Paging parameters of all lists. */
export const pageFields = {
  limit: wholeNumber(1, 1000)
    .default(100)
    .meta({ description: 'Most items of the page; one of large items ends sooner, and its `limit` says where' }),
  offset: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0),
}

const SORTED = ['name', 'createdAt', 'updatedAt'] as const
const SORT_KEYS = SORTED.flatMap(key => [key, `-${key}`])

/** Sort keys of the lists of servers, groups and users. */
export const sortKey = z
  .string()
  .transform((text, context) => {
    const key = wordIn(SORTED, text.replace(/^-/, ''))
    if (key !== undefined) return text.startsWith('-') ? `-${key}` : key
    const message = `there is no sorting by ${JSON.stringify(text.slice(0, 64))}, only by ${SORT_KEYS.join(', ')}`
    context.addIssue({ code: 'custom', message, params: { code: 'sort_field' } })
    return z.NEVER
  })
  .meta({ enum: SORT_KEYS, description: 'Default `name`; `-` in front: descending' })

/** Filters that the registry applies to servers and groups. */
export const ownershipFilters = {
  scope: z.enum(['mine', 'visible', 'shared', 'all']).optional().meta({
    description:
      '`mine` (default), `visible`: also public and shared ones of others, `shared`: those that are shared with you, `all`: administrators only',
  }),
  shared: z.enum(['me']).optional().meta({ description: 'The same as `scope=shared`' }),
  owner: z.string().max(256).optional().meta({ description: 'A user’s name' }),
  q: z.string().max(256).optional().meta({ description: 'Part of name or description, letter case ignored' }),
  tag: z
    .preprocess(value => (typeof value === 'string' ? [value] : value), z.array(z.string().max(256)).max(20))
    .optional()
    .meta({ description: 'A tag, letter case ignored; given several times, all of them' }),
  sort: sortKey.optional(),
}

/** `limit` and `offset` of a list, and no other parameters. */
export const pageQuery = z.strictObject(pageFields)

/** The response of every list. `total` counts all matches, not only this page. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    total: z.number().int(),
    limit: z.number().int(),
    offset: z.number().int(),
  })
}

/** An example for {@link listOf}. */
export function exampleList(...items: readonly unknown[]) {
  return { items, total: items.length, limit: 100, offset: 0 }
}

/** `?flag=true`, as a boolean; absent is false. */
export const flag = z.enum(['true', 'false']).optional().meta({ description: '`true` or `false` (default)' })

/** An object's schema, with marks for the API document such as `x-transport-fields`. */
type BodySchema = Pick<z.core.JSONSchema.ObjectSchema, 'type' | 'properties' | 'required'> &
  Readonly<Record<`x-${string}`, boolean>>

/** A response's fields that are those of a body, by name; only the ones in `always` are always there. */
export function shownFields(schemas: Readonly<Record<string, JsonObject>>, always: readonly string[]) {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const field = z.fromJSONSchema(schema)
      return [name, always.includes(name) ? field : field.optional()]
    }),
  )
}

/**
 * A body that the registry validates, so that all invalid fields are reported at once, and in an order in which an
 * invalid body reveals nothing about another user's record. `fields` is for the API document.
 */
export function validatedByRegistry(fields: z.ZodObject | BodySchema, example: Readonly<Record<string, unknown>>) {
  const schema: z.core.JSONSchema.BaseSchema =
    fields instanceof z.ZodObject ? z.toJSONSchema(fields, { io: 'input' }) : { ...fields }
  const { $schema, additionalProperties, ...shown } = schema
  // A parsed request body is JSON already; walking up to 17 MiB again, or copying 10,000 members, would prove nothing.
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
  return z
    .unknown()
    .superRefine((input, { addIssue }) => {
      if (!isObject(input)) addIssue({ code: 'invalid_type', expected: 'object', input })
    })
    .meta({ ...shown, examples: [example] }) as unknown as z.ZodType<JsonObject>
}

/** The form that is meant, for a body that has another one. */
export const suggestion = anyObject.meta({
  description: 'The fields in the form that is meant, as a JSON Merge Patch (RFC 7396)',
})

/** An error inside a larger response: a problem body without the members of the request. */
export const problemPart = z.object({
  code: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  hint: z.string().optional(),
  errors: z
    .array(z.object({ pointer: z.string(), code: z.string(), detail: z.string(), suggestion: suggestion.optional() }))
    .optional(),
})

/** The state of a server. */
/** The role of the reader for a server or group, if anybody is signed in. */
export const ownRole = z
  .enum(['use', 'see', 'change', 'owner'])
  .optional()
  .meta({ description: 'What you may do with it; each includes the ones before' })
export const connectionState = z.enum(['online', 'connecting', 'offline'])
