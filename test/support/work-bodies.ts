/** The parts of a body's JSON Schema in the API document from which bodies are built. */
export interface BodySchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, BodySchema>>
  readonly items?: BodySchema
  readonly anyOf?: readonly BodySchema[]
}

/** Bodies that grow in one way. */
export interface Growth {
  readonly name: string
  /** True if the work is done in slices: then others must be answered in between, whatever its total time. */
  readonly sliced?: true
  readonly sizes: readonly number[]
  /** The body of size `n`, as JSON. */
  make(n: number): string
}

const ref = (name: string): string => `\${${name}}`
/** Short names for what makes bodies. */
export const json = JSON.stringify
export const many = <T>(n: number, item: (index: number) => T): T[] =>
  Array.from({ length: n }, (_, index) => item(index))
export const map = (n: number, entry: (index: number) => readonly [string, unknown]) =>
  Object.fromEntries(many(n, entry))

/** `[[[…]]]`, as text: writers of JSON overflow their stack sooner than the hub does. */
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`

function typesOf({ type, anyOf = [] }: BodySchema): readonly string[] {
  const own = type === undefined ? [] : typeof type === 'string' ? [type] : type
  return [...own, ...anyOf.flatMap(typesOf)]
}

/**
 * Growing bodies for an object with these properties: more fields, depth, longer strings and keys, more entries in its lists
 * and maps, numbers that keep their digits. `most`: the largest number of members, and `bytes` the largest body.
 */
export function growths(schema: BodySchema, limits: { readonly members: number; readonly bytes: number }): Growth[] {
  const { members, bytes } = limits
  const fields = Object.entries(schema.properties ?? {})
  const of = (type: string) => fields.filter(([, property]) => typesOf(property).includes(type)).map(([name]) => name)
  const counts = [Math.floor(members / 16), Math.floor(members * 0.95)]
  const lengths = [Math.floor(bytes / 16), Math.floor(bytes * 0.95)]
  const texts = of('string').slice(0, 1)
  const lists = of('array').slice(0, 1)
  const maps = of('object').slice(0, 2)
  return [
    { name: 'fields', sizes: counts, make: n => json(map(n, index => [`field${index}`, 1])) },
    { name: 'fields over every limit', sizes: [members * 4], make: n => json(map(n, index => [`f${index}`, 1])) },
    { name: 'depth', sizes: [62, 50_000], make: n => `{"deep":${nested(n)}}` },
    {
      name: 'long keys',
      sizes: [1_000, 8_000],
      make: n => json({ ['k'.repeat(n)]: map(90, index => [`${index}`, {}]) }),
    },
    { name: 'digits', sizes: counts, make: n => `{"numbers":[${many(n, () => 1).join(',')},12345678901234567890]}` },
    ...texts.map(name => ({
      name: `text ${name}`,
      sizes: lengths,
      make: (n: number) => json({ [name]: 'x'.repeat(n - 64) }),
    })),
    ...lists.map(name => ({
      name: `list ${name}`,
      sizes: counts,
      make: (n: number) => json({ [name]: many(n, index => `item${index}`) }),
    })),
    ...maps.map(name => ({
      name: `map ${name}`,
      sizes: counts,
      make: (n: number) => json({ [name]: map(n, index => [`key${index}`, 'value']) }),
    })),
  ]
}

const command = { command: 'true', enabled: false }

/** Growing bodies of servers: what names and fills in what, and inline documents. `bytes`: the largest body. */
export function serverGrowths(bytes: number): Growth[] {
  const counts = [250, 4_000]
  const variables = (n: number) => map(n, index => [`V${index}`, 'value'])
  return [
    {
      name: 'unknown references beside variables',
      sizes: [500, 9_000],
      make: n => json({ ...command, variables: variables(n), args: many(20, index => ref(`W${index}`)) }),
    },
    {
      name: 'secrets that begin alike',
      sizes: [600, 9_900],
      make: n => json({ ...command, env: map(n, index => [`TOKEN${index}`, `same-begin-${index}`]) }),
    },
    {
      name: 'secrets by pointer',
      sizes: counts,
      make: n => json({ ...command, variables: variables(n), secrets: many(n, index => `/variables/V${index}`) }),
    },
    {
      name: 'chain of variables',
      sizes: [1_000, 5_000],
      make: n => json({ ...command, variables: map(n, index => [`V${index}`, ref(`V${index + 1}`)]) }),
    },
    {
      name: 'env that fills up',
      sizes: [500, 9_000],
      make: n =>
        json({
          ...command,
          variables: { V: 'x'.repeat(8_000) },
          env: map(n, index => [`E${index}`, ref('V').repeat(30)]),
        }),
    },
    {
      name: 'tool overrides',
      sliced: true,
      sizes: [600, 2_400],
      make: n => json({ ...command, tools: map(n, index => [`tool${index}`, { enabled: false, name: `t${index}` }]) }),
    },
    {
      name: 'values of pins',
      sliced: true,
      sizes: counts,
      make: n => json({ ...command, tools: { t: { arguments: { a: { pin: many(n, index => ref(`V${index}`)) } } } } }),
    },
    {
      name: 'inline document',
      sizes: [bytes / 16, bytes * 0.9],
      make: n =>
        json({
          name: `doc-${n}`,
          openapi: {
            schema: {
              openapi: '3.0.0',
              info: {},
              paths: map(n / 128, index => [`/path${index}`, { 'x-list': many(16, () => 1), get: { operationId: 1 } }]),
            },
          },
        }),
    },
    {
      name: 'document as text',
      sizes: [bytes / 16, bytes * 0.9],
      make: n =>
        json({
          name: 'd',
          description: 1,
          openapi: { schema: `openapi: 3.0.0\n${'\n'.repeat(n / 4)}${'x'.repeat(n / 4)}` },
        }),
    },
    {
      name: 'text in the body',
      sizes: [bytes / 16, bytes * 0.9],
      make: n => json({ ...command, description: 'x'.repeat(n) }),
    },
  ]
}

/** Growing documents for an import. */
export function importGrowths(bytes: number): Growth[] {
  const entries = (n: number) => ({ mcpServers: map(n, index => [`s${index}`, { command: 'true', enabled: false }]) })
  return [
    {
      name: 'entries in a text',
      sliced: true,
      sizes: [100, 100_000],
      make: n => json({ document: json(entries(n)) }),
    },
    { name: 'entries', sliced: true, sizes: [100, 4_000], make: n => json(entries(n)) },
    {
      name: 'entries with comments',
      sliced: true,
      sizes: [100, 100_000],
      make: n => json({ document: `// c\n${json(entries(n))}` }),
    },
    {
      name: 'command line',
      sizes: [bytes / 128, bytes * 0.9],
      make: n => json({ document: `true ${'a '.repeat(n / 2)}` }),
    },
    {
      name: 'command lines',
      sliced: true,
      sizes: [100],
      make: n => json({ document: json({ mcpServers: map(n, index => [`s${index}`, `true ${'a '.repeat(1_000)}`]) }) }),
    },
    {
      name: 'broken text',
      sizes: [bytes / 64, bytes * 0.9],
      make: n => json({ document: `{"a":"${'\\"'.repeat(n / 4)}` }),
    },
  ]
}

/** The parameter that identifies the subject of a method. */
function textOf(method: string): string {
  if (method.endsWith('/list')) return 'cursor'
  if (method.startsWith('resources/')) return 'uri'
  if (method === 'logging/setLevel') return 'level'
  if (method === 'initialize') return 'protocolVersion'
  return method.startsWith('notifications/') ? 'requestId' : 'name'
}

/** Growing parameters of an MCP request. `bytes` and `members`: the largest that are allowed. */
export function messageGrowths(method: string, limits: { readonly members: number; readonly bytes: number }): Growth[] {
  const { members, bytes } = limits
  const counts = [Math.floor(members / 16), Math.floor(members * 0.9)]
  const text = (name: string): Growth => ({
    name: `text ${name}`,
    sizes: [bytes / 64, bytes * 0.9],
    make: n => json({ [name]: 'x'.repeat(n) }),
  })
  const about = [
    {
      name: 'members',
      sizes: counts,
      make: (n: number) => json({ name: 'raw', arguments: map(n, index => [`k${index}`, index]) }),
    },
    text(textOf(method)),
    {
      name: 'reference',
      sizes: [bytes * 0.9],
      make: (n: number) =>
        json({
          ref: { type: 'ref/resource', uri: 'x'.repeat(n / 2) },
          argument: { name: 'a', value: 'x'.repeat(n / 2) },
        }),
    },
  ]
  // Reading a message is the same for all methods; these process the most of their input.
  if (!['tools/call', 'resources/read', 'initialize'].includes(method)) return about
  const list = (n: number, item: string): string => `{"name":"raw","arguments":{"list":[${`${item},`.repeat(n)}1]}}`
  return [
    ...about,
    { name: 'members over the limit', sizes: [bytes / 4], make: n => list(n, '1') },
    { name: 'objects over the limit', sizes: [bytes / 8], make: n => list(n, '{}') },
    { name: 'depth', sizes: [30, 1_000_000], make: n => `{"name":"raw","arguments":{"deep":${nested(n)}}}` },
    { name: 'digits', sizes: counts, make: n => `${list(n, '1').slice(0, -3)},12345678901234567890]}}` },
    {
      name: 'escapes',
      sizes: [bytes / 64, bytes * 0.9],
      make: n => `{"name":"raw","arguments":{"text":"${'\\\\'.repeat(n / 2)}"}}`,
    },
  ]
}
