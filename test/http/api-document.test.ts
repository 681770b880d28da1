import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020'
import { MANIFEST, packed, sendBundle } from '../support/bundle.ts'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'

/** The parts of OpenAPI 3.1 that this hub's document uses; anything else is a mistake. */
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security: readonly object[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<
    Record<
      string,
      { readonly description?: string; readonly $ref?: string; readonly content?: Readonly<Record<string, Media>> }
    >
  >
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: object
}
interface Media {
  readonly schema?: object
  readonly example?: unknown
}

let hub: Hub
let admin: Client
// biome-ignore lint/suspicious/noExplicitAny: the document as it is
let document: any
let operations: {
  readonly name: string
  readonly path: string
  readonly method: string
  readonly operation: Operation
}[]

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  document = (await admin.request('GET', '/api/openapi.json')).json
  operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      path,
      method,
      operation,
    })),
  )
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

function medias(operation: Operation): [string, Media][] {
  const answers = Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
    Object.entries(content).map(([type, media]): [string, Media] => [`${status} ${type}`, media]),
  )
  return [...Object.entries(operation.requestBody?.content ?? {}), ...answers]
}

test('is OpenAPI 3.1 for this version of the hub, open to everybody', async () => {
  const open = await fetch(`${hub.url}/api/openapi.json`)
  expect(open.status).toBe(200)
  expect(document).toMatchObject({
    openapi: expect.stringMatching(/^3\.1\.\d+$/),
    info: { title: 'Patchbay', version: '1.1.0', license: { identifier: 'Apache-2.0' } },
  })
  expect(operations.length).toBeGreaterThan(40)
  const page = await fetch(`${hub.url}/api/docs`)
  expect(page.headers.get('content-type')).toStartWith('text/html')
  const text = await page.text()
  for (const { path } of operations) expect(text).toContain(path)
})

test('has every parameter of each path declared once, and no other', () => {
  for (const { name, path, operation } of operations) {
    const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1] ?? '').sort()
    const declared = operation.parameters.filter(parameter => parameter.in === 'path')
    expect([name, declared.map(parameter => parameter.name).sort()]).toEqual([name, wanted])
    expect(declared.every(parameter => parameter.required === true)).toBe(true)
    const query = operation.parameters.filter(parameter => parameter.in === 'query').map(parameter => parameter.name)
    expect([name, new Set(query).size]).toEqual([name, query.length])
    expect(declared.length + query.length).toBe(operation.parameters.length)
  }
})

test('names each operation once, with a summary, a declared tag and who may use it', () => {
  const ids = operations.map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  const tags = new Set(document.tags.map((tag: { name: string }) => tag.name))
  for (const { operation } of operations) {
    expect(operation.summary.length).toBeGreaterThan(5)
    for (const tag of operation.tags) expect(tags.has(tag)).toBe(true)
    expect(operation.security).toEqual(
      (operation as unknown as Record<string, unknown>)['x-access'] === 'public' ? [] : [{ bearer: [] }],
    )
  }
})

/** Everything that the hub does for callers without a credential: a public route is added here on purpose. */
const PUBLIC = [
  ...['GET /.well-known/oauth-authorization-server', 'GET /.well-known/oauth-protected-resource'],
  ...['GET /.well-known/oauth-protected-resource/{rest}', 'GET /.well-known/openid-configuration'],
  ...['GET /.well-known/openid-configuration/jwks', 'GET /authorize', 'POST /register', 'POST /revoke', 'POST /token'],
  ...['GET /api/assistant/ws', 'GET /api/docs', 'GET /api/openapi.json', 'GET /health', 'GET /metrics'],
  ...['GET /api/auth/providers', 'POST /api/auth/providers/{id}/finish', 'POST /api/auth/providers/{id}/start'],
  ...['POST /api/auth/forwarded', 'POST /api/auth/login', 'POST /api/auth/passkeys/options'],
  ...['POST /api/auth/passkeys/sign-in', 'POST /api/auth/reset', 'POST /api/auth/second-factor'],
  ...['GET /api/public/info', 'GET /api/public/servers', 'GET /api/setup', 'POST /api/setup'],
  ...['GET /oauth/client-metadata.json', 'GET /plugins/{plugin}/{digest}/{file}'],
]

test('has no public routes but these', async () => {
  const open = operations.filter(({ operation }) => operation.security.length === 0)
  expect(open.map(({ name }) => name).sort()).toEqual(PUBLIC.toSorted())
  // Routes that are contributed with a path alone are in no document.
  for (const path of ['hosted-keys/platforms', 'hosted-keys/test', 'rank-embeddings/status', 'rank-embeddings/key']) {
    const { status } = await fetch(`${hub.url}/api/plugins/${path}`)
    expect([path, status]).toEqual([path, 401])
    expect([path, (await admin.request('GET', `/api/plugins/${path}`)).status]).not.toEqual([path, 404])
  }
})

test('shows the fields of bodies that are validated elsewhere, and the limits of maps', () => {
  const bodyOf = (route: string, method: string) =>
    document.paths[route][method].requestBody.content['application/json']
  const server = bodyOf('/api/servers', 'post')
  expect(Object.keys(server.schema.properties)).toContain('url')
  expect(server.schema.required).toEqual(['name'])
  expect(server.example.name).toBeString()
  const scopes = bodyOf('/api/keys', 'post').schema.properties.scopes.items
  expect(JSON.stringify(scopes)).toContain('api:read')
  const { hostedKeys } = bodyOf('/api/settings', 'patch').schema.properties
  expect([hostedKeys.type, hostedKeys.maxProperties]).toEqual(['object', expect.any(Number)])
})

test('refers only to what it holds', () => {
  const refs: string[] = []
  JSON.stringify(document, (key, value) => {
    if (key === '$ref') refs.push(value)
    return value
  })
  expect(refs.length).toBeGreaterThan(0)
  for (const ref of refs) {
    expect(ref).toStartWith('#/')
    const found = ref
      .slice(2)
      .split('/')
      .reduce((value, part) => value?.[part.replaceAll('~1', '/').replaceAll('~0', '~')], document)
    expect([ref, typeof found]).toEqual([ref, 'object'])
  }
})

/** The server has no document, no plugin of this hub has a page, nobody signs in at a server, and there are no rules. */
const UNUSUAL: readonly (readonly [RegExp, number])[] = [
  [/^\/api\/grants\/\{id\}\/quota$/, 404],
  [/\/document$/, 204],
  [/^\/api\/teams\/./, 404],
  [/^\/plugins\//, 404],
  [/^\/api\/connections\/flows\//, 400],
  [/\/guards\/[^/]+\/samples$/, 404],
  [/^\/api\/approvals\/\{id\}$/, 404],
]

describe('every schema', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false, code: { optimize: false } })
  const known = new Map<string, ValidateFunction>()
  /** Many schemas are in the document more than once. */
  const compiled = (schema: object): ValidateFunction => {
    const text = JSON.stringify(schema)
    const validate = known.get(text) ?? ajv.compile(schema)
    known.set(text, validate)
    return validate
  }

  beforeAll(() => void ajv.addSchema(document, 'document'))

  beyondCore(() => {
    test('compiles under draft 2020-12, and every example validates against its own', () => {
      let examples = 0
      for (const { name, operation } of operations) {
        for (const { schema } of operation.parameters) expect(() => compiled(schema)).not.toThrow()
        for (const [where, { schema, example }] of medias(operation)) {
          if (!schema || where.includes('problem+json')) continue
          const validate = compiled(schema)
          if (example === undefined) continue
          examples += 1
          const valid = validate(example)
          expect([name, where, valid ? [] : validate.errors]).toEqual([name, where, []])
        }
      }
      expect(examples).toBeGreaterThan(40)
    })
  })

  test('fits what the hub really answers', async () => {
    const { id: serverId } = await admin.ok('POST', '/api/servers', {
      name: 'echo',
      url: 'https://mcp.example/',
      visibility: 'public',
      headers: { Authorization: 'Bearer a secret of it' },
    })
    await admin.ok('POST', '/api/groups', { name: 'g', members: ['echo'] })
    const monitoring = '/api/monitoring'
    const hook = { name: 'echo', type: 'webhook', config: { url: `${hub.url}/health` } }
    await admin.ok('POST', `${monitoring}/channels`, hook)
    const rule = { name: 'echo', condition: 'servers_offline >= 0', severity: 'warning', duration: '0s' }
    await admin.ok('POST', `${monitoring}/rules`, rule)
    const widgets = ['request_count', 'request_count by server', 'servers'].map((query, at) => ({
      ...{ type: ['metric', 'chart', 'table'][at], query },
    }))
    await admin.ok('POST', `${monitoring}/dashboards`, { name: 'echo', widgets })
    await admin.ok('POST', '/api/assistant/endpoints', { name: 'echo', direction: 'inbound', group: 'echo' })
    await admin.ok('POST', `${monitoring}/silences`, { endsAt: new Date(Date.now() + 60_000).toISOString() })
    await admin.ok('POST', `${monitoring}/test-alert`, { rule: 'echo', send: true })
    const made = await admin.ok('POST', '/api/keys', { label: 'k', scopes: ['api', { group: 'g' }] })
    expect(made.secret).toStartWith('pb_')
    const { id: keyId } = await admin.ok('POST', '/api/keys', { label: 'quota', scopes: ['mcp'] })
    const { bundleId } = (await sendBundle(admin, await packed(MANIFEST, { 'server/index.js': '' }))).json
    let checked = 0
    for (const { name, path, method, operation } of operations) {
      if (method !== 'get' || ['/', '/api/stream', '/api/setup', '/api/assistant/ws', '/authorize'].includes(path))
        continue
      const filled = path
        .replace('{ref}', path.includes('/groups/') ? 'g' : 'echo')
        .replace('{name}', 'admin')
        .replace('/keys/{id}/quota', `/keys/${keyId}/quota`)
        .replace('/bundles/{id}', `/bundles/${bundleId}`)
        .replace('/connections/servers/{id}', `/connections/servers/${serverId}`)
        .replace('/templates/{id}', '/templates/bundled:memory')
        .replace('{rest}', 'mcp/g')
      const answer = await admin.request('GET', `${filled}${path.endsWith('client-config') ? '?client=cursor' : ''}`)
      const schema = operation.responses[answer.status]?.content?.['application/json']?.schema
      expect([name, answer.status]).toEqual([name, UNUSUAL.find(([pattern]) => pattern.test(path))?.[1] ?? 200])
      if (!schema) continue
      checked += 1
      const validate = compiled(schema)
      expect([name, validate(answer.json) ? [] : validate.errors]).toEqual([name, []])
    }
    expect(checked).toBeGreaterThan(20)
    const problem = await admin.request('POST', '/api/servers', { name: 'a/b' })
    const validate = compiled(document.components.schemas.Problem)
    expect(validate(problem.json) ? [] : validate.errors).toEqual([])
  })
})
