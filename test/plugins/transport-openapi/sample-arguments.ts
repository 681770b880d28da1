import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'

/** Values that a tool's input schema takes: the first that its words allow, optional members included. */
export function sampleArguments(schema: JsonObject): JsonObject {
  return sample(schema, (schema.$defs ?? {}) as JsonObject, 0) as JsonObject
}

function sample(schema: JsonValue | undefined, defs: JsonObject, depth: number): JsonValue {
  if (!isJsonObject(schema)) return 'text'
  if (typeof schema.$ref === 'string') return sample(defs[schema.$ref.slice('#/$defs/'.length)], defs, depth + 1)
  // Examples of ids in real documents are often none.
  const example = schema.format === 'uuid' ? undefined : list(schema.examples)[0]
  const [given] = [schema.const, list(schema.enum)[0], schema.default, example].filter(one => one !== undefined)
  if (given !== undefined) return given
  for (const name of ['oneOf', 'anyOf']) {
    if (list(schema[name]).length > 0) return merged(schema, sample(list(schema[name])[0], defs, depth + 1))
  }
  if (list(schema.allOf).length > 0) {
    return list(schema.allOf).reduce<JsonValue>(
      (all, one) => merged(all, sample(one, defs, depth + 1)),
      isJsonObject(schema.properties) ? members(schema, defs, depth) : {},
    )
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object' || isJsonObject(schema.properties)) return members(schema, defs, depth)
  if (type === 'array') return depth > 6 ? [] : [sample(schema.items, defs, depth + 1)]
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return number(schema)
  return text(schema)
}

function members(schema: JsonObject, defs: JsonObject, depth: number): JsonObject {
  const required = list(schema.required)
  const entries = Object.entries((schema.properties ?? {}) as JsonObject)
  const wanted = entries.filter(([name]) => required.includes(name) || depth < 4)
  return Object.fromEntries(wanted.map(([name, member]) => [name, sample(member, defs, depth + 1)]))
}

function number({ minimum, exclusiveMinimum, maximum }: JsonObject): number {
  if (typeof exclusiveMinimum === 'number') return exclusiveMinimum + 1
  if (typeof minimum === 'number') return minimum
  return typeof maximum === 'number' ? Math.min(maximum, 1) : 1
}

function text({ format, minLength, contentEncoding }: JsonObject): string {
  const formats: Record<string, string> = {
    date: '2026-11-21',
    'date-time': '2026-11-21T09:30:00Z',
    time: '09:30:00Z',
    uuid: '3fa85f64-5717-4562-b3fc-2c963f66afa6',
    email: 'ada@example.com',
    uri: 'https://example.com/a',
    url: 'https://example.com/a',
    hostname: 'example.com',
    ipv4: '192.0.2.1',
    ipv6: '2001:db8::1',
    duration: 'P1D',
    byte: 'dGV4dA==',
  }
  if (contentEncoding === 'base64') return 'dGV4dA=='
  return (formats[String(format)] ?? 'text').padEnd(Number(minLength ?? 0), 'x')
}

function merged(one: JsonValue, other: JsonValue): JsonValue {
  return isJsonObject(one) && isJsonObject(other) && one.type === undefined ? { ...one, ...other } : other
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}
