// What forms of the bundled plugins are drawn from: each field has a title and a sentence, in English and in Chinese.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'

// biome-ignore lint/suspicious/noExplicitAny: schemas as plugins have them
type Schema = any

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

/** Every named field below a schema, by its path. */
function fieldsOf(schema: Schema, at: string): [path: string, field: Schema][] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, Schema][] => [
    [`${at}/${name}`, field],
    ...fieldsOf(field, `${at}/${name}`),
  ])
  const inner = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter(
    part => typeof part === 'object' && part !== null,
  )
  return [...own, ...inner.flatMap(part => fieldsOf(part, `${at}/*`))]
}

/** What a field lacks: a title and a description in both languages. */
function lacking(schema: Schema, at: string): string[] {
  return fieldsOf(schema, at).flatMap(([path, field]) => {
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
