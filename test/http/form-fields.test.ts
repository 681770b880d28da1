// Sources of the forms: the schemas of the API document, and the schemas of the bundled plugins, with a title and a sentence
// in English and in Chinese for each field.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'

// biome-ignore lint/suspicious/noExplicitAny: schemas as the document has them
type Schema = any

let hub: Hub
let admin: Client
let document: Schema

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  document = (await admin.request('GET', '/api/openapi.json')).json
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

function bodyOf(path: string): Schema {
  return document.paths[path].post.requestBody.content['application/json'].schema
}

/** Every field below a schema, by its path. Values of any shape (a pinned argument) end the way. */
function fieldsOf(schema: Schema, at: string): [path: string, field: Schema][] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, Schema][] => [
    [`${at}/${name}`, field],
    ...fieldsOf(field, `${at}/${name}`),
  ])
  const inner = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? [])].filter(
    part => typeof part === 'object' && part !== null,
  )
  return [...own, ...inner.flatMap(part => fieldsOf(part, `${at}/*`))]
}

/** Parts of a field's schema that a form needs and does not find. */
function lacks(schema: Schema, { described = true } = {}): string[] {
  const missing: string[] = []
  if (described && !/^\S.{5,200}\.$/.test(schema.description ?? '')) missing.push('description')
  if (schema.enum !== undefined || schema.const !== undefined || schema.format === 'openapi') return missing
  if (schema.anyOf !== undefined)
    return [...missing, ...schema.anyOf.flatMap((part: Schema) => lacks(part, { described: false }))]
  const limits: Record<string, readonly string[]> = {
    string: ['maxLength', 'format'],
    integer: ['maximum'],
    array: ['maxItems'],
    object: ['maxProperties', 'properties', 'additionalProperties', 'format'],
    number: ['type'],
    boolean: described ? ['default', 'type'] : ['type'],
  }
  const wanted = limits[[schema.type].flat()[0]]
  if (!wanted) missing.push('type')
  else if (!wanted.some(keyword => schema[keyword] !== undefined)) missing.push('limit')
  return missing
}

/** Values of any type. */
const ANY_VALUE = /\/arguments\/\*\/(?:pin|default)$|^channels\/config$|\/openapi\/schema$/

describe.each([
  ['servers', '/api/servers'],
  ['groups', '/api/groups'],
  ['rules', '/api/monitoring/rules'],
  ['channels', '/api/monitoring/channels'],
])('the fields of %s', (name, path) => {
  test('have type, limits and a sentence each', () => {
    const fields = fieldsOf(bodyOf(path), name)
    expect(fields.length).toBeGreaterThan(3)
    const wrong = fields.map(([at, field]) => [at, ANY_VALUE.test(at) ? [] : lacks(field)] as const)
    expect(wrong.filter(([, missing]) => missing.length > 0)).toEqual([])
  })
})

test('every transport and every kind of channel has a schema with type, limits and a sentence for each field', () => {
  const schemas = Object.entries<Schema>(document.components.schemas)
  const forms = schemas.filter(([name]) => /^(?:Transport|Channel)\./.test(name))
  expect(forms.map(([name]) => name).sort()).toEqual([
    ...['Channel.chat', 'Channel.email', 'Channel.webhook'],
    ...['Transport.openapi', 'Transport.sse', 'Transport.stdio', 'Transport.streamable-http'],
  ])
  const wrong = forms.flatMap(([name, schema]) =>
    fieldsOf(schema, name).map(([at, field]) => [at, ANY_VALUE.test(at) ? [] : lacks(field)] as const),
  )
  expect(wrong.filter(([, missing]) => missing.length > 0)).toEqual([])
  for (const [name, { title }] of forms) expect([name, typeof title]).toEqual([name, 'string'])
})

test('a field left out of a body gets the default of the document', async () => {
  for (const [path, body] of [
    ['/api/servers', { name: 'plain', url: 'https://mcp.example/mcp' }],
    ['/api/groups', { name: 'plain' }],
    ['/api/monitoring/rules', { name: 'plain', condition: 'servers_offline > 0', severity: 'warning' }],
  ] as const) {
    const answer = await admin.ok('POST', path, body)
    const defaults = Object.entries<Schema>(bodyOf(path).properties).filter(([, field]) => field.default !== undefined)
    expect(defaults.length).toBeGreaterThan(2)
    // Some fields are left out of answers where they equal their default.
    const differing = defaults.filter(
      ([name, field]) => answer[name] !== undefined && !Bun.deepEquals(answer[name], field.default),
    )
    expect([path, differing]).toEqual([path, []])
  }
})

test('a value beyond a limit of the document is refused, and one at it is taken', async () => {
  const limited = Object.entries<Schema>(bodyOf('/api/servers').properties).filter(
    ([, field]) => field.type === 'integer',
  )
  expect(limited.length).toBeGreaterThan(3)
  for (const [name, { minimum, maximum }] of limited) {
    const body = { name: 'limits', url: 'https://mcp.example/mcp', enabled: false, maxTimeout: 86_400_000 }
    for (const value of [minimum - 1, maximum + 1]) {
      const { status, json } = await admin.request('POST', '/api/servers', { ...body, [name]: value })
      expect([name, value, status, json.errors?.[0]?.code]).toEqual([name, value, 400, 'range'])
    }
    const { id } = await admin.ok('POST', '/api/servers', { ...body, [name]: maximum })
    await admin.ok('DELETE', `/api/servers/limits`)
    expect(id).toBeString()
  }
})

/** Every named field below a schema, by its path. */
function namedFieldsOf(schema: Schema, at: string): [path: string, field: Schema][] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, Schema][] => [
    [`${at}/${name}`, field],
    ...namedFieldsOf(field, `${at}/${name}`),
  ])
  const inner = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter(
    part => typeof part === 'object' && part !== null,
  )
  return [...own, ...inner.flatMap(part => namedFieldsOf(part, `${at}/*`))]
}

/** Texts that a field lacks: a title and a description in both languages. */
function lacking(schema: Schema, at: string): string[] {
  return namedFieldsOf(schema, at).flatMap(([path, field]) => {
    const zh = field['x-zh'] ?? {}
    const said = [
      ['title', field.title],
      ['description', field.description],
      ['Chinese title', zh.title],
      ['Chinese description', zh.description],
    ].filter(([, text]) => typeof text !== 'string' || text === '')
    return said.map(([what]) => `${path}: ${what}`)
  })
}

describe('in both languages', () => {
  test('the settings of every bundled plugin have their texts in both languages', async () => {
    const { items } = await admin.ok('GET', '/api/admin/plugins?limit=100')
    const bundled = items.filter(({ bundled }: Schema) => bundled)
    const withSchema = bundled.filter(({ configSchema }: Schema) => configSchema)
    expect(withSchema.length).toBeGreaterThanOrEqual(8)
    expect(withSchema.flatMap(({ name, configSchema }: Schema) => lacking(configSchema, name))).toEqual([])
  })

  test('so do the settings of each kind of alert channel', async () => {
    const { items } = await admin.ok('GET', '/api/monitoring/channel-types')
    expect(items.length).toBeGreaterThanOrEqual(3)
    expect(items.flatMap(({ type, configSchema }: Schema) => lacking(configSchema, type))).toEqual([])
  })

  test('and the fields of a server that its transport brings', async () => {
    const { components } = await admin.ok('GET', '/api/openapi.json')
    const transports = Object.entries<Schema>(components.schemas).filter(([name]) => name.startsWith('Transport.'))
    expect(transports.length).toBeGreaterThanOrEqual(4)
    expect(transports.flatMap(([name, schema]) => lacking(schema, name))).toEqual([])
  })
})
